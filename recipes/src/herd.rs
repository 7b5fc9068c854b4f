//! Counts how many clients one change wakes (recipe rule 1.2.8).
//!
//! If all waiters of a recipe watch one znode, one change wakes all of them, and all except one in vain: a herd.
//! [`Herd`] counts the other clients that a client's transaction wakes by watches at a znode and directly below it, and
//! objects if they are more than the recipe declares.
//!
//! ```
//! use vivarium_recipes::herd::Herd;
//!
//! // A release of the lock wakes at most one other client.
//! let herd = Herd::new("/lock", 1);
//! # let _ = herd;
//! ```

use crate::contention::LockSeen;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::minds;
use vivarium_model::op::SessionState;
use vivarium_model::path;
use vivarium_model::property::{Declaration, Declared, LooksBack, Measure, Objection, Unhashed};
use vivarium_model::txn::Txn;
use vivarium_model::zxid::Zxid;

/// The number of recent transactions whose notifications are counted. Later notifications are ignored.
const REMEMBERED: usize = 256;

/// The znode that a client's attempt waits for.
type Waits = BTreeMap<(ClientId, Arc<str>), Arc<str>>;

/// The record of a transaction.
#[derive(Clone, Debug, Hash)]
struct Change {
    /// The session that sent it. A client does not wake others if its own watches fire on its own change.
    author: SessionId,
    /// The clients that were woken, by the znode that they watched: one transaction can delete several.
    woken: BTreeMap<Arc<str>, BTreeSet<ClientId>>,
}

/// The monitor. Used in sweeps only, because its memory would keep a search from ending.
#[derive(Clone, Debug, Hash)]
pub struct Herd {
    directory: Arc<str>,
    bound: Option<usize>,
    /// The waits of programs that report them. A change does not wake a program that has given up waiting but still has
    /// its watch.
    waiters: Option<Waits>,
    /// The clients that are reconnecting, and are being notified of missed changes.
    rearming: BTreeSet<ClientId>,
    changes: BTreeMap<Zxid, Change>,
    most: Unhashed<usize>,
    /// The attempts that were woken and have not reported since how they continue.
    awake: BTreeSet<(ClientId, Arc<str>)>,
    in_vain: Unhashed<u64>,
}

impl Herd {
    /// Creates a monitor for one directory: a change at `directory` or directly below it wakes at most `bound` clients.
    pub fn new(directory: &str, bound: usize) -> Herd {
        Herd { bound: Some(bound), ..Herd::unbounded(directory) }
    }

    /// Creates a monitor that measures and never objects: one change may wake all waiters.
    pub fn unbounded(directory: &str) -> Herd {
        Herd {
            directory: directory.into(),
            bound: None,
            waiters: None,
            rearming: BTreeSet::new(),
            changes: BTreeMap::new(),
            most: Unhashed::default(),
            awake: BTreeSet::new(),
            in_vain: Unhashed::default(),
        }
    }

    /// Creates a monitor for contenders: one change wakes at most `bound` of those that wait in this directory for a
    /// predecessor's deletion, as they report ([`LockSeen`]). A contender that has given up waiting may still be
    /// notified by a remaining watch. A contender whose client machine is notified before the program reports its wait
    /// is not counted.
    pub(crate) fn of_contenders(directory: &str, bound: usize) -> Herd {
        Herd { waiters: Some(BTreeMap::new()), ..Herd::new(directory, bound) }
    }

    fn counts(&self, client: ClientId, at: &str) -> bool {
        match &self.waiters {
            None => path::parent(at) == Some(&*self.directory) || *at == *self.directory,
            Some(waiters) => waiters.iter().any(|((waiter, _), on)| {
                *waiter == client && (**on == *at || *self.directory == *at)
            }),
        }
    }

