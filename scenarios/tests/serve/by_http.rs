//! Commands and views by HTTP.

use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use vivarium_client::{AddWatchMode, CreateMode};

async fn served() -> Ensemble {
    ensemble(ServeOptions { http: Some(0), ..ServeOptions::default() }).await
}

/// Returns the status and the body of an answer.
pub(crate) async fn request(
    ensemble: &Ensemble,
    method: &str,
    path: &str,
    body: &str,
) -> (u16, String) {
    let address = ensemble.http().expect("it was asked for");
    let mut stream = soon(TcpStream::connect(address)).await.unwrap();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all((head + body).as_bytes()).await.unwrap();
    let mut answer = String::new();
    soon(stream.read_to_string(&mut answer)).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head[9..12].parse().unwrap(), body.to_owned())
}

async fn json(ensemble: &Ensemble, path: &str) -> serde_json::Value {
    let (status, body) = request(ensemble, "GET", path, "").await;
    assert_eq!(status, 200, "{path}: {body}");
    serde_json::from_str(&body).unwrap_or_else(|error| panic!("{path}: {error}: {body}"))
}

#[tokio::test]
async fn servers_trees_logs_and_watches_can_be_read() {
    let ensemble = served().await;
    let client = connect(&ensemble).await;
    soon(client.create("/a", b"data", CreateMode::Ephemeral)).await.unwrap();
    let _watch = soon(client.add_watch("/a", AddWatchMode::Persistent)).await.unwrap();
    let session = client.session().expect("it is connected").to_string();
    let status = json(&ensemble, "/status").await;
    assert_eq!(status["servers"].as_array().unwrap().len(), 3);
    assert_eq!(status["sessions"][0]["session"], session.as_str());
    assert_eq!(status["violation"], serde_json::Value::Null);
    let leader = status["leader"].as_u64().unwrap();
    let tree = json(&ensemble, &format!("/servers/{leader}/tree")).await;
    let nodes = tree["nodes"].as_array().unwrap();
    let node = nodes.iter().find(|node| node["path"] == "/a").expect("it is there");
    assert_eq!((&node["data"], &node["owner"]), (&"data".into(), &session.clone().into()));
    let log = json(&ensemble, &format!("/servers/{leader}/log")).await;
    let last = log.as_array().unwrap().last().unwrap().clone();
    assert!(
        last["transaction"].as_str().unwrap().contains("/a") && last["synced"] == true,
        "{last}"
    );
    let server = status["sessions"][0]["server"].as_u64().unwrap();
    let watches = json(&ensemble, &format!("/servers/{server}/watches")).await;
    assert_eq!(watches.as_array().unwrap().len(), 2, "{watches}: of data and of children");
    let ruok = json(&ensemble, "/servers/1/commands/ruok").await;
    assert_eq!((&ruok["command"], &ruok["error"]), (&"ruok".into(), &serde_json::Value::Null));
    let monitor = json(&ensemble, "/servers/1/commands/monitor").await;
    assert_eq!(monitor["znode_count"], 5);
    assert_eq!(json(&ensemble, "/openapi.json").await["openapi"], "3.1.0");
}

/// Every path of the description exists.
#[tokio::test]
async fn the_description_is_of_what_is_there() {
    let ensemble = served().await;
    let description = json(&ensemble, "/openapi.json").await;
    for (path, methods) in description["paths"].as_object().unwrap() {
        let path = path.replace("{server}", "1").replace("{name}", "stats");
        for method in methods.as_object().unwrap().keys() {
            let body =
                if path == "/observe" { r#"{"observer": "a", "says": "b"}"# } else { "leader" };
            let (status, body) = request(&ensemble, &method.to_uppercase(), &path, body).await;
            assert_eq!(status, 200, "{method} {path}: {body}");
        }
    }
}

#[tokio::test]
async fn commands_are_carried_out_or_refused_in_a_sentence() {
    let ensemble = served().await;
    assert_eq!(
        request(&ensemble, "POST", "/command", "crash 2\n").await,
        (200, r#"{"answer":"done"}"#.to_owned())
    );
    let refused = [
        ("POST", "/command", "crash 2", 400, "server 2 is down"),
        ("POST", "/command", "dance", 400, "`dance` is no command"),
        ("POST", "/command", "", 400, "there is no command in this line"),
        ("GET", "/servers/2/tree", "", 409, "server 2 is down"),
        ("GET", "/servers/2/watches", "", 409, "server 2 is down"),
        ("GET", "/servers/7/log", "", 404, "there is no server 7"),
    ];
    for (method, path, body, expected, sentence) in refused {
        let (status, answer) = request(&ensemble, method, path, body).await;
        assert!(status == expected && answer.contains(sentence), "{path}: {status} {answer}");
    }
    for (method, path) in [("GET", "/nothing"), ("GET", "/servers/x/tree"), ("DELETE", "/status")] {
        let (status, _) = request(&ensemble, method, path, "").await;
        assert!((400..500).contains(&status), "{method} {path}: {status}");
    }
    // A web page in a browser sends its origin.
    let (status, answer) = request(
        &ensemble,
        "POST",
        "/command HTTP/1.1\r\nOrigin: http://example.org\r\nX:",
        "crash 1",
    )
    .await;
    assert!(status == 403 && answer.contains("web pages"), "{status} {answer}");
    let (status, _) = request(&ensemble, "POST", "/command", &"x".repeat(1_000_000)).await;
    assert_eq!(status, 413);
}
