//! Searches at the ensemble grain: small budgets are exhausted, the servers' bugs are found, and the reductions
//! change neither.
//!
//! The tests take seconds; `cargo run --release --example ladder` goes further.

#![cfg(feature = "explore")]

use stateright::Model as _;
use std::collections::BTreeSet;
use std::sync::Arc;
use vivarium_model::config::Config;
use vivarium_model::effect::{Effects, Status};
use vivarium_model::property;
use vivarium_model::release::{Bug, Bugs};
use vivarium_model::time::Time;
use vivarium_model::world::World;
use vivarium_sim::every::servers::{Action, Budget, Election, EnsembleModel, NoPrograms, State};
use vivarium_sim::every::{
    Bound, Ending, Model as _, Options, Outcome, Silent, Strategy, cross_check, search,
};

const PLAIN: bool = false;
const REDUCED: bool = true;

fn budget([servers, txns, crashes, breaks, timeouts]: [u8; 5]) -> Budget {
    Budget { breaks, timeouts, ..Budget::new(servers, txns, crashes) }
}

fn model(rung: [u8; 5], bugs: Bugs, reductions: bool) -> EnsembleModel {
    let mut config = Config::new(rung[0], 0);
    config.bugs = bugs;
    let monitors = property::servers();
    EnsembleModel::new(config, budget(rung), Election::Oracle, reductions, monitors)
}

fn explore(model: &EnsembleModel) -> Outcome<Action> {
    search(model, &Options::new(Strategy::BreadthFirst), &Silent)
}

fn distinct_if_exhausted(rung: [u8; 5], reductions: bool) -> u64 {
    match explore(&model(rung, Bugs::NONE, reductions)).ending {
        Ending::Exhausted { states, .. } => states,
        ending => panic!("{rung:?}, reductions {reductions}: {ending:?}"),
    }
}

#[test]
fn small_rungs_are_exhausted_with_and_without_reductions() {
    let rungs = [
        [2, 0, 0, 0, 0],
        [2, 1, 0, 0, 0],
        [2, 2, 0, 0, 0],
        [2, 0, 1, 0, 0],
        [2, 1, 1, 0, 0],
        [2, 1, 0, 1, 0],
        [2, 1, 0, 0, 1],
        [3, 0, 0, 0, 0],
    ];
    for rung in rungs {
        let reduced = distinct_if_exhausted(rung, REDUCED);
        let plain = distinct_if_exhausted(rung, PLAIN);
        assert!(reduced < plain, "{rung:?}: {reduced} of {plain} states");
    }
}

/// Returns the property that a bug violates within a budget, and the number of steps.
fn objection(rung: [u8; 5], bug: Bug, reductions: bool) -> (String, u32) {
    match explore(&model(rung, Bugs::NONE.with(bug), reductions)).ending {
        Ending::Violated(found) => (found.objection.property, found.length),
        ending => panic!("{bug} with {rung:?}, reductions {reductions}: {ending:?}"),
    }
}

#[test]
fn bugs_of_two_servers_are_found_with_and_without_reductions() {
    let bugs = [
        ([2, 1, 1, 0, 0], Bug::TruncKeepsRecordBeyond, "S5"),
        ([2, 1, 1, 0, 0], Bug::AcksOutliveReconnect, "S3"),
        ([2, 1, 0, 0, 0], Bug::MissedWakeUp, "L2"),
    ];
    for (rung, bug, property) in bugs {
        let reduced = objection(rung, bug, REDUCED);
        let plain = objection(rung, bug, PLAIN);
        assert!(reduced.0.starts_with(property), "{bug}: {reduced:?}");
        assert!(plain.0.starts_with(property), "{bug}: {plain:?}");
        // A reduction takes some steps early that the shortest way may not need.
        assert!(plain.1 <= reduced.1, "{bug}: {plain:?}, {reduced:?}");
    }
}

#[test]
fn bugs_that_need_three_servers_are_found() {
    let bugs = [
        ([3, 1, 1, 0, 0], Bug::RefuseNewerZxid, "S13"),
        ([3, 1, 1, 0, 0], Bug::TruncSnapshotUnsynced, "S12"),
    ];
    for (rung, bug, property) in bugs {
        let (found, _) = objection(rung, bug, REDUCED);
        assert!(found.starts_with(property), "{bug}: {found}");
    }
}

