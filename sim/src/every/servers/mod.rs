//! The ensemble grain: a search of real servers for every order of steps.
//!
//! A [`State`] is a world without programs, and the rest of its [`Budget`]. All steps that are no faults are free:
//! deliveries, disk operations, elections, starts. Faults and proposals are counted, so that the number of states is
//! finite:
//!
//! | budget | what it buys |
//! |---|---|
//! | `txns` | an established leader proposes a write |
//! | `crashes` | a server crashes, with every part of its unsynced log and with or without its unsynced snapshots; its restart is free |
//! | `breaks` | a learner's connection breaks, with every number of packets that still arrive |
//! | `timeouts` | a server leaves its role without a reason in the model: it is too slow, or has a long garbage collection or an exception |
//! | `fsync_errors` | an fsync of the log fails, with every part of the unsynced log: the server leaves its role |
//! | `upsets` | under [`Election::Any`], a quorum elects a server that needs the vote of a server that is ahead of it |
//!
//! **Time.** There is no clock. A time limit that ends a role is [`Step::Rejoin`] and is counted, because it can come
//! at any moment. It is free if it is the only way to continue: for a leader without a quorum of connections (the ping
//! round detects this), and, when nothing else can happen at all, for every server that leads or follows and does not
//! serve (initLimit). Pings do nothing except postpone such limits, so there are none. Sessions do not exist.
//!
//! **Elections** are those of the oracle ([`vivarium_model::server::oracle`]), arbitrary ones, or those of the election
//! code. The rounds of the latter have no end, so a search sees the first three rounds and is bounded by them.
//!
//! **Reductions** ([`vivarium_model::server::eager`], `reduction`) leave out orders of steps that are equivalent to
//! others. They can be switched off, and tests compare the results.
//!
//! **Pieces.** A state is a few numbers (`pieces`, `view`, `follow`). The ensemble that they stand for is assembled
//! only to compute something for the first time.
//!
//! Not modelled: fsync errors inside a synchronisation, and data that a failed fsync leaves in the page cache, which a
//! server can still read and a later fsync does not save.
//!
#![doc = include_str!("README.md")]

mod actions;
mod at_rest;
mod choices;
mod eager;
mod elections;
mod follow;
mod pieces;
#[cfg(debug_assertions)]
mod recheck;
mod reductions;
mod renewal;
mod scene;
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
    /// Returns the number of servers: voters, observers, and those that only a reconfiguration makes members.
    pub fn all_servers(&self) -> u8 {
        self.servers.saturating_add(self.observers).saturating_add(self.reconfigs)
    }

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

/// The number of election rounds that are searched, with the election code.
const ROUNDS: u32 = 3;

/// A host without programs.
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

/// An action: the number of a computed choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Action(state::Number);

/// A model of an ensemble with a budget.
pub struct EnsembleModel {
    config: Arc<Config>,
    budget: Budget,
    reductions: Reductions,
    flaw: Option<Flaw>,
    /// The witnesses at the start.
    first_witnesses: Witnesses,
    tables: Tables,
    /// The change of a fingerprint per unit of each account of the budget.
    prices: ByAccount<Fingerprint>,
}

impl EnsembleModel {
    /// Creates a model of servers with this configuration, but without clients, and with the budget's numbers of
    /// voters and observers.
    ///
    /// # Panics
    /// Panics with more than [`SEARCHED_SERVERS`](vivarium_model::bounds::SEARCHED_SERVERS) servers.
    pub fn new(
        mut config: Config,
        budget: Budget,
        election: Election,
        reductions: bool,
        mut monitors: Vec<Box<dyn Monitor>>,
    ) -> EnsembleModel {
        config.observers = budget.observers;
        config.joiners = config.joiners.max(budget.reconfigs);
        config.servers = budget.servers + budget.observers + config.joiners;
        config.options.reconfig_enabled |= config.joiners > 0;
        assert!(
            usize::from(config.servers) <= MAX_SERVERS,
            "a search has at most {MAX_SERVERS} servers"
        );
        config.clients.clear();
        // No search reaches such a large limit, so it is set to the maximum, at which nothing needs to count towards
        // it.
        if config.snap_count / 2 > u32::from(u8::MAX) {
            config.snap_count = u32::MAX;
        }
        // The writes of a search create different znodes with the open ACL. So applying a write twice changes nothing,
        // and there are no two ACLs to confuse.
        config.bugs = config.bugs.without(Bug::ApplyOutlivesRole).without(Bug::AclByNumber);
        config.election = election;
        let reductions = match (reductions, config.joiners) {
            (true, 0) => Reductions::ALL,
            (true, _) => Reductions::OF_RECONFIGURATIONS,
            (false, _) => Reductions::NONE,
        };
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
            reductions,
            flaw: None,
            first_witnesses: Witnesses::new(Arc::default(), Monitors::new(monitors)),
            tables: Tables::new(),
            prices,
        }
    }

    /// Selects the reductions.
    #[must_use]
    pub fn reduced_by(self, reductions: Reductions) -> EnsembleModel {
        EnsembleModel { reductions, ..self }
    }

    /// Plants a mistake in the conditions of the reductions, to test the checks.
    #[must_use]
    pub fn flawed(self, flaw: Flaw) -> EnsembleModel {
        EnsembleModel { flaw: Some(flaw), ..self }
    }

    fn has_flaw(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    /// Returns the inputs of the conditions of eager steps.
    fn outlook(&self, left: &Budget, history: &History) -> Outlook {
        Outlook { threats: left.threats(), committed: history.last(), flaw: self.flaw }
    }

    /// Returns the committed history of a state.
    pub fn history(&self, state: &State) -> &History {
        self.tables.witnesses.get(state.witnesses).value.history()
    }

    /// Returns the configuration of the search, for a case.
    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// Returns the world steps of an action, in order: its own steps and the eager steps after them.
    pub fn steps(&self, state: &State, action: &Action) -> Vec<Step> {
        let mut steps = Vec::new();
        self.perform(state, action, Some(&mut steps));
        steps
    }

    /// Returns the steps of an action without the eager steps after them.
    pub fn chosen(&self, action: &Action) -> Vec<Step> {
        let offer = self.tables.choices.get(action.0).offer();
        std::iter::once(offer.step).chain(offer.then).collect()
    }

    /// Describes a state in words: what the servers do, and the rest of the budget.
    pub fn describe(&self, state: &State) -> String {
        let ensemble = self.ensemble(state);
        let servers = self.config.server_ids();
        let lines = servers.map(|server| format!("{server}: {}\n", ensemble.state_of(server)));
        format!("{}left: {:?}", lines.collect::<String>(), state.left)
    }

    /// Returns true if a server has passed the last election round that is searched. With the election code, rounds
    /// never end, because an impatient server starts another one.
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
        self.tables.choices.get(action.0).offer().to_string()
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
        at_rest::check(&self.ensemble(state))
    }

    fn withheld(&self, state: &State) -> Option<&'static str> {
        self.has_elected_enough(state).then_some("elections beyond their third round")
    }

    /// Returns 0: the pieces belong to the model and are shared by all states ([`EnsembleModel::pieces`]).
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
