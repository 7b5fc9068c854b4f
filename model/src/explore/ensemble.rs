//! The ensemble grain: real servers, searched for every order of what can happen to them.
//!
//! A [`State`] is a world without programs and what is left of its [`Budget`]. Everything that is no
//! fault is free: deliveries, disk operations, elections, starts. Faults and proposals are counted,
//! so that the states are finite in number:
//!
//! | budget | what it buys |
//! |---|---|
//! | `txns` | an established leader proposes a write |
//! | `crashes` | a server dies, with every part of its unsynced log and with or without its unsynced snapshots; it starts again for nothing |
//! | `breaks` | a learner's connection breaks, with every number of packets that still arrive |
//! | `timeouts` | a server leaves its role though nothing is wrong: too slow, a long collection, an exception |
//!
//! **Time.** No clock runs here. A time limit that ends a role is [`Step::Rejoin`] and is counted,
//! because it can come at any moment; but it is free where it is the only way on: for a leader that
//! has no quorum of connections left (the ping round finds that out), and, when nothing else can
//! happen at all, for every server that leads or follows and does not serve (initLimit). Pings do
//! nothing else than put such limits off, so there are none; sessions do not exist.
//!
//! **Elections** are those of the oracle ([`crate::server::oracle`]) or those of the code. The rounds of
//! the latter have no end, so of these a search sees the first three and is bounded by that.
//!
//! **Reductions** ([`crate::server::eager`], [`reduction`]) leave out orders of steps that nobody can
//! tell apart. They can be switched off, and the tests compare.
//!
//! Not here: errors of fsync, which the servers' model does not have yet (ZOOKEEPER-4882).

mod actions;
mod reduction;
mod rest;

pub use crate::config::Election;
pub use actions::{Action, Charge};

use super::Model;
use crate::config::Config;
use crate::effect::{Effects, Status};
use crate::ensemble::Ensemble;
use crate::fingerprint::Fingerprint;
use crate::host::{Host, Input, Output};
use crate::id::ClientId;
use crate::property::{Monitor, Objection, invariants};
use crate::server::eager::Threats;
use crate::step::Step;
use crate::time::Time;
use crate::timer::{ServerTimer, Timer};
use crate::world::World;
use std::collections::BTreeSet;
use std::sync::Arc;

/// How much of what is counted may happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Servers.
    pub servers: u8,
    /// Writes that leaders propose.
    pub txns: u8,
    /// Crashes.
    pub crashes: u8,
    /// Broken connections between learners and leaders.
    pub breaks: u8,
    /// Roles left without need.
    pub timeouts: u8,
}

impl Budget {
    /// This many servers, transactions and crashes, and nothing else.
    pub fn new(servers: u8, txns: u8, crashes: u8) -> Budget {
        Budget { servers, txns, crashes, breaks: 0, timeouts: 0 }
    }

    fn threats(&self) -> Threats {
        Threats {
            crashes: self.crashes > 0,
            breaks: self.breaks > 0,
            timeouts: self.timeouts > 0,
            proposals: self.txns > 0,
        }
    }
}

/// The rounds of elections that are searched, in the election of the code.
const ROUNDS: u32 = 3;

/// No programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NoPrograms;

impl Host for NoPrograms {
    fn start(&mut self, client: ClientId) {
        unreachable!("there is no {client}");
    }

    fn feed(&mut self, client: ClientId, _input: Input, _outputs: &mut Vec<Output>) {
        unreachable!("there is no {client}");
    }

    fn kill(&mut self, client: ClientId) {
        unreachable!("there is no {client}");
    }
}

/// A world and what may still happen to it.
#[derive(Clone)]
pub struct State {
    world: World<NoPrograms>,
    left: Budget,
    /// Armed timers of elections; none under the oracle.
    timers: BTreeSet<Timer>,
    /// How many steps the last action took, with what it set off.
    length: u32,
    objection: Option<Arc<Objection>>,
}

impl State {
    /// The servers, disks and links.
    pub fn ensemble(&self) -> &Ensemble {
        self.world.ensemble()
    }

    /// In the election of the code rounds never end: whoever is impatient begins another. A search
    /// looks at the first ones, and says so.
    fn has_elected_enough(&self) -> bool {
        let mut up =
            self.ensemble().config().server_ids().filter_map(|id| self.ensemble().server(id));
        up.any(|process| process.round() > ROUNDS)
    }

    /// What is left of the budget.
    pub fn left(&self) -> Budget {
        self.left
    }
}

impl State {
    fn fingerprint(&self) -> Fingerprint {
        let objection = self.objection.as_ref().map(|objection| &objection.saw);
        Fingerprint::of(&(self.world.fingerprint(), self.left, &self.timers, objection))
    }
}

/// By fingerprint: what stateright's own checkers need.
impl PartialEq for State {
    fn eq(&self, other: &State) -> bool {
        self.fingerprint() == other.fingerprint()
    }
}

impl std::hash::Hash for State {
    fn hash<H: std::hash::Hasher>(&self, hasher: &mut H) {
        self.fingerprint().hash(hasher);
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for server in self.ensemble().config().server_ids() {
            writeln!(f, "{server}: {}", self.ensemble().state_of(server))?;
        }
        write!(f, "left: {:?}", self.left)
    }
}

/// An ensemble under a budget.
pub struct EnsembleModel {
    config: Arc<Config>,
    budget: Budget,
    reductions: bool,
    monitors: Vec<Box<dyn Monitor>>,
}

