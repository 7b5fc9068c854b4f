//! The answer does not depend on the search: breadth first and depth first, one thread and two, stateright's own
//! checkers, with and without reductions, all give the same answer about the same model.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use vivarium_model::config::Config;
use vivarium_model::handle::{Program, ZooKeeper, program};
use vivarium_model::id::ClientId;
use vivarium_model::observation::Value;
use vivarium_model::op::{CreateMode, Version};
use vivarium_model::property;
use vivarium_model::release::{Bug, Bugs};
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_recipes::lock::{self, Lock, Mutant, Mutants};
use vivarium_sim::every::programs::{Budget, ProgramModel};
use vivarium_sim::every::servers::{Budget as Faults, Election, EnsembleModel};
use vivarium_sim::every::{Ending, Model, Options, Silent, Strategy, cross_check, search};

/// The part of a search's answer on which all searches must agree.
#[derive(Debug, PartialEq, Eq)]
enum Says {
    Exhausted { distinct: u64 },
    Violated { property: String },
}

fn says<M: Model>(model: &M, strategy: Strategy, threads: usize) -> Says {
    let mut options = Options::new(strategy);
    options.threads = NonZeroUsize::new(threads).expect("some threads");
    match search(model, &options, &Silent).ending {
        Ending::Exhausted { states, .. } => Says::Exhausted { distinct: states },
        Ending::Violated(found) => Says::Violated { property: found.objection.property },
        Ending::Bounded { by, .. } => panic!("bounded by {by}"),
    }
}

/// Compares our four kinds of search, and stateright's two.
fn all_agree<M>(make: impl Fn() -> M) -> Says
where
    M: Model + Send + 'static,
    M::State: std::hash::Hash + std::fmt::Debug + PartialEq + 'static,
    M::Action: PartialEq,
{
    let model = make();
    let first = says(&model, Strategy::BreadthFirst, 1);
    for (strategy, threads) in
        [(Strategy::BreadthFirst, 2), (Strategy::DepthFirst, 1), (Strategy::DepthFirst, 2)]
    {
        let other = says(&make(), strategy, threads);
        match (&first, &other) {
            // If there are several violations, the order of the search decides which is found first.
            (Says::Violated { .. }, Says::Violated { .. }) if strategy == Strategy::DepthFirst => {}
            _ => assert_eq!(other, first, "{strategy:?}, {threads} threads"),
        }
    }
    for strategy in [Strategy::BreadthFirst, Strategy::DepthFirst] {
        let second = cross_check(make(), strategy);
        match first {
            Says::Exhausted { distinct } => {
                assert_eq!(second.distinct, distinct, "stateright, {strategy:?}");
                assert!(second.discoveries.is_empty(), "stateright, {strategy:?}: {second:?}");
            }
            Says::Violated { .. } => assert_eq!(second.discoveries.len(), 1, "{second:?}"),
        }
    }
    first
}

/// Returns the number of states, searched with a new model for every level, which knows only the states of that
/// level.
fn distinct_by_renewed_models<M: Model>(mut model: M) -> u64 {
    let mut states = model.init_states();
    let mut seen: BTreeSet<_> = states.iter().map(|state| model.fingerprint(state)).collect();
    while !states.is_empty() {
        model = model.renewed(&mut states.iter_mut()).expect("it is made of pieces");
        let mut next = Vec::new();
        for state in &states {
            let mut actions = Vec::new();
            model.actions(state, &mut actions);
            let reached = actions.into_iter().filter_map(|action| model.next_state(state, action));
            next.extend(reached.filter(|state| seen.insert(model.fingerprint(state))));
        }
        states = next;
    }
    seen.len() as u64
}

