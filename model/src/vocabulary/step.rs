//! Everything that can happen, as values of one type.
//!
//! A run is a list of steps. The simulator draws them from a seed and a clock, the explorer tries all enabled ones, a
//! case replays recorded ones; [`crate::world::World`] defines what each step does. The consequences of a step
//! (packets sent, requests submitted, observations) are not steps.

use crate::vocabulary::id::{
    CallId, ClientConnection, ClientId, LearnerConnection, Machine, ServerId, ServerSet, SessionId,
};
use crate::vocabulary::time::Time;
use crate::vocabulary::timer::Timer;
use crate::vocabulary::zxid::Zxid;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One thing that can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum Step {
    // ---- the network delivers the next packet (or the end of the connection) in one direction
    // ----
    /// A server reads from a client's connection.
    ToServer(ClientConnection),
    /// A client machine reads from its connection.
    ToClient(ClientConnection),
    /// The leader reads from a learner's connection.
    ToLeader(LearnerConnection),
    /// A learner reads from its connection to the leader.
    ToLearner(LearnerConnection),
    /// `to` reads the newest election notification of `from`.
    Vote { from: ServerId, to: ServerId },

    // ---- threads and disks of one server ----
    /// The log thread takes the next transaction off its queue and appends it; the append is not durable yet.
    Append(ServerId),
    /// The log thread's fsync completes: everything appended is durable, and the server sends its acks.
    Fsync(ServerId),
    /// The CommitProcessor applies the next committed transaction, or answers the next sync queued after it.
    Apply(ServerId),
    /// The CommitProcessor falls asleep although its queue has entries, and sleeps until another event wakes it. Only
    /// under [`crate::vocabulary::release::Bug::MissedWakeUp`].
    MissWakeUp(ServerId),
    /// The packet thread's pending disk operation completes: an epoch file, or an append, fsync or snapshot of the
    /// synchronisation.
    Write(ServerId),
    /// The background snapshot writes its next piece. It is fuzzy: the server applies transactions meanwhile.
    Snapshot(ServerId),
    /// The leader streams the next piece of a SNAP to a learner; the snapshot is fuzzy likewise.
    Stream(LearnerConnection),

    // ---- time ----
    /// An armed timer fires.
    Fire(Timer),

    // ---- programs ----
    /// A program starts, for the first time or as the replacement of a crashed one.
    Start(ClientId),
    /// The host feeds a program its next input.
    Input(ClientId),
    /// The engine answers a program's request for a random number.
    Random { client: ClientId, call: CallId, value: u64 },
    /// A program that asked for the time gets this reading of its clock. Only at the service grain, which has no
    /// clock, so the search chooses the reading; in an ensemble a program reads the time of the step in which it
    /// asks.
    Clock {
        client: ClientId,
        call: CallId,
        /// At least the previous reading plus the time that the program has slept since.
        reading: Time,
    },
    /// An outside resource executes a program's request.
    Resource { client: ClientId, call: CallId },
    /// The next message from one program arrives at another.
    Message { from: ClientId, to: ClientId },

    // ---- the service grain only ----
    /// The server that a client is connected to, having applied the log up to `prefix`, executes the client's oldest
    /// packet. What the leader decides (a write, a new session) is decided at the end of the log, whatever `prefix`
    /// says; the prefix is then [`Zxid::ZERO`].
    Serve {
        client: ClientId,
        /// The last transaction that the server has applied.
        prefix: Zxid,
    },
    /// The server that a client is connected to applies the log up to and including the next transaction that this
    /// client notices: one that fires its watch or ends its session.
    Notify(ClientId),
    /// A write in flight when its connection was lost reaches the leader after all.
    Late(SessionId),
    /// The closeSession of an expired session is committed.
    CloseSession(SessionId),

    // ---- faults ----
    /// A server's process dies: it loses its memory, and of the log's unsynced tail only a part remains.
    Crash {
        server: ServerId,
        /// The part that remains.
        tail: Tail,
    },
    /// A crashed server starts again from its disk.
    Restart(ServerId),
    /// A server leaves its role while its process continues: it keeps its memory (rule 6.8).
    Rejoin(ServerId),
    /// A client's connection breaks; each direction loses its last packets.
    BreakClient {
        connection: ClientConnection,
        /// Number of packets in flight to the server that still arrive.
        to_server: u8,
        /// Number of packets in flight to the client that still arrive.
        to_client: u8,
    },
    /// A learner's connection breaks; each direction loses its last packets.
    BreakLearner {
        connection: LearnerConnection,
        /// Number of packets in flight to the leader that still arrive.
        to_leader: u8,
        /// Number of packets in flight to the learner that still arrive.
        to_learner: u8,
    },
    /// A link is cut in one direction: no packet passes any more.
    Cut { from: Machine, to: Machine },
    /// The direction is open again.
    Heal { from: Machine, to: Machine },
    /// The leader expires a session, however recent its last sign of life is.
    Expire(SessionId),
    /// A program's process dies: first its handle is closed, then its future dropped. Its session lives on until it
    /// expires.
    Kill(ClientId),
    /// A client machine stops (as in a long garbage collection): no inputs, packets or timers.
    Pause(ClientId),
    /// A paused client machine continues.
    Resume(ClientId),
    /// A program's `cancelled()` is answered: the future that the program wraps in it is dropped at its present await
    /// point.
    Cancel(ClientId),

    // ---- for searches without programs ----
    /// An established leader proposes a write without a client: the creation of a znode named after its zxid.
    Propose(ServerId),
    /// The oracle's election: of the LOOKING servers, `leader` becomes the leader and the others follow it. If it
    /// leads already, they join it. Only under [`crate::vocabulary::config::Election::Oracle`].
    Elect {
        /// The elected server.
        leader: ServerId,
        followers: ServerSet,
    },
    /// A fault: an fsync of the log or a write to it fails, in the log thread or in a synchronisation. The server
    /// leaves its role and its process continues (rules 6.7 and 6.8). If the write was that of a snapshot, the
    /// process exits (rule 6.9.11).
    FsyncError {
        server: ServerId,
        /// Number of unsynced transactions that had reached the disk by themselves.
        survive: u8,
        /// What happens to the other unsynced transactions.
        #[serde(default)]
        rest: Unwritten,
    },

    // ---- more of the service grain; appended last, so that the hashes of recorded runs stay valid
    // ----
    /// The leader deletes a container or a TTL znode that is due (rule 1.5.4). The number is its index, in path
    /// order, among the znodes that are due in the tree at the end of the log.
    DeleteContainer(u16),
    /// A thread that was applying a transaction when its role ended continues, and applies the rest of the
    /// transaction to the present tree. Only under [`crate::vocabulary::release::Bug::ApplyOutlivesRole`].
    ApplyRest(ServerId),
    /// A client outside of the run connects, sends a packet or hangs up: the input with this number, from 0
    /// ([`Outside`](crate::vocabulary::outside::Outside)).
    Outside(u32),
    /// An established leader proposes a reconfiguration without a client: one server joins the voters, and another one
    /// leaves the configuration. For searches without programs.
    Reconfigure { leader: ServerId, joins: ServerId, leaves: ServerId },
}

