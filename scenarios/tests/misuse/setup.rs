//! The setup exists from the start in every view, in both engines.

use super::{connects, fails};
use vivarium::prelude::*;

/// Reads repeatedly, from any server; and writes, so that servers lag.
async fn looks(zookeeper: ZooKeeper) -> Result<(), String> {
    for _ in 0..4 {
        zookeeper.connect().await;
        match zookeeper.get_data("/tasks/open").await {
            Ok((data, _stat)) if data.is_empty() => {}
            Ok((data, _stat)) => return Err(format!("/tasks/open holds {data:?}")),
            Err(Error::NoNode) => return Err("/tasks/open was not there".to_string()),
            Err(Error::ConnectionLoss) => continue,
            Err(Error::SessionExpired) => return Ok(()),
            Err(error) => return Err(error.to_string()),
        }
        let task = zookeeper.create("/tasks/open/t", b"", CreateMode::PersistentSequential).await;
        if let Err(Error::NoNode) = task {
            return Err("/tasks/open was not there".to_string());
        }
    }
    Ok(())
}

fn looking() -> Test {
    Test::new("looking", looks).setup("/tasks").setup("/tasks/open")
}

#[test]
fn a_sweep_begins_with_it_whatever_is_lost() {
    looking().faults(Faults::ALL).seeds(150).run();
}

#[cfg(feature = "explore")]
#[test]
fn a_search_begins_with_it_whatever_is_lost() {
    let exploration = Exploration::new().clients(2).lost(1).expiries(1);
    let once = |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        match zookeeper.get_data("/tasks/open").await {
            Err(Error::NoNode) => Err("/tasks/open was not there".to_string()),
            _ => Ok(()),
        }
    };
    // The setup can be given by the test, by the search, or by both.
    let test = || Test::new("looking", once).setup("/tasks");
    test().setup("/tasks/open").explore(&exploration);
    test().explore(&exploration.clone().setup("/tasks").setup("/tasks/open"));
    let without = test().explored(&exploration).expect("it can be").verdict;
    assert!(without.violation().is_some(), "{without}");
}

#[test]
fn who_looks_for_more_is_told() {
    let text = fails(Test::new("looking", looks).setup("/tasks"), 5);
    assert!(text.contains("/tasks/open was not there"), "{text}");
}

#[test]
fn what_cannot_be_there_is_refused() {
    let refused = |paths: &[&str]| {
        let test = paths.iter().fold(connects(), |test, path| test.setup(path));
        fails(test, 1)
    };
    let nonsense = refused(&["nonsense"]);
    assert!(nonsense.starts_with("connects: `setup`: `nonsense` is not the path"), "{nonsense}");
    let orphan = "connects: `setup`: `/a/b` has no parent: name `/a` before it";
    assert_eq!(refused(&["/a/b"]), orphan);
    let own = "connects: `setup`: `/zookeeper/quota` is ZooKeeper's own";
    assert_eq!(refused(&["/zookeeper/quota"]), own);
    let twice = "connects: `setup`: `/a` is named twice: name each znode once";
    assert_eq!(refused(&["/a", "/a"]), twice);
}

#[cfg(feature = "explore")]
#[test]
fn a_search_refuses_it_too() {
    let asked = Exploration::new().setup("nonsense");
    let refused = connects().explored(&asked).expect_err("it is no path").to_string();
    assert!(refused.starts_with("connects: `setup`: `nonsense` is not the path"), "{refused}");
}
