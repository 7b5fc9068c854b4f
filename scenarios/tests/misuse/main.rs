//! Misuse of the tool: every mistake of a user ends in a correct verdict or an error, never in a silent "held".

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

/// Runs seeds 0 to `seeds`, and returns the error or the report with which the test fails.
fn fails(test: Test, seeds: u64) -> String {
    let seeds = SeedRange::count(seeds).expect("some");
    test.run_seeds(&seeds).expect_err("it should fail").to_string()
}

/// Returns a test of clients that only connect.
fn connects() -> Test {
    Test::new("connects", |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        Ok(())
    })
}