/// What happens to transactions that a failed write did not bring to the disk.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum Unwritten {
    /// They are lost: the file could not be created, or its buffer was discarded.
    #[default]
    Lost,
    /// Half of the first one is in the file; the others are lost. Harmful only under
    /// [`crate::vocabulary::release::Bug::TornRecordHidesLog`].
    Torn,
    /// They stay in the process's buffer, and the next write to the log writes them too. Only under
    /// [`crate::vocabulary::release::Bug::FailedWriteComesLater`].
    Buffered,
}

/// What remains after a crash of transactions that were appended but not durable, and of snapshots that were written
/// without fsync.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Tail {
    /// Number of unsynced transactions that had reached the disk by themselves.
    pub survive: u8,
    /// True if the next one was half written; a start ignores it (rule 6.7.5).
    pub torn: bool,
    /// True if snapshots without fsync survive.
    pub snapshots: bool,
    /// True if truncations without fsync are undone. Only under [`crate::vocabulary::release::Bug::TruncUnsynced`].
    #[serde(default)]
    pub cuts: bool,
    /// The epoch files that revert to their content before the last replacement. Only under
    /// [`crate::vocabulary::release::Bug::RenameUnsynced`].
    #[serde(default, skip_serializing_if = "OldEpochs::is_default")]
    pub epochs: OldEpochs,
    /// On each connection, the number of packets in flight from the server that still arrive; the others were in the
    /// queues of its process.
    pub packets: u8,
}

/// The epoch files that a power loss reverts to their content before the last replacement (rule 6.9.14).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum OldEpochs {
    /// None.
    #[default]
    Neither,
    /// `acceptedEpoch`.
    Accepted,
    /// `currentEpoch`.
    Current,
    /// Both.
    Both,
}

impl OldEpochs {
    /// All variants.
    pub const ALL: [OldEpochs; 4] =
        [OldEpochs::Neither, OldEpochs::Accepted, OldEpochs::Current, OldEpochs::Both];

    /// Returns true if no file reverts.
    pub fn is_default(&self) -> bool {
        *self == OldEpochs::default()
    }

