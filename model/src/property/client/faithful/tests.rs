//! The monitor of H15 on machines that are not faithful.

use super::FaithfulClient;
use crate::program::exchange::Exchange;
use crate::program::host::{Input, Operation, Outcome};
use crate::property::client::testing::{
    Scene, answered, asks, asks_in, connect, replies, state, state_of, taken, told, wrote,
};
use crate::property::testing::{SESSION, exists, get_data, z};
use crate::vocabulary::config::ClientConfig;
use crate::vocabulary::error::Error;
use crate::vocabulary::id::{CallId, ServerId, SessionId};
use crate::vocabulary::op::{
    AddWatchMode, CreateMode, Data, EventType, Op, OpResult, Request, Response, SessionState,
    WatchedEvent, WatcherType,
};
use crate::vocabulary::packet::{ClientPacket, ServerPacket};
use crate::vocabulary::stat::Stat;
use crate::vocabulary::timer::ClientTimer;
use crate::vocabulary::zxid::Zxid;
use std::sync::Arc;

const NEXT: SessionId = SessionId(0x20);

fn connected() -> Scene<FaithfulClient> {
    Scene::connected(FaithfulClient::new())
}

fn data() -> Result<Response, Error> {
    Ok(Response::Data(Data::from([]), Stat::default()))
}

fn event(kind: EventType, path: &str) -> WatchedEvent {
    WatchedEvent { kind, path: path.into(), zxid: z(1, 9) }
}

fn notified(kind: EventType, path: &str) -> Exchange {
    Exchange::Read(ServerPacket::Notification(event(kind, path)))
}

fn fired(call: u32, kind: EventType, path: &str) -> Exchange {
    told(call, Outcome::Watch(Ok(event(kind, path))))
}

fn stays(call: u32, kind: EventType, path: &str) -> Exchange {
    Exchange::Told(Input::Event { call: CallId(call), event: event(kind, path) })
}

fn watching() -> Scene<FaithfulClient> {
    watching_by(connected())
}

/// Sets all five kinds of watches on `/a`; their events go to calls 11 to 15.
fn watching_by(mut scene: Scene<FaithfulClient>) -> Scene<FaithfulClient> {
    let path: Arc<str> = "/a".into();
    let get = Request::GetData { path: Arc::clone(&path), watch: true };
    let exists = Request::Exists { path: Arc::clone(&path), watch: true };
    let children = Request::GetChildren { path: Arc::clone(&path), watch: true };
    let add = |mode| Request::AddWatch { path: Arc::clone(&path), mode };
    let kinds = [
        (get, data()),
        (exists, Err(Error::NoNode)),
        (children, Ok(Response::Children(Vec::new(), Stat::default()))),
        (add(AddWatchMode::Persistent), Ok(Response::Watches)),
        (add(AddWatchMode::PersistentRecursive), Ok(Response::Watches)),
    ];
    for ((request, result), call) in kinds.into_iter().zip(1..) {
        scene.sends(call, request, Some(10 + call));
        scene.accepts(replies(call, z(1, call), result.clone()));
        scene.accepts(answered(call, result));
    }
    scene
}

fn set_watches(relative_zxid: Zxid, without: Option<usize>) -> Exchange {
    let mut lists: [Vec<Arc<str>>; 5] = std::array::from_fn(|_| vec!["/a".into()]);
    if let Some(list) = without {
        lists[list].clear();
    }
    let [data, exist, child, persistent, recursive] = lists;
    let packet =
        ClientPacket::SetWatches { relative_zxid, data, exist, child, persistent, recursive };
    Exchange::Wrote(packet)
}

/// Breaks the connection; the next server accepts the session.
fn comes_back(scene: &mut Scene<FaithfulClient>, zxid: Zxid) {
    scene.accepts(Exchange::Broke);
    scene.accepts(state(SessionState::Disconnected));
    scene.accepts(Exchange::Fired(ClientTimer::Reconnect));
    scene.opens(2, Some(SESSION), zxid);
    scene.accepts(taken(SESSION));
}

#[test]
fn an_answer_to_another_call() {
    let mut scene = connected();
    scene.sends(1, exists("/a"), None);
    scene.sends(2, exists("/b"), None);
    scene.accepts(replies(1, z(1, 1), Err(Error::NoNode)));
    scene.objects(answered(2, Err(Error::NoNode)));
    scene.objects(answered(1, Err(Error::NoAuth)));
    scene.accepts(answered(1, Err(Error::NoNode)));
    // A call is not answered twice.
    scene.objects(answered(1, Err(Error::NoNode)));
    // A reply to a request that is not the oldest ends the connection.
    scene.accepts(replies(3, z(1, 1), Err(Error::NoNode)));
    scene.objects(answered(2, Err(Error::NoNode)));
    scene.accepts(Exchange::HungUp);
    scene.accepts(answered(2, Err(Error::ConnectionLoss)));
}

