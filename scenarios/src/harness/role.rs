//! Roles: programs that differ by client, such as a coordinator and its sites, or producers and consumers.

use std::hash::Hash;
use std::sync::Arc;
use vivarium_model::handle::{Program, Round, ZooKeeper, program, rounds};
use vivarium_sim::ClientOptions;

/// One role of a test's clients, with its program ([`Test::of_roles`](crate::Test::of_roles)).
pub struct Role {
    pub(crate) name: Arc<str>,
    pub(crate) clients: u8,
    pub(crate) options: Option<ClientOptions>,
    pub(crate) program: Program,
    pub(crate) serves: bool,
}

impl Role {
    /// Creates a role of one client that runs this program.
    pub fn new<P, F>(name: &str, run: P) -> Role
    where
        P: Fn(ZooKeeper) -> F + Send + Sync + 'static,
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        Role::of(name, program(run))
    }

    /// Creates a role of one client whose program is a loop, written as its round: see
    /// [`Test::rounds`](crate::Test::rounds).
    pub fn rounds<S, P, F>(name: &str, first: S, round: P) -> Role
    where
        S: Clone + Eq + Hash + Send + Sync + 'static,
        P: Fn(ZooKeeper, S) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Round<S>, String>> + Send + 'static,
    {
        Role::of(name, rounds(first, round))
    }

    fn of(name: &str, program: Program) -> Role {
        Role { name: Arc::from(name), clients: 1, options: None, program, serves: false }
    }

    /// Sets the number of clients, each with this program.
    #[must_use]
    pub fn clients(mut self, clients: u8) -> Role {
        self.clients = clients;
        self
    }

    /// Declares these programs services, which need not finish ([`Test::serves`](crate::Test::serves)).
    #[must_use]
    pub fn serves(mut self) -> Role {
        self.serves = true;
        self
    }

    /// Sets options of these clients' configuration, which replace those of the test
    /// ([`Test::client_options`](crate::Test::client_options)).
    #[must_use]
    pub fn client_options(mut self, options: ClientOptions) -> Role {
        self.options = Some(options);
        self
    }
}
