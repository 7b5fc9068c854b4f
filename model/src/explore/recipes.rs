//! Programs over the service grain, explored: every order of what can happen, within a budget of
//! faults.
//!
//! A state is a world (service, programs' places in their trie, history, monitors) and what is left
//! of the budget, kept as numbers of its pieces (`pieces.rs`). What a client can do depends on its
//! own piece and the shared ones, so it is worked out once in a world (`expand.rs`) and looked up
//! ever after. Without reductions every step of the world is an action. With them an action is a way
//! of one client: steps that concern nobody else, then at most one that may; after each comes what
//! follows *quietly*.
//!
//! | Reduction | Why nothing is lost |
//! |---|---|
//! | a program takes its next input at once, unless that makes it say something that a monitor minds | it is the only next input that the program can get, and what the program does with it (calls begun and abandoned) takes effect only by later steps of its own |
//! | a random number is drawn at once | it is fresh whenever it is drawn |
//! | a client machine reads a packet at once, unless its program could be told something else first (a timer, a cancellation, an answer from outside) | the connection could be lost first, but then the same could have happened before the server took the request; for a write that is lost and then arrives late |
//! | a client machine tries to connect at once | only its own connection changes |
//! | a server takes at once what it has only one answer to: a sync; the return of a session, when nothing of it is under way and it cannot expire any more, or has already | nobody else's steps change the answer, nor does it change theirs |
//! | of the prefixes with the same answer, a server has applied the shortest | see [`Prefixes::Shortest`] |
//! | a client's reads, notifications and lost connections, and that its session's time is up, come right before its next step that concerns others (a write, an observation that a monitor minds, a request to a resource, a message), or when it has to wait | each could as well have come later: what it shows is a prefix that the log still has, what it changes is the client's own, and nobody else's step depends on that. So whatever others do in between can be moved before it |
//!
//! A program that says what it goes by ([`checkpoint`](crate::handle::ZooKeeper::checkpoint)) and one
//! that has ended have forgotten how they came there. That clients are interchangeable
//! ([`Recipes::interchangeable`]) only the caller can know.
//!
//! Faults are tried wherever something else can happen too. Where nothing else can, either every
//! program has finished or the state is stuck; sleeping programs' timers fire there first, as time
//! passes, and elsewhere within the budget of timers: a timer that fires before everything else is
//! an unlikely schedule, not a fault, so a search that had to leave one out is not exhaustive.

mod budget;
mod expand;
mod model;
mod pieces;
mod quiet;
mod renewal;
pub(in crate::explore) mod scene;
mod shorten;
mod state;
mod trace;

pub use budget::Budget;
pub use expand::Pieces;
pub use model::Action;
pub use shorten::Shortest;
pub use state::{MAX_CLIENTS, State};

use crate::config::Config;
use crate::explore::memo::Memo;
use crate::explore::trie::Trie;
use crate::handle::Program;
use crate::property::Monitor;
use crate::service::{Prefixes, Service};
use crate::world::World;
use std::sync::Arc;

/// Programs, what must hold of them, and what may go wrong.
pub struct Recipes {
    config: Arc<Config>,
    setup: Vec<Arc<str>>,
    trie: Arc<Trie>,
    monitors: Vec<Box<dyn Monitor>>,
    budget: Budget,
    reductions: bool,
    /// Whether a monitor minds in which order clients read their packets.
    reads_matter: bool,
    tables: expand::Tables,
    /// The piece of each client at the beginning, where clients are interchangeable.
    beginning_of_each: Option<[Option<pieces::Number>; MAX_CLIENTS]>,
}

impl Recipes {
    /// One program per client, over a ZooKeeper that is empty but for the persistent znodes `setup`,
    /// parents first. Of the monitors, those that hold for both engines take part.
    ///
    /// # Panics
    /// With more than [`MAX_CLIENTS`] programs.
    pub fn new(
        programs: Vec<Program>,
        monitors: Vec<Box<dyn Monitor>>,
        setup: impl IntoIterator<Item = Arc<str>>,
        budget: Budget,
    ) -> Recipes {
        assert!(programs.len() <= MAX_CLIENTS, "a search can have at most {MAX_CLIENTS} clients");
        let clients = programs.len() as u8;
        let monitors: Vec<Box<dyn Monitor>> = monitors
            .into_iter()
            .filter(|monitor| monitor.class() == crate::property::Class::Event)
            .collect();
        Recipes {
            config: Arc::new(Config::new(1, clients)),
            setup: setup.into_iter().collect(),
            trie: Arc::new(Trie::new(programs)),
            reads_matter: quiet::reads_matter(&monitors),
            monitors,
            budget,
            reductions: true,
            tables: expand::Tables::new(),
            beginning_of_each: None,
        }
    }

    /// Without any reduction: every step is an action of its own, every prefix is tried.
    #[must_use]
    pub fn without_reductions(mut self) -> Recipes {
        self.reductions = false;
        self
    }

    /// Says that all clients run the same program and that nobody, program or monitor, puts names,
    /// sessions or random numbers in an order: then of the clients that have not acted yet it is no
    /// matter which acts first, and only the first of them is tried. With n clients that leaves as
    /// little as one in n! states.
    ///
    /// The claim is the caller's: a recipe that, say, sorts by session id (ZOOKEEPER-2931) has runs
    /// that such a search does not see. So it is no part of the reductions that are on by themselves.
    #[must_use]
    pub fn interchangeable(mut self) -> Recipes {
        let (scene, objection) = self.beginning();
        self.beginning_of_each = Some(self.fold(&scene, objection).clients);
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
        if self.reductions { Prefixes::Shortest } else { Prefixes::All }
    }

    fn world(&self) -> World<Memo, Service> {
        let service = Service::new(Arc::clone(&self.config), self.setup.iter().cloned());
        World::over(service, Memo::new(Arc::clone(&self.trie)), self.monitors.clone())
    }
}
