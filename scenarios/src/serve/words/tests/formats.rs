//! Values as Java prints them, and JSON.

use crate::serve::words::Json;
use crate::serve::words::java::{Date, Double, SocketAddress, host_and_port};

#[test]
fn numbers() {
    let cases = [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.75, "1.75"),
        (2.1429, "2.1429"),
        (0.001, "0.001"),
        (0.0005, "5.0E-4"),
        (9_999_999.0, "9999999.0"),
        (10_000_000.0, "1.0E7"),
        (-12_345_678.5, "-1.23456785E7"),
        (f64::MAX, "1.7976931348623157E308"),
        (f64::INFINITY, "Infinity"),
        (f64::NEG_INFINITY, "-Infinity"),
        (f64::NAN, "NaN"),
    ];
    for (value, text) in cases {
        assert_eq!(Double(value).to_string(), text);
    }
}

#[test]
fn dates() {
    let cases = [
        (0, "Thu Jan 01 00:00:00 UTC 1970"),
        (-1, "Wed Dec 31 23:59:59 UTC 1969"),
        (951_782_400_000, "Tue Feb 29 00:00:00 UTC 2000"),
        (1_795_786_290_950, "Fri Nov 27 13:31:30 UTC 2026"),
        (4_107_542_400_000, "Mon Mar 01 00:00:00 UTC 2100"),
    ];
    for (milliseconds, text) in cases {
        assert_eq!(Date(milliseconds).to_string(), text);
    }
}

#[test]
fn addresses() {
    let address = "127.0.0.1:2181".parse().unwrap();
    assert_eq!(SocketAddress(address).to_string(), "/127.0.0.1:2181");
    assert_eq!(host_and_port(address), "127.0.0.1:2181");
    let address = "[fe80::1]:2181".parse().unwrap();
    assert_eq!(SocketAddress(address).to_string(), "/[fe80:0:0:0:0:0:0:1]:2181");
    assert_eq!(host_and_port(address), "[fe80:0:0:0:0:0:0:1]:2181");
}

#[test]
fn json_keeps_the_order_of_fields() {
    let empty = Json::Object(Vec::new());
    let json = Json::object([
        ("b", Json::List(vec![empty.clone(), Json::object([("x", Json::Null)])])),
        ("a", "\"\\\n\u{1b}é".into()),
        ("n", f64::NAN.into()),
        ("e", empty),
    ]);
    insta::assert_snapshot!(json, @r#"
    {
      "b" : [ { }, {
        "x" : null
      } ],
      "a" : "\"\\\n\u001Bé",
      "n" : "NaN",
      "e" : { }
    }
    "#);
    assert_eq!(json.get("e"), Some(&Json::Object(Vec::new())));
    assert_eq!(json.get("z"), None);
    assert_eq!(Json::from(u64::MAX), Json::Integer(i64::MAX));
}