impl EnsembleModel {
    /// Servers with this configuration, whose clients and number of servers are those of the
    /// budget: none, and as many.
    pub fn new(
        mut config: Config,
        budget: Budget,
        election: Election,
        reductions: bool,
        monitors: Vec<Box<dyn Monitor>>,
    ) -> EnsembleModel {
        config.servers = budget.servers;
        config.clients.clear();
        // So far away that no search comes to it: then nothing needs to count towards it.
        if config.snap_count / 2 > u32::from(u8::MAX) {
            config.snap_count = u32::MAX;
        }
        config.election = election;
        EnsembleModel { config: Arc::new(config), budget, reductions, monitors }
    }

    /// The configuration as searched: what a case needs.
    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// The steps of the world that an action stands for, in order: itself and what it set off.
    pub fn steps(&self, state: &State, action: &Action) -> Vec<Step> {
        let mut steps = Vec::new();
        let _ = self.perform(state, action, &mut steps);
        steps
    }

    /// Takes an action and, with reductions, whatever may as well happen at once after it.
    fn perform(&self, state: &State, action: &Action, steps: &mut Vec<Step>) -> Option<State> {
        let mut next = state.clone();
        let unheard = self.config.election.is_oracle();
        let mut effects = Effects { unheard, ..Effects::default() };
        next.length = 0;
        action.charge.pay(&mut next.left);
        for step in std::iter::once(action.step).chain(action.then) {
            if !next.take(step, steps, &mut effects) {
                return None;
            }
        }
        if self.reductions {
            while next.objection.is_none()
                && let Some(step) = reduction::eager(next.ensemble(), next.left.threats())
            {
                let done = next.take(step, steps, &mut effects);
                assert!(done, "{step} was offered and is not enabled");
            }
        }
        Some(next)
    }
}

impl State {
    /// Takes one step of the world; `false` where it is not enabled.
    fn take(&mut self, step: Step, steps: &mut Vec<Step>, effects: &mut Effects) -> bool {
        if self.objection.is_some() {
            return true;
        }
        effects.clear();
        let taker = self.ensemble().taker(&step);
        let disk = taker.map(|server| self.ensemble().shared_disk(server));
        let committed = self.world.history().last();
        let result = self.world.apply(Time::ZERO, &step, effects);
        if !self.world.ensemble().config().election.is_oracle() {
            self.keep_timers(&step, effects);
        }
        steps.push(step);
        self.length += 1;
        let checked = result.and_then(|status| match status {
            Status::Done => {
                let (ensemble, history) = (self.world.ensemble(), self.world.history());
                let Some((server, disk)) = taker.zip(disk) else { return Ok(true) };
                let written = ensemble.has_written(server, &disk);
                let longer = history.last() > committed;
                invariants::check(ensemble, history, server, written, longer).map(|()| true)
            }
            Status::Blocked(_) | Status::NotEnabled => Ok(false),
        });
        checked.unwrap_or_else(|objection| {
            self.objection = Some(Arc::new(objection));
            true
        })
    }

    /// Which of an election's timers are armed. (All others are time limits, which are
    /// [`Step::Rejoin`] here, and pings.)
    fn keep_timers(&mut self, step: &Step, effects: &Effects) {
        use crate::effect::Effect;
        if let Step::Fire(timer) = step {
            self.timers.remove(timer);
        }
        for effect in &effects.effects {
            match effect {
                Effect::Arm {
                    timer:
                        timer @ Timer::Server(
                            _,
                            ServerTimer::Notification
                            | ServerTimer::Finalize
                            | ServerTimer::ConnectLeader,
                        ),
                    ..
                } => {
                    self.timers.insert(*timer);
                }
                Effect::Disarm(timer) => {
                    self.timers.remove(timer);
                }
                _ => {}
            }
        }
    }
}

impl stateright::Model for EnsembleModel {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let monitors = self.monitors.clone();
        let mut world = World::new(Arc::clone(&self.config), NoPrograms, monitors);
        let mut effects = Effects::default();
        world.begin(&mut effects);
        let mut state =
            State { world, left: self.budget, timers: BTreeSet::new(), length: 0, objection: None };
        if !self.config.election.is_oracle() {
            state.keep_timers(&Step::Propose(crate::id::ServerId(1)), &effects);
        }
        vec![state]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.objection.is_none() && !state.has_elected_enough() {
            actions::of(state, self.reductions, actions);
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        self.perform(last, &action, &mut Vec::new())
    }

    fn properties(&self) -> Vec<stateright::Property<EnsembleModel>> {
        vec![stateright::Property::always("nobody objects", |_, state: &State| {
            state.objection.is_none()
        })]
    }

    fn format_action(&self, action: &Action) -> String {
        action.to_string()
    }
}

impl Model for EnsembleModel {
    fn fingerprint(&self, state: &State) -> Fingerprint {
        state.fingerprint()
    }

    fn objection<'a>(&self, state: &'a State) -> Option<&'a Objection> {
        state.objection.as_deref()
    }

    fn length(&self, state: &State) -> u32 {
        state.length
    }

    fn at_rest(&self, state: &State) -> Result<(), Objection> {
        rest::check(state.ensemble())
    }

    fn withheld(&self, state: &State) -> Option<&'static str> {
        state.has_elected_enough().then_some("elections beyond their third round")
    }
}
