//! Programs that go by the machine they run on: a sweep tells of them although nothing fails.

use std::collections::HashMap;
use vivarium::TestFailure;
use vivarium::prelude::*;
use vivarium::seeds::SeedRange;

fn is_told(test: Test) {
    let held: Result<_, TestFailure> = test.run_seeds(&SeedRange::count(200).expect("some"));
    let text = held.expect_err("it is told").to_string();
    assert!(text.contains("run twice, gave two different runs: they differ first at step "), "{text}");
    assert!(text.contains("The same seed, run again, gave a different run"), "{text}");
}

#[test]
fn a_program_that_reads_the_clock_of_the_machine() {
    is_told(Test::new("wall clock", |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = now.expect("it is later").as_nanos().to_string();
        let _ = zookeeper.create("/a", now.as_bytes(), CreateMode::Persistent).await;
        Ok(())
    }));
}

#[test]
fn a_program_that_goes_by_the_order_of_a_hash_map() {
    is_told(Test::new("hash order", |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        let paths: HashMap<u32, String> = (0..16).map(|at| (at, format!("/a{at}"))).collect();
        for path in paths.values() {
            let _ = zookeeper.create(path, b"", CreateMode::Persistent).await;
        }
        Ok(())
    }));
}
