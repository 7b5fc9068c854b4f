//! The promises of the lock's contract, scenario by scenario.

use crate::double::{Double, Fate, ONE, TWO};
use std::sync::Arc;
use std::time::Duration;
use vivarium_model::handle::{Program, ZooKeeper, program};
use vivarium_model::id::{SessionId, Xid};
use vivarium_model::op::{Data, Op, OpResult, Version};
use vivarium_model::path::ZnodePath;
use vivarium_model::txn::TxnBody;
use vivarium_recipes::lock::{
    AcquireError, FencedError, Lock, LockWork, Loss, Release, lock_worker, monitors,
};

const LOCK: &str = "/locks/a";
const BOUND: Duration = Duration::from_secs(12);

fn double() -> Double {
    Double::new(monitors(LOCK, BOUND))
}

fn lock(zookeeper: &ZooKeeper) -> Lock {
    Lock::new(zookeeper.clone(), LOCK)
}

/// Acquires, holds for a second, releases, and reports the result of the release.
fn one_round() -> Program {
    program(|zookeeper| async move {
        let guard = lock(&zookeeper).acquire().await.map_err(|error| error.to_string())?;
        zookeeper.sleep(Duration::from_secs(1)).await;
        let release = guard.release().await;
        zookeeper.custom(&format!("{release:?}"), &[]);
        Ok(())
    })
}

/// Tries to acquire until it is cancelled, then stays connected.
fn cancelled() -> Program {
    program(|zookeeper| async move {
        let acquired = zookeeper.cancellable(lock(&zookeeper).acquire()).await;
        assert!(acquired.is_err(), "the script cancels before the grant");
        zookeeper.sleep(BOUND * 2).await;
        Ok(())
    })
}

/// Returns the names of the lock's children.
fn line(double: &Double) -> Vec<Arc<str>> {
    double.tree().children(LOCK).unwrap_or_default()
}