/// Each level has a model of its own, which knows only the states of that level.
#[test]
fn renewed_models_lead_to_the_same_states() {
    let rung = [2, 1, 1, 0, 0];
    let mut model = model(rung, Bugs::NONE, REDUCED);
    let mut states = model.init_states();
    let mut seen: BTreeSet<_> = states.iter().map(|state| model.fingerprint(state)).collect();
    while !states.is_empty() {
        let newer = model.renewed(&mut states.iter_mut()).expect("it is made of pieces");
        assert!(newer.pieces_bytes() <= model.pieces_bytes());
        assert!(newer.pieces().servers as usize <= states.len() * usize::from(rung[0]));
        model = newer;
        let mut next = Vec::new();
        for state in &states {
            let mut actions = Vec::new();
            model.actions(state, &mut actions);
            let reached = actions.into_iter().filter_map(|action| model.next_state(state, action));
            next.extend(reached.filter(|state| seen.insert(model.fingerprint(state))));
        }
        states = next;
    }
    assert_eq!(seen.len() as u64, distinct_if_exhausted(rung, REDUCED));
}

/// Returns a model of servers with one write and one fsync that may fail.
fn with_an_fsync_error(servers: u8, bugs: Bugs, reductions: bool) -> EnsembleModel {
    let mut config = Config::new(servers, 0);
    config.bugs = bugs;
    let budget = Budget { fsync_errors: 1, ..Budget::new(servers, 1, 0) };
    EnsembleModel::new(config, budget, Election::Oracle, reductions, property::servers())
}

#[test]
fn a_failed_fsync_costs_nothing_that_was_promised_with_and_without_reductions() {
    let distinct = [REDUCED, PLAIN].map(|reductions| {
        let model = with_an_fsync_error(2, Bugs::NONE, reductions);
        match explore(&model).ending {
            Ending::Exhausted { states, .. } => states,
            ending => panic!("reductions {reductions}: {ending:?}"),
        }
    });
    let without = [REDUCED, PLAIN].map(|it| distinct_if_exhausted([2, 1, 0, 0, 0], it));
    assert!(distinct[0] < distinct[1], "{distinct:?}");
    assert!(without[0] < distinct[0] && without[1] < distinct[1], "{without:?} {distinct:?}");
}

/// A server applies a transaction that the others' acks have committed before its own fsync of it, which then fails.
#[test]
fn memory_that_outlives_a_failed_fsync_is_found_with_and_without_reductions() {
    let bugs = Bugs::NONE.with(Bug::FsyncErrorKeepsMemory);
    let [reduced, plain] = [REDUCED, PLAIN].map(|reductions| {
        match explore(&with_an_fsync_error(3, bugs, reductions)).ending {
            Ending::Violated(found) => (found.objection.property, found.length),
            ending => panic!("reductions {reductions}: {ending:?}"),
        }
    });
    assert!(reduced.0.starts_with("S8") && plain.0 == reduced.0, "{reduced:?} {plain:?}");
    assert!(plain.1 <= reduced.1, "{plain:?}, {reduced:?}");
}

/// A server that continues after half a record acknowledges transactions that its next start will not find. If a
/// server keeps a record that it could not write, a start finds a transaction that was never committed. (The latter
/// needs three servers: without reductions a million states.)
#[test]
fn what_a_failed_write_leaves_is_found() {
    let found = |bug, servers, reductions| {
        let mut config = Config::new(servers, 0);
        config.bugs = Bugs::NONE.with(bug);
        let budget = Budget { fsync_errors: 1, ..Budget::new(servers, 2, 0) };
        let monitors = property::servers();
        let model = EnsembleModel::new(config, budget, Election::Oracle, reductions, monitors);
        match search(&model, &Options::new(Strategy::BreadthFirst), &Silent).ending {
            Ending::Violated(found) => (found.objection.property, found.length),
            ending => panic!("{bug}, reductions {reductions}: {ending:?}"),
        }
    };
    let [reduced, plain] = [REDUCED, PLAIN].map(|it| found(Bug::TornRecordHidesLog, 2, it));
    assert!(reduced.0.starts_with("S12") && plain.0 == reduced.0, "{reduced:?} {plain:?}");
    assert!(plain.1 <= reduced.1, "{plain:?}, {reduced:?}");
    assert!(found(Bug::FailedWriteComesLater, 3, REDUCED).0.starts_with("S6"));
}

/// Searches three servers that take a snapshot with every second transaction. The content of a snapshot depends on
/// the order of appends and commits, so nothing is reduced, and a breadth-first search would be too large.
fn with_snapshots([txns, crashes]: [u8; 2], bugs: Bugs, max_states: u64) -> Ending<Action> {
    let mut config = Config::new(3, 0);
    (config.snap_count, config.bugs) = (2, bugs);
    let (budget, monitors) = (Budget::new(3, txns, crashes), property::servers());
    let model = EnsembleModel::new(config, budget, Election::Oracle, REDUCED, monitors);
    let mut options = Options::new(Strategy::DepthFirst);
    options.max_states = Some(max_states);
    search(&model, &options, &Silent).ending
}

