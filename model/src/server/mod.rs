//! One server: its process (memory) and its disk.
//!
//! A server is LOOKING (in an election), FOLLOWING (a [`learner::Learner`]) or LEADING (a
//! [`leader::Leader`]). Its threads meet in queues that are state here: the packet thread hands
//! transactions to the log thread, whose appends and fsyncs are steps of their own; the packet
//! thread's own disk operations (epoch files, the synchronisation's writes) make it wait, one step
//! each. A crash loses the process and the disk's unsynced tail; leaving a role keeps the process
//! (semantics 6.8).

pub mod access;
pub mod attach;
pub mod committed_log;
pub mod disk;
pub mod eager;
pub mod election;
pub mod leader;
pub mod learner;
pub mod local;
pub mod oracle;
pub mod outstanding;
pub mod pipeline;
pub mod prep;
pub mod read;
mod read_only;
pub mod role;
pub mod snapshot;
pub mod tracker;

use crate::network::Network;
use crate::tree::DataTree;
use crate::vocabulary::config::Config;
use crate::vocabulary::effect::Effects;
use crate::vocabulary::event::Event;
use crate::vocabulary::fingerprint::Tracked;
use crate::vocabulary::id::{ClientConnection, LearnerConnection, ServerId, SessionId};
use crate::vocabulary::packet::{
    LeaderPacket, LearnerPacket, Notification, PeerState, ServerPacket, Vote,
};
use crate::vocabulary::release::Bug;
use crate::vocabulary::step::Step;
use crate::vocabulary::time::Time;
use crate::vocabulary::timer::ServerTimer;
use crate::vocabulary::txn::Txn;
use crate::watch::WatchTable;
use attach::Attachment;
use committed_log::CommittedLog;
use disk::Disk;
use election::{Decision, Election};
use leader::Leader;
use learner::Learner;
use local::LocalSessions;
use pipeline::Waiting;
use snapshot::SnapshotInProgress;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// What a server's step may read and change beside the server's own memory.
pub struct Context<'a> {
    /// The time of the step; [`Time::ZERO`] in the explorer.
    pub at: Time,
    /// Which server.
    pub id: ServerId,
    /// The run's configuration.
    pub config: &'a Config,
    /// The network, to send by.
    pub network: &'a mut Network,
    /// The server's own disk.
    pub disk: &'a mut Tracked<Disk>,
    /// Where the step's effects go.
    pub effects: &'a mut Effects,
}

impl Context<'_> {
    /// Sends to the leader.
    pub fn to_leader(&mut self, connection: LearnerConnection, packet: LearnerPacket) {
        self.network.send_to_leader(connection, packet, self.effects);
    }

    /// Sends to a learner.
    pub fn to_learner(&mut self, connection: LearnerConnection, packet: LeaderPacket) {
        self.network.send_to_learner(connection, packet, self.effects);
    }

    /// Sends to a client.
    pub fn to_client(&mut self, connection: ClientConnection, packet: ServerPacket) {
        self.network.send_to_client(connection, packet, self.effects);
    }
}

/// What the server is at the moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// In an election.
    Looking,
    /// Follows, or tries to.
    Following(Learner),
    /// Leads, or tries to.
    Leading(Box<Leader>),
}

/// A disk operation that the packet thread (of a leader: its main thread) waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Writing {
    /// A prospective leader's snapshot of its tree, before it listens (semantics 6.3 rule 1).
    LeadSnapshot,
    /// `acceptedEpoch`.
    AcceptedEpoch,
    /// `currentEpoch.tmp`.
    CurrentEpochTmp,
    /// Its renaming to `currentEpoch`.
    CurrentEpoch,
    /// The learner's snapshot at NEWLEADER (semantics 6.6).
    SyncSnapshot,
    /// The learner's append (and application) of the next committed transaction at NEWLEADER.
    SyncAppend,
    /// The learner's fsync of those.
    SyncFsync,
}