#[test]
fn requests_that_fail_out_of_order() {
    let mut scene = connected();
    scene.sends(1, exists("/a"), None);
    scene.sends(2, exists("/b"), None);
    scene.accepts(Exchange::Broke);
    scene.objects(state(SessionState::Disconnected));
    scene.objects(answered(2, Err(Error::ConnectionLoss)));
    scene.objects(answered(1, Err(Error::SessionExpired)));
    scene.accepts(answered(1, Err(Error::ConnectionLoss)));
    scene.accepts(answered(2, Err(Error::ConnectionLoss)));
    scene.objects(state(SessionState::Expired));
    scene.accepts(state(SessionState::Disconnected));
}

#[test]
fn a_request_that_is_not_sent() {
    let mut scene = connected();
    scene.accepts(asks(1, exists("/a"), None));
    scene.objects(Exchange::Read(ServerPacket::Pong));
    scene.objects(wrote(1, exists("/b")));
    scene.accepts(wrote(1, exists("/a")));
    scene.objects(wrote(1, exists("/a")));
}

#[test]
fn a_watch_event_that_is_lost_or_made_up() {
    let mut scene = watching();
    scene.objects(fired(11, EventType::NodeDataChanged, "/a"));
    scene.accepts(notified(EventType::NodeDeleted, "/a"));
    // All five watches are notified, each once, in any order.
    scene.accepts(stays(14, EventType::NodeDeleted, "/a"));
    scene.objects(stays(14, EventType::NodeDeleted, "/a"));
    scene.accepts(fired(13, EventType::NodeDeleted, "/a"));
    scene.accepts(fired(11, EventType::NodeDeleted, "/a"));
    scene.objects(fired(12, EventType::NodeDataChanged, "/a"));
    scene.accepts(fired(12, EventType::NodeDeleted, "/a"));
    scene.accepts(stays(15, EventType::NodeDeleted, "/a"));
    // Persistent watches are notified again, and of child events only one of the two; one-shot watches are gone.
    scene.accepts(notified(EventType::NodeChildrenChanged, "/a"));
    scene.objects(fired(13, EventType::NodeChildrenChanged, "/a"));
    scene.objects(stays(15, EventType::NodeChildrenChanged, "/a"));
    scene.accepts(stays(14, EventType::NodeChildrenChanged, "/a"));
    scene.accepts(notified(EventType::NodeCreated, "/a/b"));
    scene.objects(stays(14, EventType::NodeCreated, "/a/b"));
    scene.accepts(stays(15, EventType::NodeCreated, "/a/b"));
}

#[test]
fn watches_that_are_not_set_again() {
    let mut scene = watching();
    comes_back(&mut scene, z(1, 5));
    scene.objects(state(SessionState::SyncConnected));
    for kind in 0..5 {
        let mut scene = scene.clone();
        scene.accepts(set_watches(z(1, 5), Some(kind)));
        scene.objects(state(SessionState::SyncConnected));
    }
    scene.objects(set_watches(z(1, 4), None));
    scene.accepts(set_watches(z(1, 5), None));
    scene.accepts(state(SessionState::SyncConnected));
    scene.objects(set_watches(z(1, 5), None));
}

/// With `zookeeper.disableAutoWatchReset`, watches end with the connection (rule 3.4.3).
#[test]
fn watches_that_end_with_the_connection() {
    let configure = |config: &mut ClientConfig| config.disable_auto_watch_reset = true;
    let mut scene = watching_by(Scene::connected_as(FaithfulClient::new(), configure));
    scene.accepts(Exchange::Broke);
    let over = |error| Outcome::Watch(Err(error));
    scene.objects(told(11, over(Error::ConnectionLoss)));
    scene.accepts(state(SessionState::Disconnected));
    scene.objects(told(11, over(Error::SessionExpired)));
    for call in [13, 12, 11, 15, 14] {
        scene.accepts(told(call, over(Error::ConnectionLoss)));
    }
    scene.accepts(Exchange::Fired(ClientTimer::Reconnect));
    scene.opens(2, Some(SESSION), z(1, 5));
    scene.accepts(taken(SESSION));
    scene.objects(set_watches(z(1, 5), None));
    scene.accepts(state(SessionState::SyncConnected));
}

#[test]
fn a_watch_that_has_fired_and_is_set_again() {
    let mut scene = watching();
    scene.accepts(notified(EventType::NodeDataChanged, "/a"));
    for call in [11, 12] {
        scene.accepts(fired(call, EventType::NodeDataChanged, "/a"));
    }
    for call in [14, 15] {
        scene.accepts(stays(call, EventType::NodeDataChanged, "/a"));
    }
    comes_back(&mut scene, z(1, 5));
    assert!(scene.objects(set_watches(z(1, 5), None)).contains("a data watch on /a"));
}

