//! A search of programs at the service grain: every order of steps, within a budget of faults.
//!
//! A state is a world (service, programs' nodes in their trie, history, monitors) and the rest of the budget, stored as
//! the numbers of its pieces (`pieces.rs`). What a client can do depends only on its own piece and on what its steps read
//! of the others (`footprint.rs`), so it is computed once in a world (`steps.rs`) and then looked up. Without reductions,
//! every step of the world is an action, and two states are merged only if they are equal.
//!
//! | Reduction | Condition | Where it is checked |
//! |---|---|---|
//! | **blocks**: a client's private steps come right before its next step that is not private, or before it has to wait | a private step can be taken later, after any steps of other clients, and no client or monitor can tell (`steps.rs`); all orders of a client's own steps, and all faults at every place of a block, are tried (`blocks.rs`) | sampled states (`check.rs`) |
//! | **inputs**: where no fault can strike a client any more, its program takes its input, and its machine reads its packet, before any other step of the client | both only add to what is there, as long as nothing ends the session and the program can receive nothing else (`service/steady.rs`); no container can be deleted first, because deletions end when the last program has finished; monitors that account for the client receive its events in the same order | generated programs |
//! | **prefixes**: of several prefixes with the same result, a server has applied the shortest | see [`Prefixes::Shortest`]; and no monitor minds replies, whose zxid reveals the prefix | generated programs |
//! | **past**: the beginning of the log, up to the first position that a client can still observe, is not part of a state | no connection can be lost and no session can expire any more, or every program has finished: otherwise a new session has seen nothing and can observe everything; and no monitor looks back | generated programs; of those, all pairs of states that are merged |
//!
//! An earlier version had another reduction: a client that only asks for a new session went first. It was wrong. A
//! message of another client that arrives before the new session's program runs is lost, and that order was never
//! tried, so the reduction was removed.
//!
//! `vivarium fuzz-explorer` generates programs and compares the states that searches reach with each reduction on and
//! off ([`Flaw`] plants mistakes for it to find).
//!
//! A program that begins a round ([`rounds`](vivarium_model::handle::rounds)) and one that has ended keep no history of
//! inputs: nothing survives a round except the state that it hands on.
//!
//! Clients that are taken for each other ([`ProgramModel::symmetric`]) make a search smaller in another way: it replaces
//! each state by one of those that differ from it only in which client is which (`symmetry/mod.rs`).
//!
//! Faults are tried wherever another step is possible too, and where time passes. If only faults are possible, either
//! every program has finished or the state is stuck. The timers of sleeping programs fire as time passes, where nothing
//! else can happen, and elsewhere within the budget of timers. A timer that fires before everything else is an unlikely
//! schedule, not a fault, so a search that left one out is not exhaustive. The leader's deletions of containers are
//! treated the same way, with a budget of their own, which bounds the claim of the verdict.
//!
#![doc = include_str!("README.md")]

mod audit;
mod blocks;
mod budget;
mod check;
mod compose;
mod expand;
mod footprint;
mod graph;
mod kept;
mod model;
mod orbits;
mod pieces;
mod progress;
mod reductions;
mod rehearsal;
mod renewal;
mod replies;
pub(in crate::every) mod scene;
mod shorten;
mod state;
mod steps;
mod summary;
mod symmetry;
mod tables;
mod trace;
mod witness;

pub use audit::Audited;
pub use budget::Budget;
pub use check::REDUCTION;
pub use expand::Pieces;
pub use model::{Action, INPUTS_KEPT, TIMERS_KEPT};
pub use reductions::{Flaw, Reductions};
pub use state::State;
pub use symmetry::{Apart, SYMMETRY};

use state::MAX_CLIENTS;

use crate::every::memo::Memo;
use crate::every::trie::{Trie, Valued};
use std::collections::BTreeSet;
use std::sync::Arc;
use vivarium_model::config::{ClientConfig, Config, ServerOptions};
use vivarium_model::handle::Program;
use vivarium_model::property::{LooksBack, Monitor, Monitors};
use vivarium_model::release::Bugs;
use vivarium_model::service::{Prefixes, Service};
use vivarium_model::session_order::SessionOrder;
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_model::world::World;

/// A delay of a clock reading, longer than what programs wait for.
pub const DELAYS: [Duration; 1] = [Duration::from_secs(60 * 60)];

/// Programs, their properties, and the possible faults.
pub struct ProgramModel {
    config: Arc<Config>,
    trie: Arc<Trie>,
    monitors: Vec<Box<dyn Monitor>>,
    budget: Budget,
    /// Whether each draw of a random number is a choice among several numbers.
    draws_others: bool,
    /// The delays that a clock reading can have.
    delays: Arc<[Duration]>,
    reductions: Reductions,
    flaw: Option<Flaw>,
    /// One state in this many is checked against the conditions of the reductions.
    rarity: u128,
    /// The checks made so far, shared with the models that are derived from this one.
    audit: Arc<audit::Audit>,
    looks_back: LooksBack,
    /// The monitors before the first event.
    beginning_monitors: Monitors,
    /// Whether a monitor is concerned by what clients send and receive.
    told_matters: bool,
    tables: tables::Tables,
    /// The permutations of clients under which states are the same, if there are any.
    symmetry: Option<Arc<symmetry::Symmetry>>,
}