/// Checks that the verdict is the same with and without reductions, and that there are fewer states with them.
fn reductions_agree<M>(make: impl Fn(bool) -> M)
where
    M: Model + Send + 'static,
    M::State: std::hash::Hash + std::fmt::Debug + PartialEq + 'static,
    M::Action: PartialEq,
{
    let reduced = all_agree(|| make(true));
    let plain = says(&make(false), Strategy::BreadthFirst, 2);
    match (&reduced, &plain) {
        (Says::Exhausted { distinct: few }, Says::Exhausted { distinct: many }) => {
            assert!(few < many, "{few} states with reductions, {many} without");
        }
        _ => assert_eq!(reduced, plain),
    }
}

async fn contender(zookeeper: ZooKeeper, mutants: Mutants) -> Result<(), String> {
    let guard = Lock::new(zookeeper.clone(), "/lock").with_mutants(mutants).acquire().await;
    let guard = guard.map_err(|error| error.to_string())?;
    let token = guard.token().0;
    let _ = zookeeper.write_resource("ledger", Some(token), 0).await;
    guard.release().await;
    Ok(())
}

fn recipes(programs: Vec<Program>, lost: u8, reductions: bool) -> ProgramModel {
    let budget = Budget { lost, ..Budget::default() };
    let monitors = lock::monitors("/lock", Duration::ZERO);
    let model = ProgramModel::new(programs, monitors, Setup::of(["/lock"]).expect("sound"), budget);
    if reductions { model } else { model.without_reductions() }
}

#[test]
fn about_a_lock() {
    let contenders = |mutants: Mutants| {
        (0..2).map(|_| program(move |zookeeper| contender(zookeeper, mutants))).collect()
    };
    reductions_agree(|reductions| recipes(contenders(Mutants::NONE), 1, reductions));
    reductions_agree(|reductions| recipes(contenders(Mutant::NoGuid.into()), 1, reductions));
}

/// Increments a counter twice, by compare and set.
async fn increment(zookeeper: ZooKeeper) -> Result<(), String> {
    zookeeper.connect().await;
    loop {
        let (data, stat) = zookeeper.get_data("/counter").await.map_err(|e| e.to_string())?;
        let next = format!("{}", data.len() + 1);
        let set = zookeeper.set_data("/counter", next.as_bytes(), Version::Is(stat.version));
        if set.await.is_ok() {
            zookeeper.custom("counted", &[("by", Value::from(1))]);
            return zookeeper
                .create("/done-", b"", CreateMode::PersistentSequential)
                .await
                .map(drop)
                .map_err(|error| error.to_string());
        }
    }
}

#[test]
fn about_a_program_without_faults() {
    let programs = || (0..3).map(|_| program(increment)).collect();
    let model = |reductions: bool| {
        let setup = Setup::of(["/counter"]).expect("sound");
        let model = ProgramModel::new(programs(), Vec::new(), setup, Budget::default());
        if reductions { model } else { model.without_reductions() }
    };
    reductions_agree(model);
    // Each of these programs can take the place of another.
    let symmetric = || model(true).symmetric(&[ClientId::first(3).collect()]);
    let all = says(&model(true), Strategy::BreadthFirst, 1);
    let fewer = says(&symmetric(), Strategy::BreadthFirst, 1);
    let (Says::Exhausted { distinct: all }, Says::Exhausted { distinct: fewer }) = (&all, &fewer)
    else {
        panic!("{all:?} {fewer:?}")
    };
    assert!(fewer * 5 < *all, "{fewer} states of {all}");
    // A model that forgets what is no longer needed gives the same result.
    assert_eq!(distinct_by_renewed_models(model(true)), *all);
    assert_eq!(distinct_by_renewed_models(symmetric()), *fewer);
}

#[test]
fn about_the_broadcast_of_two_servers() {
    let model = |bugs: Bugs, reductions: bool| {
        let mut config = Config::new(2, 0);
        config.bugs = bugs;
        let budget = Faults::new(2, 1, 1);
        EnsembleModel::new(config, budget, Election::Oracle, reductions, property::servers())
    };
    reductions_agree(|reductions| model(Bugs::NONE, reductions));
    reductions_agree(|reductions| model(Bugs::NONE.with(Bug::TruncKeepsRecordBeyond), reductions));
}
