//! Behaviour that real runs seldom show: each exception that the bridge allows, with a case just outside of it.

mod local;

use super::Bridge;
use crate::property::testing::{
    Bodies, CLIENT, ONE, SESSION, TWO, Trial, committed, create_request, exists, get_data, lost,
    others, replied, sent, session, set_data_request, txn, z,
};
use crate::property::{Monitor, View};
use crate::vocabulary::acl::AclList;
use crate::vocabulary::config::Config;
use crate::vocabulary::error::Error;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{ServerId, SessionId};
use crate::vocabulary::op::{
    CreateMode, Data, EventType, Op, Request, Response, SessionState, WatchedEvent,
};
use crate::vocabulary::path::ZnodePath;
use crate::vocabulary::setup::Setup;
use crate::vocabulary::stat::Stat;
use crate::vocabulary::time::{Duration, Time};
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::vocabulary::znode::EphemeralType;
use crate::vocabulary::zxid::{Epoch, Zxid};
use crate::world::history::History;
use std::sync::Arc;

fn established(leader: ServerId, epoch: u32) -> Event {
    Event::Established { leader, epoch: Epoch(epoch), last_zxid: Zxid::ZERO }
}

fn left(server: ServerId) -> Event {
    Event::LeftRole { server, reason: "no quorum" }
}

/// Returns a trial in which server 1 leads epoch 1 and a session that began at 1:1 is connected.
fn trial() -> Trial<Bridge> {
    let mut trial = Trial::new(Bridge::new());
    trial.accepts(established(ONE, 1));
    trial.create_session(z(1, 1));
    trial.accepts(session(SessionState::SyncConnected, Some(ONE)));
    trial
}

/// Returns the same trial after request 1 has created /a at 1:2 and the client has lost its connection.
fn disconnected() -> Trial<Bridge> {
    let mut trial = trial();
    create(&mut trial);
    trial.accepts(session(SessionState::Disconnected, None));
    trial
}

fn create(trial: &mut Trial<Bridge>) {
    trial.accepts(sent(1, create_request("/a", "x")));
    let body = Bodies(&trial.history).create("/a", "x");
    trial.commit(z(1, 2), 1, body);
    let result = trial.history.applied(z(1, 2)).expect("committed").result.clone();
    trial.accepts(replied(1, z(1, 2), create_request("/a", "x"), result));
}

fn connected() -> Event {
    session(SessionState::SyncConnected, Some(ONE))
}

fn close(zxid: Zxid) -> Arc<Txn> {
    txn(zxid, 0, TxnBody::CloseSession { ephemerals: Vec::new() })
}

fn next_session(zxid: Zxid) -> (Event, Event) {
    let new = SessionId(0x20);
    let mut created = (*txn(zxid, 0, TxnBody::CreateSession { timeout: Duration::ZERO })).clone();
    created.session = new;
    let (server, state) = (Some(TWO), SessionState::SyncConnected);
    let connected = Event::Session { client: CLIENT, session: Some(new), server, state };
    (committed(Arc::new(created)), connected)
}

#[test]
fn a_deposed_leader_may_accept_a_closed_session() {
    for unaware in [true, false] {
        let mut trial = disconnected();
        if !unaware {
            trial.accepts(left(ONE));
            trial.accepts(connected());
            trial.accepts(session(SessionState::Disconnected, None));
        }
        trial.accepts(established(TWO, 2));
        trial.accepts(committed(close(z(2, 1))));
        if unaware {
            trial.accepts(connected());
            continue;
        }
        // This connection may have begun before the closeSession, but the next one cannot.
        trial.accepts(connected());
        trial.accepts(session(SessionState::Disconnected, None));
        assert_eq!(
            trial.objects(connected()),
            "bridge: client 1's session 0x10 was accepted again, although it was closed at 2:1 and \
             no leader could still track it."
        );
    }
}

