//! A bounded retry, in rounds. With its count in the state, a search sees its third try; with the count elsewhere,
//! the search ends with a sentence. A program in rounds reaches exactly the results of the same program as a loop.
#![cfg(feature = "explore")]

use std::cell::Cell;
use std::collections::BTreeSet;
use std::hash::Hash;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use vivarium::prelude::*;
use vivarium_model::handle::{Program, program, rounds};
use vivarium_model::property::Unhashed;
use vivarium_model::setup::Setup;
use vivarium_model::verdict::Verdict;
use vivarium_reports::exploration::ExplorationReport;
use vivarium_sim::every::programs::{Budget, ProgramModel};
use vivarium_sim::every::{Ending, Options, Silent, Strategy, search};

/// Registers, and gives up the third time. `tries` returns the number of tries, including this one.
async fn register(zookeeper: ZooKeeper, tries: impl FnOnce() -> u32) -> Result<Round<u32>, String> {
    zookeeper.connect().await;
    match zookeeper.create("/registered", b"", CreateMode::Persistent).await {
        Ok(_) | Err(Error::NodeExists) => Ok(Round::Done),
        Err(Error::ConnectionLoss) => match tries() {
            3.. => Err("gave up".to_string()),
            tries => Ok(Round::Again(tries)),
        },
        Err(error) => Err(error.to_string()),
    }
}

fn objection(report: &ExplorationReport) -> (&str, &str) {
    let Verdict::Violated(violation) = &report.verdict else { panic!("{:?}", report.verdict) };
    (&violation.objection.property, &violation.objection.saw)
}

fn all_ways() -> [Exploration; 3] {
    let one = || Exploration::new().clients(1).lost(3);
    [one(), one().without_reductions(), one().clients(2)]
}

#[test]
fn a_third_try_that_the_state_counts_is_found() {
    let counted = || {
        Test::rounds("counted", 0, |zookeeper: ZooKeeper, tries: u32| {
            register(zookeeper, move || tries + 1)
        })
    };
    for exploration in all_ways() {
        let report = counted().explored(&exploration).expect("it can be");
        let (property, saw) = objection(&report);
        assert_eq!(property, "program", "{saw}");
        assert!(saw.contains("gave up"), "{saw}");
    }
    // Three tries must be lost.
    let report = counted().explore(&Exploration::new().clients(2).lost(2));
    assert!(report.figures.distinct > 10, "{:?}", report.figures);
}

/// The program that a search once accepted, with its count in various places.
#[test]
fn a_third_try_that_something_else_counts_ends_the_search() {
    static IN_A_STATIC: AtomicU32 = AtomicU32::new(0);
    thread_local!(static IN_A_THREAD: Cell<u32> = const { Cell::new(0) });
    let count = |tries: &AtomicU32| tries.fetch_add(1, Ordering::Relaxed) + 1;
    let hidden = |place: usize| {
        let behind_an_arc = Arc::new(AtomicU32::new(0));
        Test::rounds("hidden", 0, move |zookeeper: ZooKeeper, state: u32| {
            let behind_an_arc = Arc::clone(&behind_an_arc);
            if place == 1 && state == 0 {
                behind_an_arc.store(0, Ordering::Relaxed);
            }
            let tries = move || match place {
                0 | 1 => count(&behind_an_arc),
                2 => count(&IN_A_STATIC),
                _ => IN_A_THREAD.replace(IN_A_THREAD.get() + 1) + 1,
            };
            async move {
                let next = register(zookeeper, tries).await?;
                Ok(if next == Round::Done { next } else { Round::Again(1) })
            }
        })
    };
    for place in 0..4 {
        for exploration in all_ways() {
            IN_A_STATIC.store(0, Ordering::Relaxed);
            let report = hidden(place).explored(&exploration).expect("it can be");
            let (property, saw) = objection(&report);
            // In a thread that has run it often enough, the program gives up each time, and the search reports this
            // failure.
            if place == 3 && property == "program" {
                assert!(saw.contains("gave up"), "{saw}");
                continue;
            }
            // State outside of the program can show as two steps that do not commute.
            let either = ["a function of its inputs", "a reduction's condition"];
            assert!(either.contains(&property), "{place}: {property}: {saw}");
            assert!(saw.contains("depends on something other than its handle"), "{saw}");
        }
    }
}

/// A try that is repeated without end stays in one place: one more lost connection adds one more session by which the
/// client may be connected, and no other place.
#[test]
fn a_try_that_is_repeated_for_ever_is_one() {
    let places = |lost: u8| {
        let stubborn = |zookeeper: ZooKeeper, state: u32| async move {
            let next = register(zookeeper, || 1).await?;
            Ok(if next == Round::Done { next } else { Round::Again(state) })
        };
        let report = Test::rounds("stubborn", 0, stubborn)
            .explore(&Exploration::new().clients(1).lost(lost).without_reductions());
        report.figures.programs.expect("programs were explored")
    };
    // Not begun, begun, done; and connected by the first session, or by a later one if the answers to the earlier
    // ones were lost.
    assert_eq!((places(1), places(4)), (5, 8));
}

