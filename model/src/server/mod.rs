//! One server: its process (memory) and its disk.
//!
//! A server is LOOKING (in an election), FOLLOWING (a [`learner::Learner`]) or LEADING (a [`leader::Leader`]). The
//! code of each role is a struct that borrows the parts of the server that it needs, first of all the role's own
//! memory. `steps` has a method for each kind of step of a server, which dispatches to the role. Its threads
//! communicate through queues that are part of the state: the packet thread passes transactions to the log thread,
//! whose appends and fsyncs are steps of their own, and commits to the CommitProcessor, which applies them in steps
//! of their own. The packet thread waits for its own disk operations (epoch files, the writes of a synchronisation),
//! one step each. A crash loses the process and the disk's unsynced tail; leaving a role keeps the process (rule
//! 6.8).
//!
//! | Part | Duty |
//! |---|---|
//! | `steps`, `requests`, `enabled` | the steps of a server; the requests of clients; the steps that are possible |
//! | `database`, `log_thread`, `snapshot`, `commit_processor`, `rest` | the tree and committedLog; the log; background snapshots; transactions that are committed and not applied; the rest of the CommitProcessor's work when a role ends |
//! | `leader/` | `learner_handler` reads a learner's packets; discovery, sync, activation, requests, broadcast |
//! | `observer_master/` | what a follower does for observers, with `learner/` |
//! | `learner/`, `looking`, `role` | the other roles; `role` takes and leaves one |
//! | `reconfig`, `part` | configurations, the server's part in them, and roles without an election |
//! | `prep`, `outstanding`, `tracker`, `access` | a leader's decisions about requests; changes that are proposed and not applied; sessions; permissions |
//! | `pipeline`, `attach`, `local`, `read_only`, `read` | clients: the order of commits and replies; handshakes; sessions that only one server knows; serving without a leader; reads |

pub mod access;
mod apply_rest;
mod attach;
mod clients;
mod commit_processor;
pub mod committed_log;
mod context;
mod database;
pub mod disk;
pub mod eager;
pub mod election;
mod enabled;
pub mod leader;
pub mod learner;
mod lines;
pub mod local;
mod log_thread;
mod looking;
mod observer_master;
pub mod oracle;
pub mod outstanding;
mod part;
mod pipeline;
pub mod prep;
pub mod read;
mod read_only;
mod reconfig;
pub(crate) mod requests;
pub mod role;
mod snapshot;
mod snapshot_thread;
mod steps;
pub mod tracker;

pub use crate::vocabulary::file_system::Writing;
pub use clients::LocalSessions;
pub use context::{Context, Exit};

use crate::tree::DataTree;
use crate::vocabulary::id::{ClientConnection, ServerId, SessionId};
use crate::vocabulary::packet::{PeerState, Vote};
use crate::vocabulary::release::Bug;
use crate::watch::WatchTable;
use clients::{Clients, Serving};
use commit_processor::CommitProcessor;
use context::PacketThread;
use database::Database;
use election::Election;
use leader::{Leader, Leading};
use learner::{Following, Learner};
use log_thread::LogThread;
use looking::Looking;
use observer_master::LeftHandlers;

/// The present role of a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// In an election.
    Looking,
    /// Follows a leader, or tries to.
    Following(Learner),
    /// Leads, or tries to.
    Leading(Box<Leader>),
    /// Observes a leader, or tries to (rule 5.7).
    Observing(Learner),
}

impl Role {
    /// Returns the memory of a learner: a follower or an observer.
    pub fn learner(&self) -> Option<&Learner> {
        match self {
            Role::Following(learner) | Role::Observing(learner) => Some(learner),
            Role::Looking | Role::Leading(_) => None,
        }
    }
}

