//! The comparison with a real ZooKeeper, where one is installed (`apt-get install zookeeper`). Where
//! none is, these tests say so and pass: `vivarium conform` is what a build machine runs.

#![cfg(feature = "conform")]

use vivarium::conform::report::{found, mix};
use vivarium::conform::{Installation, Outcome, Plan, Tally, run};
use vivarium_model::release::Bug;

fn plan(operations: u64, planted: &[Bug]) -> Plan {
    Plan { operations, seed: 1, server: None, planted: planted.to_vec(), ensemble: false }
}

/// What a plan comes to; `None` where there is no ZooKeeper.
fn compare(plan: &Plan) -> Option<Outcome> {
    if let Err(error) = Installation::find() {
        eprintln!("not compared: {error}");
        return None;
    }
    Some(run(plan, &mut |_| ()).expect("a real server that can be talked to"))
}

#[test]
fn the_model_answers_as_a_real_server_does() {
    let plan = plan(1_500, &[]);
    let Some(outcome) = compare(&plan) else { return };
    if let Some(finding) = &outcome.finding {
        panic!("{}", found(&plan, finding));
    }
    assert!(outcome.tally.operations() >= 1_500);
    assert!(outcome.tally.of_code(None) > 100, "{}", mix(&outcome.tally, 100));
}

#[test]
fn a_session_moves_between_three_servers_of_which_one_is_killed() {
    let plan = Plan { ensemble: true, ..plan(400, &[]) };
    let Some(outcome) = compare(&plan) else { return };
    if let Some(finding) = &outcome.finding {
        panic!("{}", found(&plan, finding));
    }
    let count = |name| outcome.tally.of_action(name);
    assert!(count("move") > 10, "{}", mix(&outcome.tally, 100));
    assert_eq!(count("kill of the leader") + count("kill of a follower"), count("restart"));
    assert!(count("restart") > 0, "{}", mix(&outcome.tally, 100));
}

/// Each is found, and by a script of at most six actions. One of them here, to have seen that the
/// comparison can fail; all ten are found by `vivarium conform --bug`.
#[test]
fn a_planted_deviation_is_found_and_the_script_is_short() {
    let plan = plan(50_000, &[Bug::PlantedEphemeralParent]);
    let Some(outcome) = compare(&plan) else { return };
    let finding = outcome.finding.expect("the model lets ephemerals have children");
    assert!(finding.again);
    assert!(finding.script.len() <= 6, "{}", found(&plan, &finding));
    let text = found(&plan, &finding);
    assert!(text.contains("NoChildrenForEphemerals"), "{text}");
    assert!(
        text.contains("replay: vivarium conform --seed 1 --bug PlantedEphemeralParent"),
        "{text}"
    );
}

#[test]
fn codes_that_were_never_answered_are_named() {
    let text = mix(&Tally::default(), 100);
    for name in ["NoNode (-101)", "QuotaExceeded (-125)", "SessionMoved (-118)"] {
        assert!(text.contains(name), "{text}");
    }
}
