//! The monitor of H7 on hand-made events.

use super::KeptWatches;
use crate::property::testing::{
    Bodies, CLIENT, ONE, SESSION, Trial, get_data, path, replied, session, z,
};
use crate::vocabulary::acl::{Acl, AclList, Id, Permissions};
use crate::vocabulary::config::Config;
use crate::vocabulary::error::Error;
use crate::vocabulary::event::Event;
use crate::vocabulary::op::{
    AddWatchMode, Data, EventType, Request, Response, SessionState, WatchedEvent, WatcherType,
};
use crate::vocabulary::stat::Stat;
use crate::vocabulary::txn::TxnBody;
use crate::vocabulary::znode::EphemeralType;
use crate::vocabulary::zxid::Zxid;
use std::sync::Arc;

/// Returns a trial in which a client is connected and `/a` and `/a/b` have existed since 1:2.
fn connected() -> Trial<KeptWatches> {
    let mut trial = Trial::new(KeptWatches::new());
    trial.monitor.begin(&Arc::new(Config::new(3, 1)));
    trial.create(z(1, 1), "/a", "");
    trial.create(z(1, 2), "/a/b", "");
    trial.accepts(session(SessionState::SyncConnected, Some(ONE)));
    trial
}

fn exists_watch(path: &str, at: Zxid) -> Event {
    let request = Request::Exists { path: Arc::from(path), watch: true };
    replied(1, at, request, Err(Error::NoNode))
}

fn data_watch(path: &str, at: Zxid) -> Event {
    let request = Request::GetData { path: Arc::from(path), watch: true };
    replied(1, at, request, Ok(Response::Data(Data::from([]), Stat::default())))
}

fn child_watch(path: &str, at: Zxid) -> Event {
    let request = Request::GetChildren { path: Arc::from(path), watch: true };
    replied(1, at, request, Ok(Response::Children(Vec::new(), Stat::default())))
}

fn staying(path: &str, mode: AddWatchMode, at: Zxid) -> Event {
    let request = Request::AddWatch { path: Arc::from(path), mode };
    replied(1, at, request, Ok(Response::Watches))
}

fn removed(path: &str, kind: WatcherType, at: Zxid) -> Event {
    let request = Request::RemoveWatches { path: Arc::from(path), kind };
    replied(1, at, request, Ok(Response::Watches))
}

/// Returns a reply that shows the tree at this zxid.
fn shown(at: Zxid) -> Event {
    replied(9, at, get_data("/other"), Err(Error::NoNode))
}

fn told(kind: EventType, path: &str, zxid: Zxid) -> Event {
    let event = WatchedEvent { kind, path: Arc::from(path), zxid };
    Event::Notified { client: CLIENT, session: SESSION, event }
}

/// Returns the event that the client sets these watches again after a reconnect: exist, data and child watches.
fn rearming(since: Zxid, [exist, data, child]: [&[&str]; 3]) -> Event {
    let list = |paths: &[&str]| paths.iter().map(|path| Arc::from(*path)).collect();
    Event::Rearming {
        client: CLIENT,
        session: SESSION,
        relative_zxid: since,
        data: list(data),
        exist: list(exist),
        child: list(child),
        persistent: Vec::new(),
        recursive: Vec::new(),
    }
}

fn rearmed(zxid: Zxid) -> Event {
    Event::Rearmed { client: CLIENT, session: SESSION, zxid }
}

#[test]
fn what_was_watched_must_be_told_before_it_shows() {
    let mut trial = connected();
    trial.accepts(data_watch("/a", z(1, 2)));
    trial.set_data(z(1, 3), "/a", "new");
    trial.set_data(z(1, 4), "/a", "newer");
    // The server has not applied the change yet.
    trial.accepts(shown(z(1, 2)));
    let saw = trial.clone_and_object(shown(z(1, 3)));
    assert!(
        saw.contains("read the tree at 1:3 without a notification of NodeDataChanged of /a at 1:3"),
        "{saw}"
    );
    trial.accepts(told(EventType::NodeDataChanged, "/a", z(1, 3)));
    // The watch was a one-shot watch.
    let saw = trial.clone_and_object(told(EventType::NodeDataChanged, "/a", z(1, 4)));
    assert!(saw.contains("at 1:4, for which no watch is set"), "{saw}");
    trial.accepts(shown(z(1, 4)));
}

