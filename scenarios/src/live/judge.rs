//! Judges a run: the events of its clients, in the order in which they happened, and the transactions of its servers.
//!
//! Monitors get a transaction before the first event that shows it: a reply or an answer with its zxid or a later one, the
//! acceptance of a session that it began, the end of a session that it closed. So monitors see each transaction as late as
//! possible, and never after a client has seen it.
//!
//! Notifications of servers before 3.9 carry no zxid. Such a notification gets the zxid of the first matching change after
//! the client's last reply: a server sends the notifications of all changes that a reply reflects before that reply. A
//! notification that a SetWatches has caused gets the zxid of the answer to it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;
use vivarium_model::config::Config;
use vivarium_model::error::Error;
use vivarium_model::event::Event;
use vivarium_model::history::History;
use vivarium_model::id::{ClientId, ServerId, SessionId, Xid};
use vivarium_model::op::{EventType, OpResult, Request, Response, SessionState, WatchedEvent};
use vivarium_model::path::parent;
use vivarium_model::property::{EventKind, Monitor, Monitors, Objection, zookeeper};
use vivarium_model::setup::Setup;
use vivarium_model::time::Time;
use vivarium_model::tree::Znode;
use vivarium_model::txn::{Txn, TxnBody};
use vivarium_model::witnesses::Witnesses;
use vivarium_model::zxid::{Epoch, Zxid};

/// Events with their times since the beginning of the run.
pub(super) type Timed = Vec<(Duration, Event)>;

/// The events of servers, which nothing reports in a run on real ones. A monitor that minds one of these would judge without
/// what it needs.
const OF_SERVERS: [EventKind; 21] = [
    EventKind::Elected,
    EventKind::LeftRole,
    EventKind::Followed,
    EventKind::Synchronising,
    EventKind::AcksStalled,
    EventKind::Proposed,
    EventKind::Applied,
    EventKind::Serving,
    EventKind::Acked,
    EventKind::AckedNewLeader,
    EventKind::SnapshotTruncated,
    EventKind::EpochUndone,
    EventKind::Crashed,
    EventKind::Restarted,
    EventKind::Exited,
    EventKind::Heard,
    EventKind::Reattached,
    EventKind::TouchesForwarded,
    EventKind::Touched,
    EventKind::SyncRead,
    EventKind::TakenForExpired,
];

/// Returns the monitors that can judge by clients' events and logs, and the names of the others. Those are properties of
/// ZooKeeper itself; the recipes' own need nothing of servers but what these have committed.
pub(super) fn judging(all: Vec<Box<dyn Monitor>>) -> (Vec<Box<dyn Monitor>>, Vec<String>) {
    let of_zookeeper: BTreeSet<String> =
        zookeeper().iter().map(|monitor| monitor.name().to_owned()).collect();
    let needs_servers = |monitor: &dyn Monitor| {
        let kinds = monitor.kinds();
        let minds_servers = OF_SERVERS.iter().any(|kind| kinds.contains(*kind));
        monitor.hears_exchanges() || minds_servers && of_zookeeper.contains(monitor.name())
    };
    let (left_out, judging): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|monitor| needs_servers(&**monitor));
    (judging, left_out.iter().map(|monitor| monitor.name().to_owned()).collect())
}

/// A run as it is judged.
pub(super) struct Judged<'a> {
    pub(super) config: &'a Arc<Config>,
    pub(super) events: &'a Timed,
    pub(super) txns: Vec<Txn>,
    /// The session that has created the scenario's znodes: its transactions come before all events.
    pub(super) setup: SessionId,
    /// True if every program has finished that must: only then properties are asked about the end.
    pub(super) is_finished: bool,
}

/// Judges a run.
///
/// # Errors
/// The first objection, and the number of events before it.
pub(super) fn judge(
    monitors: Vec<Box<dyn Monitor>>,
    judged: Judged<'_>,
) -> Result<(), (Objection, usize)> {
    let (events, is_finished) = (judged.events, judged.is_finished);
    let setup = judged.setup;
    let mut judge = Judge::new(monitors, judged);
    let mut end = Time::ZERO;
    let set_up = judge.closed.get(&setup).copied().unwrap_or_default();
    judge.commit(end, set_up).map_err(|objection| (objection, 0))?;
    for (at, (since, event)) in events.iter().enumerate() {
        end = Time::ZERO + *since;
        judge.event(at, end, event).map_err(|objection| (objection, at))?;
    }
    judge.finish(end, is_finished).map_err(|objection| (objection, events.len()))
}

