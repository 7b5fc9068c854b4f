//! All that can happen, as values of one type.
//!
//! A run is a list of steps. The simulator draws them from a seed and a clock, the explorer tries
//! all enabled ones, a case replays recorded ones; [`crate::world::World`] holds the one definition
//! of what each does. What a step causes (packets sent, requests submitted, observations) is its
//! consequence, never another step.

use crate::vocabulary::id::{
    CallId, ClientConnection, ClientId, LearnerConnection, Machine, ServerId, ServerSet, SessionId,
};
use crate::vocabulary::time::Time;
use crate::vocabulary::timer::Timer;
use crate::vocabulary::zxid::Zxid;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One thing that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum Step {
    // ---- the network delivers the next packet (or the end) of one direction ----
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
    /// The log thread takes the next transaction off its queue and appends it, not yet durable.
    Append(ServerId),
    /// The log thread's fsync completes: all that was appended is durable, acks leave.
    Fsync(ServerId),
    /// The CommitProcessor applies the next of what is committed, or answers the next sync behind it.
    Apply(ServerId),
    /// The CommitProcessor falls asleep although something waits for it, and sleeps until something else wakes it. Only
    /// under [`crate::vocabulary::release::Bug::MissedWakeUp`].
    MissWakeUp(ServerId),
    /// The packet thread's pending disk operation completes: an epoch file, an append, fsync or
    /// snapshot of the synchronisation.
    Write(ServerId),
    /// The background snapshot writes its next piece (fuzzy: transactions are applied meanwhile).
    Snapshot(ServerId),
    /// The leader streams the next piece of a SNAP to a learner (fuzzy likewise).
    Stream(LearnerConnection),

    // ---- time ----
    /// An armed timer fires.
    Fire(Timer),

    // ---- programs ----
    /// A program starts, for the first time or as the replacement of a crashed one.
    Start(ClientId),
    /// A program is given its next input.
    Input(ClientId),
    /// A program's request for a random number is answered with this one.
    Random {
        client: ClientId,
        call: CallId,
        /// The answer, drawn by the engine.
        value: u64,
    },
    /// A program that asked for the time gets this reading of its clock. Only at the service grain, where no clock
    /// runs and a search chooses; in an ensemble a program reads the time of the step in which it asks.
    Clock {
        client: ClientId,
        call: CallId,
        /// What the clock shows: no less than it showed before, and than the program has slept since.
        reading: Time,
    },
    /// A program's request arrives at an outside resource and is executed there.
    Resource { client: ClientId, call: CallId },
    /// The next message from one program reaches another.
    Message { from: ClientId, to: ClientId },

    // ---- the service grain only ----
    /// The server that a client is connected to, having applied the log up to `prefix`, takes the
    /// oldest packet of that client. What the leader decides (a write, a new session) is decided at
    /// the log's end whatever `prefix` says, and has [`Zxid::ZERO`] here.
    Serve {
        client: ClientId,
        /// How much of the log the server has applied.
        prefix: Zxid,
    },
    /// The server that a client is connected to applies the log up to and including the next
    /// transaction that this client hears of: one that fires its watch or ends its session.
    Notify(ClientId),
    /// A write whose connection was lost while it was under way reaches the leader after all.
    Late(SessionId),
    /// The closeSession of an expired session is committed.
    CloseSession(SessionId),

    // ---- faults ----
    /// A server's process dies: memory is lost, and of the log's unsynced tail only a part remains.
    Crash {
        server: ServerId,
        /// What remains.
        tail: Tail,
    },
    /// A crashed server starts again from its disk.
    Restart(ServerId),
    /// A server leaves its role without its process ending: memory is kept (rule 6.8).
    Rejoin(ServerId),
    /// A client's connection breaks; each direction loses its last packets.
    BreakClient {
        connection: ClientConnection,
        /// How many of the packets under way to the server still arrive.
        to_server: u8,
        /// How many of the packets under way to the client still arrive.
        to_client: u8,
    },
    /// A learner's connection breaks; each direction loses its last packets.
    BreakLearner {
        connection: LearnerConnection,
        /// How many of the packets under way to the leader still arrive.
        to_leader: u8,
        /// How many of the packets under way to the learner still arrive.
        to_learner: u8,
    },
    /// Nothing passes from one machine to another any more.
    Cut { from: Machine, to: Machine },
    /// The way is open again.
    Heal { from: Machine, to: Machine },
    /// The leader takes a session's time for up, whenever it was last heard from.
    Expire(SessionId),
    /// A program's process dies: its handle goes silent first, then its future is dropped; its
    /// session lives on until it expires.
    Kill(ClientId),
    /// A client machine stands still (as in a long garbage collection): no input, packet or timer.
    Pause(ClientId),
    /// It goes on.
    Resume(ClientId),
    /// A program's `cancelled()` answers: whatever it wraps is dropped at its present await point.
    Cancel(ClientId),

    // ---- for searches without programs ----
    /// An established leader proposes a write that no client asked for: the creation of a znode
    /// named after its zxid.
    Propose(ServerId),
    /// The oracle's election: of LOOKING servers, `leader` leads and the rest follow it; or, if it
    /// leads already, they join it. Only under [`crate::vocabulary::config::Election::Oracle`].
    Elect {
        /// Whom they elect.
        leader: ServerId,
        /// The others.
        followers: ServerSet,
    },
    /// A fault: an fsync of the log fails, or a write to it, the log thread's or one of a synchronisation. The server
    /// leaves its role without its process ending (rules 6.7 and 6.8). Where it is a snapshot that is written, the
    /// process exits (rule 6.9.11).
    FsyncError {
        server: ServerId,
        /// How many of the unsynced transactions had reached the disk by themselves; the rest is lost.
        survive: u8,
        /// What becomes of the rest.
        #[serde(default)]
        rest: Unwritten,
    },

    // ---- the service grain once more; last, so that what was recorded keeps its hashes ----
    /// The leader deletes a container or a TTL znode that is due (rule 1.5.4): of those in the tree at the log's end,
    /// in path order, the one at this place.
    DeleteContainer(u16),
    /// The thread that applied what is committed in a role that has ended goes on, and applies the rest of its
    /// transaction to the tree as it is now. Only under [`crate::vocabulary::release::Bug::ApplyOutlivesRole`].
    ApplyRest(ServerId),
    /// A client outside of the run connects, sends a packet or hangs up: the input with this number, from 0
    /// ([`Outside`](crate::vocabulary::outside::Outside)).
    Outside(u32),
}

