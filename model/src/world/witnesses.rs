//! The witnesses: parts of the world that observe ZooKeeper without being part of it.

use crate::program::exchange::Exchange;
use crate::property::{Commit, Monitors, Objection, Telling, View, check_commit};
use crate::vocabulary::event::Event;
use crate::vocabulary::fingerprint::Fingerprint;
use crate::vocabulary::id::{ClientId, ServerId};
use crate::vocabulary::time::Time;
use crate::vocabulary::txn::Txn;
use crate::vocabulary::zxid::Zxid;
use crate::world::history::History;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The witnesses of a world. They depend only on its events.
#[derive(Clone)]
pub struct Witnesses {
    history: Arc<History>,
    /// Transactions that are proposed and not committed; an activated leader's history is taken from them.
    proposed: BTreeMap<Zxid, Arc<Txn>>,
    monitors: Monitors,
}

/// The history that monitors saw at an event.
#[derive(Clone, Debug)]
pub struct Shown {
    history: Arc<History>,
    is_new: bool,
}

/// What contradicts what a monitor says of itself ([`Witnesses::audit`]).
#[derive(Clone, Debug)]
pub enum Contradiction {
    /// A copy of a monitor objects to an event to which the monitor itself did not object.
    Copy(Objection),
    /// A monitor changes at an event that, by its own account, does not concern it.
    Unconcerned(Objection),
}

impl Shown {
    /// Returns the view of the monitors at that event.
    pub fn view(&self, at: Time) -> View<'_> {
        match self.is_new {
            true => View::of_new(at, &self.history),
            false => View::new(at, &self.history),
        }
    }
}

impl Witnesses {
    /// Returns witnesses with this history, and without proposals.
    pub fn new(history: Arc<History>, monitors: Monitors) -> Witnesses {
        Witnesses { history, proposed: BTreeMap::new(), monitors }
    }

    /// Returns the committed history.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Returns the committed history, for sharing.
    pub fn shared_history(&self) -> &Arc<History> {
        &self.history
    }

    /// Returns the monitors.
    pub fn monitors(&self) -> &Monitors {
        &self.monitors
    }

    /// Chooses which monitors receive the events that follow.
    pub fn tell(&mut self, telling: Telling) {
        self.monitors.tell(telling);
    }