#[test]
fn an_event_of_another_type_is_none() {
    let mut trial = connected();
    trial.accepts(exists_watch("/c", z(1, 2)));
    trial.create(z(1, 3), "/c", "");
    trial.objects(told(EventType::NodeDataChanged, "/c", z(1, 3)));
}

#[test]
fn a_server_that_was_behind_fires_what_was_committed_before_the_watch_was_read() {
    let mut trial = connected();
    trial.create(z(1, 3), "/a/c", "");
    trial.accepts(child_watch("/a", z(1, 2)));
    let saw = trial.clone_and_object(shown(z(1, 3)));
    assert!(saw.contains("without a notification of NodeChildrenChanged of /a at 1:3"), "{saw}");
    trial.accepts(told(EventType::NodeChildrenChanged, "/a", z(1, 3)));
    trial.accepts(shown(z(1, 3)));
}

#[test]
fn the_end_of_a_znode_is_told_once_to_both_kinds() {
    let mut trial = connected();
    trial.accepts(data_watch("/a/b", z(1, 2)));
    trial.accepts(child_watch("/a/b", z(1, 2)));
    trial.delete(z(1, 3), "/a/b");
    trial.accepts(told(EventType::NodeDeleted, "/a/b", z(1, 3)));
    trial.objects(told(EventType::NodeDeleted, "/a/b", z(1, 3)));
}

#[test]
fn events_come_in_the_order_of_their_zxids() {
    let mut trial = connected();
    trial.accepts(data_watch("/a", z(1, 2)));
    trial.accepts(data_watch("/a/b", z(1, 2)));
    trial.set_data(z(1, 3), "/a", "new");
    trial.set_data(z(1, 4), "/a/b", "new");
    trial.accepts(told(EventType::NodeDataChanged, "/a/b", z(1, 4)));
    let saw = trial.objects(told(EventType::NodeDataChanged, "/a", z(1, 3)));
    assert!(saw.contains("after an event of 1:4"), "{saw}");
}

#[test]
fn a_watch_that_stays_hears_of_every_change_and_a_recursive_one_of_all_below() {
    for (mode, below) in
        [(AddWatchMode::Persistent, false), (AddWatchMode::PersistentRecursive, true)]
    {
        let mut trial = connected();
        trial.accepts(staying("/a", mode, z(1, 2)));
        for counter in 3..5 {
            trial.set_data(z(1, counter), "/a", "new");
            trial.clone_and_object(shown(z(1, counter)));
            trial.accepts(told(EventType::NodeDataChanged, "/a", z(1, counter)));
        }
        trial.set_data(z(1, 5), "/a/b", "new");
        let event = told(EventType::NodeDataChanged, "/a/b", z(1, 5));
        if below {
            trial.clone_and_object(shown(z(1, 5)));
            trial.accepts(event);
        } else {
            trial.clone_and_object(event);
        }
        trial.create(z(1, 6), "/a/c", "");
        let changed = told(EventType::NodeChildrenChanged, "/a", z(1, 6));
        let created = told(EventType::NodeCreated, "/a/c", z(1, 6));
        let (its, others) = if below { (created, changed) } else { (changed, created) };
        trial.clone_and_object(others);
        trial.accepts(its);
        trial.accepts(shown(z(1, 6)));
    }
}

