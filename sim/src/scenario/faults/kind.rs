//! The kinds of faults that a run can have.
//!
//! A scenario enables these kinds and a plan schedules them. Their effects on a run are counted as
//! [`Disruption`](vivarium_model::mark::Disruption)s: a power loss is several crashes, a lost reply a broken
//! connection.

use std::fmt;
use vivarium_model::named;

named! {
    /// A kind of fault that a plan can contain. Random streams are named by it, so the names must not change.
    pub enum Fault ("fault") {
        /// A server crashes; its unsynced tail is lost, survives in part or is torn. It restarts after a while.
        Crash = "crash",
        /// All servers crash at the same time.
        PowerLoss = "power loss",
        /// A server leaves its role and keeps its memory.
        Rejoin = "rejoin",
        /// A client's connection breaks; the last packets in flight are lost.
        ClientReset = "client connection reset",
        /// A learner's connection to its leader breaks; the last packets in flight are lost.
        LearnerReset = "learner connection reset",
        /// Some machines are cut off from the others for a while, in both directions.
        Partition = "partition",
        /// Some machines are cut off from the others for a while, in one direction.
        OneWayPartition = "one-way partition",
        /// The packets of a machine are slow for a while.
        DelayBurst = "delay burst",
        /// A server's disk makes nothing durable for a while.
        DiskStall = "disk stall",
        /// A server's fsync of its log, or a write to it, fails after its disk was stalled for a moment: the
        /// transactions appended meanwhile are lost, or some of them. The server leaves its role and its process
        /// continues; if a snapshot was being written, the process exits and restarts.
        FsyncError = "fsync error",
        /// The leader expires a session, however recent its last sign of life is.
        SessionExpiry = "session expiry",
        /// A program's process dies; another replaces it after a while.
        ProgramCrash = "program crash",
        /// A client machine is paused for a while, as in a long garbage collection.
        Pause = "pause",
        /// A program's cancellable work is dropped at its present await point.
        Cancellation = "cancellation",
        /// A connection breaks after a write was applied, with the reply in flight.
        LostReplyApplied = "lost reply, applied",
        /// A connection breaks with a write in flight, which no server ever reads.
        LostReplyNeverApplied = "lost reply, never applied",
        /// A connection breaks after a write was proposed; the write commits only after the session had time to
        /// re-attach elsewhere.
        LostReplyPending = "lost reply, still pending",
        /// A learner crashes during its synchronisation, or its leader does.
        SyncCrash = "crash during synchronisation",
        /// A synchronisation is interrupted: its connection breaks, or the learner leaves its role.
        SyncBreak = "synchronisation broken off",
        /// A write or an fsync of a synchronisation fails at the learner.
        SyncFsyncError = "fsync error during synchronisation",
        /// The leader's handler is slow during a synchronisation, while transactions commit.
        SlowSync = "slow synchronisation",
        /// A server crashes just after an election, mostly the new leader.
        ElectionCrash = "crash after election",
        /// A leader that has just proposed is cut off from all other servers, which have not received the proposal,
        /// and logs it alone.
        LoneLeader = "lone leader",
        /// Like a lone leader, but its disk fails to log the proposal.
        LoneFsyncError = "fsync error of a lone leader",
        /// All servers leave their roles, each once or twice within a second.
        RejoinStorm = "rejoin storm",
        /// Programs and packets are occasionally slow: the delay is anything from a round trip to seconds
        /// ([`crate::seeded::pace`]).
        SlowReactions = "slow reactions",
        /// Programs wait for each other by priorities, which change a few times ([`crate::seeded::pace`]).
        Priorities = "priorities",
        /// The counters of the setup's containers are about to pass 2147483647, or have passed it
        /// ([`crate::seeded::containers`]).
        CounterWrap = "sequence counters near their end",
        /// The leader deletes the setup's containers soon after they have lost their last child
        /// ([`crate::seeded::containers`]).
        ContainerDeletion = "containers deleted soon",
        /// A minority of the servers is down when all other faults have ended, and never restarts
        /// ([`crate::scenario::aftermath`]).
        LeftDown = "servers left down",
        /// A minority of the servers is cut off for ever when all other faults have ended
        /// ([`crate::scenario::aftermath`]).
        LeftCutOff = "servers left cut off",
        /// Servers vote at random, whatever their histories
        /// ([`Election::ByLot`](vivarium_model::config::Election::ByLot)): then only ZAB prevents a server that lacks
        /// commits from leading.
        ElectionByLot = "elections by lot",
        /// Some clients know only one server and always reconnect to it ([`crate::seeded::transport`]).
        OneServer = "connect strings of one server",
        /// Packets held by a cut arrive with a separate delay for each connection, and ends of connections arrive
        /// late ([`crate::seeded::transport`]).
        LateRetransmission = "late retransmission",
    }
}

/// The moment that a fault waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Await {
    /// A client sends a write.
    Write,
    /// A leader begins to synchronise a learner.
    Synchronisation,
    /// A server finishes its election.
    Election,
    /// A leader proposes a transaction.
    Proposal,
}

impl fmt::Display for Await {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Await::Write => "writes",
            Await::Synchronisation => "synchronisations",
            Await::Election => "elections",
            Await::Proposal => "proposals",
        })
    }
}

impl Fault {
    /// Returns true if this kind strikes at random times.
    pub(crate) fn takes_turns(self) -> bool {
        self.awaits().is_none() && !self.holds_throughout()
    }

    /// Returns true if this kind lasts throughout a run, without turns and without waiting for an event.
    pub(crate) fn holds_throughout(self) -> bool {
        matches!(
            self,
            Fault::SlowReactions
                | Fault::Priorities
                | Fault::CounterWrap
                | Fault::ContainerDeletion
                | Fault::LeftDown
                | Fault::LeftCutOff
                | Fault::ElectionByLot
                | Fault::OneServer
                | Fault::LateRetransmission
        )
    }

    /// Returns n such that this kind is enabled in one of n seeds, unless its rate says otherwise. Disks fail less
    /// often than processes and networks.
    pub(crate) fn usual_share(self) -> u32 {
        match self {
            Fault::FsyncError | Fault::SyncFsyncError | Fault::LoneFsyncError => 8,
            // Most errors of elections show only with the real election.
            Fault::ElectionByLot => 16,
            Fault::OneServer => 8,
            // Enabled in every other run with clients that know one server.
            Fault::LateRetransmission => 16,
            kind if kind.holds_throughout() => 3,
            _ => 2,
        }
    }

    /// Returns the event that this kind waits for; `None` if it waits for none.
    pub(crate) fn awaits(self) -> Option<Await> {
        match self {
            Fault::LostReplyApplied | Fault::LostReplyNeverApplied | Fault::LostReplyPending => {
                Some(Await::Write)
            }
            Fault::SyncCrash | Fault::SyncBreak | Fault::SyncFsyncError | Fault::SlowSync => {
                Some(Await::Synchronisation)
            }
            Fault::ElectionCrash => Some(Await::Election),
            Fault::LoneLeader | Fault::LoneFsyncError => Some(Await::Proposal),
            _ => None,
        }
    }
}

/// Returns the name of a kind's random stream. Streams are named by kind, so a new kind does not change those of the
/// others.
pub(crate) fn purpose(kind: Fault) -> String {
    format!("fault {kind}")
}
