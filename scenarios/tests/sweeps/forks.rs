//! Forks of recorded runs are runs: nothing that was under way at the fork is forgotten, and nothing happens that could
//! not happen without it.

use crate::{case, entry};
use proptest::prelude::*;
use vivarium::catalogue::Switches;
use vivarium_model::case::Case;
use vivarium_sim::forked::Recording;
use vivarium_sim::{HostKind, RunOptions, Scenario, replay};

const KEPT: RunOptions = RunOptions { host: HostKind::Direct, keep_steps: true, trace_last: 0 };

fn scenario(name: &str) -> Scenario {
    (entry(name).build)(&Switches::default())
}

#[test]
fn a_fork_before_the_first_step_is_the_run_of_its_seed() {
    for name in ["lock", "queue", "churn"] {
        let scenario = scenario(name);
        for seed in 0..5 {
            let run = vivarium_sim::run(&scenario, seed, &KEPT);
            let case = case(&run, name);
            let recording = Recording::new(&scenario, &case).expect("a sound case").with_faults();
            assert_eq!(recording.fork(0, seed, &KEPT).hash, run.hash, "{name}, seed {seed}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// A fork that forgot a packet, a timer or the end of a fault would end without progress; one that took something
    /// twice would violate a property of the servers.
    #[test]
    fn forks_of_sound_programs_hold_and_replay(
        name in prop::sample::select(vec!["lock", "queue", "leader", "double-barrier", "node-cache", "churn", "watches"]),
        seed in 0..10_000u64,
        other in 0..10_000u64,
        part in 0.0..1.0f64,
        has_faults: bool,
    ) {
        let scenario = scenario(name);
        let run = vivarium_sim::run(&scenario, seed, &KEPT);
        prop_assert!(run.violation.is_none(), "{name}, seed {seed}: {:?}", run.violation);
        let whole = case(&run, name);
        let recording = Recording::new(&scenario, &whole).expect("a sound case");
        let recording = if has_faults { recording.with_faults() } else { recording };
        let taken = (part * recording.len() as f64) as usize;
        let fork = recording.fork(taken, other, &KEPT);
        prop_assert_eq!(&fork.recorded[..taken], &whole.steps[..taken]);
        prop_assert!(
            fork.violation.is_none(),
            "{}, seed {}, {} steps, then seed {}: {:?}", name, seed, taken, other, fork.violation
        );
        let forked = case(&fork, name);
        let again = replay(&scenario, &Case { seed: Some(seed), ..forked }, &KEPT).expect("a sound case");
        prop_assert!(again.same, "{} steps skipped", again.skipped.len());
    }
}
