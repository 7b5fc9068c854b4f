//! The reports of searches: bounds in the user's words, and what was searched.

use std::time::Instant;
use vivarium::prelude::*;

/// Repeatedly draws random numbers and depends on them: its search is repeated several times.
fn draws() -> Test {
    Test::new("draws", |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        for _ in 0..20 {
            let path = format!("/a{}", zookeeper.random().await % 5);
            let _ = zookeeper.create(&path, b"", CreateMode::Ephemeral).await;
            zookeeper.sleep(Duration::from_millis(10)).await;
            let _ = zookeeper.delete(&path, Version::Any).await;
        }
        Ok(())
    })
}

/// A loop of rounds, with many requests in each.
fn goes_round() -> Test {
    Test::rounds("goes round", 0, |zookeeper: ZooKeeper, round: u32| async move {
        zookeeper.connect().await;
        for at in 0..12 {
            let path = format!("/a{}", at % 3);
            let _ = zookeeper.create(&path, b"", CreateMode::Persistent).await;
            let _ = zookeeper.set_data(&path, b"x", Version::Any).await;
            let _ = zookeeper.delete(&path, Version::Any).await;
        }
        Ok(Round::Again((round + 1) % 7))
    })
}

/// The limit holds for any number of searches, whatever they are doing when the time is over.
#[test]
fn a_bound_of_time_is_kept_and_told_as_it_was_asked_for() {
    for make in [draws, goes_round] {
        for exploration in [
            Exploration::new().clients(3).lost(2).kills(1),
            Exploration::new().clients(2).lost(3).expiries(2).depth_first(),
            Exploration::new().clients(3).lost(1).without_reductions(),
        ] {
            let begun = Instant::now();
            let exploration = exploration.unbounded().max_time(Duration::from_secs(2));
            let verdict = make().explored(&exploration).expect("it can be").verdict;
            let text = verdict.to_string();
            assert!(text.starts_with("inconclusive: stopped by 2 seconds after "), "{text}");
            let over = begun.elapsed().saturating_sub(Duration::from_secs(2));
            assert!(over < Duration::from_secs(1), "{over:?} too long");
        }
    }
}

/// A test that passes can print what was included and what was left out.
#[test]
fn a_report_shows_what_was_looked_at() {
    let test = Test::new("connects", |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        Ok(())
    });
    let report = test.explore(&Exploration::new().clients(2).lost(1));
    let text = report.to_string();
    for row in ["what can vary", "fates of a lost reply", "session expiry", "clock", "session ids"]
    {
        assert!(text.contains(row), "{row}: {text}");
    }
    assert!(text.contains("connects: held in all "), "{text}");
    assert!(report.dimension("fates of a lost reply").expect("a row").is_in);
    let expiry = report.dimension("session expiry").expect("a row");
    assert!(!expiry.is_in && expiry.says.contains("--expiries"), "{expiry:?}");
    assert_eq!(report.dimension("the weather"), None);
}

/// The report of a violated condition shows the tree.
#[test]
fn a_tree_that_a_condition_does_not_hold_of_is_shown() {
    let test = Test::new("two znodes", |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        let _ = zookeeper.create("/a", b"first", CreateMode::Persistent).await;
        let _ = zookeeper.create("/b", b"", CreateMode::Ephemeral).await;
        Ok(())
    });
    let one = tree_always("one znode", |tree: Tree<'_>| !(tree.has("/a") && tree.has("/b")));
    let verdict = test.monitor(one).explored(&Exploration::new()).expect("it can be").verdict;
    let saw = &verdict.violation().expect("there are two").objection.saw;
    assert!(saw.starts_with("it does not hold of the tree as of "), "{saw}");
    assert!(saw.contains(": /a \"first\", /b (ephemeral of 0x"), "{saw}");
}

/// The report names a wait for the session's next event as such.
#[test]
fn a_wait_for_session_events_is_told_as_that() {
    let make = || {
        Test::new("waits", |zookeeper: ZooKeeper| async move {
            let mut events = zookeeper.session_events();
            zookeeper.connect().await;
            loop {
                events.next().await;
            }
        })
    };
    let verdict = make().explored(&Exploration::new()).expect("it can be").verdict;
    let saw = verdict.violation().expect("it waits for ever").objection.saw.clone();
    let seeds = vivarium::seeds::SeedRange::only(0);
    let failure = make().clients(1).finishes_within(Duration::from_secs(60)).run_seeds(&seeds);
    let failure = failure.expect_err("it waits for ever");
    let swept = &failure.finding().expect("it is a violation").violation.objection.saw;
    for saw in [&saw, swept] {
        assert!(saw.contains("the next event of its session (it is connected to server"), "{saw}");
        assert!(!saw.contains("waits for nothing"), "{saw}");
    }
}
