//! Each mutant, led to the mistake that it is named after. A monitor detects the mistake, or a wait never ends. The
//! same script without the mutant violates nothing.

use crate::double::{Double, Fate, ONE, TWO};
use std::time::Duration;
use vivarium_model::handle::Program;
use vivarium_model::id::{SessionId, Xid};
use vivarium_model::path::ZnodePath;
use vivarium_model::txn::TxnBody;
use vivarium_recipes::lock::{LockWork, Mutant, Mutants, lock_worker, monitors};

const LOCK: &str = "/lock";
const BOUND: Duration = Duration::from_secs(12);

fn worker(mutants: Mutants) -> Program {
    let mut work = LockWork::new(LOCK);
    (work.cancel, work.linger, work.mutants) = (true, BOUND * 2, mutants);
    lock_worker(work)
}

/// Runs a script with and without a mutant, and returns the objections of both runs.
fn compare(mutant: Mutant, script: impl Fn(&mut Double, &Program)) -> (Vec<String>, Vec<String>) {
    let run = |mutants: Mutants| {
        let mut double = Double::new(monitors(LOCK, BOUND));
        script(&mut double, &worker(mutants));
        double.end()
    };
    (run(Mutants::NONE), run(mutant.into()))
}

/// Leads the first client to its create of a contender, which finds the directory and is in flight.
fn creating(double: &mut Double, worker: &Program) {
    double.start(ONE, worker);
    double.serve_until(ONE, "create /lock/");
    double.serve(ONE);
    double.serve_until(ONE, "create /lock/");
}