struct Judge {
    witnesses: Witnesses,
    /// All transactions, by zxid.
    all: BTreeMap<Zxid, Arc<Txn>>,
    /// The transactions that monitors have not had, by zxid.
    txns: BTreeMap<Zxid, Arc<Txn>>,
    /// The zxid of each client's last reply.
    replied: BTreeMap<ClientId, Zxid>,
    /// The last change of which each client was notified, by path and kind.
    notified: BTreeMap<(ClientId, Arc<str>, EventType), Zxid>,
    /// The zxid of the answer to the SetWatches that has caused a notification, by the notification's number.
    rearming: BTreeMap<usize, Zxid>,
    /// The epoch of the last leader that monitors know.
    epoch: Epoch,
    begun: BTreeMap<SessionId, Zxid>,
    closed: BTreeMap<SessionId, Zxid>,
}

impl Judge {
    fn new(mut monitors: Vec<Box<dyn Monitor>>, judged: Judged<'_>) -> Judge {
        let (mut begun, mut closed) = (BTreeMap::new(), BTreeMap::new());
        let mut txns: BTreeMap<Zxid, Arc<Txn>> = BTreeMap::new();
        let asked_to_close = asked_to_close(judged.events);
        for mut txn in judged.txns {
            match txn.body {
                TxnBody::CreateSession { .. } => drop(begun.insert(txn.session, txn.zxid)),
                TxnBody::CloseSession { .. } => {
                    closed.insert(txn.session, txn.zxid);
                    if !asked_to_close.contains(&txn.session) {
                        // Another client has closed it: for its owner it has expired.
                        txn.cxid = Xid(0);
                    }
                }
                _ => {}
            }
            txns.insert(txn.zxid, Arc::new(txn));
        }
        // The scenario's znodes are created by transactions: nothing exists before them.
        let mut config = Config::clone(judged.config);
        config.setup = Setup::NONE;
        let config = Arc::new(config);
        monitors.iter_mut().for_each(|monitor| monitor.begin(&config));
        let history = History::new();
        Judge {
            epoch: history.last().epoch(),
            witnesses: Witnesses::new(Arc::new(history), Monitors::new(monitors)),
            all: txns.clone(),
            txns,
            rearming: rearming(judged.events),
            replied: BTreeMap::new(),
            notified: BTreeMap::new(),
            begun,
            closed,
        }
    }

    fn event(&mut self, number: usize, at: Time, event: &Event) -> Result<(), Objection> {
        let mut event = event.clone();
        match &mut event {
            Event::Replied { client, zxid, result, .. } => {
                self.replied.insert(*client, *zxid);
                if let Some(txn) = self.all.get(zxid) {
                    complete(result, txn);
                }
            }
            Event::Rearmed { client, zxid, .. } => drop(self.replied.insert(*client, *zxid)),
            Event::Notified { client, event, .. } => self.date(number, *client, event),
            _ => {}
        }
        if let Some(zxid) = self.shows(&event) {
            self.commit(at, zxid)?;
        }
        self.witnesses.witness(at, &mut vec![event])
    }

    /// Gives a notification the zxid of its change, if it has none.
    fn date(&mut self, number: usize, client: ClientId, event: &mut WatchedEvent) {
        let key = (client, Arc::clone(&event.path), event.kind);
        if let Some(answered) = self.rearming.get(&number).filter(|_| event.zxid == Zxid::ZERO) {
            event.zxid = *answered;
        } else if event.zxid == Zxid::ZERO {
            let replied = self.replied.get(&client).copied().unwrap_or_default();
            let after = self.notified.get(&key).copied().unwrap_or_default().max(replied);
            let later = self.all.range((Bound::Excluded(after), Bound::Unbounded));
            let mut fires = later.filter(|(_, txn)| causes(&txn.body, event.kind, &event.path));
            event.zxid = fires.next().map_or(Zxid::ZERO, |(zxid, _)| *zxid);
        }
        self.notified.insert(key, event.zxid);
    }

