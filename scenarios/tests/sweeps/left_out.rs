//! What a minimisation leaves out of a run makes no violation: of the runs of sound scenarios, nothing that it accepts
//! as a violation can be made by leaving out steps, faults or programs.

use crate::{case, entry};
use proptest::prelude::*;
use vivarium::catalogue::Switches;
use vivarium_model::case::Case;
use vivarium_model::id::ClientId;
use vivarium_model::release::{Bug, Bugs};
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_sim::minimised::{accepted, accepted_in_time};
use vivarium_sim::{HostKind, RunOptions, Scenario};

const KEPT: RunOptions = RunOptions { host: HostKind::Direct, keep_steps: true, trace_last: 0 };

const NAMES: [&str; 12] = [
    "lock",
    "queue",
    "leader",
    "ack-queue",
    "delay-queue",
    "double-barrier",
    "node-cache",
    "partitioner",
    "churn",
    "watches",
    "calm",
    "access",
];

fn sound(name: &str, seed: u64) -> (Scenario, Case) {
    let scenario = (entry(name).build)(&Switches::default());
    let run = vivarium_sim::run(&scenario, seed, &KEPT);
    assert!(run.violation.is_none(), "{name}, seed {seed}: {:?}", run.violation);
    let whole = case(&run, name);
    (scenario, whole)
}

/// How many of the last steps may be left out, where only those are.
const LAST: usize = 200;

/// Leaves out some steps: those of a group of neighbours, of a client, and some here and there; everywhere, or only at the
/// end of the run.
fn some(
    case: &Case,
    (from, length, client, rest, at_end): (f64, f64, u16, u64, bool),
) -> Vec<(Time, Step)> {
    let len = case.steps.len() as f64;
    let group =
        (from * len) as usize..(((from + length * length) * len) as usize).min(case.steps.len());
    let start = Step::Start(ClientId(client));
    let all = case.steps.iter().enumerate();
    let kept = all.filter(|(at, (_, step))| {
        let is_unlucky =
            rest > 0 && (*at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32 & rest == 0;
        let stays = at_end && *at + LAST < case.steps.len();
        stays || !group.contains(at) && *step != start && !is_unlucky
    });
    kept.map(|(_, step)| *step).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Properties that depend on the clock are violated at once by what is left out, so a minimisation must tell these
    /// violations from others.
    #[test]
    fn steps_left_out_make_no_violation(
        name in prop::sample::select(NAMES.to_vec()),
        seed in 0..10_000u64,
        which in (
            0.0..1.0f64, 0.0..0.7f64, 0..5u16, prop::sample::select(vec![0, 1, 3, 15, 255, 4095]), any::<bool>(),
        ),
    ) {
        let (scenario, whole) = sound(name, seed);
        let steps = some(&whole, which);
        let found = accepted(&scenario, &whole, &steps, HostKind::Direct).expect("a sound case");
        prop_assert!(found.is_empty(), "{name}, seed {seed}, {which:?}: {found:?}");
    }

    /// What the faults left out had kept from happening happens, in time: programs finish, sessions live, and requests are
    /// answered.
    #[test]
    fn faults_left_out_make_no_violation(
        name in prop::sample::select(NAMES.to_vec()),
        seed in 0..10_000u64,
        rest in 0..u64::MAX,
        programs: bool,
    ) {
        let (scenario, whole) = sound(name, seed);
        let mut number = 0;
        let mut is_unlucky = |_: &Step| {
            number += 1;
            rest >> (number % 64) & 1 == 1
        };
        // A program that never starts never finishes.
        let property = if programs { "" } else { "progress" };
        let run = accepted_in_time(&scenario, &whole, property, &mut is_unlucky, HostKind::Direct);
        let run = run.expect("a sound case");
        prop_assert!(run.recorded.is_sorted_by_key(|(at, _)| *at), "{name}, seed {seed}, {rest}");
        let found = run.violation.map(|violation| violation.objection);
        let found = found.filter(|objection| !programs || objection.property != "progress");
        prop_assert!(found.is_none(), "{name}, seed {seed}, {rest}: {found:?}");
    }
}

/// With every step of a run there is little to complete: at most a step that had nothing to act on any more when it was
/// due, and acts on a later packet instead.
#[test]
fn a_whole_run_is_hardly_completed() {
    let (mut same, mut all) = (0, 0);
    for name in NAMES {
        for seed in 0..6 {
            let (scenario, whole) = sound(name, seed);
            let run = accepted_in_time(&scenario, &whole, "", &mut |_| false, HostKind::Direct);
            let run = run.expect("a sound case");
            assert_eq!(run.violation, None, "{name}, seed {seed}");
            let is_same = run.recorded.starts_with(&whole.steps);
            (same, all) = (same + u32::from(is_same), all + 1);
        }
    }
    assert!(2 * same > all, "{same} of {all} runs are the same");
}

/// The check above can fail: the servers' mistake is found in the steps that are left.
#[test]
fn a_mistake_is_still_seen() {
    let switches =
        Switches { bugs: Bugs::NONE.with(Bug::PlantedDeafLeader), ..Switches::default() };
    let scenario = (entry("churn").build)(&switches);
    let runs = (0..50).map(|seed| vivarium_sim::run(&scenario, seed, &KEPT));
    let run = runs.into_iter().find(|run| run.violation.is_some()).expect("a seed shows it");
    let whole = case(&run, "churn");
    let found = accepted(&scenario, &whole, &whole.steps, HostKind::Direct).expect("a sound case");
    let found: Vec<&str> = found.iter().map(|objection| objection.property.as_str()).collect();
    assert_eq!(found[0], "S14 no session ends early");
}
