//! What is no part of ZooKeeper and watches it: the committed history, what is proposed, the monitors.

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

/// The witnesses of a world. They depend on its events and on nothing else.
#[derive(Clone)]
pub struct Witnesses {
    history: Arc<History>,
    /// Proposed and not committed: what an activated leader's history is looked up in.
    proposed: BTreeMap<Zxid, Arc<Txn>>,
    monitors: Monitors,
}

/// What monitors were shown beside an event.
#[derive(Clone, Debug)]
pub struct Shown {
    history: Arc<History>,
    is_new: bool,
}

impl Shown {
    /// As they were shown it.
    pub fn view(&self, at: Time) -> View<'_> {
        match self.is_new {
            true => View::of_new(at, &self.history),
            false => View::new(at, &self.history),
        }
    }
}

impl Witnesses {
    /// With this history, and nothing proposed.
    pub fn new(history: Arc<History>, monitors: Monitors) -> Witnesses {
        Witnesses { history, proposed: BTreeMap::new(), monitors }
    }

    /// The committed history.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The committed history, to be shared.
    pub fn shared_history(&self) -> &Arc<History> {
        &self.history
    }

    /// The monitors.
    pub fn monitors(&self) -> &Monitors {
        &self.monitors
    }

    /// Chooses which monitors receive the events that follow.
    pub fn tell(&mut self, telling: Telling) {
        self.monitors.tell(telling);
    }

    /// Fingerprint of the history, the event monitors and what is proposed.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut whole = self.monitors.fingerprint();
        let history = (self.history.last(), self.history.tree().digest());
        whole.add(Fingerprint::of(&("history", history)));
        if !self.proposed.is_empty() {
            // Whole transactions: in different runs one zxid can name different ones.
            whole.add(Fingerprint::of(&("proposed", &self.proposed)));
        }
        whole
    }

    /// Whether an event of this kind can move any of them.
    pub fn concerns(&self, event: &Event) -> bool {
        let own = matches!(
            event,
            Event::Proposed { .. } | Event::Committed { .. } | Event::Established { .. }
        );
        own || self.monitors.concerns(event)
    }

    /// Takes the events of a step in, and adds what an activation commits.
    ///
    /// # Errors
    /// A monitor's objection.
    pub fn witness(&mut self, at: Time, events: &mut Vec<Event>) -> Result<(), Objection> {
        // What an activation commits belongs behind the rest.
        let mut added = Vec::new();
        let result = events.iter().try_for_each(|event| self.one_event(at, event, &mut added));
        events.append(&mut added);
        result
    }

    /// Whether any of them hears what passes client machines.
    pub fn hear_exchanges(&self) -> bool {
        self.monitors.hear_exchanges()
    }

    /// Takes in what passed client machines in a step.
    ///
    /// # Errors
    /// A monitor's objection.
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

    /// Takes in a copy the events of a step, as [`Witnesses::witness`] does, and tells of each also the monitors
    /// that it does not concern. Returns what monitors are shown beside each event.
    ///
    /// # Errors
    /// The name of a monitor that changes its state at an event that does not concern it, as it says; and the event.
    pub fn audit(&self, at: Time, events: &[Event]) -> Result<Vec<Shown>, Objection> {
        let (mut copy, mut all) = (self.clone(), Vec::new());
        for event in events {
            let known = copy.history.last();
            // Who took the step reports the objection.
            if copy.one_event(at, event, &mut Vec::new()).is_err() {
                break;
            }
            let is_new = copy.history.last() != known;
            let shown = Shown { history: Arc::clone(&copy.history), is_new };
            copy.monitors.unconcerned(shown.view(at), event).map_err(|objection| {
                let saw = format!("told that {event}: {}", objection.saw);
                Objection { saw, ..objection }
            })?;
            all.push(shown);
        }
        Ok(all)
    }

    /// Nothing can happen any more but that time passes.
    ///
    /// # Errors
    /// A monitor's objection.
    pub fn at_rest(&mut self, at: Time) -> Result<(), Objection> {
        self.monitors.at_rest(View::new(at, &self.history))
    }

    /// The run is over.
    ///
    /// # Errors
    /// A monitor's objection.
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
            // What an older epoch proposed and this leader does not have is dead: every later leader
            // has this one's history, or S4 objects.
            self.proposed.retain(|zxid, _| zxid.epoch() >= epoch);
        }
        Ok(())
    }

    /// Takes a commit in and tells it; `event` is of this transaction.
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

    /// An activation commits all of the leader's history. The part that is new here are proposals of
    /// the epoch of its last zxid: that epoch's own leader was established first, and so had its
    /// initial history committed.
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
                        "{leader} was established with a history up to {last_zxid}, but nobody has proposed {next}"
                    ),
                ));
            };
            let event = Event::Committed { leader, txn: Arc::clone(&txn) };
            self.committed(at, &txn, &event)?;
            added.push(event);
        }
        Ok(())
    }
}
