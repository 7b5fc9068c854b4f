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
//! | `fsync_errors` | an fsync of the log fails, with every part of the unsynced log: the server leaves its role |
//! | `upsets` | under [`Election::Any`], a quorum elects a server that needs the vote of one that is ahead of it |
//!
//! **Time.** No clock runs here. A time limit that ends a role is [`Step::Rejoin`] and is counted,
//! because it can come at any moment; but it is free where it is the only way on: for a leader that
//! has no quorum of connections left (the ping round finds that out), and, when nothing else can
//! happen at all, for every server that leads or follows and does not serve (initLimit). Pings do
//! nothing else than put such limits off, so there are none; sessions do not exist.
//!
//! **Elections** are those of the oracle ([`vivarium_model::server::oracle`]), any, or those of the code. The rounds of
//! the latter have no end, so of these a search sees the first three and is bounded by that.
//!
//! **Reductions** ([`vivarium_model::server::eager`], `reduction`) leave out orders of steps that nobody can
//! tell apart. They can be switched off, and the tests compare.
//!
//! **Pieces.** A state is a handful of numbers (`pieces`, `view`, `follow`); the ensemble that
//! they stand for is put together only where something is worked out for the first time.
//!
//! Not here: errors of the fsync inside a synchronisation, and what a failed fsync leaves in the page
//! cache, which a server can still read and a later fsync does not save.
//!
#![doc = include_str!("README.md")]

mod actions;
mod elections;
mod follow;
mod pieces;
mod reduction;
mod reductions;
mod renewal;
mod rest;
mod scene;
#[cfg(debug_assertions)]
mod second;
mod shorten;
mod state;
mod view;
mod weights;

pub use crate::budget::servers::Budget;
pub use pieces::Pieces;
pub use reductions::Reductions;
pub use shorten::stuck;
pub use state::State;
pub use vivarium_model::config::Election;
pub use vivarium_model::server::eager::Flaw;

use super::Model;
use crate::budget::ByAccount;
use pieces::Tables;
use state::MAX_SERVERS;
use std::sync::Arc;
use vivarium_model::config::Config;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::history::History;
use vivarium_model::host::{Host, Input, Output};
use vivarium_model::id::{ClientId, ServerId};
use vivarium_model::property::{Monitor, Monitors, Objection};
use vivarium_model::release::Bug;
use vivarium_model::server::Server;
use vivarium_model::server::eager::{Outlook, Threats};
use vivarium_model::step::Step;
use vivarium_model::witnesses::Witnesses;