#[test]
fn a_deposed_leader_may_refuse_a_session_that_it_does_not_know() {
    for deposed in [true, false] {
        let mut trial = Trial::new(Bridge::new());
        if deposed {
            trial.accepts(established(ONE, 1));
        }
        trial.accepts(established(TWO, 2));
        trial.create_session(z(2, 1));
        trial.accepts(connected());
        trial.accepts(session(SessionState::Disconnected, None));
        let expired = session(SessionState::Expired, None);
        match deposed {
            true => trial.accepts(expired),
            false => drop(trial.objects(expired)),
        }
    }
}

#[test]
fn the_next_session_is_behind_the_closed_one_unless_its_leader_fell() {
    for fell in [true, false] {
        let mut trial = disconnected();
        trial.accepts(Event::Proposed { leader: ONE, txn: close(z(1, 3)) });
        trial.accepts(session(SessionState::Expired, None));
        if fell {
            trial.accepts(left(ONE));
            trial.accepts(established(TWO, 2));
            let (created, connected) = next_session(z(2, 1));
            trial.accepts(created);
            trial.accepts(connected);
        } else {
            let (created, connected) = next_session(z(1, 4));
            trial.accepts(created);
            assert_eq!(
                trial.objects(connected),
                "bridge: client 1's session 0x20 was created at 1:4, before its expired session \
                 0x10 was closed."
            );
        }
    }
}

#[test]
fn a_lost_write_may_be_committed_after_the_session_came_back_but_not_behind_its_next_write() {
    let before = |trial: &mut Trial<Bridge>| {
        create(trial);
        trial.accepts(sent(2, set_data_request("/a", "late")));
        trial.accepts(session(SessionState::Disconnected, None));
        trial.accepts(connected());
        trial.accepts(sent(3, set_data_request("/a", "next")));
    };
    let set = |trial: &Trial<Bridge>, data| Bodies(&trial.history).set_data("/a", data);
    let mut pending = trial();
    before(&mut pending);
    let (late, next) = (set(&pending, "late"), "next");
    pending.commit(z(1, 3), 2, late);
    let next = set(&pending, next);
    pending.commit(z(1, 4), 3, next);

    let mut settled = trial();
    before(&mut settled);
    let next = set(&settled, "next");
    settled.commit(z(1, 3), 3, next);
    // The leader may still refuse the write with SessionMoved, which has no effect.
    settled.commit(z(1, 4), 2, TxnBody::Error(Error::SessionMoved));
    let late = set(&settled, "late");
    settled.objects(committed(txn(z(1, 5), 2, late)));
}

#[test]
fn a_lost_request_was_in_flight() {
    let mut trial = trial();
    trial.accepts(sent(1, exists("/a")));
    trial.accepts(lost(1, exists("/a")));
    assert_eq!(
        trial.objects(lost(2, exists("/b"))),
        "bridge: client 1 lost request 2 (exists /b), which was not in flight."
    );
}

#[test]
fn an_opening_zxid_is_a_place_only_of_an_established_leader() {
    for known in [true, false] {
        let mut trial = disconnected();
        trial.accepts(left(ONE));
        trial.accepts(connected());
        if known {
            trial.accepts(established(TWO, 2));
        }
        trial.accepts(sent(2, exists("/b")));
        let reply = replied(2, z(2, 0), exists("/b"), Err(Error::NoNode));
        match known {
            true => trial.accepts(reply),
            false => assert!(trial.objects(reply).contains("no place in the log")),
        }
    }
}