#[test]
fn who_takes_a_watch_away_is_told_nothing_of_later_changes() {
    let mut trial = connected();
    trial.accepts(data_watch("/a", z(1, 2)));
    trial.accepts(staying("/", AddWatchMode::PersistentRecursive, z(1, 2)));
    trial.accepts(staying("/a", AddWatchMode::PersistentRecursive, z(1, 2)));
    trial.set_data(z(1, 3), "/a", "new");
    trial.accepts(removed("/a", WatcherType::Any, z(1, 2)));
    // The watch on the root remains.
    trial.clone_and_object(shown(z(1, 3)));
    trial.accepts(told(EventType::NodeDataChanged, "/a", z(1, 3)));
    trial.accepts(removed("/", WatcherType::PersistentRecursive, z(1, 3)));
    trial.set_data(z(1, 4), "/a", "newer");
    trial.accepts(shown(z(1, 4)));
    trial.objects(told(EventType::NodeDataChanged, "/a", z(1, 4)));
}

#[test]
fn what_was_missed_while_away_must_be_made_up() {
    let mut trial = connected();
    trial.accepts(exists_watch("/c", z(1, 2)));
    trial.accepts(session(SessionState::Disconnected, None));
    trial.create(z(1, 3), "/c", "");
    trial.set_data(z(1, 4), "/a", "new");
    trial.accepts(session(SessionState::SyncConnected, Some(ONE)));
    trial.accepts(rearming(z(1, 2), [&["/c"], &["/a", "/a/b"], &["/", "/a"]]));
    let saw = trial.clone_and_object(rearmed(z(1, 4)));
    assert!(
        saw.contains(
            "without a notification of NodeDataChanged of /a, which it watches; it had seen 1:2"
        ),
        "{saw}"
    );
    let wanted = [
        (EventType::NodeDataChanged, "/a"),
        (EventType::NodeCreated, "/c"),
        (EventType::NodeChildrenChanged, "/"),
    ];
    for left_out in wanted {
        let mut trial = trial.clone();
        for (kind, path) in wanted.into_iter().filter(|event| *event != left_out) {
            trial.accepts(told(kind, path, z(1, 4)));
        }
        trial.objects(rearmed(z(1, 4)));
    }
    for (kind, path) in wanted {
        trial.accepts(told(kind, path, z(1, 4)));
    }
    // No child of /a has changed.
    let mut made_up = trial.clone();
    made_up.accepts(told(EventType::NodeChildrenChanged, "/a", z(1, 4)));
    let saw = made_up.objects(rearmed(z(1, 4)));
    assert!(saw.contains("NodeChildrenChanged of /a when its watches were set at 1:4"), "{saw}");
    trial.accepts(rearmed(z(1, 4)));
    // The other watches are set.
    trial.set_data(z(1, 5), "/a/b", "new");
    trial.objects(shown(z(1, 5)));
}

#[test]
fn of_a_znode_that_is_gone_its_end_is_told_and_of_one_created_anew_a_change() {
    let mut trial = connected();
    trial.delete(z(1, 3), "/a/b");
    trial.delete(z(1, 4), "/a");
    trial.create(z(1, 5), "/a", "");
    trial.accepts(rearming(z(1, 2), [&[], &["/a", "/a/b"], &["/a"]]));
    for (kind, path) in [
        (EventType::NodeDataChanged, "/a"),
        (EventType::NodeDeleted, "/a/b"),
        (EventType::NodeChildrenChanged, "/a"),
    ] {
        trial.clone_and_object(rearmed(z(1, 5)));
        trial.accepts(told(kind, path, z(1, 5)));
    }
    trial.accepts(rearmed(z(1, 5)));
}

/// A lagging server generates only the events of changes that it has applied.
#[test]
fn a_server_that_is_behind_makes_up_less_and_fires_the_rest_later() {
    let mut trial = connected();
    trial.create(z(1, 3), "/c", "");
    trial.accepts(rearming(z(1, 2), [&["/c"], &[], &[]]));
    trial.accepts(rearmed(z(1, 2)));
    trial.clone_and_object(shown(z(1, 3)));
    trial.accepts(told(EventType::NodeCreated, "/c", z(1, 3)));
}

