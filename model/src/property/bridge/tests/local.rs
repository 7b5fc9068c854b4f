//! Behaviour that the bridge allows only for local sessions and read-only connections.

use super::super::Bridge;
use crate::property::testing::{
    Bodies, CLIENT, ONE, SESSION, TWO, Trial, create_request, exists, others, replied, sent,
    session, z,
};
use crate::vocabulary::config::Config;
use crate::vocabulary::error::Error;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::SessionId;
use crate::vocabulary::op::{CreateMode, Op, Request, Response, SessionState};
use crate::vocabulary::stat::Stat;
use crate::vocabulary::time::Duration;
use crate::vocabulary::txn::TxnBody;
use std::sync::Arc;

fn trial(configure: impl FnOnce(&mut Config)) -> Trial<Bridge> {
    let mut trial = Trial::new(Bridge::new());
    let mut config = Config::new(3, 1);
    configure(&mut config);
    trial.monitor.begin(&Arc::new(config));
    trial
}

/// Returns a trial in which a session without a createSession is connected to server 1.
fn local() -> Trial<Bridge> {
    let mut trial = trial(|config| config.options.local_sessions = true);
    trial.accepts(session(SessionState::SyncConnected, Some(ONE)));
    trial
}

fn create_ephemeral() -> Request {
    Request::Write(Op::create("/e", &b""[..], CreateMode::Ephemeral))
}

#[test]
fn a_session_without_a_transaction_begins_only_where_sessions_are_local() {
    local();
    let mut trial = trial(|_| ());
    assert_eq!(
        trial.objects(session(SessionState::SyncConnected, Some(ONE))),
        "bridge: client 1 was connected with session 0x10, which was never created."
    );
}

#[test]
fn a_local_session_cannot_move() {
    let mut trial = local();
    trial.accepts(session(SessionState::Disconnected, None));
    assert_eq!(
        trial.clone_and_object(session(SessionState::SyncConnected, Some(TWO))),
        "bridge: client 1's local session 0x10 was accepted by a server other than the one that created it."
    );
    trial.accepts(session(SessionState::SyncConnected, Some(ONE)));
    trial.accepts(session(SessionState::Disconnected, None));
    trial.accepts(session(SessionState::Expired, Some(TWO)));
}

/// A local session has no createSession, so its server may lag behind everything that any client was shown.
#[test]
fn a_local_session_begins_wherever_its_server_stands() {
    let mut trial = trial(|config| config.options.local_sessions = true);
    let pairs = 20;
    for event in others(pairs, z(1, 1)) {
        trial.accepts(event);
    }
    trial.accepts(session(SessionState::SyncConnected, Some(TWO)));
    trial.accepts(sent(1, exists("/a")));
    // The replies of a lagging server are compared like all others.
    let there = replied(1, z(1, 3), exists("/a"), Ok(Response::Exists(Stat::default())));
    let saw = trial.clone_and_object(there);
    assert!(saw.contains("but the tree at 1:3 gives"), "{saw}");
    trial.accepts(replied(1, z(1, 3), exists("/a"), Err(Error::NoNode)));
    trial.accepts(sent(2, create_request("/a", "x")));
    let end = z(1, 2 * pairs + 1);
    let body = Bodies(&trial.history).create("/a", "x");
    trial.commit(end, 2, body);
    let created = trial.history.applied(end).expect("committed").result.clone();
    trial.accepts(replied(2, end, create_request("/a", "x"), created));
}

#[test]
fn an_upgraded_session_is_like_any_other() {
    let mut trial = local();
    trial.create_session(z(1, 1));
    trial.accepts(session(SessionState::Disconnected, None));
    trial.accepts(session(SessionState::SyncConnected, Some(TWO)));
    trial.accepts(session(SessionState::Disconnected, None));
    trial.clone_and_object(session(SessionState::Expired, Some(ONE)));
    // A session cannot be upgraded twice.
    let again = TxnBody::CreateSession { timeout: Duration::from_secs(6) };
    let again = crate::property::testing::txn(z(1, 2), 0, again);
    trial.objects(crate::property::testing::committed(again));
}

#[test]
fn writes_of_a_local_session_are_decided_but_it_owns_no_znode() {
    let mut trial = local();
    trial.accepts(sent(1, create_request("/a", "x")));
    let body = Bodies(&trial.history).create("/a", "x");
    trial.commit(z(1, 1), 1, body);
    trial.accepts(sent(2, create_ephemeral()));
    let ephemeral = Bodies(&trial.history).create_as("/e", "", true);
    let ephemeral = crate::property::testing::txn(z(1, 2), 2, ephemeral);
    trial.clone_and_object(crate::property::testing::committed(ephemeral));
    trial.commit(z(1, 2), 2, TxnBody::Error(Error::SessionExpired));
    let created = trial.history.applied(z(1, 1)).expect("committed").result.clone();
    trial.accepts(replied(1, z(1, 1), create_request("/a", "x"), created));
    let told = Err(Error::EphemeralOnLocalSession);
    trial.clone_and_object(replied(2, z(1, 2), create_ephemeral(), Err(Error::NoNode)));
    trial.accepts(replied(2, z(1, 2), create_ephemeral(), told));
}

#[test]
fn closing_a_local_session_takes_no_transaction() {
    for is_local in [true, false] {
        let mut trial = local();
        if !is_local {
            trial.create_session(z(1, 1));
        }
        trial.accepts(sent(1, Request::CloseSession));
        let zxid = trial.history.last();
        let closed = replied(1, zxid, Request::CloseSession, Ok(Response::Closed));
        if is_local {
            trial.accepts(closed);
            trial.accepts(session(SessionState::Closed, None));
        } else {
            trial.objects(closed);
        }
    }
}

/// A read-only server shows no prefix of the log (rule 2.7).
#[test]
fn what_a_read_only_connection_shows_is_not_compared() {
    let vanished = || replied(1, z(7, 7), exists("/x"), Ok(Response::Exists(Stat::default())));
    let mut trial = trial(|config| {
        config.options.local_sessions = true;
        config.options.read_only_mode = true;
    });
    trial.accepts(session(SessionState::ConnectedReadOnly, Some(ONE)));
    trial.accepts(sent(1, exists("/x")));
    trial.accepts(vanished());
    trial.accepts(session(SessionState::Disconnected, None));
    // The read-only server's session is not a real one, so the client connects with another.
    let (new, server) = (SessionId(0x20), Some(TWO));
    let connected = |state| Event::Session { client: CLIENT, session: Some(new), server, state };
    trial.accepts(connected(SessionState::SyncConnected));
    // The client has seen a higher zxid than this server's.
    let mut behind = sent(2, exists("/x"));
    let mut answer = replied(2, z(1, 1), exists("/x"), Err(Error::NoNode));
    for event in [&mut behind, &mut answer] {
        if let Event::Sent { session, .. } | Event::Replied { session, .. } = event {
            *session = new;
        }
    }
    trial.accepts(behind);
    let saw = trial.objects(answer);
    assert!(saw.contains("has zxid 1:1, although the session had seen 7:7 before"), "{saw}");
}

#[test]
fn a_plain_connection_is_compared_all_the_same() {
    let mut trial = local();
    trial.accepts(sent(1, exists("/x")));
    trial.objects(replied(1, z(7, 7), exists("/x"), Ok(Response::Exists(Stat::default()))));
    // A client with a connection cannot be given a read-only one besides.
    let mut trial = local();
    let beside = trial.objects(session(SessionState::ConnectedReadOnly, Some(TWO)));
    assert!(
        beside.contains(&format!("{SESSION} while it still had another session or connection")),
        "{beside}"
    );
}
