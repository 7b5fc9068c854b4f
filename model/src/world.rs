//! The world: one grain of ZooKeeper, the host of its programs, the committed history and the
//! monitors.
//!
//! [`World::apply`] is the one definition of what a [`Step`] does. The simulator, the explorer and
//! the replay of cases differ only in how they choose the next one. A world is cheap to clone: what
//! a step does not change is shared.

use crate::config::Config;
use crate::effect::{Effects, Status};
use crate::ensemble::Ensemble;
use crate::event::Event;
use crate::fingerprint::{Fingerprint, StableHasher};
use crate::grain::Grain;
use crate::history::History;
use crate::host::{Host, Output};
use crate::id::{ClientId, ServerId};
use crate::property::{Commit, Monitor, Monitors, Objection, View, check_commit};
use crate::step::Step;
use crate::time::Time;
use crate::txn::Txn;
use crate::zxid::Zxid;
use std::collections::BTreeMap;
use std::hash::Hash;
use std::sync::Arc;

/// Everything that a run can change.
#[derive(Clone)]
pub struct World<H, G = Ensemble> {
    grain: G,
    host: H,
    history: Arc<History>,
    /// Proposed and not committed: what an activated leader's history is looked up in.
    proposed: BTreeMap<Zxid, Arc<Txn>>,
    monitors: Monitors,
    outputs: Vec<Output>,
}

impl<H: Host> World<H> {
    /// A world of servers before its first step.
    pub fn new(config: Arc<Config>, host: H, monitors: Vec<Box<dyn Monitor>>) -> World<H> {
        World::over(Ensemble::new(config), host, monitors)
    }

    /// The servers, disks, links and clients.
    pub fn ensemble(&self) -> &Ensemble {
        &self.grain
    }
}

impl<H: Host, G: Grain> World<H, G> {
    /// A world before its first step.
    pub fn over(grain: G, host: H, monitors: Vec<Box<dyn Monitor>>) -> World<H, G> {
        World {
            grain,
            host,
            history: Arc::new(History::new()),
            proposed: BTreeMap::new(),
            monitors: Monitors::new(monitors),
            outputs: Vec::new(),
        }
    }

    /// Before the first step: servers start, every program's start is due. What a grain commits
    /// here was there before anything happened.
    ///
    /// # Panics
    /// If a grain commits here what is no history.
    pub fn begin(&mut self, effects: &mut Effects) {
        self.grain.begin(effects);
        for event in &effects.events {
            if let Event::Committed { txn, .. } = event {
                Arc::make_mut(&mut self.history).commit(Arc::clone(txn));
            }
        }
    }

    /// ZooKeeper and its clients.
    pub fn grain(&self) -> &G {
        &self.grain
    }

    /// The host of the programs.
    pub fn host(&self) -> &H {
        &self.host
    }

    /// The committed history.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The host of the programs.
    pub fn host_mut(&mut self) -> &mut H {
        &mut self.host
    }

    /// The monitors.
    pub fn monitors(&self) -> &Monitors {
        &self.monitors
    }

    /// Fingerprint of the grain, the history and the event monitors. (A host's programs are
    /// functions of their inputs; an engine that needs them told apart adds its own part.)
    pub fn fingerprint(&self) -> Fingerprint {
        self.with_ghosts(self.grain.fingerprint())
    }

    /// The fingerprint without any cache.
    pub fn recomputed_fingerprint(&self) -> Fingerprint {
        self.with_ghosts(self.grain.recomputed_fingerprint())
    }

    fn with_ghosts(&self, grain: Fingerprint) -> Fingerprint {
        let mut whole = grain;
        whole.add(self.monitors.fingerprint());
        let history = (self.history.last(), self.history.tree().digest());
        whole.add(Fingerprint::of(&("history", history)));
        if !self.proposed.is_empty() {
            // A zxid names its transaction: its epoch has one leader.
            let mut hasher = StableHasher::new();
            self.proposed.keys().for_each(|zxid| zxid.hash(&mut hasher));
            whole.add(hasher.finished());
        }
        whole
    }

    /// Does one step at this time. `effects` must be cleared by the caller between steps.
    ///
    /// # Errors
    /// A monitor's objection to what happened.
    pub fn apply(
        &mut self,
        at: Time,
        step: &Step,
        effects: &mut Effects,
    ) -> Result<Status, Objection> {
        let status = match *step {
            Step::Input(client) => match self.grain.take_input(client) {
                Ok(input) => {
                    effects.absorb(&(at, step));
                    effects.note(|| format!("{client}'s program is told: {input}"));
                    self.host.feed(client, input, &mut self.outputs);
                    self.carry_out(client, at, effects);
                    Status::Done
                }
                Err(status) => status,
            },
            _ => self.grain.apply(at, step, effects),
        };
        if status != Status::Done {
            debug_assert!(effects.events.is_empty(), "{step} did nothing and said something");
            return Ok(status);
        }
        match *step {
            Step::Start(client) => self.host.start(client),
            Step::Kill(client) => self.host.kill(client),
            Step::Input(_) => {}
            _ => {}
        }
        if !matches!(step, Step::Input(_)) {
            effects.absorb(&(at, step));
        }
        self.tell_monitors(at, effects)?;
        Ok(Status::Done)
    }