    /// Returns the last transaction that an event shows.
    fn shows(&self, event: &Event) -> Option<Zxid> {
        match event {
            Event::Replied { zxid, .. } | Event::Rearmed { zxid, .. } => Some(*zxid),
            Event::Notified { event, .. } => Some(event.zxid),
            Event::Session { session, state, .. } => match state {
                SessionState::SyncConnected => self.begun.get(session.as_ref()?).copied(),
                SessionState::Expired | SessionState::Closed => {
                    self.closed.get(session.as_ref()?).copied()
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Gives the monitors all transactions up to this one, and the leaders that were established meanwhile. A leader without
    /// a transaction of its own shows as the epoch of an answer.
    fn commit(&mut self, at: Time, last: Zxid) -> Result<(), Objection> {
        while let Some(first) = self.txns.first_entry().filter(|first| *first.key() <= last) {
            let txn = first.remove();
            self.establish(at, txn.zxid.epoch())?;
            let committed = Event::Committed { leader: ServerId(1), txn };
            self.witnesses.witness(at, &mut vec![committed])?;
        }
        self.establish(at, last.epoch())
    }

    /// Gives the monitors the establishment of this epoch's leader, if they do not know it.
    fn establish(&mut self, at: Time, epoch: Epoch) -> Result<(), Objection> {
        if epoch <= self.epoch {
            return Ok(());
        }
        self.epoch = epoch;
        let last_zxid = self.witnesses.history().last();
        let established = Event::Established { leader: ServerId(1), epoch, last_zxid };
        self.witnesses.witness(at, &mut vec![established])
    }

    fn finish(&mut self, at: Time, is_finished: bool) -> Result<(), Objection> {
        if let Some(last) = self.txns.keys().next_back().copied() {
            self.commit(at, last)?;
        }
        if is_finished { self.witnesses.end(at) } else { Ok(()) }
    }
}

/// Returns the sessions whose own client has asked to close them.
fn asked_to_close(events: &Timed) -> BTreeSet<SessionId> {
    let asked = events.iter().filter_map(|(_, event)| match event {
        Event::Sent { session, request, .. } if **request == Request::CloseSession => {
            Some(*session)
        }
        _ => None,
    });
    asked.collect()
}

/// Returns the notifications that were read while a SetWatches was unanswered, each with the zxid of the answer.
fn rearming(events: &Timed) -> BTreeMap<usize, Zxid> {
    let mut found = BTreeMap::new();
    let mut open: BTreeMap<ClientId, (usize, Vec<usize>)> = BTreeMap::new();
    for (number, (_, event)) in events.iter().enumerate() {
        match event {
            Event::Rearming { client, .. } => open.entry(*client).or_default().0 += 1,
            Event::Notified { client, .. } => {
                if let Some((_, notified)) = open.get_mut(client) {
                    notified.push(number);
                }
            }
            Event::Rearmed { client, zxid, .. } => {
                if let Some((unanswered, notified)) = open.get_mut(client) {
                    found.extend(notified.drain(..).map(|number| (number, *zxid)));
                    *unanswered -= 1;
                    if *unanswered == 0 {
                        open.remove(client);
                    }
                }
            }
            Event::Session { client, .. } => drop(open.remove(client)),
            _ => {}
        }
    }
    found
}

/// Adds the Stats that servers before 3.9.0 leave out of the answers to creates in multis (rule 1.7.3). Monitors judge
/// what a znode is by them.
fn complete(result: &mut Result<Response, Error>, txn: &Txn) {
    let (Ok(Response::Multi(results)), TxnBody::Multi(parts)) = (result, &txn.body) else { return };
    for (result, part) in results.iter_mut().zip(parts) {
        if let OpResult::Created(_, stat) = result
            && let TxnBody::Create { data, ephemeral_type, acl, .. } = part
            && stat.czxid == Zxid::ZERO
        {
            let (data, acl) = (data.clone(), acl.clone());
            *stat = Znode::created(txn.zxid, txn.time, data, *ephemeral_type, acl).stat(0);
        }
    }
}

/// Returns true if a transaction causes this event on this path.
fn causes(body: &TxnBody, kind: EventType, path: &str) -> bool {
    let is_child = |changed: &str| parent(changed) == Some(path);
    match body {
        TxnBody::Multi(parts) => parts.iter().any(|part| causes(part, kind, path)),
        TxnBody::Create { path: created, .. } => match kind {
            EventType::NodeCreated => created.as_str() == path,
            EventType::NodeChildrenChanged => is_child(created.as_str()),
            _ => false,
        },
        TxnBody::Delete { path: deleted } | TxnBody::DeleteContainer { path: deleted } => {
            is_deletion(deleted.as_str(), kind, path)
        }
        TxnBody::CloseSession { ephemerals } => {
            ephemerals.iter().any(|deleted| is_deletion(deleted.as_str(), kind, path))
        }
        TxnBody::SetData { path: set, .. } => {
            kind == EventType::NodeDataChanged && set.as_str() == path
        }
        _ => false,
    }
}

fn is_deletion(deleted: &str, kind: EventType, path: &str) -> bool {
    match kind {
        EventType::NodeDeleted => deleted == path,
        EventType::NodeChildrenChanged => parent(deleted) == Some(path),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties::tree_always;
    use vivarium_model::id::ClientConnection;
    use vivarium_model::path::ZnodePath;
    use vivarium_model::tree::EphemeralType;

    const CLIENT: ClientId = ClientId(1);
    const SETUP: SessionId = SessionId(1);
    const SESSION: SessionId = SessionId(2);

    fn zxid(counter: u64) -> Zxid {
        Zxid(1 << 32 | counter)
    }

    fn txn(counter: u64, session: SessionId, body: TxnBody) -> Txn {
        Txn { zxid: zxid(counter), session, cxid: Xid(7), time: 0, body }
    }

    fn create(path: &str) -> TxnBody {
        let path = ZnodePath::new(path).expect("a path");
        TxnBody::create(path, *b"", EphemeralType::Void, 1)
    }

    fn begin() -> TxnBody {
        TxnBody::CreateSession { timeout: Duration::from_secs(1) }
    }

    fn end() -> TxnBody {
        TxnBody::CloseSession { ephemerals: Vec::new() }
    }

    fn txns() -> Vec<Txn> {
        vec![
            txn(1, SETUP, begin()),
            txn(2, SETUP, end()),
            txn(3, SESSION, begin()),
            txn(4, SESSION, create("/a")),
            txn(5, SESSION, create("/b")),
        ]
    }

    fn replied(counter: u64) -> Event {
        Event::Replied {
            client: CLIENT,
            session: SESSION,
            connection: ClientConnection { client: CLIENT, slot: 0 },
            xid: Xid(1),
            zxid: zxid(counter),
            request: Arc::new(Request::Sync { path: "/".into() }),
            result: Ok(Response::Synced),
        }
    }

    fn notified(kind: EventType, path: &str) -> Event {
        let event = WatchedEvent { kind, path: path.into(), zxid: Zxid::ZERO };
        Event::Notified { client: CLIENT, session: SESSION, event }
    }

    fn rearming() -> Event {
        Event::Rearming {
            client: CLIENT,
            session: SESSION,
            relative_zxid: zxid(3),
            data: Vec::new(),
            exist: vec!["/a".into()],
            child: Vec::new(),
            persistent: Vec::new(),
            recursive: Vec::new(),
        }
    }

    /// Returns the number of the event at which a tree with /b is objected to.
    fn objected_at(events: Vec<Event>) -> Option<usize> {
        let events: Timed = events.into_iter().map(|event| (Duration::ZERO, event)).collect();
        let no_b = tree_always("no /b", |tree| !tree.has("/b"));
        let config = Arc::new(Config::new(1, 1));
        let judged = Judged {
            config: &config,
            events: &events,
            txns: txns(),
            setup: SETUP,
            is_finished: true,
        };
        judge(vec![Box::new(no_b)], judged).err().map(|(_, at)| at)
    }

    #[test]
    fn a_transaction_is_told_before_the_first_event_that_shows_it_and_not_earlier() {
        assert_eq!(objected_at(vec![replied(3), replied(4), replied(5)]), Some(2));
        assert_eq!(objected_at(vec![replied(4)]), Some(1), "in the end all of them are told");
        let created = notified(EventType::NodeCreated, "/b");
        assert_eq!(objected_at(vec![replied(3), created.clone(), replied(5)]), Some(1));
        // A change of another path shows less.
        let other = notified(EventType::NodeCreated, "/a");
        assert_eq!(objected_at(vec![replied(3), other, replied(5)]), Some(2));
        let children = notified(EventType::NodeChildrenChanged, "/");
        assert_eq!(objected_at(vec![replied(4), children, replied(5)]), Some(1));
    }

    #[test]
    fn a_notification_of_set_watches_has_the_zxid_of_the_answer() {
        let created = notified(EventType::NodeCreated, "/a");
        let answer = Event::Rearmed { client: CLIENT, session: SESSION, zxid: zxid(5) };
        assert_eq!(objected_at(vec![rearming(), created.clone(), answer.clone()]), Some(1));
        let before = vec![created, rearming(), answer];
        assert_eq!(objected_at(before), Some(2));
    }

    #[test]
    fn stats_that_a_server_leaves_out_come_from_the_log() {
        let made = txn(6, SESSION, TxnBody::Multi(vec![create("/a"), create("/c")]));
        let told = vivarium_model::stat::Stat { czxid: zxid(2), ..Default::default() };
        let created = |path: &str, stat| OpResult::Created(path.into(), stat);
        let mut result =
            Ok(Response::Multi(vec![created("/a", Default::default()), created("/c", told)]));
        complete(&mut result, &made);
        let Ok(Response::Multi(results)) = result else { unreachable!() };
        assert!(matches!(&results[0], OpResult::Created(_, stat) if stat.czxid == zxid(6)));
        assert_eq!(results[1], created("/c", told));
    }

    #[test]
    fn what_only_servers_tell_is_not_judged() {
        let second = Duration::from_secs(1);
        let mut all = vivarium_recipes::lock::monitors("/lock", second);
        let own = all.len();
        all.push(Box::new(vivarium_model::property::Bridge::default()));
        let (judging, left_out) = judging(all);
        assert_eq!((judging.len(), left_out), (own, vec!["bridge".to_owned()]));
    }
}