/// A snapshot contains a commit that the server has not appended (no crash is needed to see what a start would then
/// load) or not fsynced.
#[test]
fn a_snapshot_that_is_ahead_of_the_log_is_found() {
    let bugs = Bugs::NONE.with(Bug::SnapshotAheadOfLog);
    for (budget, states) in [([3, 0], 10_000), ([2, 1], 100_000)] {
        let found = match with_snapshots(budget, bugs, states) {
            Ending::Violated(found) => found.objection.property,
            ending => panic!("{budget:?}: {ending:?}"),
        };
        assert!(found.starts_with("S6"), "{budget:?}: {found}");
        match with_snapshots(budget, Bugs::NONE, states) {
            Ending::Bounded { by: Bound::States(_), .. } => {}
            ending => panic!("{budget:?}, repaired: {ending:?}"),
        }
    }
}

/// This takes half a million states, too many for a test build: `.ci/run` makes the same search with the release
/// build of the command line.
#[test]
#[ignore = "half a million states: .ci/run does this search with the release build"]
fn a_server_that_its_leader_ignores_is_missing_in_the_end() {
    let (found, _) = objection([3, 0, 2, 0, 0], Bug::LeaderIgnoresNewerEpoch, REDUCED);
    assert!(found.starts_with("L2"), "{found}");
}

/// Rounds of elections have no end, so a search that claimed to be exhaustive would be wrong.
#[test]
fn the_election_of_the_code_is_bounded_by_its_rounds() {
    for reductions in [PLAIN, REDUCED] {
        let (config, monitors) = (Config::new(2, 0), property::servers());
        let rung = budget([2, 1, 0, 0, 0]);
        let model = EnsembleModel::new(config, rung, Election::Fast, reductions, monitors);
        let Ending::Bounded { by: Bound::Withheld(reasons), .. } = explore(&model).ending else {
            panic!("it is bounded by what is withheld");
        };
        assert!(reasons.contains("elections beyond their third round"), "{reasons:?}");
    }
}

#[test]
fn stateright_counts_the_same_states() {
    for reductions in [PLAIN, REDUCED] {
        let rung = [2, 1, 1, 0, 0];
        let ours = distinct_if_exhausted(rung, reductions);
        let theirs = cross_check(model(rung, Bugs::NONE, reductions), Strategy::BreadthFirst);
        assert_eq!((theirs.distinct, theirs.discoveries), (ours, Vec::new()));
    }
}

/// Returns the last state of a path to a violation, and the steps of the world that lead there.
fn replayed(model: &EnsembleModel, path: &[Action]) -> (State, Vec<vivarium_model::step::Step>) {
    let mut state = model.init_states().remove(0);
    let mut steps = Vec::new();
    for action in path {
        steps.extend(model.steps(&state, action));
        state = model.next_state(&state, *action).expect("it led on before");
    }
    (state, steps)
}

/// The content of a case is enough to see the violation again, without the search.
#[test]
fn the_steps_of_a_counterexample_lead_to_it_in_a_plain_world() {
    let bugs = Bugs::NONE.with(Bug::TruncKeepsRecordBeyond);
    let model = model([2, 1, 1, 0, 0], bugs, REDUCED);
    let Ending::Violated(found) = explore(&model).ending else { panic!("it is a bug") };
    let (_, steps) = replayed(&model, &found.path);
    assert_eq!(steps.len(), found.length as usize);
    let monitors = property::servers();
    let mut world = World::new(Arc::clone(model.config()), NoPrograms, monitors);
    world.begin(&mut Effects::default());
    let (last, before) = steps.split_last().expect("a way somewhere has steps");
    for step in before {
        let status = world.apply(Time::ZERO, step, &mut Effects::default());
        assert_eq!(status, Ok(Status::Done), "{step}");
    }
    let objection = world.apply(Time::ZERO, last, &mut Effects::default());
    assert_eq!(objection, Err(found.objection));
}

/// Every cached fingerprint on the way is that of the value.
#[test]
fn caches_are_true_along_a_way() {
    let bugs = Bugs::NONE.with(Bug::AcksOutliveReconnect);
    let model = model([2, 1, 1, 0, 0], bugs, PLAIN);
    let Ending::Violated(found) = explore(&model).ending else { panic!("it is a bug") };
    let mut state = model.init_states().remove(0);
    for action in &found.path {
        state = model.next_state(&state, *action).expect("it led on before");
        let ensemble = model.ensemble(&state);
        assert_eq!(ensemble.fingerprint(), ensemble.recomputed_fingerprint());
    }
}
