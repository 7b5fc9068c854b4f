//! Three workers under random schedules: for every order of replies, lost connections, stale reads, expiries and
//! cancellations, no property is violated, and once the faults stop, every worker terminates.

use crate::double::{Double, Fate};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::time::Duration;
use vivarium_model::id::ClientId;
use vivarium_recipes::lock::{LockWork, Mutant, Mutants, lock_worker, monitors};

const LOCK: &str = "/lock";
const BOUND: Duration = Duration::from_secs(12);
const CLIENTS: [ClientId; 3] = [ClientId(1), ClientId(2), ClientId(3)];

#[derive(Clone, Copy, Debug)]
enum Act {
    Serve(ClientId),
    Break(ClientId, Fault),
    Expire(ClientId),
    TellExpired(ClientId),
    Cancel(ClientId),
    Lag(ClientId),
    CatchUp(ClientId),
    Elapse(u64),
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    Applied,
    Lost,
    Pending,
}

fn act() -> impl Strategy<Value = Act> {
    let client = prop::sample::select(&CLIENTS[..]);
    let fault = prop_oneof![Just(Fault::Applied), Just(Fault::Lost), Just(Fault::Pending)];
    prop_oneof![
        24 => client.clone().prop_map(Act::Serve),
        3 => (client.clone(), fault).prop_map(|(client, fault)| Act::Break(client, fault)),
        1 => client.clone().prop_map(Act::Expire),
        1 => client.clone().prop_map(Act::TellExpired),
        1 => client.clone().prop_map(Act::Cancel),
        1 => client.clone().prop_map(Act::Lag),
        2 => client.prop_map(Act::CatchUp),
        3 => (1..20_u64).prop_map(Act::Elapse),
    ]
}

/// Performs the act if it is possible.
fn perform(double: &mut Double, act: Act) {
    match act {
        Act::Serve(client) => {
            double.serve(client);
        }
        Act::Break(client, fault) if double.is_alive(client) => {
            let fate = match fault {
                Fault::Applied => Fate::Applied,
                Fault::Lost => Fate::Lost,
                Fault::Pending => Fate::Pending,
            };
            double.break_connection(client, fate);
        }
        Act::Expire(client) if double.is_alive(client) => {
            double.expire(client);
        }
        Act::TellExpired(client) if double.is_zombie(client) => {
            double.tell_expired(client);
        }
        Act::Cancel(client) if double.can_cancel(client) => double.cancel(client),
        Act::Lag(client) => double.lag(client),
        Act::CatchUp(client) => double.catch_up(client),
        Act::Elapse(milliseconds) => double.elapse(Duration::from_millis(milliseconds)),
        _ => {}
    }
}

/// Returns the objections after every worker has terminated.
fn run(acts: &[Act], mutants: Mutants) -> Result<Vec<String>, String> {
    let mut work = LockWork::new(LOCK);
    (work.rounds, work.cancel, work.linger, work.mutants) = (2, true, BOUND, mutants);
    let worker = lock_worker(work);
    let mut double = Double::new(monitors(LOCK, BOUND));
    for client in CLIENTS {
        double.start(client, &worker);
    }
    for act in acts {
        perform(&mut double, *act);
    }
    for client in CLIENTS {
        perform(&mut double, Act::TellExpired(client));
        perform(&mut double, Act::CatchUp(client));
    }
    double.pass(BOUND * 4);
    match CLIENTS.iter().find(|client| double.finished(**client) != Some(&Ok(()))) {
        Some(client) => Err(format!("{client} never ends:\n{}", double.story())),
        None => Ok(double.end()),
    }
}

/// Returns true if a run shows a mistake.
fn is_caught(run: &Result<Vec<String>, String>) -> bool {
    run.as_ref().map_or(true, |objections| !objections.is_empty())
}

/// The mutants that one server cannot show. They need a leader that answers syncs immediately; a leader that fails
/// when a session ends, so that the session's znodes exist in the next one; a directory that is deleted and created
/// again; a counter that wraps; or a watch of the directory, which the lock itself never sets.
const BEYOND: [Mutant; 6] = [
    Mutant::RecoverBySync,
    Mutant::AdoptDeadSessionNode,
    Mutant::NoOwnerCheckOnGrant,
    Mutant::LateDeleteReusedName,
    Mutant::IntOrderAtWrap,
    Mutant::WatchDirectory,
];

/// The same schedules find every mutant that one server can show, so it means something that they find no mistake in
/// the lock.
#[test]
fn chaos_finds_every_mutant_that_one_server_can_show() {
    for mutant in Mutant::ALL.into_iter().filter(|mutant| !BEYOND.contains(mutant)) {
        let mut runner = TestRunner::deterministic();
        let acts = prop::collection::vec(act(), 0..150);
        let found = (0..3000).find(|_| {
            let acts = acts.new_tree(&mut runner).expect("a strategy without filters").current();
            is_caught(&run(&acts, mutant.into()))
        });
        assert!(found.is_some(), "{mutant} is never found");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_schedule_breaks_the_lock(acts in prop::collection::vec(act(), 0..150)) {
        prop_assert_eq!(run(&acts, Mutants::NONE), Ok(Vec::new()));
    }
}
