//! Counting what runs reach changes no run.

use crate::entry;
use std::ops::ControlFlow;
use std::sync::Arc;
use vivarium::catalogue::{Switches, catalogue};
use vivarium_model::release::Bug;
use vivarium_sim::covered::covered;
use vivarium_sim::{HostKind, RunOptions, Scenario, SweepOptions};

const SEEDS: u64 = 12;

/// Compares the runs of a sweep with those that are counted.
fn same_runs(scenario: &Scenario, host: HostKind) {
    let seeds = SweepOptions { seeds: 0..SEEDS, jobs: 2, keep_going: true };
    let options = RunOptions { host, ..RunOptions::default() };
    let plain = vivarium_sim::sweep(scenario, &seeds, &options, &mut |_| ControlFlow::Continue(()));
    let counted =
        covered(scenario, &seeds, host, &Arc::default(), &mut |_| ControlFlow::Continue(()));
    let (plain, counted) = (plain.totals, counted.totals);
    assert_eq!(plain.hash, counted.hash, "{} under {host}", scenario.name);
    assert_eq!(plain.violating, counted.violating, "{} under {host}", scenario.name);
    assert_eq!(plain.marks, counted.marks, "{} under {host}", scenario.name);
}

#[test]
fn counting_changes_no_run() {
    for entry in catalogue().iter().filter(|entry| entry.is_swept()) {
        same_runs(&(entry.build)(&Switches::default()), HostKind::Direct);
    }
    same_runs(&(entry("lock").build)(&Switches::default()), HostKind::default());
}

/// The violations of a defect stay what they are, and end no count.
#[test]
fn counting_goes_on_after_a_violation() {
    let bugs = vivarium_model::release::Bugs::NONE.with(Bug::PlantedWrongXid);
    let scenario = (entry("churn").build)(&Switches { bugs, ..Switches::default() });
    same_runs(&scenario, HostKind::Direct);
}

/// A recipe's awaits are named by the lines of its source, the innermost one first, up to the worker that uses it.
#[test]
fn awaits_are_lines_of_programs_only() {
    let scenario = (entry("lock").build)(&Switches::default());
    let seeds = SweepOptions { seeds: 0..SEEDS, jobs: 2, keep_going: true };
    let go_on = &mut |_: &_| ControlFlow::Continue(());
    let counted = covered(&scenario, &seeds, HostKind::Direct, &Arc::default(), go_on);
    assert!(counted.awaits.len() > 5, "{:?}", counted.awaits);
    for found in &counted.awaits {
        let places = &found.places;
        assert!(!places.is_empty(), "{found:?}");
        let is_of_program = |place: &String| place.contains("recipes/src/");
        assert!(places.iter().all(is_of_program), "{places:?}");
    }
}