impl Budget {
    fn threats(&self) -> Threats {
        let fsync_errors = self.fsync_errors > 0;
        Threats {
            crashes: self.crashes > 0 || fsync_errors,
            breaks: self.breaks > 0,
            timeouts: self.timeouts > 0 || fsync_errors,
            fsync_errors,
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

/// An action: the number of a choice that was worked out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Action(state::Number);

/// An ensemble under a budget.
pub struct EnsembleModel {
    config: Arc<Config>,
    budget: Budget,
    reductions: Reductions,
    flaw: Option<Flaw>,
    /// As they are at the start.
    first_witnesses: Witnesses,
    tables: Tables,
    /// What one unit of each account adds to a fingerprint.
    prices: ByAccount<Fingerprint>,
}

impl EnsembleModel {
    /// Servers with this configuration, whose clients and number of servers are those of the
    /// budget: none, and as many.
    ///
    /// # Panics
    /// If there are more than [`SEARCHED_SERVERS`](vivarium_model::bounds::SEARCHED_SERVERS).
    pub fn new(
        mut config: Config,
        budget: Budget,
        election: Election,
        reductions: bool,
        mut monitors: Vec<Box<dyn Monitor>>,
    ) -> EnsembleModel {
        assert!(
            usize::from(budget.servers) <= MAX_SERVERS,
            "a search has at most {MAX_SERVERS} servers"
        );
        config.servers = budget.servers;
        config.clients.clear();
        // So far away that no search comes to it: then nothing needs to count towards it.
        if config.snap_count / 2 > u32::from(u8::MAX) {
            config.snap_count = u32::MAX;
        }
        // The writes of a search create different znodes, with the open ACL: to apply one of them once
        // more changes nothing, and there are no two ACLs.
        config.bugs = config.bugs.without(Bug::ApplyOutlivesRole).without(Bug::AclByNumber);
        config.election = election;
        let config = Arc::new(config);
        let mut prices = ByAccount::default();
        for (place, account) in (0..).zip(Budget::ACCOUNTS) {
            let place: u8 = place;
            prices[account] = Fingerprint::of(&("budget", place));
        }
        monitors.iter_mut().for_each(|monitor| monitor.begin(&config));
        EnsembleModel {
            config,
            budget,
            reductions: if reductions { Reductions::ALL } else { Reductions::NONE },
            flaw: None,
            first_witnesses: Witnesses::new(Arc::default(), Monitors::new(monitors)),
            tables: Tables::new(),
            prices,
        }
    }

    /// With these reductions.
    #[must_use]
    pub fn reduced_by(self, reductions: Reductions) -> EnsembleModel {
        EnsembleModel { reductions, ..self }
    }

    /// With a mistake in the conditions of its reductions, to see it found.
    #[must_use]
    pub fn flawed(self, flaw: Flaw) -> EnsembleModel {
        EnsembleModel { flaw: Some(flaw), ..self }
    }

    fn has_flaw(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    /// What the conditions of eager steps are asked under.
    fn outlook(&self, left: &Budget, history: &History) -> Outlook {
        Outlook { threats: left.threats(), committed: history.last(), flaw: self.flaw }
    }

    /// The committed history of a state.
    pub fn history(&self, state: &State) -> &History {
        self.tables.witnesses.get(state.witnesses).value.history()
    }

    /// The configuration as searched: what a case needs.
    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// The steps of the world that an action stands for, in order: itself and what it set off.
    pub fn steps(&self, state: &State, action: &Action) -> Vec<Step> {
        let mut steps = Vec::new();
        self.perform(state, action, Some(&mut steps));
        steps
    }

    /// The steps that an action chooses, without what they set off.
    pub fn chosen(&self, action: &Action) -> Vec<Step> {
        let offer = &self.tables.choices.get(action.0).offer;
        std::iter::once(offer.step).chain(offer.then).collect()
    }

    /// In words: what the servers are doing, and what is left.
    pub fn describe(&self, state: &State) -> String {
        let ensemble = self.ensemble(state);
        let servers = self.config.server_ids();
        let lines = servers.map(|server| format!("{server}: {}\n", ensemble.state_of(server)));
        format!("{}left: {:?}", lines.collect::<String>(), state.left)
    }

    /// In the election of the code rounds never end: whoever is impatient begins another. A search
    /// looks at the first ones, and says so.
    fn has_elected_enough(&self, state: &State) -> bool {
        let round = |server: ServerId| {
            let node = self.tables.servers.get(state.numbers[state::server_at(server)]);
            node.value.process.as_ref().map_or(0, Server::round)
        };
        !self.config.election.is_oracle()
            && self.config.server_ids().any(|server| round(server) > ROUNDS)
    }
}

impl stateright::Model for EnsembleModel {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![self.beginning()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.objection.is_none() && !self.has_elected_enough(state) {
            self.list(state, actions);
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        Some(self.perform(last, &action, None))
    }

    fn properties(&self) -> Vec<stateright::Property<EnsembleModel>> {
        vec![stateright::Property::always("nobody objects", |_, state: &State| {
            state.objection.is_none()
        })]
    }

    fn format_action(&self, action: &Action) -> String {
        self.tables.choices.get(action.0).offer.to_string()
    }
}

impl Model for EnsembleModel {
    fn fingerprint(&self, state: &State) -> Fingerprint {
        state.fingerprint
    }

    fn objection<'a>(&self, state: &'a State) -> Option<&'a Objection> {
        state.objection.as_deref()
    }

    fn length(&self, state: &State) -> u32 {
        state.length
    }

    fn at_rest(&self, state: &State) -> Result<(), Objection> {
        rest::check(&self.ensemble(state))
    }

    fn withheld(&self, state: &State) -> Option<&'static str> {
        self.has_elected_enough(state).then_some("elections beyond their third round")
    }

    /// Nothing: the pieces are the model's, and shared by all states ([`EnsembleModel::pieces`]).
    fn heap_bytes(&self, _state: &State) -> usize {
        0
    }

    fn pieces_bytes(&self) -> u64 {
        self.tables.bytes()
    }

    fn renewed(&self, states: &mut dyn Iterator<Item = &mut State>) -> Option<EnsembleModel> {
        Some(self.renew(states))
    }
}