    /// Returns the fingerprint of the history, the event monitors and the proposals.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut whole = self.monitors.fingerprint();
        let history = (self.history.last(), self.history.tree().digest());
        whole.add(Fingerprint::of(&("history", history)));
        if !self.proposed.is_empty() {
            // Whole transactions, because one zxid can belong to different ones in different runs.
            whole.add(Fingerprint::of(&("proposed", &self.proposed)));
        }
        whole
    }

    /// Returns true if an event of this kind can change the witnesses.
    pub fn concerns(&self, event: &Event) -> bool {
        let own = matches!(
            event,
            Event::Proposed { .. } | Event::Committed { .. } | Event::Established { .. }
        );
        own || self.monitors.concerns(event)
    }

    /// Processes the events of a step, and appends the commits that follow from an activation.
    ///
    /// # Errors
    /// The objection of a monitor.
    pub fn witness(&mut self, at: Time, events: &mut Vec<Event>) -> Result<(), Objection> {
        // The commits of an activation come after the other events.
        let mut added = Vec::new();
        let result = events.iter().try_for_each(|event| self.one_event(at, event, &mut added));
        events.append(&mut added);
        result
    }

    /// Returns true if a monitor needs the traffic of client machines.
    pub(crate) fn hear_exchanges(&self) -> bool {
        self.monitors.hear_exchanges()
    }

    /// Passes the traffic of client machines in a step to the monitors.
    ///
    /// # Errors
    /// The objection of a monitor.
    pub fn exchanges(
        &mut self,
        at: Time,
        exchanges: &[(ClientId, Exchange)],
    ) -> Result<(), Objection> {
        match exchanges {
            [] => Ok(()),
            exchanges => self.monitors.exchanges(View::new(at, &self.history), exchanges),
        }
    }

    /// Processes the events of a step on a copy, like [`Witnesses::witness`], which did not object, and also passes each
    /// event to the monitors that it does not concern. Returns the history that monitors saw at each event.
    ///
    /// # Errors
    /// What contradicts what a monitor says of itself.
    pub fn audit(&self, at: Time, events: &[Event]) -> Result<Vec<Shown>, Contradiction> {
        let (mut copy, mut all) = (self.clone(), Vec::new());
        for event in events {
            let known = copy.history.last();
            copy.one_event(at, event, &mut Vec::new()).map_err(Contradiction::Copy)?;
            let is_new = copy.history.last() != known;
            let shown = Shown { history: Arc::clone(&copy.history), is_new };
            copy.monitors.unconcerned(shown.view(at), event).map_err(|objection| {
                let saw = format!("after the event \"{event}\": {}", objection.saw);
                Contradiction::Unconcerned(Objection { saw, ..objection })
            })?;
            all.push(shown);
        }
        Ok(all)
    }

    /// Lets the monitors check the state when no step but the passing of time is possible.
    ///
    /// # Errors
    /// The objection of a monitor.
    pub fn at_rest(&mut self, at: Time) -> Result<(), Objection> {
        self.monitors.at_rest(View::new(at, &self.history))
    }

    /// Ends the run.
    ///
    /// # Errors
    /// The objection of a monitor.
    pub fn end(&mut self, at: Time) -> Result<(), Objection> {
        self.monitors.end(View::new(at, &self.history))
    }

    fn one_event(
        &mut self,
        at: Time,
        event: &Event,
        added: &mut Vec<Event>,
    ) -> Result<(), Objection> {
        match event {
            Event::Proposed { txn, .. } => {
                self.proposed.insert(txn.zxid, Arc::clone(txn));
            }
            Event::Committed { txn, .. } => return self.committed(at, txn, event),
            _ => {}
        }
        self.monitors.event(View::new(at, &self.history), event)?;
        if let Event::Established { leader, epoch, last_zxid } = *event {
            self.commit_initial_history(at, leader, last_zxid, added)?;
            // A proposal of an older epoch that this leader lacks will never commit: every later leader has this
            // leader's history, or S4 objects.
            self.proposed.retain(|zxid, _| zxid.epoch() >= epoch);
        }
        Ok(())
    }

    /// Adds a commit to the history and passes the event to the monitors; `event` is the commit of `txn`.
    fn committed(&mut self, at: Time, txn: &Arc<Txn>, event: &Event) -> Result<(), Objection> {
        let view = match check_commit(&self.history, txn)? {
            Commit::New => {
                Arc::make_mut(&mut self.history).commit(Arc::clone(txn));
                self.proposed.remove(&txn.zxid);
                View::of_new(at, &self.history)
            }
            Commit::Known => View::new(at, &self.history),
        };
        self.monitors.event(view, event)
    }

    /// Commits all of an activated leader's history. The transactions that are new to the committed history were
    /// proposed in the epoch of the history's last zxid: that epoch's own leader was established before, so its
    /// initial history is committed already.
    fn commit_initial_history(
        &mut self,
        at: Time,
        leader: ServerId,
        last_zxid: Zxid,
        added: &mut Vec<Event>,
    ) -> Result<(), Objection> {
        let mut next = self.history.last().max(last_zxid.epoch().opening());
        while next < last_zxid {
            next = next.next().expect("it is below another zxid of its epoch");
            let Some(txn) = self.proposed.get(&next).cloned() else {
                return Err(Objection::new(
                    "S2 committed prefix agreement",
                    format!(
                        "{leader} was established with a history up to {last_zxid}, but no leader has proposed {next}"
                    ),
                )
                .about(leader)
                .about(last_zxid)
                .about(next));
            };
            let event = Event::Committed { leader, txn: Arc::clone(&txn) };
            self.committed(at, &txn, &event)?;
            added.push(event);
        }
        Ok(())
    }
}