/// A server's role, with the parts of the server that its code borrows.
enum InRole<'a> {
    Looking(Looking<'a>),
    /// Follows or observes.
    Following(Following<'a>),
    Leading(Leading<'a>),
}

/// A server's process: everything that a crash loses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Server {
    id: ServerId,
    /// The number of this start, a part of the session ids that the server issues.
    start: u16,
    next_session: u32,
    database: Database,
    election: Election,
    role: Role,
    thread: PacketThread,
    log: LogThread,
    commits: CommitProcessor,
    clients: Clients,
    left: LeftHandlers,
}

impl Server {
    /// Starts a process on a disk: loads the database, checks the epochs, and begins an election.
    ///
    /// # Errors
    /// The sentence with which the server refuses to start (rule 6.2).
    pub(crate) fn boot(context: &mut Context<'_>) -> Result<Server, &'static str> {
        if context.disk.is_torn() {
            context.disk.make_mut().begin_file();
        }
        let (tree, from) = database::load(context)?;
        if context.disk.has_gap(from) && !context.config.bugs.has(Bug::GapsAreReplayed) {
            return Err("a transaction is missing in its log");
        }
        let last = tree.last_processed();
        context.disk.make_mut().check_epochs(last, context.config.bugs)?;
        context.read_configurations();
        let mut server = Server {
            id: context.id,
            start: Server::count_start(context),
            next_session: 1,
            database: Database::of_disk((tree, from), context),
            election: Election::new(context),
            role: Role::Looking,
            thread: PacketThread::default(),
            log: LogThread::default(),
            commits: CommitProcessor::default(),
            clients: Clients::default(),
            left: LeftHandlers::default(),
        };
        server.database.init_config(context);
        server.look(context);
        Ok(server)
    }

    /// Returns the tree.
    pub fn tree(&self) -> &DataTree {
        &self.database.tree
    }

    /// Returns the role.
    pub fn role(&self) -> &Role {
        &self.role
    }

    /// Returns true if the server serves clients, other than read-only.
    pub fn is_serving(&self) -> bool {
        match &self.role {
            Role::Looking => false,
            Role::Following(learner) | Role::Observing(learner) => learner.is_serving(),
            Role::Leading(leader) => leader.is_established(),
        }
    }

    /// Returns the session of a client's connection that has completed its handshake.
    pub(crate) fn session_of(&self, connection: ClientConnection) -> Option<SessionId> {
        self.clients.established(connection)
    }

    /// Like [`Server::session_of`], but without local sessions ([`Server::local_sessions`]).
    pub(crate) fn attends(&self, connection: ClientConnection) -> Option<SessionId> {
        let session = self.session_of(connection)?;
        Some(session).filter(|session| !self.clients.local.contains(*session))
    }

    /// Returns true if it leads and is established.
    pub(crate) fn is_established_leader(&self) -> bool {
        matches!(&self.role, Role::Leading(leader) if leader.is_established())
    }

    /// Returns the watches of its clients.
    pub fn watches(&self) -> &WatchTable {
        &self.clients.watches
    }

    /// Returns its local sessions.
    pub fn local_sessions(&self) -> &LocalSessions {
        &self.clients.local
    }

    /// Returns the disk operation that the packet thread waits for.
    pub fn writing(&self) -> Option<&Writing> {
        self.thread.writing.as_ref()
    }

    /// Returns the reason why the process exits with the step just taken, if it does.
    pub(crate) fn exits(&self) -> Option<Exit> {
        let missed =
            self.database.tree.missed_acl().map(|_path| Exit::NotLoaded(database::ACL_MISSED));
        self.thread.exit.or(missed)
    }

    /// Returns the server's state for notifications.
    pub(crate) fn peer_state(&self) -> PeerState {
        match self.role {
            Role::Looking => PeerState::Looking,
            Role::Following(_) => PeerState::Following,
            Role::Leading(_) => PeerState::Leading,
            Role::Observing(_) => PeerState::Observing,
        }
    }

    /// Describes the server's state.
    pub fn describe(&self) -> String {
        match &self.role {
            Role::Looking if self.election.proposal() == Vote::OF_OBSERVER => {
                format!("LOOKING (round {}, an observer)", self.election.round())
            }
            Role::Looking => format!(
                "LOOKING (round {}, votes for server {}{})",
                self.election.round(),
                self.election.proposal().leader.0,
                if self.clients.read_only { ", serves read-only" } else { "" }
            ),
            Role::Following(learner) => learner.describe("FOLLOWING"),
            Role::Observing(learner) => learner.describe("OBSERVING"),
            Role::Leading(leader) => leader.describe(),
        }
    }

    /// Returns the role, with the parts of the server that its code needs. All calls of a role's code go through
    /// this.
    fn in_role(&mut self) -> InRole<'_> {
        let Server { database, election, role, thread, log, commits, clients, .. } = self;
        let observes = matches!(role, Role::Observing(_));
        match role {
            Role::Looking => InRole::Looking(Looking { database, election, clients }),
            Role::Following(learner) | Role::Observing(learner) => InRole::Following(Following {
                learner,
                observes,
                database,
                thread,
                log,
                commits,
                clients,
                election,
            }),
            Role::Leading(leader) => InRole::Leading(Leading {
                leader,
                database,
                thread,
                log,
                commits,
                clients,
                election,
            }),
        }
    }

    /// Returns its clients with the tree that serves them; these are the same in every role.
    fn serving(&mut self) -> Serving<'_> {
        Serving {
            clients: &mut self.clients,
            commits: &mut self.commits,
            tree: &self.database.tree,
        }
    }
}