/// SetWatches may be answered at any zxid from the client's last one on.
#[test]
fn set_watches_is_answered_at_a_prefix() {
    let rearmed = |zxid| Event::Rearmed { client: CLIENT, session: SESSION, zxid };
    let notified = |zxid| {
        let event = WatchedEvent { kind: EventType::NodeDataChanged, path: "/a".into(), zxid };
        Event::Notified { client: CLIENT, session: SESSION, event }
    };
    let start = || {
        let mut trial = disconnected();
        // Another session changes the znode while the client is disconnected.
        let (created, connected) = next_session(z(1, 3));
        let Event::Session { session, server, state, .. } = connected else { unreachable!() };
        let client = crate::vocabulary::id::ClientId(2);
        trial.accepts(created);
        trial.accepts(Event::Session { client, session, server, state });
        let mut request = sent(1, set_data_request("/a", "y"));
        if let Event::Sent { client: its, session: of, .. } = &mut request {
            (*its, *of) = (client, SessionId(0x20));
        }
        trial.accepts(request);
        let mut change = (*txn(z(1, 4), 1, Bodies(&trial.history).set_data("/a", "y"))).clone();
        change.session = SessionId(0x20);
        trial.accepts(committed(Arc::new(change)));
        trial.accepts(self::connected());
        trial.accepts(Event::Rearming {
            persistent: Vec::new(),
            recursive: Vec::new(),
            client: CLIENT,
            session: SESSION,
            relative_zxid: z(1, 2),
            data: vec!["/a".into()],
            exist: Vec::new(),
            child: Vec::new(),
        });
        trial
    };
    // A lagging server arms the watch, which fires when the server applies the change.
    let mut behind = start();
    behind.accepts(rearmed(z(1, 3)));
    behind.accepts(notified(z(1, 4)));
    // A server that has applied the change generates the event, and arms no watch.
    let mut ahead = start();
    ahead.accepts(notified(z(1, 4)));
    ahead.accepts(rearmed(z(1, 4)));
    assert_eq!(
        ahead.objects(notified(z(1, 4))),
        "bridge: the notification NodeDataChanged /a (zxid 1:4) to client 1 belongs to no watch \
         of its connection."
    );
    // A server that has applied the change must send the event before its reply; a server with a lower zxid than the
    // client's must refuse the session.
    assert!(start().objects(rearmed(z(1, 4))).contains("before an earlier packet was read"));
    assert!(start().objects(rearmed(z(1, 1))).contains("had seen 1:2 before"));
    // A generated event is wrong if the client has missed no change.
    assert!(start().objects(notified(z(1, 3))).contains("belongs to no watch"));
}

#[test]
fn an_answer_after_a_watch_that_it_sets_is_followed_by_its_event() {
    let mut trial = trial();
    create(&mut trial);
    let watch = crate::vocabulary::op::Request::Exists { path: "/a".into(), watch: true };
    trial.accepts(sent(2, watch.clone()));
    let stat = trial.history.tree().stat("/a").expect("it exists");
    trial.accepts(replied(2, z(1, 2), watch, Ok(Response::Exists(stat))));
    trial.accepts(sent(3, set_data_request("/a", "y")));
    let body = Bodies(&trial.history).set_data("/a", "y");
    trial.commit(z(1, 3), 3, body);
    let result = trial.history.applied(z(1, 3)).expect("committed").result.clone();
    assert_eq!(
        trial.objects(replied(3, z(1, 3), set_data_request("/a", "y"), result)),
        "bridge: request 3 of session 0x10 (setData /a, client 1) was answered before an \
         earlier packet was read: notification NodeDataChanged /a (zxid 1:3)."
    );
}

/// With `expires_locally`, a client ends its session without a server's reply (rule 2.8.3). The session lives on at
/// the servers, and the client's next one does not wait for its end.
#[test]
fn a_client_may_give_its_session_up() {
    for (gives_up, by, accepted) in
        [(true, None, true), (true, Some(TWO), false), (false, None, false)]
    {
        let mut trial = Trial::new(Bridge::new());
        let mut config = Config::new(3, 1);
        config.clients[0].expires_locally = gives_up;
        trial.monitor.begin(&Arc::new(config));
        trial.accepts(established(ONE, 1));
        trial.create_session(z(1, 1));
        trial.accepts(connected());
        if gives_up && by.is_none() {
            let saw = trial.clone_and_object(session(SessionState::Expired, None));
            assert!(saw.ends_with("while it was connected."), "{saw}");
        }
        trial.accepts(session(SessionState::Disconnected, None));
        let expired = session(SessionState::Expired, by);
        if !accepted {
            trial.objects(expired);
            continue;
        }
        trial.accepts(expired);
        let (created, connected) = next_session(z(1, 2));
        trial.accepts(created);
        trial.accepts(connected);
    }
}