    /// Processes a program's report about its wait.
    fn told(&mut self, client: ClientId, seen: &LockSeen) {
        let Some(waiters) = &mut self.waiters else { return };
        match seen {
            LockSeen::Waiting { lock, attempt, on } if *lock == self.directory => {
                let who = (client, Arc::clone(attempt));
                *self.in_vain += u64::from(self.awake.remove(&who));
                waiters.insert(who, Arc::clone(on));
            }
            LockSeen::GaveUp { attempt, .. } | LockSeen::Granted { attempt, .. } => {
                let who = (client, Arc::clone(attempt));
                waiters.remove(&who);
                self.awake.remove(&who);
            }
            _ => {}
        }
    }

    /// Marks this client's attempts at a znode as woken.
    fn wake(&mut self, client: ClientId, at: &str) {
        let waiters = self.waiters.iter().flatten();
        let woken = waiters.filter(|((waiter, _), on)| *waiter == client && ***on == *at);
        self.awake.extend(woken.map(|(who, _)| who.clone()));
    }

    fn committed(&mut self, txn: &Txn) {
        let change = || Change { author: txn.session, woken: BTreeMap::new() };
        self.changes.entry(txn.zxid).or_insert_with(change);
        if self.changes.len() > REMEMBERED {
            self.changes.pop_first();
        }
    }

    fn woken(
        &mut self,
        client: ClientId,
        session: SessionId,
        zxid: Zxid,
        at: &Arc<str>,
    ) -> Result<(), Objection> {
        self.wake(client, at);
        let change = self.changes.get_mut(&zxid);
        let Some(Change { woken, .. }) = change.filter(|change| change.author != session) else {
            return Ok(());
        };
        let woken = woken.entry(Arc::clone(at)).or_default();
        woken.insert(client);
        *self.most = (*self.most).max(woken.len());
        if let Some(bound) = self.bound.filter(|bound| woken.len() > *bound) {
            let names: Vec<String> = woken.iter().map(ToString::to_string).collect();
            let saw = format!(
                "the change of {at} by transaction {zxid} has woken {}, and may wake {bound}",
                names.join(", "),
            );
            let woken = woken.clone();
            let objection = self.objection(saw).about(zxid);
            return Err(woken.into_iter().fold(objection, Objection::about));
        }
        Ok(())
    }
}

impl Declared for Herd {
    const DECLARATION: Declaration<Self> =
        Declaration::in_sweeps("herd HM1 woken clients", LooksBack::Nothing, minds! { |this, view, event|
            Observed(client, seen: LockSeen) => this.told(client, seen),
            Event::Killed { client } | Event::Finished { client, .. } | Event::Panicked { client, .. } => {
                if let Some(waiters) = &mut this.waiters {
                    waiters.retain(|(waiter, _), _| waiter != client);
                }
                this.awake.retain(|(waiter, _)| waiter != client);
            },
            Event::Committed { txn, .. } => this.committed(txn),
            Event::Rearming { client, .. } => _ = this.rearming.insert(*client),
            Event::Rearmed { client, .. } => _ = this.rearming.remove(client),
            Event::Session { client, state, .. } if *state != SessionState::SyncConnected => {
                this.rearming.remove(client);
            },
            // What is made up at a reconnect is no change that wakes: each client comes back by itself.
            Event::Notified { client, session, event } => {
                let wakes = !this.rearming.contains(client) && this.counts(*client, &event.path);
                match wakes {
                    true => this.woken(*client, *session, event.zxid, &event.path),
                    false => Ok(()),
                }
            },
        })
        .measured(Self::measured);
}