    /// Returns true if `acceptedEpoch` reverts.
    pub fn has_accepted(self) -> bool {
        matches!(self, OldEpochs::Accepted | OldEpochs::Both)
    }

    /// Returns true if `currentEpoch` reverts.
    pub fn has_current(self) -> bool {
        matches!(self, OldEpochs::Current | OldEpochs::Both)
    }
}

impl Tail {
    /// Everything unsynced is lost.
    pub const LOST: Tail = Tail {
        survive: 0,
        torn: false,
        snapshots: false,
        cuts: false,
        epochs: OldEpochs::Neither,
        packets: 0,
    };
}

impl Step {
    /// Returns true for a fault, a step that no run needs.
    pub fn is_fault(&self) -> bool {
        matches!(
            self,
            Step::Crash { .. }
                | Step::Rejoin(_)
                | Step::FsyncError { .. }
                | Step::BreakClient { .. }
                | Step::BreakLearner { .. }
                | Step::Cut { .. }
                | Step::Expire(_)
                | Step::Kill(_)
                | Step::Pause(_)
                | Step::Cancel(_)
        )
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::ToServer(connection) => write!(f, "server reads from {connection}"),
            Step::ToClient(connection) => write!(f, "client reads from {connection}"),
            Step::ToLeader(connection) => write!(f, "leader reads from {connection}"),
            Step::ToLearner(connection) => write!(f, "learner reads from {connection}"),
            Step::Vote { from, to } => write!(f, "{to} reads the notification of {from}"),
            Step::Append(server) => write!(f, "{server}: log append"),
            Step::Fsync(server) => write!(f, "{server}: log fsync"),
            Step::Apply(server) => write!(f, "{server}: applies what is committed"),
            Step::ApplyRest(server) => {
                write!(
                    f,
                    "{server}: the thread of an older role applies the rest of its transaction"
                )
            }
            Step::MissWakeUp(server) => {
                write!(f, "{server}: its CommitProcessor misses a request that has arrived")
            }
            Step::Write(server) => write!(f, "{server}: disk write completes"),
            Step::Snapshot(server) => write!(f, "{server}: snapshot piece written"),
            Step::Stream(connection) => write!(f, "SNAP piece streamed to {connection}"),
            Step::Fire(timer) => write!(f, "timer: {timer}"),
            Step::Propose(server) => write!(f, "{server}: proposes a write"),
            Step::Reconfigure { leader, joins, leaves } => {
                write!(f, "{leader}: proposes that {joins} votes and {leaves} leaves")
            }
            Step::Elect { leader, followers } => write!(f, "{followers} elect {leader}"),
            Step::Start(client) => write!(f, "{client}: program starts"),
            Step::Input(client) => write!(f, "{client}: program input"),
            Step::Random { client, .. } => write!(f, "{client}: random number"),
            Step::Clock { client, reading, .. } => write!(f, "{client}: its clock shows {reading}"),
            Step::Resource { client, .. } => write!(f, "{client}: resource executes a request"),
            Step::Message { from, to } => write!(f, "message from {from} to {to}"),
            Step::Serve { client, prefix: Zxid::ZERO } => write!(f, "{client} is served"),
            Step::Serve { client, prefix } => write!(f, "{client} is served as of {prefix}"),
            Step::Notify(client) => write!(f, "the server of {client} goes on in the log"),
            Step::Late(session) => write!(f, "a write of {session} arrives late"),
            Step::CloseSession(session) => write!(f, "closeSession of {session} commits"),
            Step::DeleteContainer(at) => {
                write!(f, "the leader deletes number {at} of its containers and TTL znodes")
            }
            Step::Crash { server, .. } => write!(f, "CRASH {server}"),
            Step::Restart(server) => write!(f, "RESTART {server}"),
            Step::Rejoin(server) => write!(f, "REJOIN {server}"),
            Step::FsyncError { server, .. } => write!(f, "FSYNC ERROR {server}"),
            Step::BreakClient { connection, .. } => write!(f, "BREAK {connection}"),
            Step::BreakLearner { connection, .. } => write!(f, "BREAK {connection}"),
            Step::Cut { from, to } => write!(f, "CUT {from} -> {to}"),
            Step::Heal { from, to } => write!(f, "HEAL {from} -> {to}"),
            Step::Expire(session) => write!(f, "EXPIRE session {session}"),
            Step::Kill(client) => write!(f, "KILL program of {client}"),
            Step::Pause(client) => write!(f, "PAUSE {client}"),
            Step::Resume(client) => write!(f, "RESUME {client}"),
            Step::Cancel(client) => write!(f, "CANCEL program of {client}"),
            Step::Outside(number) => write!(f, "input {number} from outside"),
        }
    }
}