#[test]
fn past_the_end_of_a_counter_a_create_need_not_show_to_who_was_away() {
    let mut trial = connected();
    // The second create leaves the parent's counter, and so its pzxid, as the first has set it.
    for (counter, name) in [(3, "/a/last"), (4, "/a/beyond")] {
        let body = TxnBody::create(path(name), [], EphemeralType::Void, i32::MAX);
        trial.commit(z(1, counter), 1, body);
    }
    let mut behind = trial.clone();
    behind.accepts(rearming(z(1, 2), [&[], &[], &["/a"]]));
    behind.objects(rearmed(z(1, 4)));
    trial.accepts(rearming(z(1, 3), [&[], &[], &["/a"]]));
    let mut moved = trial.clone();
    moved.accepts(told(EventType::NodeChildrenChanged, "/a", z(1, 4)));
    moved.accepts(rearmed(z(1, 4)));
    trial.accepts(rearmed(z(1, 4)));
    trial.delete(z(1, 5), "/a/last");
    trial.objects(shown(z(1, 5)));
}

#[test]
fn where_not_everybody_may_read_an_event_may_be_kept() {
    let mut trial = connected();
    let acl = AclList::new([Acl::new(Permissions::ALL, Id::new("digest", "somebody:else"))]);
    trial.commit(z(1, 3), 1, TxnBody::SetAcl { path: path("/a"), acl, aversion: 1 });
    trial.accepts(data_watch("/a", z(1, 3)));
    trial.set_data(z(1, 4), "/a", "secret");
    let mut told_of_it = trial.clone();
    told_of_it.accepts(told(EventType::NodeDataChanged, "/a", z(1, 4)));
    trial.accepts(shown(z(1, 4)));
    // The time for this event is over.
    trial.objects(told(EventType::NodeDataChanged, "/a", z(1, 4)));
}

#[test]
fn a_closed_session_fires_for_each_of_its_ephemerals() {
    let mut trial = connected();
    let own = Bodies(&trial.history).create_as("/own", "", true);
    trial.commit(z(1, 3), 1, own);
    trial.accepts(data_watch("/own", z(1, 3)));
    trial.commit(z(1, 4), 2, TxnBody::CloseSession { ephemerals: vec![path("/own")] });
    trial.clone_and_object(shown(z(1, 4)));
    trial.accepts(told(EventType::NodeDeleted, "/own", z(1, 4)));
}

/// One transaction changes the children of one znode once for each ephemeral.
#[test]
fn a_watch_that_stays_hears_of_each_znode_that_a_closed_session_takes_along() {
    let mut trial = connected();
    for (counter, name) in [(3, "/one"), (4, "/two")] {
        let own = Bodies(&trial.history).create_as(name, "", true);
        trial.commit(z(1, counter), 1, own);
    }
    trial.accepts(staying("/", AddWatchMode::Persistent, z(1, 4)));
    let ephemerals = vec![path("/one"), path("/two")];
    trial.commit(z(1, 5), 2, TxnBody::CloseSession { ephemerals });
    for _each in 0..2 {
        trial.clone_and_object(shown(z(1, 5)));
        trial.accepts(told(EventType::NodeChildrenChanged, "/", z(1, 5)));
    }
    trial.clone_and_object(told(EventType::NodeChildrenChanged, "/", z(1, 5)));
    trial.accepts(shown(z(1, 5)));
}

#[test]
fn what_a_read_only_server_tells_is_not_judged() {
    let mut trial = connected();
    trial.accepts(session(SessionState::Disconnected, None));
    trial.accepts(session(SessionState::ConnectedReadOnly, Some(ONE)));
    trial.accepts(told(EventType::NodeDeleted, "/a", z(1, 9)));
    trial.accepts(rearmed(z(1, 9)));
}