/// The program's requests are numbered, so its state is never the same twice, and only a bound on its answers ends
/// the search.
#[test]
fn who_asks_again_for_ever_is_left_where_it_is_and_the_verdict_says_so() {
    async fn has_started(zookeeper: &ZooKeeper) -> Result<bool, String> {
        zookeeper.connect().await;
        let found = zookeeper.exists("/started").await;
        found.map(|found| found.is_some()).map_err(|error| error.to_string())
    }
    let as_a_loop = || {
        Test::new("asks", |zookeeper: ZooKeeper| async move {
            while !has_started(&zookeeper).await? {}
            Ok(())
        })
    };
    let in_rounds = || {
        Test::rounds("asks", 0, |zookeeper: ZooKeeper, state: u32| async move {
            Ok(if has_started(&zookeeper).await? { Round::Done } else { Round::Again(state) })
        })
    };
    for exploration in [Exploration::new(), Exploration::new().without_reductions()] {
        for test in [as_a_loop(), in_rounds()] {
            let report = test.explored(&exploration.clone().clients(1)).expect("it can be");
            let Verdict::Bounded { by, .. } = &report.verdict else {
                panic!("{:?}", report.verdict)
            };
            assert_eq!(by, "a program that has received 2,000 answers and still runs");
        }
    }
}

/// Records all observations, and collects every such story.
#[derive(Clone, Default, Hash)]
struct Stories {
    story: Vec<(ClientId, String)>,
    all: Unhashed<Arc<Mutex<Told>>>,
}

impl Declared for Stories {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "stories",
        LooksBack::Whole,
        minds! { |this, view, event|
            Event::Observed { client, observation, .. } => {
                this.story.push((*client, format!("{observation:?}")));
                this.all.lock().expect("nobody panics").insert(this.story.clone());
            },
        },
    );
}

type Told = BTreeSet<Vec<(ClientId, String)>>;

/// Returns everything that two of these programs can report, and the number of states.
fn stories(make: impl Fn() -> Program, budget: Budget) -> (Told, u64) {
    let stories = Stories::default();
    let programs = vec![make(), make()];
    let model = ProgramModel::new(
        programs,
        vec![Box::new(stories.clone())],
        Setup::of(["/a"]).expect("sound"),
        budget,
    );
    let options = Options::new(Strategy::BreadthFirst);
    let states = match search(&model.without_reductions(), &options, &Silent).ending {
        Ending::Exhausted { states, .. } => states,
        other => panic!("{other:?}"),
    };
    let all = stories.all.lock().expect("nobody panics").clone();
    (all, states)
}

/// Checks that a loop as rounds and the usual loop report the same, and returns the numbers of states.
fn both<S, P, F>(name: &str, first: S, round: P, budget: Budget) -> (u64, u64)
where
    S: Clone + Eq + Hash + Send + Sync + 'static,
    P: Fn(ZooKeeper, S) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Result<Round<S>, String>> + Send + 'static,
{
    let in_rounds = stories(|| rounds(first.clone(), round.clone()), budget);
    let looped = stories(
        || {
            let (first, round) = (first.clone(), round.clone());
            program(move |zookeeper: ZooKeeper| {
                let (mut state, round) = (first.clone(), round.clone());
                async move {
                    while let Round::Again(next) = round(zookeeper.clone(), state).await? {
                        state = next;
                    }
                    Ok(())
                }
            })
        },
        budget,
    );
    assert!(
        in_rounds.0 == looped.0,
        "{name}: {} told, and as a loop {}",
        in_rounds.0.len(),
        looped.0.len()
    );
    assert!(in_rounds.0.len() > 10, "{name} tells something");
    (in_rounds.1, looped.1)
}

/// Reports how its create ended, and tries three times.
async fn three_tries(zookeeper: ZooKeeper, tries: u32) -> Result<Round<u32>, String> {
    zookeeper.connect().await;
    let created = zookeeper.create("/a/b", b"", CreateMode::Persistent).await;
    zookeeper
        .custom("created", &[("how", format!("{:?}", created.as_ref().err()).as_str().into())]);
    Ok(if created.is_ok() || tries == 3 { Round::Done } else { Round::Again(tries + 1) })
}

/// Waits for the other client, with a watch that may remain and a task that may outlive the round.
async fn turns(zookeeper: ZooKeeper, (): ()) -> Result<Round<()>, String> {
    let session = zookeeper.connect().await;
    let mut events = zookeeper.session_events();
    match zookeeper.create("/a/turn", b"", CreateMode::Ephemeral).await {
        Ok(_) => {
            zookeeper.custom("mine", &[]);
            let _ = zookeeper.scope(session).delete("/a/turn", Version::Any).await;
            return Ok(Round::Done);
        }
        Err(Error::NodeExists) => {}
        Err(Error::SessionExpired) => {
            while events.next().await != SessionState::Expired {}
            return Ok(Round::Again(()));
        }
        Err(_) => {
            let task = zookeeper.scope(session);
            zookeeper.spawn(async move {
                let _ = task.delete("/a/turn", Version::Any).await;
            });
            return Ok(Round::Again(()));
        }
    }
    if let Ok((Some(_), mut watch)) = zookeeper.exists_watch("/a/turn").await {
        let woken = race(watch.changed(), events.next()).await;
        zookeeper.custom(if matches!(woken, Either::Left(_)) { "gone" } else { "lost" }, &[]);
    }
    Ok(Round::Again(()))
}

#[test]
fn a_program_in_rounds_can_do_what_it_can_do_as_a_loop() {
    let none = Budget::default();
    let expired = Budget { expiries: 1, ..none };
    for budget in [Budget { lost: 2, ..none }, expired] {
        // Its story contains the number of tries, so no two states are equal.
        let (in_rounds, looped) = both("three tries", 1, three_tries, budget);
        assert!(in_rounds <= looped, "{in_rounds} states for {looped}");
    }
    for budget in [Budget { lost: 1, ..none }, expired] {
        let (in_rounds, looped) = both("turns", (), turns, budget);
        assert!(in_rounds < looped, "{in_rounds} states for {looped}");
    }
}