impl Herd {
    fn measured(&self) -> Vec<Measure> {
        let woken = Measure::most("clients woken by one change", *self.most as u64);
        let may = |bound| Measure::most("clients that one change may wake", bound as u64);
        let in_vain = Measure::count("wake-ups in vain", *self.in_vain);
        let in_vain = self.waiters.is_some().then_some(in_vain);
        [woken].into_iter().chain(self.bound.map(may)).chain(in_vain).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vivarium_model::history::History;
    use vivarium_model::id::{ServerId, Xid};
    use vivarium_model::op::{EventType, WatchedEvent};
    use vivarium_model::property::Measured;
    use vivarium_model::property::Monitor;
    use vivarium_model::property::View;
    use vivarium_model::time::Duration;
    use vivarium_model::time::Time;
    use vivarium_model::txn::TxnBody;

    const CHANGE: Zxid = Zxid(7);

    /// Gives the monitor a change by session 1.
    fn told(mut herd: Herd) -> Herd {
        let body = TxnBody::CreateSession { timeout: Duration::from_secs(1) };
        let txn = Txn { zxid: CHANGE, session: SessionId(1), cxid: Xid(0), time: 0, body };
        let committed = Event::Committed { leader: ServerId(1), txn: Arc::new(txn) };
        assert_eq!(tell(&mut herd, &committed), Ok(()));
        herd
    }

    fn tell(herd: &mut Herd, event: &Event) -> Result<(), Objection> {
        herd.event(View::new(Time::ZERO, &History::new()), event)
    }

    fn notified(client: u8, path: &str) -> Event {
        let event = WatchedEvent { kind: EventType::NodeDeleted, path: path.into(), zxid: CHANGE };
        Event::Notified {
            client: ClientId(client.into()),
            session: SessionId(client.into()),
            event,
        }
    }

    #[test]
    fn whoever_changes_something_does_not_wake_others_by_its_own_watch() {
        let mut herd = told(Herd::new("/lock", 1));
        assert_eq!(tell(&mut herd, &notified(1, "/lock/a")), Ok(()));
        assert_eq!(tell(&mut herd, &notified(2, "/lock/a")), Ok(()));
        // The transaction has deleted another znode too.
        assert_eq!(tell(&mut herd, &notified(3, "/lock/b")), Ok(()));
        let objection = tell(&mut herd, &notified(3, "/lock/a")).expect_err("two are woken");
        assert!(
            objection.saw.contains("has woken client 2, client 3, and may wake 1"),
            "{objection}"
        );
    }

    /// For example, a contender in the middle of the queue is gone, or a losing contender is woken.
    #[test]
    fn who_wakes_and_waits_again_was_woken_in_vain() {
        let mut herd = told(Herd::of_contenders("/lock", 1));
        let lock: Arc<str> = "/lock".into();
        let attempt: Arc<str> = "x".into();
        let waits = |on: &str| {
            let (lock, attempt) = (Arc::clone(&lock), Arc::clone(&attempt));
            LockSeen::Waiting { lock, attempt, on: on.into() }
        };
        let in_vain = |herd: &Herd| {
            let measured = herd.measured();
            let found = measured.iter().find(|measure| measure.name == "wake-ups in vain");
            found.expect("it is measured").value
        };
        herd.told(ClientId(2), &waits("/lock/a"));
        // The same wait is reported again without a wake-up.
        herd.told(ClientId(2), &waits("/lock/a"));
        assert_eq!(in_vain(&herd), Measured::Count(0));
        assert_eq!(tell(&mut herd, &notified(2, "/lock/a")), Ok(()));
        herd.told(ClientId(2), &waits("/lock/b"));
        assert_eq!(in_vain(&herd), Measured::Count(1));
        let (lock, attempt) = (Arc::clone(&lock), Arc::clone(&attempt));
        assert_eq!(tell(&mut herd, &notified(2, "/lock/b")), Ok(()));
        let (node, token) = ("/lock/c".into(), CHANGE);
        herd.told(ClientId(2), &LockSeen::Granted { lock, attempt, node, token });
        herd.told(ClientId(2), &waits("/lock/d"));
        assert_eq!(in_vain(&herd), Measured::Count(1));
    }

    #[test]
    fn elsewhere_and_at_a_reconnect_nobody_is_woken() {
        let mut herd = told(Herd::new("/lock", 0));
        assert_eq!(tell(&mut herd, &notified(2, "/other/a")), Ok(()));
        assert_eq!(tell(&mut herd, &notified(2, "/lock/a/b")), Ok(()));
        herd.rearming.insert(ClientId(2));
        assert_eq!(tell(&mut herd, &notified(2, "/lock/a")), Ok(()));
        assert!(tell(&mut herd, &notified(3, "/lock/a")).is_err());
    }
}
