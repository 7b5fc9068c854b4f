//! proptest draws and shrinks scripts and sets of faults.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};
use vivarium::TestFailure;
use vivarium::prelude::*;
use vivarium::strategies::{kinds_of_faults, scripts};
use vivarium_sim::scenario::script::Script;

/// Creates a znode, again after each failure: two if the reply to the first create was lost.
async fn hasty(zookeeper: ZooKeeper) -> Result<(), String> {
    loop {
        zookeeper.connect().await;
        let mode = CreateMode::PersistentSequential;
        if zookeeper.create("/once-", b"", mode).await.is_ok() {
            return Ok(());
        }
    }
}

fn test() -> Test {
    let one = tree_at_end("one znode each", |tree: Tree<'_>| {
        tree.children("/").iter().filter(|name| name.starts_with("once-")).count() == 1
    });
    Test::new("hasty", hasty).clients(1).monitor(one)
}

fn holds(test: Test, seeds: u64) -> Result<(), TestCaseError> {
    match test.run_seeds(&SeedRange::count(seeds).expect("some")) {
        Err(failure @ TestFailure::Violated(_)) => Err(TestCaseError::fail(failure.to_string())),
        Err(failure @ TestFailure::Refused { .. }) => panic!("{failure}"),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn smallest<S: Strategy>(
    strategy: &S,
    is_held: impl Fn(S::Value) -> Result<(), TestCaseError>,
) -> S::Value {
    let mut runner =
        TestRunner::new(Config { cases: 3_000, failure_persistence: None, ..Config::default() });
    match runner.run(strategy, is_held) {
        Err(TestError::Fail(_, smallest)) => smallest,
        other => panic!("nothing failed: {other:?}"),
    }
}

#[test]
fn a_script_that_shows_a_mistake_shrinks_to_one_rule() {
    let is_held = |script: Script| holds(test().script(&script.to_string()), 1);
    let script = smallest(&scripts(3, 1), is_held);
    assert_eq!(script.rules().len(), 1, "{script}");
}

#[test]
fn a_set_of_faults_that_shows_a_mistake_shrinks_to_one_kind() {
    let faults = smallest(&kinds_of_faults(Faults::ALL), |faults| holds(test().faults(faults), 30));
    assert_eq!(faults.iter().count(), 1, "{faults:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn scripts_are_never_refused(script in scripts(3, 2), faults in kinds_of_faults(Faults::ALL)) {
        prop_assert_eq!(script.to_string().parse::<Script>(), Ok(script.clone()));
        let idle = Test::new("idle", |zookeeper: ZooKeeper| async move {
            zookeeper.connect().await;
            Ok(())
        });
        holds(idle.clients(2).faults(faults).script(&script.to_string()), 2)?;
    }
}
