//! A search that is stopped estimates how many states there are in all, once its frontier shrinks. Compared with the
//! number that a search to the end finds.
#![cfg(feature = "cli")]

use super::command::{directory, said};
use serde_json::Value;

/// Returns the report of a search, with some more arguments.
fn searched(search: &str, more: &[&str], code: i32) -> Value {
    let words: Vec<&str> =
        search.split(' ').chain(["--json", "--threads", "1"]).chain(more.iter().copied()).collect();
    let report = said(&directory("estimates"), &[&["explore"], &words[..]].concat(), code);
    let report: Value = serde_json::from_str(&report).expect("it is JSON");
    report["explorations"][0].clone()
}

/// Returns the estimates when a tenth, seven tenths, and so on of all states are known.
fn estimates(search: &str) -> (u64, Vec<Option<[u64; 2]>>) {
    let whole = searched(search, &[], 0);
    assert_eq!(whole["in_all"], Value::Null, "it was not stopped");
    let states = whole["distinct"].as_u64().expect("a number");
    let stopped_after = |percent: u64| {
        let bound = (states * percent / 100).to_string();
        let report = searched(search, &["--max-states", &bound], 2);
        serde_json::from_value(report["in_all"].clone()).expect("two numbers or none")
    };
    (states, [10, 70, 85, 97].map(stopped_after).to_vec())
}

#[test]
fn the_states_in_all_are_within_the_estimate() {
    for search in [
        "lock --lost 1",
        "leader --kills 1",
        "broadcast --servers 2 --txns 2 --crashes 1 --breaks 1",
    ] {
        let (states, estimates) = estimates(search);
        assert_eq!(estimates[0], None, "{search}: its frontier still grows");
        let mut widths = Vec::new();
        for [least, most] in estimates.iter().flatten() {
            assert!((*least..=*most).contains(&states), "{search}: {states}, {estimates:?}");
            widths.push(most - least);
        }
        assert!(widths.len() >= 2, "{search}: {estimates:?}");
        assert!(widths.first() > widths.last(), "{search}: {estimates:?}");
    }
}

#[test]
fn depth_first_nothing_is_estimated() {
    let bound = ["--max-states", "20000"];
    assert_ne!(searched("lock --lost 1", &bound, 2)["in_all"], Value::Null);
    let depth_first = [&bound[..], &["--depth-first"]].concat();
    assert_eq!(searched("lock --lost 1", &depth_first, 2)["in_all"], Value::Null);
}

#[test]
fn the_report_has_the_estimate_in_words() {
    let words = ["explore", "lock", "--lost", "1", "--threads", "1", "--max-states"];
    let row = |states: &str| {
        let report = said(&directory("estimates-in-words"), &[&words[..], &[states]].concat(), 2);
        let row = report.lines().find_map(|line| line.trim().strip_prefix("states in all"));
        row.unwrap_or_else(|| panic!("{report}")).trim().to_string()
    };
    assert_eq!(row("2000"), "unknown: the frontier had not shrunk yet");
    insta::assert_snapshot!(row("20000"), @"20,001 to 26,973, estimated");
}
