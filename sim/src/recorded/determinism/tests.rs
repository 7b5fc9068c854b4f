//! The determinism check must detect a planted difference, and report no others.

use super::*;
use crate::recorded::replay::{ReplayIn, Timers, replay_in};
use crate::run::record::Caused;
use crate::scenario::faults::FaultSet;
use crate::seeded::drawn::Drawn;
use crate::seeded::driver::simulate;
use crate::seeded::mock::{Defects, Mock, scenario};
use std::cell::Cell;

const HOSTS: [HostKind; 2] = [HostKind::Direct, HostKind::Madsim];

/// Compares runs of the toy world, which has `defects` under madsim only.
fn check(seed: u64, defects: Defects) -> Result<Closed, Box<Difference>> {
    let drawn = Drawn::draw(&scenario(FaultSet::all()), seed);
    let get = |way: Way, first: Option<&RunReport>, keep: Keep| match way {
        Way::Seed { host: HostKind::Madsim, .. } => {
            simulate(Mock::new(&drawn, defects), &drawn, keep)
        }
        Way::Seed { .. } => simulate(Mock::new(&drawn, Defects::default()), &drawn, keep),
        Way::Recording(_) => {
            let world = Mock::new(&drawn, Defects::default());
            let (run, steps) = (&drawn.run, &*first.unwrap().recorded);
            let options_text = drawn.to_string();
            replay_in(
                world,
                ReplayIn {
                    run,
                    options_text,
                    steps,
                    expected: None,
                    timers: Timers::AsRecorded,
                    keep,
                },
            )
            .closed
        }
    };
    compare(seed, &HOSTS, &get)
}

#[test]
fn runs_that_are_the_same_pass() {
    for seed in 0..10 {
        let closed = check(seed, Defects::default()).expect("the toy is deterministic");
        assert_eq!(closed.hashes.len() as u64, closed.report.steps);
    }
}

#[test]
fn a_planted_difference_is_named_with_both_texts() {
    let defects = Defects { different: Some(40), ..Defects::default() };
    let difference = check(3, defects).expect_err("step 40 has one effect more");
    assert_eq!(difference.step, 40);
    assert!(!difference.one.caused.as_ref().unwrap().words.contains("log append"));
    assert!(difference.other.caused.as_ref().unwrap().words.contains("log append"));
    insta::assert_snapshot!(difference, @r"
    seed 3 is not deterministic: step 40 differs
    direct: 0.030123s server 2: log fsync -> 395e5bf15e876f06974312583e511920
    madsim: 0.030123s server 2: log fsync -> 71fd2ac3e72312bb53d0782f9cd67a14
    direct caused:
      → server 1 commits 1:10 create /a by 0x2
      → server 1 applies 1:10 create /a by 0x2
      + due: client reads from client 2 connection 0
    madsim caused:
      → server 1 commits 1:10 create /a by 0x2
      → server 1 applies 1:10 create /a by 0x2
      + due: client reads from client 2 connection 0
      + due: server 3: log append
    ");
}

#[test]
fn a_run_that_ends_early_differs_where_the_other_goes_on() {
    let defects = Defects { objection: Some(40), ..Defects::default() };
    let difference = check(3, defects).expect_err("it ends at step 40");
    assert_eq!(difference.step, 41);
    assert!(difference.one.step.is_some());
    assert_eq!((&difference.other.step, &difference.other.caused), (&None, &None));
}

#[test]
fn a_difference_that_does_not_show_again_has_no_text() {
    let drawn = Drawn::draw(&scenario(FaultSet::all()), 3);
    let runs = Cell::new(0);
    // Only the second run is different.
    let get = |_: Way, _: Option<&RunReport>, keep: Keep| {
        runs.set(runs.get() + 1);
        let different = (runs.get() == 2).then_some(40);
        let defects = Defects { different, ..Defects::default() };
        simulate(Mock::new(&drawn, defects), &drawn, keep)
    };
    let difference = compare(3, &HOSTS, &get).expect_err("a difference");
    assert_eq!(difference.step, 40);
    assert!(difference.one.caused.is_some());
    assert!(difference.other.step.is_some() && difference.other.caused.is_none());
}

#[test]
fn where_the_words_are_the_same_the_fields_that_differ_are_shown() {
    let caused = |data: u8| {
        let full = format!("Create {{\n    path: \"/a\",\n    data: [{data}],\n}}");
        Caused { words: "→ server 1 applies 1:10 create /a\n".into(), full }
    };
    let [one, other] = Caused::sides(&caused(1), &caused(2));
    assert_eq!((one.as_str(), other.as_str()), ("data: [1],\n", "data: [2],\n"));
    let [one, other] = Caused::sides(&caused(1), &caused(1));
    assert!(one == other && one.contains("the packets sent"), "{one}");
}
