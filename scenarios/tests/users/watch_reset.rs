//! Clients whose watches end with the connection (`zookeeper.disableAutoWatchReset`).

use vivarium::TestFailure;
use vivarium::prelude::*;
use vivarium::seeds::SeedRange;

const GO: &str = "/go";

/// Waits until another client has created the znode; with `looks_again`, looks again if the watch has ended with the
/// connection.
async fn waits(zookeeper: ZooKeeper, looks_again: bool) -> Result<(), String> {
    let seen = in_sessions(&zookeeper, |zookeeper, _| async move {
        loop {
            let (stat, mut watch) = until_known(&zookeeper, || zookeeper.exists_watch(GO)).await?;
            if stat.is_some() {
                return Ok(());
            }
            match watch.changed().await {
                Err(Error::ConnectionLoss) if looks_again => zookeeper.custom("watch lost", &[]),
                event => drop(event?),
            }
        }
    });
    seen.await.map_err(|error| error.to_string())
}

async fn makes(zookeeper: ZooKeeper) -> Result<(), String> {
    let made = in_sessions(&zookeeper, |zookeeper, _| async move {
        let create = || zookeeper.create(GO, b"", CreateMode::Persistent);
        match until_known(&zookeeper, create).await {
            Ok(_) | Err(Error::NodeExists) => Ok(()),
            Err(error) => Err(error),
        }
    });
    made.await.map_err(|error| error.to_string())
}

fn signals(looks_again: bool) -> Test {
    let options = ClientOptions::new().disable_auto_watch_reset();
    let waiter = Role::new("waits", move |zookeeper| waits(zookeeper, looks_again));
    Test::of_roles("signals", [waiter.client_options(options), Role::new("makes", makes)])
}

#[test]
fn a_lost_connection_ends_watches() {
    match signals(false).faults(Faults::ALL).run_seeds(&SeedRange::count(1000).expect("some")) {
        Err(TestFailure::Violated(finding)) => {
            let saw = finding.violation.objection.saw;
            assert!(saw.contains("client 1 returned an error"), "{saw}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn who_looks_again_is_woken() {
    signals(true).faults(Faults::ALL).must_see("watch lost").seeds(1000).run();
}

#[cfg(feature = "explore")]
mod explored {
    use super::*;

    #[test]
    fn a_lost_connection_ends_watches() {
        let report = signals(false).explored(&Exploration::new().lost(1)).expect("it can be");
        let violation = report.verdict.violation().expect("the watch fails");
        assert!(violation.objection.saw.contains("client 1"), "{}", violation.objection.saw);
    }

    #[test]
    fn who_looks_again_is_woken_in_every_order() {
        for exploration in [Exploration::new().lost(2), Exploration::new().expiries(1).lost(1)] {
            signals(true).must_see("watch lost").explore(&exploration);
        }
    }
}
