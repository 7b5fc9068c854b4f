//! Every scenario holds in ensembles whose leaders soon have no zxid left (rule 4.1.2).

use std::ops::ControlFlow;
use vivarium::catalogue::{Entry, Switches, catalogue};
use vivarium_model::mark::Mark;
use vivarium_sim::{HostKind, RunOptions, SweepOptions, sweep};

/// Recipes and servers go on after each forced election. (`calm` asks that no role ends after the faults, but here they end.)
#[test]
fn every_scenario_holds_while_the_counter_runs_out_again_and_again() {
    let which = SweepOptions { seeds: 0..15, jobs: 2, keep_going: false };
    let options = RunOptions { host: HostKind::Direct, ..RunOptions::default() };
    let is_asked =
        |entry: &&Entry| entry.is_swept() && !entry.is_published() && entry.name != "calm";
    for entry in catalogue().iter().filter(is_asked) {
        let mut scenario = entry.scenario(&Switches::default());
        scenario.settings.servers.largest_counter = 15;
        let report = sweep(&scenario, &which, &options, &mut |_| ControlFlow::Continue(()));
        let violation = report.first_violation.and_then(|run| Some((run.seed, run.violation?)));
        assert!(violation.is_none(), "{}: {violation:?}", entry.name);
        let reached = report.totals.marks.get(&Mark::CounterExhausted).copied().unwrap_or(0);
        assert!(reached > 0, "{}: no leader ran out of zxids", entry.name);
    }
}
