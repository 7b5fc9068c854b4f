//! Programs over the service grain, explored: every order of what can happen, within a budget of
//! faults.
//!
//! A state is a world (service, programs' places in their trie, history, monitors) and what is left
//! of the budget, kept as numbers of its pieces (`pieces.rs`). What a client can do depends on its
//! own piece and the shared ones, so it is worked out once in a world (`steps.rs`) and looked up ever
//! after. Without reductions every step of the world is an action, and two states are one only if they
//! are equal.
//!
//! | Reduction | Condition | Where it is looked after |
//! |---|---|---|
//! | **blocks**: a client's private steps come right before its next step that is not, or where it has to wait | a private step can be taken later, past anything that others do, with no difference to anybody (`steps.rs`); all orders of a client's own steps, and all faults at every place of a block, are tried (`blocks.rs`) | sampled states (`check.rs`) |
//! | **inputs**: where no fault can strike a client any more, its program takes its input, and its machine reads its packet, before anything else of the client | both only add to what is there, as long as nothing ends the session and nothing else tells the program anything (`service/steady.rs`); no container can be deleted first, which is over when the last program has finished; what monitors account of the client comes in the same order | generated programs |
//! | **prefixes**: of the prefixes that come to the same, a server has applied the shortest | see [`Prefixes::Shortest`]; and no monitor minds replies, whose zxid tells the prefix | generated programs |
//! | **past**: the log's beginning, up to what any client can still be shown, is no part of a state | no connection can be lost and no session expire any more, or every program has finished: otherwise a session begun later has seen nothing and can be shown everything; and no monitor looks back | generated programs; of those, all pairs of states that are merged |
//!
//! Once there was another: a client that only asks for a new session went first. A message of another
//! client that arrives before its program runs is lost, and was not: it has gone.
//!
//! `vivarium fuzz-explorer` generates programs and compares what searches reach with each of them on
//! and off ([`Flaw`] plants mistakes for it to find).
//!
//! A program that begins a round ([`rounds`](vivarium_model::handle::rounds)) and one that has ended have
//! forgotten how they came there: nothing else can survive a round than what it hands on.
//!
//! That clients are interchangeable ([`ProgramModel::interchangeable`]) is no reduction but a claim of the
//! caller's; of the programs it is checked by a change of names.
//!
//! Faults are tried wherever something else can happen too, and where time passes. Where nothing but
//! faults can happen, either every program has finished or the state is stuck. Sleeping programs'
//! timers fire where nothing else can happen, as time passes, and elsewhere within the budget of
//! timers: a timer that fires before everything else is an unlikely schedule, not a fault, so a search
//! that had to leave one out is not exhaustive. The leader's deletions of containers go the same way, with a budget of
//! their own, which bounds what is claimed.
//!
#![doc = include_str!("README.md")]

mod audit;
mod blocks;
mod budget;
mod check;
mod expand;
mod model;
mod pieces;
mod reductions;
mod rehearsal;
mod renewal;
pub(in crate::every) mod scene;
mod shorten;
mod state;
mod steps;
mod told;
mod trace;

pub use audit::Audited;
pub use budget::Budget;
pub use check::REDUCTION;
pub use expand::Pieces;
pub use model::{Action, INPUTS_KEPT, TIMERS_KEPT};
pub use reductions::{Flaw, Reductions};
pub use state::State;

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

/// A delay longer than what programs wait for.
pub const DELAYS: [Duration; 1] = [Duration::from_secs(60 * 60)];

/// Programs, what must hold of them, and what may go wrong.
pub struct ProgramModel {
    config: Arc<Config>,
    trie: Arc<Trie>,
    monitors: Vec<Box<dyn Monitor>>,
    budget: Budget,
    /// A draw is a choice of several numbers.
    draws_others: bool,
    /// By how much a reading of a clock can be late.
    delays: Arc<[Duration]>,
    reductions: Reductions,
    flaw: Option<Flaw>,
    /// One state in so many is held against what reductions rest on.
    rarity: u128,
    /// What was checked, by this model and those that are made from it.
    audit: Arc<audit::Audit>,
    /// How far back monitors look in the history.
    looks_back: LooksBack,
    /// Whether a monitor takes notice of what clients are told.
    told_matters: bool,
    tables: expand::Tables,
    /// The piece of each client at the beginning, where clients are interchangeable.
    beginning_of_each: Option<[Option<crate::every::intern::Number>; MAX_CLIENTS]>,
}