#[test]
fn what_is_kept_into_another_session() {
    let mut scene = watching();
    scene.accepts(Exchange::Broke);
    scene.accepts(state(SessionState::Disconnected));
    scene.accepts(Exchange::Fired(ClientTimer::Reconnect));
    scene.opens(2, Some(SESSION), z(1, 5));
    scene.accepts(Exchange::Read(ServerPacket::Expired));
    scene.accepts(Exchange::HungUp);
    scene.objects(state(SessionState::Disconnected));
    scene.accepts(state(SessionState::Expired));
    scene.objects(told(11, Outcome::Watch(Err(Error::ConnectionLoss))));
    for call in [13, 12, 11, 15, 14] {
        scene.accepts(told(call, Outcome::Watch(Err(Error::SessionExpired))));
    }
    scene.accepts(Exchange::Asked { call: CallId(1), operation: Operation::Connect });
    scene.accepts(Exchange::Opened { server: ServerId(1) });
    scene.objects(connect(None, z(1, 5)));
    scene.objects(connect(Some(SESSION), Zxid::ZERO));
    scene.accepts(connect(None, Zxid::ZERO));
    scene.accepts(taken(NEXT));
    scene.objects(set_watches(Zxid::ZERO, None));
    scene.objects(state(SessionState::SyncConnected));
    scene.accepts(state_of(NEXT, SessionState::SyncConnected));
    scene.objects(told(1, Outcome::Connected(SESSION)));
    scene.accepts(told(1, Outcome::Connected(NEXT)));
    // A call that is pinned to the old session fails, even if the new session could answer it.
    scene.accepts(asks_in(Some(SESSION), 2, exists("/a"), None));
    scene.objects(wrote(1, exists("/a")));
    scene.accepts(answered(2, Err(Error::SessionExpired)));
}

#[test]
fn a_whole_path_below_a_chroot() {
    let chroot =
        |config: &mut crate::vocabulary::config::ClientConfig| config.chroot = "/app".into();
    let mut scene = Scene::connected_as(FaithfulClient::new(), chroot);
    let create = |path: &str| Request::Write(Op::create(path, [], CreateMode::Persistent));
    let created =
        |path: &str| Ok(Response::Written(OpResult::Created(path.into(), Stat::default())));
    scene.accepts(asks(1, create("/a"), None));
    scene.objects(wrote(1, create("/a")));
    scene.accepts(wrote(1, create("/app/a")));
    scene.accepts(replies(1, z(1, 1), created("/app/a")));
    scene.objects(answered(1, created("/app/a")));
    scene.accepts(answered(1, created("/a")));
    let watched = |path: &str| Request::GetData { path: path.into(), watch: true };
    scene.accepts(asks(2, watched("/"), Some(3)));
    scene.accepts(wrote(2, watched("/app")));
    scene.accepts(replies(2, z(1, 1), data()));
    scene.accepts(answered(2, data()));
    scene.accepts(notified(EventType::NodeDataChanged, "/app"));
    scene.objects(fired(3, EventType::NodeDataChanged, "/app"));
    scene.accepts(fired(3, EventType::NodeDataChanged, "/"));
    scene.accepts(asks(4, get_data("relative"), None));
    scene.accepts(answered(4, Err(Error::BadArguments)));
}

#[test]
fn a_removal_that_is_not_told() {
    let mut scene = watching();
    let path: Arc<str> = "/a".into();
    let (kind, local, scope) = (WatcherType::Any, false, None);
    let request = Request::RemoveWatches { path: Arc::clone(&path), kind };
    let operation = Operation::RemoveWatches { path, kind, local, scope };
    scene.accepts(Exchange::Asked { call: CallId(6), operation });
    scene.accepts(wrote(6, request));
    scene.accepts(replies(6, z(1, 6), Ok(Response::Watches)));
    scene.objects(answered(6, Ok(Response::Watches)));
    let told_of = |kind| Outcome::Watch(Ok(WatchedEvent { zxid: Zxid::ZERO, ..event(kind, "/a") }));
    scene.objects(told(13, told_of(EventType::DataWatchRemoved)));
    scene.accepts(told(13, told_of(EventType::ChildWatchRemoved)));
    for call in [11, 12] {
        scene.accepts(told(call, told_of(EventType::DataWatchRemoved)));
    }
    for call in [14, 15] {
        scene.accepts(told(call, told_of(EventType::PersistentWatchRemoved)));
    }
    scene.accepts(answered(6, Ok(Response::Watches)));
    // No watch is left to be set again.
    comes_back(&mut scene, z(1, 6));
    scene.objects(set_watches(z(1, 6), None));
    scene.accepts(state(SessionState::SyncConnected));
}

#[test]
fn a_connection_that_is_closed_or_opened_without_a_reason() {
    let mut scene = connected();
    scene.objects(Exchange::HungUp);
    scene.objects(Exchange::Opened { server: ServerId(2) });
    scene.accepts(Exchange::Fired(ClientTimer::Read));
    scene.objects(state(SessionState::Disconnected));
    scene.accepts(Exchange::HungUp);
    scene.accepts(state(SessionState::Disconnected));
    scene.accepts(Exchange::Fired(ClientTimer::Reconnect));
    scene.objects(Exchange::Opened { server: ServerId(1) });
    scene.opens(2, Some(SESSION), Zxid::ZERO);
}
