//! The driver on the toy world.

use super::simulate;
use crate::recorded::replay::{Ended, ReplayIn, Timers, replay_in};
use crate::run::record::Keep;
use crate::run::{RunOptions, RunReport};
use crate::scenario::faults::FaultSet;
use crate::scenario::faults::{Fault, Rate};
use crate::seeded::drawn::Drawn;
use crate::seeded::mock::{Defects, Mock, scenario};
use std::collections::BTreeMap;
use vivarium_model::id::ClientId;
use vivarium_model::property::Objection;
use vivarium_model::step::Step;
use vivarium_model::time::{Duration, Time};

fn run(seed: u64, faults: FaultSet, defects: Defects, keep: Keep) -> RunReport {
    let drawn = Drawn::draw(&scenario(faults), seed);
    simulate(Mock::new(&drawn, defects), &drawn, keep).report
}

fn sound(seed: u64, faults: FaultSet) -> RunReport {
    run(seed, faults, Defects::default(), Keep::default())
}

#[test]
fn a_sound_world_holds_under_all_faults_and_every_fault_strikes() {
    let mut struck = BTreeMap::new();
    for seed in 0..200 {
        let report = sound(seed, FaultSet::all());
        assert_eq!(report.violation, None, "seed {seed}\n{}", report.options_text);
        for (fault, count) in report.struck {
            *struck.entry(fault).or_insert(0) += count;
        }
    }
    // The toy has no learners, elections, containers, or sessions that could expire, and nothing to cancel.
    for fault in Fault::ALL {
        let is_absent = matches!(
            fault,
            Fault::LearnerReset
                | Fault::SessionExpiry
                | Fault::Cancellation
                | Fault::SyncCrash
                | Fault::SyncBreak
                | Fault::SyncFsyncError
                | Fault::SlowSync
                | Fault::ElectionCrash
                | Fault::CounterWrap
                | Fault::ContainerDeletion
        );
        assert_eq!(struck.contains_key(&fault), !is_absent, "{fault}: {struck:?}");
    }
}

#[test]
fn a_run_is_a_function_of_its_seed() {
    for seed in 0..20 {
        let (one, other) = (sound(seed, FaultSet::all()), sound(seed, FaultSet::all()));
        assert_eq!((one.hash, one.steps, one.struck), (other.hash, other.steps, other.struck));
        assert_ne!(one.hash, sound(seed + 1, FaultSet::all()).hash);
    }
}

#[test]
fn the_options_of_records_do_not_change_the_run() {
    let keep = RunOptions { keep_steps: true, trace_last: 10, ..RunOptions::default() };
    let kept = run(3, FaultSet::all(), Defects::default(), keep.into());
    assert_eq!(kept.hash, sound(3, FaultSet::all()).hash);
    assert_eq!(kept.recorded.len() as u64, kept.steps);
    assert_eq!(kept.trace.len(), 10);
    assert_eq!(kept.trace.last().map(|line| line.number), Some(kept.steps));
}

#[test]
fn without_faults_nothing_fails() {
    let keep = Keep { steps: true, ..Keep::default() };
    for seed in 0..20 {
        let report = run(seed, FaultSet::NONE, Defects::default(), keep.clone());
        assert_eq!(report.violation, None);
        assert!(report.struck.is_empty() && report.disruptions.is_empty());
        assert!(!report.recorded.iter().any(|(_, step)| step.is_fault()));
    }
}

#[test]
fn a_program_that_never_ends_is_a_violation_that_says_who_waits_for_what() {
    let deaf = Defects { deaf: Some(ClientId(1)), ..Defects::default() };
    let report = run(1, FaultSet::NONE, deaf, Keep::default());
    let objection = report.violation.expect("client 1 never finishes").objection;
    insta::assert_snapshot!(objection, @"progress: 20s after all faults were healed: client 1: 301 rounds to go; server 1: serving; server 2: serving; server 3: serving");
    assert!(report.simulated >= Duration::from_secs(25), "chaos and bound must have passed");
}

#[test]
fn a_program_that_returns_an_error_is_a_violation() {
    let failing = Defects { failing: Some(ClientId(2)), ..Defects::default() };
    let violation = run(1, FaultSet::NONE, failing, Keep::default()).violation.unwrap();
    insta::assert_snapshot!(violation.objection, @"program: the program of client 2 returned an error: out of luck");
}

#[test]
fn an_objection_ends_the_run_at_its_step() {
    let defects = Defects { objection: Some(33), ..Defects::default() };
    let keep = Keep { steps: true, ..Keep::default() };
    let report = run(1, FaultSet::all(), defects, keep);
    let violation = report.violation.expect("the objection");
    assert_eq!((violation.step, violation.seed), (33, Some(1)));
    assert_eq!((violation.at, violation.hash), (report.recorded[32].0, report.hash));
    assert_eq!(report.recorded.len(), 33);
}