#[test]
fn acquire_and_release_without_contention() {
    let mut double = double();
    double.start(ONE, &one_round());
    double.pass(Duration::from_secs(1));
    insta::assert_snapshot!(double.story(), @r"
    client 1: ATTEMPT 0000000000000101
    client 1: create /locks/a/0000000000000101-lock- (EphemeralSequential)
    client 1: create /locks/a (Persistent)
    client 1: create /locks (Persistent)
    client 1: create /locks/a (Persistent)
    client 1: create /locks/a/0000000000000101-lock- (EphemeralSequential)
    client 1: KNOWS /locks/a/0000000000000101-lock-0000000000
    client 1: getChildren /locks/a
    client 1: GRANTED 1:6
    client 1: RELEASING 1:6
    client 1: delete /locks/a/0000000000000101-lock-0000000000
    client 1: RELEASED 1:6
    client 1: says Released
    client 1: finished, Ok(())
    ");
    assert_eq!(double.finished(ONE), Some(&Ok(())));
    assert!(line(&double).is_empty());
    assert_eq!(double.end(), [""; 0]);
}

#[test]
fn the_lock_is_handed_over_in_order_of_arrival() {
    let mut double = double();
    double.start(ONE, &one_round());
    double.settle();
    double.start(TWO, &one_round());
    double.settle();
    double.journal.clear();
    double.pass(Duration::from_secs(3));
    insta::assert_snapshot!(double.story(), @r"
    client 1: RELEASING 1:6
    client 1: delete /locks/a/0000000000000101-lock-0000000000
    client 1: RELEASED 1:6
    client 1: says Released
    client 1: finished, Ok(())
    client 2: getChildren /locks/a
    client 2: GRANTED 1:8
    client 2: RELEASING 1:8
    client 2: delete /locks/a/0000000000000201-lock-0000000001
    client 2: RELEASED 1:8
    client 2: says Released
    client 2: finished, Ok(())
    ");
    assert_eq!(double.end(), [""; 0]);
}

#[test]
fn a_create_whose_reply_was_lost_is_adopted_by_its_id() {
    let mut double = double();
    double.start(ONE, &one_round());
    double.serve_until(ONE, "create /locks/a/");
    double.serve(ONE);
    double.serve_until(ONE, "create /locks/a/");
    double.journal.clear();
    double.break_connection(ONE, Fate::Applied);
    double.pass(Duration::from_secs(1));
    insta::assert_snapshot!(double.story(), @r"
    client 1: connection lost
    client 1: delete /
    client 1: getChildren /locks/a
    client 1: exists /locks/a/0000000000000101-lock-0000000000
    client 1: KNOWS /locks/a/0000000000000101-lock-0000000000
    client 1: getChildren /locks/a
    client 1: GRANTED 1:6
    client 1: RELEASING 1:6
    client 1: delete /locks/a/0000000000000101-lock-0000000000
    client 1: RELEASED 1:6
    client 1: says Released
    client 1: finished, Ok(())
    ");
    assert_eq!(double.end(), [""; 0]);
}

#[test]
fn a_create_that_never_arrived_is_made_again_and_one_still_pending_is_not() {
    for fate in [Fate::Lost, Fate::Pending] {
        let mut double = double();
        double.start(ONE, &one_round());
        double.serve_until(ONE, "create /locks/a/");
        double.serve(ONE);
        double.serve_until(ONE, "create /locks/a/");
        double.break_connection(ONE, fate);
        double.settle();
        assert_eq!(line(&double).len(), 1, "{}", double.story());
        double.pass(Duration::from_secs(1));
        assert_eq!(double.finished(ONE), Some(&Ok(())));
        assert_eq!(double.end(), [""; 0]);
    }
}

#[test]
fn cancelling_while_the_create_is_in_flight_leaves_nothing() {
    for fate in [None, Some(Fate::Applied), Some(Fate::Pending)] {
        let mut double = double();
        double.start(ONE, &cancelled());
        double.serve_until(ONE, "create /locks/a/");
        double.serve(ONE);
        double.serve_until(ONE, "create /locks/a/");
        double.journal.clear();
        double.cancel(ONE);
        if let Some(fate) = fate {
            double.break_connection(ONE, fate);
        }
        double.settle();
        if fate.is_none() {
            insta::assert_snapshot!(double.story(), @r"
            client 1: cancelled
            client 1: GAVE UP 0000000000000101
            client 1: create /locks/a/0000000000000101-lock- (EphemeralSequential)
            client 1: delete /
            client 1: getChildren /locks/a
            client 1: delete /locks/a/0000000000000101-lock-0000000000
            ");
        }
        assert!(line(&double).is_empty(), "{}", double.story());
        double.pass(BOUND);
        assert_eq!(double.end(), [""; 0]);
    }
}

#[test]
fn a_waiter_that_is_cancelled_leaves_the_line_even_over_lost_connections() {
    let mut double = double();
    double.start(ONE, &one_round());
    double.settle();
    double.start(TWO, &cancelled());
    double.settle();
    assert_eq!(line(&double).len(), 2);
    double.cancel(TWO);
    for _ in 0..3 {
        double.break_connection(TWO, Fate::Lost);
    }
    double.settle();
    assert_eq!(line(&double).len(), 1, "{}", double.story());
    double.pass(BOUND);
    assert_eq!(double.end(), [""; 0]);
}

#[test]
fn impatience_leaves_the_line_too() {
    let mut double = double();
    double.start(ONE, &one_round());
    double.settle();
    double.start(
        TWO,
        &program(|zookeeper| async move {
            let patience = Duration::from_millis(100);
            let acquired = lock(&zookeeper).acquire_timeout(patience).await;
            assert_eq!(acquired.err(), Some(AcquireError::TimedOut));
            zookeeper.sleep(BOUND * 2).await;
            Ok(())
        }),
    );
    double.pass(Duration::from_millis(500));
    assert_eq!(line(&double).len(), 1, "{}", double.story());
    double.pass(BOUND);
    assert_eq!(double.end(), [""; 0]);
}

#[test]
fn a_predecessor_that_vanishes_between_list_and_watch_makes_the_waiter_list_again() {
    let mut double = double();
    double.start(ONE, &one_round());
    double.settle();
    double.start(TWO, &one_round());
    double.serve_until(TWO, "getData");
    double.expire(ONE);
    double.journal.clear();
    double.pass(Duration::from_secs(1));
    insta::assert_snapshot!(double.story(), @r"
    client 2: getData /locks/a/0000000000000101-lock-0000000000 (watch)
    client 2: getChildren /locks/a
    client 2: GRANTED 1:8
    client 1: RELEASING 1:6
    client 1: delete /locks/a/0000000000000101-lock-0000000000
    client 1: says Unknown
    client 1: finished, Ok(())
    client 2: RELEASING 1:8
    client 2: delete /locks/a/0000000000000201-lock-0000000001
    client 2: RELEASED 1:8
    client 2: says Released
    client 2: finished, Ok(())
    ");
    assert_eq!(double.end(), [""; 0]);
}

#[test]
fn a_waiter_lists_again_after_a_reconnect() {
    let mut double = double();
    double.start(ONE, &one_round());
    double.settle();
    double.start(TWO, &one_round());
    double.settle();
    double.journal.clear();
    double.break_connection(TWO, Fate::Lost);
    double.settle();
    insta::assert_snapshot!(double.story(), @r"
    client 2: connection lost
    client 2: getChildren /locks/a
    client 2: getData /locks/a/0000000000000101-lock-0000000000 (watch)
    client 2: WAITS on /locks/a/0000000000000101-lock-0000000000
    ");
}

#[test]
fn an_attempt_ends_with_its_session_and_the_next_has_a_new_id() {
    let mut double = double();
    double.start(ONE, &one_round());
    double.settle();
    double.start(
        TWO,
        &program(|zookeeper| async move {
            let lock = lock(&zookeeper);
            assert_eq!(lock.acquire().await.err(), Some(AcquireError::SessionExpired));
            let guard = lock.acquire().await.map_err(|error| error.to_string())?;
            drop(guard);
            zookeeper.sleep(Duration::from_secs(1)).await;
            Ok(())
        }),
    );
    double.settle();
    double.journal.clear();
    double.expire(TWO);
    double.tell_expired(TWO);
    double.pass(Duration::from_secs(3));
    insta::assert_snapshot!(double.story(), @r"
    client 2: session expires
    client 2: told so
    client 2: GAVE UP 0000000000000201
    client 2: ATTEMPT 0000000000000202
    client 2: create /locks/a/0000000000000202-lock- (EphemeralSequential)
    client 2: KNOWS /locks/a/0000000000000202-lock-0000000002
    client 2: getChildren /locks/a
    client 2: getData /locks/a/0000000000000101-lock-0000000000 (watch)
    client 2: WAITS on /locks/a/0000000000000101-lock-0000000000
    client 1: RELEASING 1:6
    client 1: delete /locks/a/0000000000000101-lock-0000000000
    client 1: RELEASED 1:6
    client 1: says Released
    client 1: finished, Ok(())
    client 2: getChildren /locks/a
    client 2: GRANTED 1:11
    client 2: RELEASING 1:11
    client 2: delete /locks/a/0000000000000202-lock-0000000002
    client 2: RELEASED 1:11
    client 2: finished, Ok(())
    ");
    assert_eq!(double.end(), [""; 0]);
}

#[test]
fn a_waiter_whose_znode_an_operator_deletes_lines_up_again() {
    let mut double = double();
    double.start(ONE, &one_round());
    double.settle();
    double.start(TWO, &one_round());
    double.settle();
    let node = ZnodePath::new(format!("{LOCK}/{}", line(&double)[1])).expect("valid");
    double.commit(SessionId(9), Xid(0), TxnBody::Delete { path: node }).expect("it exists");
    double.pass(Duration::from_secs(5));
    assert_eq!(double.finished(TWO), Some(&Ok(())), "{}", double.story());
    assert_eq!(double.story().matches("client 2: ATTEMPT").count(), 2);
    assert_eq!(double.end(), [""; 0]);
}

#[test]
fn a_holder_is_told_of_expiry_and_of_deletion_but_not_of_a_disconnection() {
    fn holder(expected: Loss) -> Program {
        program(move |zookeeper| async move {
            let guard = lock(&zookeeper).acquire().await.map_err(|error| error.to_string())?;
            assert!(guard.is_held());
            let lost = guard.while_held(std::future::pending::<()>()).await;
            assert_eq!(lost, Err(expected));
            assert!(!guard.is_held());
            assert_eq!(guard.lost().await, expected);
            assert_eq!(guard.release().await, Release::AlreadyGone);
            Ok(())
        })
    }

    let mut double = double();
    double.start(ONE, &holder(Loss::SessionEnded));
    double.settle();
    double.break_connection(ONE, Fate::Lost);
    double.settle();
    assert!(!double.story().contains("LOST"));
    double.expire(ONE);
    double.tell_expired(ONE);
    assert_eq!(double.finished(ONE), Some(&Ok(())));

    double.start(TWO, &holder(Loss::NodeDeleted));
    double.settle();
    let node = ZnodePath::new(format!("{LOCK}/{}", line(&double)[0])).expect("valid");
    double.commit(SessionId(9), Xid(0), TxnBody::Delete { path: node }).expect("it exists");
    double.settle();
    assert_eq!(double.finished(TWO), Some(&Ok(())));
    assert_eq!(double.story().matches("LOST").count(), 2);
    assert_eq!(double.end(), [""; 0]);
}

#[test]
fn a_release_survives_lost_connections_and_impatient_callers() {
    let mut double = double();
    double.start(
        ONE,
        &program(|zookeeper| async move {
            let lock = lock(&zookeeper);
            let guard = lock.acquire().await.map_err(|error| error.to_string())?;
            zookeeper.custom(&format!("{:?}", guard.release().await), &[]);
            let guard = lock.acquire().await.map_err(|error| error.to_string())?;
            let patience = Duration::from_millis(1);
            assert!(zookeeper.timeout(patience, guard.release()).await.is_err());
            zookeeper.sleep(BOUND * 2).await;
            Ok(())
        }),
    );
    double.serve_until(ONE, "delete");
    double.break_connection(ONE, Fate::Lost);
    double.break_connection(ONE, Fate::Applied);
    double.serve_until(ONE, "create");
    assert!(double.story().contains("says Unknown"), "{}", double.story());
    double.serve_until(ONE, "delete");
    double.elapse(Duration::from_millis(1));
    double.break_connection(ONE, Fate::Lost);
    double.settle();
    assert!(line(&double).is_empty(), "{}", double.story());
    double.pass(BOUND);
    assert_eq!(double.end(), [""; 0]);
}

#[test]
fn guarded_writes_are_exact() {
    let mut double = double();
    double.start(
        ONE,
        &program(|zookeeper| async move {
            let set = |path: &str| Op::SetData {
                path: path.into(),
                data: Data::from(&b"x"[..]),
                version: Version::Any,
            };
            let guard = lock(&zookeeper).acquire().await.map_err(|error| error.to_string())?;
            let written = guard.fenced(vec![set("/locks")]).await.map_err(|e| e.to_string())?;
            assert!(matches!(written[..], [OpResult::Set(stat)] if stat.version == 1));
            let failed = guard.fenced(vec![set("/locks"), set("/none")]).await;
            assert!(matches!(failed, Err(FencedError::Operation { index: 1, .. })));

            zookeeper.delete(guard.node(), Version::Any).await.map_err(|e| e.to_string())?;
            let refused = guard.fenced(vec![set("/locks")]).await;
            assert_eq!(refused, Err(FencedError::Lost(Loss::NodeDeleted)));
            assert!(!guard.is_held());
            Ok(())
        }),
    );
    double.settle();
    assert_eq!(double.finished(ONE), Some(&Ok(())));
    assert_eq!(double.tree().node("/locks").map(|node| node.version), Some(1));
    assert_eq!(double.end(), [""; 0]);
}

#[test]
fn a_directory_that_cannot_be_used_is_refused() {
    let mut double = double();
    double.start(
        ONE,
        &program(|zookeeper| async move {
            let lock = Lock::new(zookeeper.clone(), "no path");
            let refused = lock.acquire().await.err().map(|error| error.to_string());
            Err(refused.unwrap_or_default())
        }),
    );
    double.settle();
    insta::assert_snapshot!(format!("{:?}", double.finished(ONE)), @r#"Some(Err("the lock's directory cannot be used: BadArguments: the path or an argument is not valid"))"#);
}

#[test]
fn two_workers_share_the_lock_through_expiry_and_cancellation() {
    let mut work = LockWork::new(LOCK);
    (work.rounds, work.cancel, work.linger) = (3, true, BOUND);
    let worker = lock_worker(work);
    let mut double = double();
    double.start(ONE, &worker);
    double.start(TWO, &worker);
    double.serve_until(ONE, "create /locks/a/");
    double.settle();
    // The first client holds and the second waits; the first is a zombie from here on.
    double.expire(ONE);
    double.settle();
    double.tell_expired(ONE);
    double.settle();
    double.cancel(ONE);
    double.pass(BOUND * 2);
    assert_eq!(double.finished(ONE), Some(&Ok(())), "{}", double.story());
    assert_eq!(double.finished(TWO), Some(&Ok(())), "{}", double.story());
    assert!(double.story().matches("GRANTED").count() >= 5, "{}", double.story());
    assert!(line(&double).is_empty());
    assert_eq!(double.end(), [""; 0]);
}

/// Programs may move between threads.
#[test]
fn futures_of_the_lock_are_send() {
    fn is_send(_: impl Send) {}
    fn check(zookeeper: &ZooKeeper, guard: vivarium_recipes::lock::Guard) {
        let lock = lock(zookeeper);
        is_send(lock.acquire());
        is_send(lock.acquire_timeout(BOUND));
        is_send(guard.lost());
        is_send(guard.fenced(Vec::new()));
        is_send(guard.release());
    }
    let _ = check;
}
