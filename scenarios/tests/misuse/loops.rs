//! Programs that loop without awaiting.

use super::fails;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use vivarium::prelude::*;

/// Ends the loops, once the test is over.
static RELEASED: AtomicBool = AtomicBool::new(false);

async fn loops(zookeeper: ZooKeeper) -> Result<(), String> {
    zookeeper.connect().await;
    let is_there = zookeeper.exists("/there").await;
    while is_there == Ok(None) && !RELEASED.load(Ordering::Relaxed) {
        std::thread::yield_now();
    }
    Ok(())
}

#[test]
fn a_program_that_loops_without_awaiting_is_named() {
    let begun = Instant::now();
    let text = fails(Test::new("loops", loops).clients(1), 10);
    let sentence = "client 1's program (or a property that receives its events) has not come back to an await \
                    for 10 s: does it loop without awaiting?";
    assert!(text.starts_with("loops: seed "), "{text}");
    assert!(text.ends_with(sentence), "{text}");
    #[cfg(feature = "explore")]
    {
        let test = || Test::new("loops", loops);
        let explored = test().explored(&Exploration::new().clients(1)).expect_err("it loops");
        let sentence = "loops: client 1's program, after the input \"NoNode (call 0)\", has not come back to \
                        an await for 10 s: does it loop without awaiting?";
        assert_eq!(explored.to_string(), sentence);
        // With a shorter time limit the error comes sooner.
        let begun = Instant::now();
        let exploration = Exploration::new().clients(1).max_time(Duration::from_secs(1));
        let explored = test().explored(&exploration).expect_err("it loops").to_string();
        assert!(explored.contains("has not come back to an await for 2 s"), "{explored}");
        assert!(begun.elapsed() < Duration::from_secs(8));
    }
    assert!(begun.elapsed() > Duration::from_secs(10));
    RELEASED.store(true, Ordering::Relaxed);
}
