//! The property that two clients never hold at the same time.

use super::{falls, falls_in_a_search, holds, two, words};
use vivarium::prelude::*;

/// The way to take the lock: if a client looks first and then creates, two clients can both be the first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    ByCreating,
    ByLooking,
}

/// Takes the lock, reports it, reads a znode under it, and gives the lock back; or finds it taken.
async fn hold(zookeeper: ZooKeeper, takes: Takes) -> Result<(), String> {
    zookeeper.connect().await;
    match takes {
        Takes::ByLooking if zookeeper.exists("/lock").await != Ok(None) => return Ok(()),
        Takes::ByLooking => drop(zookeeper.create("/lock", b"", CreateMode::Ephemeral).await),
        Takes::ByCreating => {
            let created = zookeeper.create("/lock", b"", CreateMode::Ephemeral).await;
            if created.is_err() {
                return Ok(());
            }
        }
    }
    zookeeper.custom("granted", &[("path", "/lock".into())]);
    let _ = zookeeper.exists("/data").await;
    zookeeper.custom("released", &[("path", "/lock".into())]);
    let _ = zookeeper.delete("/lock", Version::Any).await;
    Ok(())
}

fn lock(takes: Takes) -> Test {
    Test::new("lock", move |zookeeper| hold(zookeeper, takes)).clients(2)
}

fn exclusive(takes: Takes) -> Test {
    lock(takes).monitor(never_two_at_once("granted", "released").per("path"))
}

#[test]
fn who_looks_before_it_takes_is_one_of_two() {
    let says = "said `granted` (path = /lock) while client";
    falls(|| exclusive(Takes::ByLooking), 200, &two(), says);
    let says = "has not said `released` since, and no session of theirs is over";
    falls(|| exclusive(Takes::ByLooking), 200, &two(), says);
}

#[test]
fn who_creates_it_holds_it_alone() {
    holds(|| exclusive(Takes::ByCreating), 100, &two());
    // A session that is over and a killed process no longer hold.
    holds(|| exclusive(Takes::ByCreating).faults(Faults::ALL), 100, &two().expiries(1));
    holds(|| exclusive(Takes::ByCreating), 1, &two().kills(1));
}

/// The strict property has no excuses: it is violated in the runs that hold above.
#[test]
fn strictly_nobody_is_excused() {
    let strict = || {
        let exclusive = never_two_at_once("granted", "released").strictly();
        lock(Takes::ByCreating).monitor(exclusive)
    };
    holds(strict, 50, &two());
    falls_in_a_search(strict, &two().expiries(1), "which nothing excuses here");
}

/// Continues after the end of its session as if nothing had happened, and reports it.
async fn goes_on(zookeeper: ZooKeeper, careful: bool, says: bool) -> Result<(), String> {
    let mut states = zookeeper.session_events();
    zookeeper.connect().await;
    if zookeeper.create("/leader", b"", CreateMode::Ephemeral).await.is_err() {
        return Ok(());
    }
    zookeeper.custom("leads", &[]);
    for _ in 0..2 {
        if zookeeper.exists("/data").await == Err(Error::SessionExpired) {
            if careful {
                return Ok(());
            }
            while states.next().await != SessionState::Expired {}
            zookeeper.connect().await;
        }
        if says {
            zookeeper.custom("worked", &[]);
        }
    }
    Ok(())
}

fn leader(careful: bool, says: bool) -> Test {
    Test::new("leader", move |zookeeper| goes_on(zookeeper, careful, says)).clients(2)
}

#[test]
fn who_goes_on_in_another_session_is_excused_no_more() {
    let make =
        |careful| move || leader(careful, true).monitor(never_two_at_once("leads", "resigned"));
    let says = "the program of one of them had been notified that its session is over";
    falls_in_a_search(make(false), &two().expiries(1), says);
    holds(make(true), 50, &two().expiries(1));
}

/// Leads, and continues to lead when it learns that its session is over: without further observations, in another
/// session, in which it reads that another client leads.
async fn leads_in_silence(zookeeper: ZooKeeper, careful: bool) -> Result<(), String> {
    zookeeper.connect().await;
    match zookeeper.create("/leader", b"", CreateMode::Ephemeral).await {
        Ok(_) => zookeeper.custom("leads", &[]),
        Err(Error::NodeExists | Error::SessionExpired | Error::ConnectionLoss) => return Ok(()),
        Err(error) => return Err(words(error)),
    }
    if zookeeper.get_data("/leader").await == Err(Error::SessionExpired) {
        if careful {
            zookeeper.custom("resigned", &[]);
        }
        zookeeper.connect().await;
        let _ = zookeeper.exists("/leader").await;
    }
    zookeeper.custom("resigned", &[]);
    Ok(())
}

#[test]
fn an_answer_of_the_handle_ends_the_excuse() {
    let make = |careful| {
        move || {
            Test::new("silent", move |zookeeper| leads_in_silence(zookeeper, careful))
                .clients(2)
                .faults(Faults::NONE.with(Fault::SessionExpiry))
                .monitor(never_two_at_once("leads", "resigned"))
        }
    };
    let says = "the program of one of them had been notified that its session is over";
    falls_in_a_search(make(false), &two().expiries(1), says);
    holds(make(true), 300, &two().expiries(1));
}

/// If beliefs end with sessions, no observation is needed for a violation.
#[test]
fn a_belief_can_have_to_end_with_its_session() {
    let make = |careful| {
        move || {
            let exclusive = never_two_at_once("leads", "resigned").ending_with_session();
            leader(careful, false).monitor(exclusive)
        }
    };
    let says = "the program of one of them had been notified that its session is over";
    falls_in_a_search(make(false), &two().expiries(1), says);
    holds(make(true), 50, &two().expiries(1));
}

/// Takes the lock with a token, and gives it back. The token is the znode's czxid, or the number of clients.
async fn with_token(zookeeper: ZooKeeper, right: bool) -> Result<(), String> {
    zookeeper.connect().await;
    while let Err(error) = zookeeper.create("/lock", b"", CreateMode::Ephemeral).await {
        let Error::NodeExists = error else { return Err(words(error)) };
        if let Ok((Some(_), mut watch)) = zookeeper.exists_watch("/lock").await {
            watch.changed().await.map_err(words)?;
        }
    }
    let stat = zookeeper.exists("/lock").await.map_err(words)?.expect("it is our own");
    let version = Value::from(i64::from(stat.version));
    let token = if right { stat.czxid.into() } else { version };
    zookeeper.custom("granted", &[("token", token)]);
    let guard = right.then_some(stat.czxid);
    zookeeper.write_resource("ledger", guard, 1).await.map_err(|_| "too late")?;
    zookeeper.custom("released", &[]);
    zookeeper.delete("/lock", Version::Any).await.map_err(words)
}

#[test]
fn tokens_grow() {
    let make = |right| {
        move || {
            let exclusive = never_two_at_once("granted", "released").token("token");
            Test::new("tokens", move |zookeeper| with_token(zookeeper, right))
                .clients(2)
                .monitor(exclusive)
        }
    };
    falls(make(false), 50, &two(), "(token = 0), and this token was granted before: client");
    holds(make(true), 50, &two());
}

#[test]
fn a_guarded_resource_takes_no_write_without_a_token() {
    let make = |right| {
        move || {
            let exclusive = never_two_at_once("granted", "released").guarding("ledger");
            Test::new("guarded", move |zookeeper| with_token(zookeeper, right))
                .clients(2)
                .monitor(exclusive)
        }
    };
    let says = "resource ledger accepted a write of client";
    falls(make(false), 50, &two(), says);
    holds(make(true), 50, &two());
}
