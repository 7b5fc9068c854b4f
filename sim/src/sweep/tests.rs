//! Sweeps over the toy world.

use super::*;
use crate::run::record::Keep;
use crate::scenario::faults::FaultSet;
use crate::seeded::drawn::Drawn;
use crate::seeded::driver::simulate;
use crate::seeded::mock::{Defects, Mock, scenario};

fn run(seed: u64, is_defect: bool) -> Closed {
    let drawn = Drawn::draw(&scenario(FaultSet::all()), seed);
    let objection = is_defect.then_some(100);
    let defects = Defects { objection, ..Defects::default() };
    simulate(Mock::new(&drawn, defects), &drawn, Keep::default())
}

fn sweep(jobs: usize, keep_going: bool, bad: &[u64]) -> (SweepReport, Vec<u64>) {
    let options = SweepOptions { seeds: 10..60, jobs, keep_going };
    let mut seen = Vec::new();
    let run = |seed| run(seed, bad.contains(&seed));
    let (report, _) = sweep_with(&options, &run, &mut |totals| {
        seen.push(totals.seeds);
        ControlFlow::Continue(())
    });
    (report, seen)
}

#[test]
fn totals_are_the_same_for_any_number_of_jobs() {
    let (one, seen) = sweep(1, false, &[]);
    assert_eq!(one.totals.seeds, 50);
    assert_eq!(seen, (1..=50).collect::<Vec<_>>());
    assert!(one.first_violation.is_none() && one.totals.violating.is_empty());
    for jobs in [2, 3, 8] {
        assert_eq!(sweep(jobs, false, &[]).0.totals, one.totals);
    }
}

#[test]
fn the_first_violation_is_that_of_the_lowest_seed() {
    let (one, _) = sweep(1, false, &[50, 33, 41]);
    assert!(one.totals.violating.keys().eq(&[33]));
    assert_eq!(one.totals.seeds, 24, "seeds 10 to 33");
    for jobs in [2, 8] {
        let (many, _) = sweep(jobs, false, &[50, 33, 41]);
        assert_eq!(many.totals, one.totals);
        assert_eq!(many.first_violation.unwrap().seed, 33);
    }
}

#[test]
fn a_sweep_that_goes_on_counts_all_violations() {
    let (report, _) = sweep(2, true, &[50, 33, 41]);
    assert!(report.totals.violating.keys().eq(&[33, 41, 50]));
    assert_eq!(report.totals.seeds, 50);
    assert_eq!(report.first_violation.unwrap().seed, 33);
}

#[test]
fn the_caller_can_stop_a_sweep() {
    let options = SweepOptions { seeds: 0..1_000_000, jobs: 2, keep_going: false };
    let (report, _) = sweep_with(&options, &|seed| run(seed, false), &mut |totals| {
        if totals.seeds == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(report.stopped);
    assert_eq!(report.totals.seeds, 5);
}

#[test]
fn no_seeds_no_runs() {
    let options = SweepOptions { seeds: 7..7, jobs: 2, keep_going: false };
    let (report, _) =
        sweep_with(&options, &|seed| run(seed, false), &mut |_| ControlFlow::Break(()));
    assert_eq!(report.totals, Totals::default());
    assert!(!report.stopped);
}