/// A server's process: everything that a crash loses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Server {
    id: ServerId,
    /// Which start of this server it is: part of the session ids it issues.
    start: u16,
    next_session: u32,
    tree: Arc<DataTree>,
    committed_log: CommittedLog,
    election: Election,
    role: Role,
    writing: Option<Writing>,
    /// From the packet thread to the log thread.
    log_queue: VecDeque<Arc<Txn>>,
    /// Appended by the log thread, to be acknowledged by its next fsync.
    to_ack: Vec<crate::vocabulary::zxid::Zxid>,
    /// Transactions logged since the last snapshot.
    logged_since_snapshot: u32,
    snapshot: Option<SnapshotInProgress>,
    /// Client connections, and which of them has which session.
    attachments: BTreeMap<ClientConnection, Attachment>,
    sessions: BTreeMap<SessionId, ClientConnection>,
    watches: WatchTable,
    /// Sessions that only this server knows of (semantics 2.6).
    local: LocalSessions,
    /// LOOKING, and serving reads all the same (semantics 2.7).
    read_only: bool,
    /// Requests in submission order that wait, by session; never an empty queue (semantics 4.5).
    pending: BTreeMap<SessionId, VecDeque<Waiting>>,
}

impl Server {
    /// A process starts on a disk: loads the database, checks the epochs, and looks for a leader.
    ///
    /// # Errors
    /// The sentence with which it refuses to start (semantics 6.2).
    pub fn boot(context: &mut Context<'_>) -> Result<Server, &'static str> {
        if context.disk.is_torn() {
            context.disk.make_mut().mend();
        }
        let (tree, from) = context.disk.load();
        if context.disk.has_gap(from) && !context.config.bugs.has(Bug::GapsAreReplayed) {
            return Err("a transaction is missing in its log");
        }
        let last = tree.last_processed();
        context.disk.make_mut().check_epochs(last, context.config.bugs)?;
        let mut committed_log = CommittedLog::default();
        for txn in &context.disk.log()[from..] {
            committed_log.add(Arc::clone(txn), context.config);
        }
        let mut server = Server {
            id: context.id,
            start: Server::count_start(context),
            next_session: 1,
            tree: Arc::new(tree),
            committed_log,
            election: Election::new(context.id),
            role: Role::Looking,
            writing: None,
            log_queue: VecDeque::new(),
            to_ack: Vec::new(),
            logged_since_snapshot: 0,
            snapshot: None,
            attachments: BTreeMap::new(),
            sessions: BTreeMap::new(),
            watches: WatchTable::default(),
            local: LocalSessions::default(),
            read_only: false,
            pending: BTreeMap::new(),
        };
        server.look(context);
        Ok(server)
    }

    /// The database.
    pub fn tree(&self) -> &DataTree {
        &self.tree
    }

    /// The role.
    pub fn role(&self) -> &Role {
        &self.role
    }

    /// Whether clients are served.
    pub fn is_serving(&self) -> bool {
        match &self.role {
            Role::Looking => false,
            Role::Following(learner) => learner.is_serving(),
            Role::Leading(leader) => leader.is_established(),
        }
    }

    /// Its local sessions.
    pub fn local_sessions(&self) -> &LocalSessions {
        &self.local
    }

    /// What the packet thread waits for.
    pub fn writing(&self) -> Option<&Writing> {
        self.writing.as_ref()
    }

    /// How the server describes itself in notifications.
    pub fn peer_state(&self) -> PeerState {
        match self.role {
            Role::Looking => PeerState::Looking,
            Role::Following(_) => PeerState::Following,
            Role::Leading(_) => PeerState::Leading,
        }
    }

    /// In words, for people.
    pub fn describe(&self) -> String {
        match &self.role {
            Role::Looking => format!(
                "LOOKING (round {}, votes for server {}{})",
                self.election.round(),
                self.election.proposal().leader.0,
                if self.read_only { ", serves read-only" } else { "" }
            ),
            Role::Following(learner) => learner.describe(),
            Role::Leading(leader) => leader.describe(),
        }
    }

    /// The vote for itself: (current epoch, the *tree's* last zxid, id) (semantics 5.1).
    fn own_vote(&self, context: &Context<'_>) -> Vote {
        Vote {
            peer_epoch: context.disk.current_epoch(),
            zxid: self.tree.last_processed(),
            leader: self.id,
        }
    }

    /// Begins an election.
    fn look(&mut self, context: &mut Context<'_>) {
        self.role = Role::Looking;
        if context.config.election.is_oracle() {
            return;
        }
        self.begin_grace(context);
        let own = self.own_vote(context);
        if let Some(decision) = self.election.look(own, context) {
            self.take_role(decision, context);
        }
    }

    /// An election notification arrived.
    pub fn notification(
        &mut self,
        from: ServerId,
        notification: Notification,
        context: &mut Context<'_>,
    ) {
        let own = self.own_vote(context);
        let state = self.peer_state();
        if let Some(decision) = self.election.notification(from, notification, state, own, context)
        {
            self.take_role(decision, context);
        }
    }

    /// Leads or follows from now on.
    fn take_role(&mut self, decision: Decision, context: &mut Context<'_>) {
        for timer in election::TIMERS {
            context.disarm(timer);
        }
        self.end_read_only(context);
        let Decision { leader, round } = decision;
        context.effects.event(Event::Elected { server: self.id, leader, round });
        if leader == self.id {
            self.lead(context);
        } else {
            self.follow(leader, context);
        }
    }

    /// One of this server's timers fired. Returns `false` for one that means nothing now.
    pub fn timer(&mut self, timer: ServerTimer, context: &mut Context<'_>) -> bool {
        match timer {
            ServerTimer::Notification if matches!(self.role, Role::Looking) => {
                self.election.notification_timeout(context);
            }
            ServerTimer::Finalize if matches!(self.role, Role::Looking) => {
                let Some(decision) = self.election.finalize() else { return false };
                self.take_role(decision, context);
            }
            ServerTimer::ConnectLeader => return self.connect_to_leader(context),
            ServerTimer::InitLimit if !self.is_serving() => {
                self.leave_role("initLimit ticks without synchronisation", context);
            }
            ServerTimer::LeaderSilent if matches!(self.role, Role::Following(_)) => {
                self.leave_role("nothing read from the leader for syncLimit ticks", context);
            }
            ServerTimer::LearnerSilent(connection) => {
                return self.learner_silent(connection, context);
            }
            ServerTimer::Ping => return self.ping_round(context),
            ServerTimer::Containers => return self.check_containers(context),
            ServerTimer::ReadOnly if matches!(self.role, Role::Looking) => {
                return self.begin_read_only(context);
            }
            ServerTimer::SessionExpiry(session) => {
                return self.expire_local(session, context)
                    || self.expire_session(session, context);
            }
            _ => return false,
        }
        true
    }

    // ---- the log thread ----

    /// Hands a transaction to the log thread.
    fn queue_for_log(&mut self, txn: Arc<Txn>, context: &mut Context<'_>) {
        self.log_queue.push_back(txn);
        context.effects.due(Step::Append(self.id));
    }

    /// Whether the log thread has something to append.
    pub fn can_append(&self) -> bool {
        !self.log_queue.is_empty()
    }

    /// The log thread appends the next transaction, not yet durable.
    pub fn append_next(&mut self, context: &mut Context<'_>) -> bool {
        let Some(txn) = self.log_queue.pop_front() else { return false };
        if self.to_ack.is_empty() {
            context.effects.due(Step::Fsync(self.id));
        }
        self.to_ack.push(txn.zxid);
        context.effects.note(|| format!("{} appends to its log: {txn}", self.id));
        context.disk.make_mut().append(txn);
        self.count_for_snapshot(context);
        true
    }

    /// Whether the log thread has something to make durable.
    pub fn can_fsync(&self) -> bool {
        !self.to_ack.is_empty()
    }

    /// The log thread's fsync completes; only now acks leave (semantics 4.5).
    pub fn fsync(&mut self, context: &mut Context<'_>) -> bool {
        if self.to_ack.is_empty() {
            return false;
        }
        let snapshot_waits = self.snapshot_waits(context.disk);
        if context.disk.unsynced() > 0 {
            context.disk.make_mut().fsync();
        }
        if snapshot_waits && self.can_snapshot(context.disk) {
            context.effects.due(Step::Snapshot(self.id));
        }
        let durable = context.disk.last_durable();
        for zxid in std::mem::take(&mut self.to_ack) {
            context.effects.event(Event::Acked { server: self.id, zxid, durable });
            match &self.role {
                Role::Following(learner) => learner.ack(zxid, context),
                Role::Leading(_) => self.process_ack(self.id, zxid, context),
                Role::Looking => unreachable!("leaving a role empties the log thread"),
            }
        }
        true
    }

    /// The packet thread's disk operation completes.
    pub fn write_completes(&mut self, context: &mut Context<'_>) -> bool {
        let Some(writing) = self.writing.take() else { return false };
        context.effects.note(|| format!("{} has written {writing}", self.id));
        match self.role {
            Role::Looking => unreachable!("leaving a role cancels its writes"),
            Role::Following(_) => self.learner_wrote(writing, context),
            Role::Leading(_) => self.leader_wrote(writing, context),
        }
        true
    }

    /// The packet thread begins a disk operation.
    fn write(&mut self, writing: Writing, context: &mut Context<'_>) {
        debug_assert!(self.writing.is_none(), "one write at a time");
        self.writing = Some(writing);
        context.effects.due(Step::Write(self.id));
    }
}