#[test]
fn no_guid_waits_for_itself_and_leaks() {
    let (sound, mutant) = compare(Mutant::NoGuid, |double, worker| {
        creating(double, worker);
        double.break_connection(ONE, Fate::Applied);
        double.settle();
        if double.story().contains("WAITS") {
            double.cancel(ONE);
        }
        double.pass(BOUND);
    });
    assert_eq!(sound, [""; 0]);
    insta::assert_snapshot!(mutant.join("\n"), @r"
    lock M6 no self-wait: client 1 waits for /lock/lock-0000000000, which attempt 0000000000000101 made itself
    lock M5 no leak: attempt 0000000000000101 of client 1 has ended and its session has been connected for 12s, but /lock/lock-0000000000 (czxid 1:5) still stands
    lock M5 no leak at rest: attempt 0000000000000101 of client 1 has ended and no client is about to delete /lock/lock-0000000000 (czxid 1:5), which still exists
    ");
}

#[test]
fn recovery_without_sync_waits_for_itself() {
    let (sound, mutant) = compare(Mutant::RecoverWithoutSync, |double, worker| {
        creating(double, worker);
        double.break_connection(ONE, Fate::Pending);
        double.pass(BOUND);
    });
    assert_eq!(sound, [""; 0]);
    insta::assert_snapshot!(mutant.join("\n"), @"lock M6 no self-wait: client 1 waits for /lock/0000000000000101-lock-0000000000, which attempt 0000000000000101 made itself");
}

#[test]
fn leak_on_cancel_leaks() {
    let (sound, mutant) = compare(Mutant::LeakOnCancel, |double, worker| {
        creating(double, worker);
        double.cancel(ONE);
        double.pass(BOUND);
    });
    assert_eq!(sound, [""; 0]);
    insta::assert_snapshot!(mutant.join("\n"), @r"
    lock M5 no leak: attempt 0000000000000101 of client 1 has ended and its session has been connected for 12s, but /lock/0000000000000101-lock-0000000000 (czxid 1:5) still stands
    lock M5 no leak at rest: attempt 0000000000000101 of client 1 has ended and no client is about to delete /lock/0000000000000101-lock-0000000000 (czxid 1:5), which still exists
    ");
}

#[test]
fn belief_that_survives_expiry_is_carried_into_the_next_session() {
    let (sound, mutant) = compare(Mutant::BeliefSurvivesExpiry, |double, worker| {
        double.start(ONE, worker);
        double.settle();
        double.expire(ONE);
        double.tell_expired(ONE);
        double.pass(BOUND);
    });
    assert_eq!(sound, [""; 0]);
    insta::assert_snapshot!(mutant.join("\n"), @"lock M2 belief: client 1 is connected by session 0x100000100000002 and still believes that it holds /lock by token 1:5 of an earlier session");
}

/// An operator deletes the empty directory, and another holder creates it again: its znode has the same name as the
/// first one.
#[test]
fn a_late_delete_takes_a_strangers_lock() {
    let run = |mutants: Mutants| {
        let mut double = Double::new(monitors(LOCK, BOUND));
        let worker = lock_worker(LockWork { rounds: 2, mutants, ..LockWork::new(LOCK) });
        double.start(ONE, &worker);
        double.settle();
        double.expire(ONE);
        let path = ZnodePath::new(LOCK).expect("it is a path");
        double.commit(SessionId(9), Xid(0), TxnBody::Delete { path }).expect("it is empty");
        double.start(TWO, &worker);
        double.settle();
        double.lag(TWO);
        double.tell_expired(ONE);
        double.settle();
        double.catch_up(TWO);
        double.pass(BOUND);
        double.end()
    };
    assert_eq!(run(Mutants::NONE), [""; 0]);
    insta::assert_snapshot!(run(Mutant::LateDeleteReusedName.into()).join("\n"), @"lock M2 belief: client 2 (token 1:12) and client 1 (token 1:15) both believe that they hold /lock, and the session of the smaller token is open");
}

#[test]
fn exists_null_sleeps_past_its_turn() {
    let run = |mutants: Mutants| {
        let mut double = Double::new(monitors(LOCK, BOUND));
        double.start(ONE, &worker(mutants));
        double.settle();
        double.start(TWO, &worker(mutants));
        double.serve_until(TWO, "getData /lock/");
        double.expire(ONE);
        double.pass(BOUND * 4);
        let finished = double.finished(TWO).cloned();
        assert_eq!(double.end(), [""; 0]);
        finished
    };
    assert_eq!(run(Mutants::NONE), Some(Ok(())));
    // No property is violated, but the program makes no progress: the liveness check finds this.
    assert_eq!(run(Mutant::ExistsNullSleeps.into()), None);
}

#[test]
fn recreating_after_a_blip_waits_for_itself() {
    let (sound, mutant) = compare(Mutant::RecreateOnBlip, |double, worker| {
        double.start(ONE, worker);
        double.settle();
        double.start(TWO, worker);
        double.settle();
        double.break_connection(TWO, Fate::Applied);
        double.pass(BOUND);
    });
    assert_eq!(sound, [""; 0]);
    insta::assert_snapshot!(mutant.join("\n"), @"lock M6 no self-wait: client 2 waits for /lock/0000000000000201-lock-0000000001, which attempt 0000000000000201 made itself");
}

#[test]
fn a_release_that_gives_up_leaks() {
    let (sound, mutant) = compare(Mutant::ReleaseGivesUp, |double, worker| {
        double.start(ONE, worker);
        double.settle();
        double.elapse(Duration::from_millis(10));
        double.serve_until(ONE, "delete /lock/");
        double.break_connection(ONE, Fate::Lost);
        double.pass(BOUND);
    });
    assert_eq!(sound, [""; 0]);
    insta::assert_snapshot!(mutant.join("\n"), @r"
    lock M5 no leak: attempt 0000000000000101 of client 1 has ended and its session has been connected for 12s, but /lock/0000000000000101-lock-0000000000 (czxid 1:5) still stands
    lock M5 no leak at rest: attempt 0000000000000101 of client 1 has ended and no client is about to delete /lock/0000000000000101-lock-0000000000 (czxid 1:5), which still exists
    ");
}