/// A client whose identity was refused leaves its session (rule 1.9). It must have sent a proof that servers refuse.
#[test]
fn an_identity_is_refused_only_if_it_was_sent() {
    let authenticating = |scheme: &str| Event::Authenticating {
        client: CLIENT,
        session: SESSION,
        scheme: scheme.into(),
        auth: Data::from(*b"ann:secret"),
    };
    let failed = || session(SessionState::AuthFailed, None);
    let accepted = || Event::Authenticated { client: CLIENT, session: SESSION };
    for scheme in ["digest", "kerberos"] {
        let mut trial = trial();
        trial.clone_and_object(accepted());
        trial.accepts(authenticating(scheme));
        trial.accepts(sent(1, exists("/")));
        if scheme == "digest" {
            let saw = trial.objects(failed());
            assert!(saw.ends_with("it has sent no identity that a server refuses."), "{saw}");
            continue;
        }
        // The server answers nothing after it has refused a proof, and the refused proof is not an accepted one.
        trial.clone_and_object(accepted());
        let stat = trial.history.tree().stat("/").expect("the root");
        let answered = replied(1, z(1, 1), exists("/"), Ok(Response::Exists(stat)));
        assert!(trial.clone_and_object(answered).contains("was answered before"));
        trial.accepts(lost(1, exists("/")));
        trial.accepts(failed());
        let (created, connected) = next_session(z(1, 2));
        trial.accepts(created);
        trial.accepts(connected);
    }
}

/// A server that has loaded a snapshot counts its quotas anew, and its numbers may differ.
#[test]
fn statistics_of_quotas_may_say_anything() {
    let mut trial = trial();
    let quota = "/zookeeper/quota/a";
    let statistics = format!("{quota}/zookeeper_stats");
    for (at, path) in [(1, quota), (2, "/zookeeper/quota/a/zookeeper_limits"), (3, &statistics)] {
        let zxid = z(1, at + 1);
        trial.accepts(sent(at, create_request(path, "")));
        let body = Bodies(&trial.history).create(path, "");
        trial.commit(zxid, at, body);
        let result = trial.history.applied(zxid).expect("committed").result.clone();
        trial.accepts(replied(at, zxid, create_request(path, ""), result));
    }
    for (at, path) in [(4, statistics.as_str()), (5, quota)] {
        let stat = trial.history.tree().stat(path).expect("there");
        let stat = Stat { data_length: 17, ..stat };
        let result = Ok(Response::Data(Data::from(*b"count=77,bytes=77"), stat));
        trial.accepts(sent(at, get_data(path)));
        let event = replied(at, z(1, 4), get_data(path), result);
        if path == statistics {
            trial.accepts(event);
        } else {
            assert!(trial.objects(event).contains("but the tree at 1:4 gives"));
        }
    }
}

/// A session may expire before its createSession is committed.
#[test]
fn a_session_may_be_closing_before_it_has_begun() {
    let mut trial = Trial::new(Bridge::new());
    trial.accepts(established(ONE, 1));
    trial.accepts(Event::Proposed { leader: ONE, txn: close(z(1, 2)) });
    trial.create_session(z(1, 1));
    trial.accepts(connected());
    trial.accepts(session(SessionState::Disconnected, None));
    trial.accepts(session(SessionState::Expired, Some(ONE)));
}