impl ProgramModel {
    /// Creates a model with one program per client, for a ZooKeeper that starts with `setup`. Only monitors that are
    /// valid for both engines take part.
    ///
    /// # Panics
    /// Panics with more than [`SEARCHED_CLIENTS`](vivarium_model::bounds::SEARCHED_CLIENTS) programs.
    pub fn new(
        programs: Vec<Program>,
        monitors: Vec<Box<dyn Monitor>>,
        setup: Setup,
        budget: Budget,
    ) -> ProgramModel {
        assert!(programs.len() <= MAX_CLIENTS, "a search can have at most {MAX_CLIENTS} clients");
        let clients = programs.len() as u8;
        let monitors: Vec<Box<dyn Monitor>> = monitors
            .into_iter()
            .filter(|monitor| monitor.asked() == vivarium_model::property::Asked::Everywhere)
            .collect();
        ProgramModel {
            config: Arc::new(Config { setup, ..Config::new(1, clients) }),
            trie: Arc::new(Trie::new(programs)),
            looks_back: Monitors::new(monitors.clone()).look_back(),
            beginning_monitors: Monitors::new(monitors.clone()),
            told_matters: replies::matters(&monitors),
            monitors,
            budget,
            draws_others: false,
            delays: Arc::from(DELAYS),
            reductions: Reductions::ALL,
            flaw: None,
            rarity: check::RARITY,
            audit: Arc::default(),
            tables: tables::Tables::new(),
            symmetry: None,
        }
    }

    /// Disables all reductions.
    #[must_use]
    pub fn without_reductions(self) -> ProgramModel {
        self.reduced_by(Reductions::NONE)
    }

    /// Selects the reductions. The default is all.
    #[must_use]
    pub fn reduced_by(mut self, reductions: Reductions) -> ProgramModel {
        self.reductions = reductions;
        self
    }

    /// Sets the delays of late clock readings ([`Budget::delays`]). The default is one hour.
    #[must_use]
    pub fn delayed_by(mut self, delays: impl IntoIterator<Item = Duration>) -> ProgramModel {
        let delays: BTreeSet<Duration> = delays.into_iter().filter(|by| !by.is_zero()).collect();
        self.delays = delays.into_iter().collect();
        self
    }

    /// Lets the leader delete containers and, if enabled, TTL znodes (rules 1.5.2 and 1.5.4): within the budget of
    /// deletions, and where nothing else can happen.
    #[must_use]
    pub fn deleting_containers(mut self, options: &ServerOptions) -> ProgramModel {
        let config = Arc::make_mut(&mut self.config);
        config.deletes_containers = true;
        config.options.extended_types = options.extended_types;
        config.options.max_never_used_interval = options.max_never_used_interval;
        self
    }

    /// Sets the order of session ids.
    #[must_use]
    pub fn with_sessions(mut self, order: SessionOrder) -> ProgramModel {
        Arc::make_mut(&mut self.config).session_order = order;
        self
    }

    /// Compares what programs do with what they do if these values differ ([`Trie::told_again`]).
    #[must_use]
    pub fn telling_others(self, valued: Vec<Valued>) -> ProgramModel {
        self.trie.tell_others(self.config.session_order.clone(), valued);
        self
    }

    /// If true, each draw gives one of three numbers: odd and even ones, small and large ones. No two draws give the
    /// same number.
    #[must_use]
    pub fn drawing_others(mut self, draws_others: bool) -> ProgramModel {
        self.draws_others = draws_others;
        self
    }

    /// Sets the chroot of each client; empty for none.
    #[must_use]
    pub fn below<'a>(mut self, chroots: impl IntoIterator<Item = &'a str>) -> ProgramModel {
        let clients = &mut Arc::make_mut(&mut self.config).clients;
        for (client, chroot) in clients.iter_mut().zip(chroots) {
            client.chroot = Arc::from(chroot);
        }
        self
    }

    /// Takes over the client options that a search supports: whether clients give up sessions by their own clocks,
    /// whether their watches end with the connection, and whether their programs need not finish.
    #[must_use]
    pub fn with_clients(mut self, said: &[ClientConfig]) -> ProgramModel {
        let clients = &mut Arc::make_mut(&mut self.config).clients;
        for (client, said) in clients.iter_mut().zip(said) {
            client.expires_locally = said.expires_locally;
            client.disable_auto_watch_reset = said.disable_auto_watch_reset;
            client.serves = said.serves;
        }
        self
    }

    /// Adds defects to the ZooKeeper, as far as the service grain models them.
    #[must_use]
    pub fn with_bugs(mut self, bugs: Bugs) -> ProgramModel {
        Arc::make_mut(&mut self.config).bugs = bugs;
        self
    }

    /// Plants a mistake, to test the checks.
    #[must_use]
    pub fn flawed(mut self, flaw: Flaw) -> ProgramModel {
        self.flaw = Some(flaw);
        self
    }

    /// Checks every state, instead of a sample, against the conditions of the reductions.
    #[must_use]
    pub fn checked_in_every_state(mut self) -> ProgramModel {
        self.rarity = 1;
        self
    }

    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    /// Returns the programs' trie.
    pub fn trie(&self) -> &Arc<Trie> {
        &self.trie
    }

    /// Returns the configuration for a case with steps of this model.
    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    fn prefixes(&self) -> Prefixes {
        match self.reductions.prefixes && !self.told_matters {
            true if self.has(Flaw::PrefixIgnoresWatches) => Prefixes::SameAnswer,
            true => Prefixes::Shortest,
            false => Prefixes::All,
        }
    }

    fn world(&self) -> World<Memo, Service> {
        let service = Service::new(Arc::clone(&self.config));
        World::over(service, Memo::new(Arc::clone(&self.trie)), self.monitors.clone())
    }
}
