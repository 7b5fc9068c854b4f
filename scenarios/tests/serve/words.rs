//! Four-letter words, as a monitoring script sends them.

use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use vivarium_client::{AddWatchMode, CreateMode};

async fn ask(ensemble: &Ensemble, server: usize, word: &str) -> String {
    let mut stream = soon(TcpStream::connect(ensemble.addresses()[server - 1])).await.unwrap();
    stream.write_all(word.as_bytes()).await.unwrap();
    let mut answer = String::new();
    soon(stream.read_to_string(&mut answer)).await.unwrap();
    answer
}

#[tokio::test]
async fn words_are_answered_about_the_server_that_is_asked() {
    let ensemble = ensemble(ServeOptions::default()).await;
    let client = connect(&ensemble).await;
    soon(client.create("/a", b"0123456789", CreateMode::Ephemeral)).await.unwrap();
    let _watch = soon(client.add_watch("/a", AddWatchMode::Persistent)).await.unwrap();
    let session = client.session().expect("it is connected");
    let mut modes = Vec::new();
    for server in 1..=3 {
        assert_eq!(ask(&ensemble, server, "ruok").await, "imok");
        assert_eq!(ask(&ensemble, server, "isro").await, "rw");
        let stat = ask(&ensemble, server, "srvr").await;
        assert!(stat.starts_with("Zookeeper version: 3.9.5"), "{stat}");
        assert!(stat.contains("Node count: 5"), "{stat}");
        let mode = stat.lines().find(|line| line.starts_with("Mode: ")).expect("a mode");
        modes.push(mode.to_owned());
        let mntr = ask(&ensemble, server, "mntr").await;
        assert!(mntr.contains("zk_znode_count\t5"), "{mntr}");
        let conf = ask(&ensemble, server, "conf").await;
        let port = ensemble.addresses()[server - 1].port();
        assert!(conf.contains(&format!("clientPort={port}")), "{conf}");
        assert!(ask(&ensemble, server, "dump").await.contains(&session.to_string()));
    }
    modes.sort();
    assert_eq!(modes, ["Mode: follower", "Mode: follower", "Mode: leader"]);
    let mut watched = 0;
    for server in 1..=3 {
        watched += usize::from(ask(&ensemble, server, "wchp").await.contains("/a\n"));
        assert!(ask(&ensemble, server, "wchc").await.is_ascii());
        assert!(ask(&ensemble, server, "wchs").await.contains("watches"));
        assert!(ask(&ensemble, server, "cons").await.contains("127.0.0.1"));
        assert!(ask(&ensemble, server, "envi").await.contains("zookeeper.version=3.9.5"));
        assert!(ask(&ensemble, server, "crst").await.contains("reset"));
        assert!(ask(&ensemble, server, "srst").await.contains("reset"));
    }
    assert_eq!(watched, 1, "the client is connected to one server");
}

#[tokio::test]
async fn a_server_without_a_leader_serves_no_words_but_ruok() {
    let ensemble = ensemble(ServeOptions { speed: 20.0, ..ServeOptions::default() }).await;
    command(&ensemble, "partition 1 | 2 3").await;
    soon(async { while !ask(&ensemble, 1, "srvr").await.contains("not currently serving") {} })
        .await;
    assert_eq!(ask(&ensemble, 1, "ruok").await, "imok");
    assert!(ask(&ensemble, 2, "stat").await.contains("Mode: "));
}
