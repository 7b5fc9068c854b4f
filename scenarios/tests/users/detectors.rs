//! The properties of programs that every test checks: no program repeats the same request without end, waits for
//! itself, or waits for an event that has already happened.

use std::time::Duration;
use vivarium::prelude::*;
use vivarium::seeds::SeedRange;

/// Returns the message with which a test fails; there are no faults.
fn fails(test: Test) -> String {
    let calm = test.clients(2).faults(Faults::NONE).finishes_within(Duration::from_secs(20));
    let seeds = SeedRange::count(20).expect("some");
    calm.run_seeds(&seeds).expect_err("it should fail").to_string()
}

fn told(sentence: &str, words: &str) {
    assert!(sentence.contains(words), "{words:?} is not in:\n{sentence}");
}

/// Client 2 creates, after some time, the znode that client 1 waits for.
async fn makes(zookeeper: ZooKeeper) -> Result<(), String> {
    zookeeper.connect().await;
    zookeeper.sleep(Duration::from_secs(30)).await;
    let made = zookeeper.create("/go", b"", CreateMode::Persistent).await;
    made.map(drop).map_err(|error| error.to_string())
}

/// Waits for the znode by polling, with this pause.
async fn asks(zookeeper: ZooKeeper, pause: Duration) -> Result<(), String> {
    zookeeper.connect().await;
    loop {
        match zookeeper.exists("/go").await {
            Ok(Some(_)) => return Ok(()),
            Ok(None) | Err(Error::ConnectionLoss) if pause > Duration::ZERO => {
                zookeeper.sleep(pause).await;
            }
            Ok(None) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
}

fn asking(pause: Duration) -> Test {
    Test::new("asking", move |zookeeper: ZooKeeper| async move {
        match zookeeper.client().0 {
            1 => asks(zookeeper, pause).await,
            _ => makes(zookeeper).await,
        }
    })
}

/// The program ends, and no other property is violated: without this property the test would pass.
#[test]
fn a_program_that_asks_without_end_is_told_of() {
    let sentence = fails(asking(Duration::ZERO).finishes_within(Duration::from_secs(60)));
    told(&sentence, "livelock");
    told(&sentence, "client 1 received the same answer to exists /go 1001 times");
}

#[test]
fn one_that_sleeps_in_between_may_do_so() {
    let calm = asking(Duration::from_millis(200)).clients(2).faults(Faults::NONE);
    calm.seeds(20).run();
}

/// The program considers its own znode its predecessor's.
#[test]
fn one_that_waits_for_its_own_znode_waits_for_itself() {
    let test = Test::new("waits for itself", |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        let own = zookeeper.create("/lock/x-", b"", CreateMode::EphemeralSequential).await;
        let own = own.map_err(|error| error.to_string())?;
        let (_, mut watch) =
            zookeeper.exists_watch(&own.0).await.map_err(|error| error.to_string())?;
        watch.changed().await.map(drop).map_err(|error| error.to_string())
    });
    let sentence = fails(test.setup("/lock"));
    told(&sentence, "progress");
    told(&sentence, "is its own znode, so it waits for itself");
}

/// A client checks whether the other one's znode is gone, and sets its watch by a second call, whose answer it
/// ignores: if the znode is deleted in between, the watch waits for its creation.
#[test]
fn one_that_looks_and_then_watches_waits_for_what_has_happened() {
    let test = Test::new("looks, then watches", |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        if zookeeper.client().0 == 2 {
            zookeeper.sleep(Duration::from_millis(20)).await;
            let gone = zookeeper.delete("/busy", Version::Any).await;
            return gone.map_err(|error| error.to_string());
        }
        while zookeeper.exists("/busy").await.map_err(|error| error.to_string())?.is_some() {
            let watch = zookeeper.exists_watch("/busy").await.map_err(|error| error.to_string())?;
            let mut watch = watch.1;
            watch.changed().await.map_err(|error| error.to_string())?;
        }
        Ok(())
    });
    let calm = test.setup("/busy").clients(2).faults(Faults::NONE);
    let seeds = SeedRange::count(500).expect("some");
    let sentence = calm.run_seeds(&seeds).expect_err("it should fail").to_string();
    told(&sentence, "client 1: the watch on /busy to fire");
}

/// The same in a search.
#[cfg(feature = "explore")]
#[test]
fn a_search_says_why_nobody_wakes_it() {
    let test = Test::new("waits for itself", |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        let own = zookeeper.create("/lock/x-", b"", CreateMode::EphemeralSequential).await;
        let Ok(own) = own else { return Ok(()) };
        let Ok((_, mut watch)) = zookeeper.exists_watch(&own.0).await else { return Ok(()) };
        watch.changed().await.map(drop).map_err(|error| error.to_string())
    });
    let failed = test.setup("/lock").explored(&Exploration::new().clients(1));
    let report = failed.expect("it can be explored");
    told(&report.verdict.to_string(), "is its own znode, so it waits for itself");
}

/// A run ends soon after its programs: for every seed, the znodes of their sessions still exist.
#[test]
fn what_an_ended_program_has_left_is_still_there() {
    let test = Test::new("leaves", |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        let here = format!("/here-{}", zookeeper.client().0);
        let made = zookeeper.create(&here, b"", CreateMode::Ephemeral).await;
        made.map(drop).map_err(|error| error.to_string())
    });
    let both = |tree: Tree<'_>| tree.has("/here-1") && tree.has("/here-2");
    test.clients(2)
        .faults(Faults::NONE)
        .monitor(tree_at_end("both are here", both))
        .seeds(60)
        .run();
}