/// What becomes of transactions that a failed write was to bring to the disk.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum Unwritten {
    /// They are lost: the file could not be made, or what they were in is given up.
    #[default]
    Lost,
    /// Half of the first one is in the file; the others are lost. Does harm under
    /// [`crate::vocabulary::release::Bug::TornRecordHidesLog`] only.
    Torn,
    /// They stay in the process, and the next write to the log brings them along. Only under
    /// [`crate::vocabulary::release::Bug::FailedWriteComesLater`].
    Buffered,
}

/// What a crash leaves of the appended but not yet durable transactions, and of snapshots that
/// were written without fsync.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Tail {
    /// How many of the unsynced transactions had reached the disk by themselves.
    pub survive: u8,
    /// Whether the one after these was half written: the start-up ignores it (rule 6.7.5).
    pub torn: bool,
    /// Whether snapshots that nobody has fsynced survive.
    pub snapshots: bool,
    /// Whether truncations that nobody has fsynced are undone. Only under
    /// [`crate::vocabulary::release::Bug::TruncUnsynced`].
    #[serde(default)]
    pub cuts: bool,
    /// Which epoch files are as they were before they were last replaced. Only under
    /// [`crate::vocabulary::release::Bug::RenameUnsynced`].
    #[serde(default, skip_serializing_if = "OldEpochs::is_default")]
    pub epochs: OldEpochs,
    /// How many of the packets under way from the server still arrive, on each connection: the
    /// rest was in the queues of its process.
    pub packets: u8,
}

/// Which epoch files a power loss brings back as they were before they were last replaced (rule 6.9.14).
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
    /// All of them.
    pub const ALL: [OldEpochs; 4] =
        [OldEpochs::Neither, OldEpochs::Accepted, OldEpochs::Current, OldEpochs::Both];

    /// Whether nothing is brought back.
    pub fn is_default(&self) -> bool {
        *self == OldEpochs::default()
    }

    /// Whether `acceptedEpoch` is.
    pub fn has_accepted(self) -> bool {
        matches!(self, OldEpochs::Accepted | OldEpochs::Both)
    }

    /// Whether `currentEpoch` is.
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
    /// Whether this is a fault: something that a run can do without.
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
                write!(f, "{server}: its CommitProcessor misses what has come")
            }
            Step::Write(server) => write!(f, "{server}: disk write completes"),
            Step::Snapshot(server) => write!(f, "{server}: snapshot piece written"),
            Step::Stream(connection) => write!(f, "SNAP piece streamed to {connection}"),
            Step::Fire(timer) => write!(f, "timer: {timer}"),
            Step::Propose(server) => write!(f, "{server}: proposes a write"),
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
