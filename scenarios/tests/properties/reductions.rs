//! Reductions rely on the declarations of properties: which events concern them, whose order matters, how far they
//! look back. So the verdicts of searches of generated programs must be the same with and without reductions, for
//! each property; and in every state, steps that reductions consider independent are tried in both orders.
#![cfg(feature = "explore")]

use proptest::prelude::*;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use vivarium::prelude::*;
use vivarium_model::handle::{Program, program};
use vivarium_model::setup::Setup;
use vivarium_sim::every::programs::{Budget, ProgramModel};
use vivarium_sim::every::{Ending, Options, Silent, Strategy as Search, search};

/// A statement of a program.
#[derive(Clone, Copy, Debug)]
enum Does {
    Creates(u8),
    Deletes(u8),
    Looks(u8),
    Says(u8, i64, i64),
    Connects,
    Closes,
    WritesResource(u8),
}

fn does() -> impl Strategy<Value = Does> {
    prop_oneof![
        3 => (0u8..2).prop_map(Does::Creates),
        2 => (0u8..2).prop_map(Does::Deletes),
        2 => (0u8..2).prop_map(Does::Looks),
        6 => (0u8..3, 0i64..2, 0i64..2).prop_map(|(name, at, to)| Does::Says(name, at, to)),
        1 => Just(Does::Connects),
        1 => Just(Does::Closes),
        1 => (0u8..3).prop_map(Does::WritesResource),
    ]
}

/// Returns the program of one client.
fn run(all: Vec<Does>) -> Program {
    program(move |zookeeper: ZooKeeper| {
        let all = all.clone();
        async move {
            zookeeper.connect().await;
            for does in all {
                one(&zookeeper, does).await;
            }
            Ok(())
        }
    })
}

async fn one(zookeeper: &ZooKeeper, does: Does) {
    match does {
        Does::Creates(name) => {
            let _ = zookeeper.create(&format!("/{name}"), b"", CreateMode::Ephemeral).await;
        }
        Does::Deletes(name) => {
            let _ = zookeeper.delete(&format!("/{name}"), Version::Any).await;
        }
        Does::Looks(name) => {
            let _ = zookeeper.exists(&format!("/{name}")).await;
        }
        Does::Says(name, at, to) => {
            let name = ["begins", "ends", "else"][usize::from(name)];
            zookeeper.custom(name, &[("at", at.into()), ("to", to.into())]);
        }
        Does::Connects => drop(zookeeper.connect().await),
        Does::Closes => zookeeper.close().await,
        Does::WritesResource(token) => {
            let token = (token > 0).then_some(Zxid(u64::from(token)));
            let _ = zookeeper.write_resource("ledger", token, 0).await;
        }
    }
}

/// Returns one property of each kind.
fn properties() -> Vec<(&'static str, Box<dyn Monitor>)> {
    let fold = |last: &mut BTreeMap<u16, i64>, said: &Said<'_>| {
        last.insert(said.client().0, said.number("to")?);
        Ok(last.values().sum::<i64>() < 2)
    };
    let exclusive = || never_two_at_once("begins", "ends");
    let with_tree = || {
        let always = always("tree", 0, |sum: &mut i64, said: &Said<'_>| {
            *sum = said.number("to")?;
            Ok(true)
        });
        always.on("else").and_tree(|sum: &i64, tree| *sum == 0 || !tree.has("/1"))
    };
    vec![
        ("always", Box::new(always("sum", BTreeMap::new(), fold).per("at"))),
        ("always, tree", Box::new(with_tree())),
        ("always, tree, client", Box::new(with_tree().per_client())),
        ("two", Box::new(exclusive())),
        ("two, strictly", Box::new(exclusive().strictly())),
        ("two, token", Box::new(exclusive().per("at").token("to").guarding("ledger"))),
        ("two, session", Box::new(exclusive().ending_with_session())),
        ("two, client", Box::new(exclusive().per_client())),
        ("at most", Box::new(at_most_once("begins", "to"))),
        ("at most, client", Box::new(at_most_once("begins", "to").per_client())),
        ("exactly", Box::new(exactly_once("ends", "to").announced_by("begins").per("at"))),
        ("eventually", Box::new(eventually("begins").with("at", 1).by_every_client())),
        ("grows", Box::new(grows("else", "to"))),
        ("grows, client", Box::new(grows("else", "to").or_stays().per_client())),
        ("order", Box::new(same_order("begins", "ends", "to"))),
        ("agree", Box::new(agree("else", "to").per("at"))),
        ("tree", Box::new(tree_always("tree", |tree| !(tree.has("/0") && tree.has("/1"))))),
        ("end", Box::new(tree_at_end("end", |tree| !tree.has("/0")))),
        ("ghosts", Box::new(no_ghosts_under("/").but_for(|path| path != "/1"))),
    ]
}

/// There are more states than a test allows.
#[derive(Debug)]
struct TooLarge;

/// Returns the verdict of a search: the violated property, if any.
fn verdict(
    programs: &[Vec<Does>],
    property: &dyn Monitor,
    budget: Budget,
    reduced: bool,
) -> Result<Option<String>, TooLarge> {
    let programs = programs.iter().map(|all| run(all.clone())).collect();
    let recipes = ProgramModel::new(programs, vec![property.clone_box()], Setup::NONE, budget);
    let recipes = match reduced {
        true => recipes.checked_in_every_state(),
        false => recipes.without_reductions(),
    };
    let options = Options {
        threads: NonZeroUsize::MIN,
        max_states: Some(300_000),
        ..Options::new(Search::BreadthFirst)
    };
    match search(&recipes, &options, &Silent).ending {
        Ending::Exhausted { .. } => Ok(None),
        Ending::Violated(found) => Ok(Some(found.objection.property.clone())),
        Ending::Bounded { .. } => Err(TooLarge),
    }
}

/// Two clients that make all observations, equal or not: every property for which their order matters is tested.
#[test]
fn every_property_with_two_who_say_everything() {
    let all =
        |to| vec![Does::Says(0, 0, to), Does::Says(2, 0, to), Does::Looks(0), Does::Says(1, 0, to)];
    // A process that has ended holds no longer.
    let ends = |to| vec![Does::Looks(0), Does::Says(0, 0, to), Does::Looks(0)];
    for programs in [[all(0), all(0)], [all(0), all(1)], [ends(0), ends(1)]] {
        for (name, property) in properties() {
            let [plain, reduced] = [false, true]
                .map(|reduced| verdict(&programs, &*property, Budget::default(), reduced))
                .map(|verdict| verdict.expect("they are small"));
            assert_eq!(plain, reduced, "{name}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, max_shrink_iters: 4, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn with_reductions_and_without(
        one in prop::collection::vec(does(), 1..5),
        other in prop::collection::vec(does(), 1..4),
        fault in 0u8..4,
        chosen: prop::sample::Index,
    ) {
        let budget = Budget {
            expiries: u8::from(fault == 1),
            kills: u8::from(fault == 2),
            lost: u8::from(fault == 3),
            ..Budget::default()
        };
        let programs = [one, other];
        let all = properties();
        let (name, property) = chosen.get(&all);
        let [plain, reduced] =
            [false, true].map(|reduced| verdict(&programs, &**property, budget, reduced));
        // If there are too many of these, proptest fails.
        let (Ok(plain), Ok(reduced)) = (plain, reduced) else {
            return Err(TestCaseError::reject("too many states"));
        };
        prop_assert_eq!(plain, reduced, "{}", name);
    }
}