impl ProgramModel {
    /// One program per client, over a ZooKeeper that begins with `setup`. Of the monitors, those that
    /// hold for both engines take part.
    ///
    /// # Panics
    /// With more than [`SEARCHED_CLIENTS`](vivarium_model::bounds::SEARCHED_CLIENTS) programs.
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
            told_matters: told::matters(&monitors),
            monitors,
            budget,
            draws_others: false,
            delays: Arc::from(DELAYS),
            reductions: Reductions::ALL,
            flaw: None,
            rarity: check::RARITY,
            audit: Arc::default(),
            tables: expand::Tables::new(),
            beginning_of_each: None,
        }
    }

    /// Without any reduction.
    #[must_use]
    pub fn without_reductions(self) -> ProgramModel {
        self.reduced_by(Reductions::NONE)
    }

    /// With these reductions; with all, unless this is called.
    #[must_use]
    pub fn reduced_by(mut self, reductions: Reductions) -> ProgramModel {
        self.reductions = reductions;
        self
    }

    /// With these spans for readings of clocks that are late ([`Budget::delays`]); an hour, unless this is called.
    #[must_use]
    pub fn delayed_by(mut self, delays: impl IntoIterator<Item = Duration>) -> ProgramModel {
        let delays: BTreeSet<Duration> = delays.into_iter().filter(|by| !by.is_zero()).collect();
        self.delays = delays.into_iter().collect();
        self
    }

    /// With a leader that deletes containers and, if they exist, TTL znodes (rules 1.5.2 and 1.5.4): within the budget of
    /// deletions, and where nothing else can happen.
    #[must_use]
    pub fn deleting_containers(mut self, options: &ServerOptions) -> ProgramModel {
        let config = Arc::make_mut(&mut self.config);
        config.deletes_containers = true;
        config.options.extended_types = options.extended_types;
        config.options.max_never_used_interval = options.max_never_used_interval;
        self
    }

    /// With session ids in this order.
    #[must_use]
    pub fn with_sessions(mut self, order: SessionOrder) -> ProgramModel {
        Arc::make_mut(&mut self.config).session_order = order;
        self
    }

    /// Holds what programs do against what they do when these values are others ([`Trie::told_again`]).
    #[must_use]
    pub fn telling_others(self, valued: Vec<Valued>) -> ProgramModel {
        self.trie.tell_others(self.config.session_order.clone(), valued);
        self
    }

    /// If true, each draw gives one of three numbers, odd and even ones, small and large. No two draws give the same.
    #[must_use]
    pub fn drawing_others(mut self, draws_others: bool) -> ProgramModel {
        self.draws_others = draws_others;
        self
    }

    /// With a chroot for each client: empty for none.
    #[must_use]
    pub fn below<'a>(mut self, chroots: impl IntoIterator<Item = &'a str>) -> ProgramModel {
        let clients = &mut Arc::make_mut(&mut self.config).clients;
        for (client, chroot) in clients.iter_mut().zip(chroots) {
            client.chroot = Arc::from(chroot);
        }
        self
    }

    /// With clients of which this is said, as far as a search knows it: whether they give sessions up by their own
    /// clocks, whether their watches end with the connection, and whether their programs need not finish.
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

    /// Over a ZooKeeper with these defects, as far as this grain has them.
    #[must_use]
    pub fn with_bugs(mut self, bugs: Bugs) -> ProgramModel {
        Arc::make_mut(&mut self.config).bugs = bugs;
        self
    }

    /// With a mistake planted, for those who check the checks.
    #[must_use]
    pub fn flawed(mut self, flaw: Flaw) -> ProgramModel {
        self.flaw = Some(flaw);
        self
    }

    /// Holds every state against what reductions rest on, not one in many.
    #[must_use]
    pub fn checked_in_every_state(mut self) -> ProgramModel {
        self.rarity = 1;
        self
    }

    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    /// Says that all clients run the same program and that nobody, program or monitor, puts names,
    /// sessions or random numbers in an order: then of the clients that have not acted yet it is no
    /// matter which acts first, and only the first of them is tried. With n clients that leaves as
    /// little as one in n! states.
    ///
    /// Of the programs this is checked while the search runs: what one of them is told, others are told
    /// under their own names, and must do the same; the first difference ends the search
    /// ([`Trie::dependent`]). A recipe that, say, sorts by session id (ZOOKEEPER-2931) is found so. Of
    /// the monitors, and of what a round hands on, it is the caller's claim. So it is no part of the
    /// reductions that are on by themselves.
    #[must_use]
    pub fn interchangeable(mut self) -> ProgramModel {
        self.trie.hold_against_each_other(&self.config.session_order);
        let scene = self.beginning();
        self.beginning_of_each = Some(self.fold(&scene, None).clients);
        self
    }

    /// The programs' trie.
    pub fn trie(&self) -> &Arc<Trie> {
        &self.trie
    }

    /// The configuration of a case with these steps.
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