    /// The run is over, healed and quiet: what should have happened by now?
    ///
    /// # Errors
    /// A monitor's objection.
    pub fn end(&mut self, at: Time) -> Result<(), Objection> {
        let view = View { at, history: &self.history };
        self.monitors.end(view)
    }

    fn carry_out(&mut self, client: ClientId, at: Time, effects: &mut Effects) {
        for output in self.outputs.drain(..) {
            effects.absorb(&output);
            let words = effects.notes.is_some().then(|| format!("it {output}"));
            let events = effects.events.len();
            self.grain.output(client, output, at, effects);
            // What has become an event (a request sent, an observation) is told by that.
            if let Some(words) = words.filter(|_| effects.events.len() == events) {
                effects.note(|| words);
            }
        }
    }

    /// The same world with this grain, host, history and these monitors: how a search puts a world
    /// together that it keeps in pieces.
    #[cfg(feature = "explore")]
    pub(crate) fn of_pieces(
        grain: G,
        host: H,
        history: Arc<History>,
        monitors: Monitors,
    ) -> World<H, G> {
        let (proposed, outputs) = (BTreeMap::new(), Vec::new());
        World { grain, host, history, proposed, monitors, outputs }
    }

    /// The committed history, to be shared.
    #[cfg(feature = "explore")]
    pub(crate) fn shared_history(&self) -> &Arc<History> {
        &self.history
    }

    /// Asks the monitors whether all is as it must be when nothing can happen but that time passes.
    ///
    /// # Errors
    /// A monitor's objection.
    pub fn at_rest(&mut self, at: Time) -> Result<(), Objection> {
        let view = View { at, history: &self.history };
        self.monitors.at_rest(view)
    }

    // ---- events ----

    fn tell_monitors(&mut self, at: Time, effects: &mut Effects) -> Result<(), Objection> {
        let events = std::mem::take(&mut effects.events);
        let result = events.iter().try_for_each(|event| self.one_event(at, event, effects));
        // What an activation committed was added meanwhile: it belongs behind the rest.
        let added = std::mem::replace(&mut effects.events, events);
        effects.events.extend(added);
        result
    }

    fn one_event(
        &mut self,
        at: Time,
        event: &Event,
        effects: &mut Effects,
    ) -> Result<(), Objection> {
        match event {
            Event::Proposed { txn, .. } => {
                self.proposed.insert(txn.zxid, Arc::clone(txn));
            }
            Event::Committed { txn, .. } => self.commit(txn)?,
            _ => {}
        }
        self.tell(at, event)?;
        if let Event::Established { leader, epoch, last_zxid } = *event {
            self.commit_initial_history(at, leader, last_zxid, effects)?;
            // What an older epoch proposed and this leader does not have is dead: every later leader
            // has this one's history, or S4 objects.
            self.proposed.retain(|zxid, _| zxid.epoch() >= epoch);
        }
        Ok(())
    }

    fn tell(&mut self, at: Time, event: &Event) -> Result<(), Objection> {
        let view = View { at, history: &self.history };
        self.monitors.event(view, event)
    }

    fn commit(&mut self, txn: &Arc<Txn>) -> Result<(), Objection> {
        if check_commit(&self.history, txn)? == Commit::New {
            Arc::make_mut(&mut self.history).commit(Arc::clone(txn));
            self.proposed.remove(&txn.zxid);
        }
        Ok(())
    }

    /// An activation commits all of the leader's history. What of it is new here are proposals of
    /// the epoch of its last zxid: that epoch's own leader was established first, and so had its
    /// initial history committed.
    fn commit_initial_history(
        &mut self,
        at: Time,
        leader: ServerId,
        last_zxid: Zxid,
        effects: &mut Effects,
    ) -> Result<(), Objection> {
        let mut next = self.history.last().max(last_zxid.epoch().opening());
        while next < last_zxid {
            next = next.next().expect("it is below another zxid of its epoch");
            let Some(txn) = self.proposed.get(&next).cloned() else {
                return Err(Objection::new(
                    "S2 committed prefix",
                    format!(
                        "{leader} was established with a history up to {last_zxid}, but nobody has proposed {next}"
                    ),
                ));
            };
            self.commit(&txn)?;
            let event = Event::Committed { leader, txn };
            self.tell(at, &event)?;
            effects.event(event);
        }
        Ok(())
    }
}
