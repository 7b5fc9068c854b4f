//! The tool held wrong: whatever a user does, it ends in a right verdict or a sentence, never in a quiet
//! "held".

mod classes;
mod futures;
mod handles;
mod loops;
mod nondeterminism;
mod nothing;
mod numbers;
mod panics;
mod places;
mod setup;
mod twice;
#[cfg(feature = "explore")]
mod untrue;

use vivarium::prelude::*;
use vivarium::seeds::SeedRange;

/// Runs seeds 0 to `seeds`, and gives the sentence or the report that the test fails with.
fn fails(test: Test, seeds: u64) -> String {
    let seeds = SeedRange::count(seeds).expect("some");
    test.run_seeds(&seeds).expect_err("it should fail").to_string()
}

/// A test of clients that connect and do no more.
fn connects() -> Test {
    Test::new("connects", |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        Ok(())
    })
}
