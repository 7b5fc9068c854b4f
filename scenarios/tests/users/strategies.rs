//! proptest draws and shrinks scripts and sets of faults.

use crate::script::hasty;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use vivarium::TestFailure;
use vivarium::prelude::*;
use vivarium::strategies::{kinds_of_faults, scripts};
use vivarium_sim::scenario::script::Script;

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
    let config = Config { cases: 3_000, failure_persistence: None, ..Config::default() };
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, random);
    match runner.run(strategy, is_held) {
        Err(TestError::Fail(_, smallest)) => smallest,
        other => panic!("nothing failed: {other:?}"),
    }
}

#[test]
fn a_script_that_shows_a_mistake_shrinks_to_one_rule() {
    let is_held = |script: Script| holds(hasty().script(&script.to_string()), 1);
    let script = smallest(&scripts(3, 1), is_held);
    assert_eq!(script.rules().len(), 1, "{script}");
}

#[test]
fn a_set_of_faults_that_shows_a_mistake_shrinks_to_one_kind() {
    let faults =
        smallest(&kinds_of_faults(Faults::ALL), |faults| holds(hasty().faults(faults), 30));
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
