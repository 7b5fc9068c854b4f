//! Servers of an older release refuse the operations that it does not know, and keep every promise otherwise (rule 4.2.2).

use std::ops::ControlFlow;
use vivarium::catalogue::Switches;
use vivarium_model::release::{Bugs, Release};
use vivarium_sim::{HostKind, RunOptions, Scenario, SweepOptions, sweep};

/// Returns the scenario over servers that know the operations of a release, and have none of its defects.
fn with_operations_of(name: &str, release: Release) -> Scenario {
    let switches = Switches { bugs: Bugs::NONE, release: Some(release), ..Switches::default() };
    let scenario = super::entry(name).scenario(&switches);
    assert_eq!(scenario.settings.servers.operations_of, release);
    scenario
}

/// Programs that use the newest operations are refused by old servers, and no property objects.
#[test]
fn what_a_release_does_not_know_is_refused_and_breaks_no_promise() {
    let which = SweepOptions { seeds: 0..150, jobs: 2, keep_going: false };
    let options = RunOptions { host: HostKind::Direct, ..RunOptions::default() };
    for (name, release) in [
        ("watches", Release::V3_4_14),
        ("access", Release::V3_4_14),
        ("watches", Release::V3_5_10),
        ("access", Release::V3_5_10),
        ("access", Release::V3_6_3),
    ] {
        let scenario = with_operations_of(name, release);
        let report = sweep(&scenario, &which, &options, &mut |_| ControlFlow::Continue(()));
        let violation = report.first_violation.and_then(|run| Some((run.seed, run.violation?)));
        assert!(violation.is_none(), "{name} with the operations of {release}: {violation:?}");
    }
}