/// A lagging server that has not applied a session's closeSession accepts the session, and shows a prefix that no
/// other client can be shown any more. Its replies cannot be judged, but the client's requests are tracked.
#[test]
fn a_server_far_behind_shows_what_nothing_is_known_of_but_its_clients_writes_are() {
    let mut trial = Trial::new(Bridge::new());
    trial.accepts(established(ONE, 1));
    trial.create_session(z(1, 1));
    trial.accepts(committed(close(z(1, 2))));
    for event in others(20, z(1, 3)) {
        trial.accepts(event);
    }
    trial.accepts(session(SessionState::SyncConnected, Some(TWO)));
    trial.accepts(sent(1, exists("/a")));
    trial.accepts(replied(1, z(1, 1), exists("/a"), Err(Error::NoNode)));
    let counted = trial.monitor.compared();
    assert!(counted.contains(&("connections of sessions older than what is remembered", 1)));

    trial.accepts(sent(2, create_request("/a", "x")));
    trial.accepts(sent(3, create_request("/b", "x")));
    trial.clone_and_object(sent(3, create_request("/c", "x")));
    let end = z(1, 43);
    let refused = |cxid| committed(txn(end, cxid, TxnBody::Error(Error::SessionExpired)));
    trial.clone_and_object(refused(4));
    let created = Bodies(&trial.history).create("/a", "x");
    trial.clone_and_object(committed(txn(end, 2, created)));
    trial.accepts(refused(2));
    trial.accepts(lost(2, create_request("/a", "x")));
    trial.accepts(lost(3, create_request("/b", "x")));
    trial.accepts(session(SessionState::Disconnected, None));
    trial.accepts(session(SessionState::Expired, None));
}

/// A counter past its end goes on among the outstanding changes and stays in the tree; only these two numbers are
/// allowed.
#[test]
fn a_counter_past_its_end_goes_on_or_stays() {
    let setup = Setup::NONE.containers(["/q"]).expect("it is a znode").with_creates(i32::MAX);
    let config = Arc::new(Config { setup, ..Config::new(1, 1) });
    let mut bridge = Bridge::new();
    bridge.begin(&config);
    let mut trial = Trial::new(bridge);
    trial.history = History::beginning_with(config.first_tree());
    trial.accepts(established(ONE, 1));
    trial.create_session(z(1, 1));
    trial.accepts(session(SessionState::SyncConnected, Some(ONE)));
    for xid in 1..=4 {
        let op = Op::create(format!("/q/{xid}-"), *b"x", CreateMode::PersistentSequential);
        trial.accepts(sent(xid, Request::Write(op)));
    }
    let node = |xid: u32, number: &str, parent_cversion: i32| TxnBody::Create {
        path: ZnodePath::new(format!("/q/{xid}-{number}")).expect("it is a path"),
        data: Data::from(*b"x"),
        ephemeral_type: EphemeralType::Void,
        acl: AclList::OPEN,
        parent_cversion,
    };
    let refused = |trial: &Trial<Bridge>, zxid: Zxid, xid, body| {
        trial.clone_and_object(committed(txn(zxid, xid, body)))
    };
    let early = refused(&trial, z(1, 2), 1, node(1, "-2147483648", i32::MIN + 1));
    assert!(early.contains("at this place of the log is create /q/1-2147483647"), "{early}");
    trial.commit(z(1, 2), 1, node(1, "2147483647", i32::MIN));
    trial.commit(z(1, 3), 2, node(2, "-2147483648", i32::MIN + 1));
    for (number, counter) in [("-2147483646", i32::MIN + 3), ("-2147483648", i32::MIN + 1)] {
        let other = refused(&trial, z(1, 4), 3, node(3, number, counter));
        assert!(other.contains("at this place of the log is create /q/3-2147483647"), "{other}");
    }
    // The outstanding creates are committed now.
    trial.commit(z(1, 4), 3, node(3, "2147483647", i32::MIN));
    // A new leader has no outstanding changes; at the old leader, the last create may still be outstanding.
    let next = node(4, "-2147483648", i32::MIN + 1);
    trial
        .monitor
        .clone()
        .event(View::new(Time::ZERO, &trial.history), &committed(txn(z(1, 5), 4, next.clone())))
        .expect("it is outstanding");
    trial.accepts(established(TWO, 2));
    let inherited = refused(&trial, z(2, 1), 4, next);
    assert!(
        inherited.contains("at this place of the log is create /q/4-2147483647"),
        "{inherited}"
    );
    trial.accepts(committed(txn(z(2, 1), 4, node(4, "2147483647", i32::MIN))));
}