#[test]
fn a_failed_assertion_of_the_model_is_a_violation_with_a_seed() {
    let defects = Defects { panic: Some(33), ..Defects::default() };
    let report = run(1, FaultSet::all(), defects, Keep { steps: true, ..Keep::default() });
    let violation = report.violation.expect("the panic");
    assert_eq!(violation.objection.property, "assertion");
    assert!(violation.objection.saw.contains("a planted panic"), "{}", violation.objection.saw);
    assert_eq!((violation.step, report.recorded.len()), (33, 33));
}

#[test]
fn a_recording_is_the_same_run() {
    let keep = Keep { steps: true, ..Keep::default() };
    let deaf = Defects { deaf: Some(ClientId(1)), ..Defects::default() };
    let late = Defects { objection: Some(500), ..Defects::default() };
    let broken = Defects { panic: Some(500), ..Defects::default() };
    for (seed, defects) in [(7, Defects::default()), (8, deaf), (9, late), (10, broken)] {
        let report = run(seed, FaultSet::all(), defects, keep.clone());
        let drawn = Drawn::draw(&scenario(FaultSet::all()), seed);
        let expected = report.violation.as_ref().map(|violation| &violation.objection);
        let world = Mock::new(&drawn, defects);
        let Ended { closed: again, skipped, .. } =
            replay_in(world, replayed(&drawn, &report.recorded, expected));
        assert_eq!((again.report.hash, skipped.as_slice()), (report.hash, &[][..]));
        let property = |report: &RunReport| {
            report.violation.as_ref().map(|violation| violation.objection.property.clone())
        };
        assert_eq!(property(&again.report), property(&report), "seed {seed}");
    }
}

#[test]
fn a_step_that_is_not_possible_on_replay_is_skipped_and_reported() {
    let keep = Keep { steps: true, ..Keep::default() };
    let mut steps = run(7, FaultSet::NONE, Defects::default(), keep).recorded;
    let impossible = (steps[9].0, Step::Resume(ClientId(1)));
    steps.insert(10, impossible);
    let drawn = Drawn::draw(&scenario(FaultSet::NONE), 7);
    let world = Mock::new(&drawn, Defects::default());
    let Ended { skipped, .. } = replay_in(world, replayed(&drawn, &steps, None));
    assert_eq!(skipped, [(11, impossible.0, impossible.1)]);
}

/// Slow reactions and priorities would keep some of these programs from finishing within the bound, so they must end
/// with the faults.
#[test]
fn slow_reactions_and_priorities_end_with_the_faults() {
    let slow = FaultSet::NONE
        .with_rate(Fault::SlowReactions, Rate::ALWAYS)
        .with_rate(Fault::Priorities, Rate::ALWAYS);
    let mut unfinished = 0;
    for seed in 0..200 {
        let drawn = Drawn::draw(&scenario(slow), seed);
        let keep = Keep { steps: true, ..Keep::default() };
        let report = simulate(Mock::new(&drawn, Defects::default()), &drawn, keep).report;
        assert_eq!(report.violation, None, "seed {seed}\n{}", report.options_text);
        let fast = run(seed, FaultSet::NONE, Defects::default(), Keep::default()).simulated;
        let latest = drawn.run.chaos.max(fast) + drawn.pace.longest() + fast;
        assert!(report.simulated <= latest, "seed {seed}: {:?}", report.simulated);
        unfinished += u32::from(report.simulated > drawn.run.chaos + 2 * drawn.run.config.tick);
    }
    assert!(unfinished > 50, "{unfinished} runs come so far that it matters");
}

#[test]
fn a_seed_without_slow_reactions_and_priorities_gives_the_same_run_as_before() {
    let without = FaultSet::ALL.without(Fault::SlowReactions).without(Fault::Priorities);
    let (mut fast, mut different) = (0, 0);
    for seed in 0..60 {
        let drawn = Drawn::draw(&scenario(FaultSet::ALL), seed);
        let before = Drawn::draw(&scenario(without), seed);
        assert_eq!(drawn.plan, before.plan);
        let is_same = sound(seed, FaultSet::ALL).hash == sound(seed, without).hash;
        assert!(is_same || !drawn.pace.is_empty(), "seed {seed}");
        fast += u32::from(drawn.pace.is_empty());
        different += u32::from(!is_same);
    }
    assert!((15..40).contains(&fast), "{fast} of 60");
    assert!(different + fast > 55, "{different} of the others are other runs");
}

/// A replay of these steps, without its text.
fn replayed<'a>(
    drawn: &'a Drawn,
    steps: &'a [(Time, Step)],
    expected: Option<&'a Objection>,
) -> ReplayIn<'a> {
    let (run, options_text, keep) = (&drawn.run, String::new(), Keep::default());
    ReplayIn { run, options_text, steps, expected, timers: Timers::AsRecorded, keep }
}
