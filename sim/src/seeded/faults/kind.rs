//! The kinds of faults that a run can have.
//!
//! These are what a scenario switches on or off and a plan schedules. What they do to a run is counted as
//! [`Disruption`](vivarium_model::mark::Disruption)s: a power loss is several crashes, a lost reply a
//! broken connection.

use std::fmt;
use vivarium_model::named;

named! {
    /// A kind of fault that a plan can have. Random streams go by its name, so that must not change.
    pub enum Fault ("fault") {
        /// A server's process dies; its unsynced tail is lost, survives in part or is torn. It starts
        /// again after a while.
        Crash = "crash",
        /// All servers die at once.
        PowerLoss = "power loss",
        /// A server leaves its role, memory kept.
        Rejoin = "rejoin",
        /// A client's connection breaks; the last packets under way are lost.
        ClientReset = "client connection reset",
        /// A learner's connection to its leader breaks; the last packets under way are lost.
        LearnerReset = "learner connection reset",
        /// Some machines and the others cannot hear each other for a while.
        Partition = "partition",
        /// Some machines hear the others and are not heard for a while, or the other way round.
        OneWayPartition = "one-way partition",
        /// A machine's packets take much longer for a while.
        DelayBurst = "delay burst",
        /// A server's disk makes nothing durable for a while.
        DiskStall = "disk stall",
        /// A server's fsync of its log fails, or a write to it, after the disk has stood still for a moment: what was
        /// appended meanwhile is lost, or a part of it. The server leaves its role without its process ending; where it is a
        /// snapshot that is written, the process exits and starts again.
        FsyncError = "fsync error",
        /// The leader takes a session for over, whenever it was last heard from.
        SessionExpiry = "session expiry",
        /// A program's process dies; another takes its place after a while.
        ProgramCrash = "program crash",
        /// A client machine stands still for a while, as in a long garbage collection.
        Pause = "pause",
        /// A program's cancellable work is dropped at its present await point.
        Cancellation = "cancellation",
        /// A connection breaks with the reply to a write under way that has been applied.
        LostReplyApplied = "lost reply, applied",
        /// A connection breaks with a write under way, which no server ever reads.
        LostReplyNeverApplied = "lost reply, never applied",
        /// A connection breaks with a write proposed, which commits only after the session had time
        /// to re-attach elsewhere.
        LostReplyPending = "lost reply, still pending",
        /// A learner dies in the middle of its synchronisation, or its leader does.
        SyncCrash = "crash during synchronisation",
        /// A synchronisation is broken off: its connection breaks, or the learner leaves its role.
        SyncBreak = "synchronisation broken off",
        /// A write or an fsync of a synchronisation fails at the learner.
        SyncFsyncError = "fsync error during synchronisation",
        /// The leader's handler takes long over a synchronisation, while transactions commit.
        SlowSync = "slow synchronisation",
        /// A server dies just after an election: mostly the new leader.
        ElectionCrash = "crash after election",
        /// A leader that has just proposed is cut off from all others, which have not heard of the
        /// proposal, and logs it alone.
        LoneLeader = "lone leader",
        /// As a lone leader, whose disk refuses to log the proposal.
        LoneFsyncError = "fsync error of a lone leader",
        /// All servers leave their roles, each once or twice within a second.
        RejoinStorm = "rejoin storm",
        /// Programs, and machines' packets, now and then take long over a step: anything from a round trip to
        /// seconds ([`crate::seeded::pace`]).
        SlowReactions = "slow reactions",
        /// Programs wait for each other by priorities, which change a few times ([`crate::seeded::pace`]).
        Priorities = "priorities",
        /// The counters of the setup's containers are about to pass 2147483647, or have
        /// ([`crate::seeded::containers`]).
        CounterWrap = "sequence counters near their end",
        /// The leader deletes the setup's containers soon after they have lost their last child
        /// ([`crate::seeded::containers`]).
        ContainerDeletion = "containers deleted soon",
        /// A minority of the servers is down when all other faults have ended, and never comes back
        /// ([`crate::seeded::aftermath`]).
        LeftDown = "servers left down",
        /// A minority of the servers hears nobody, and nobody hears it, when all other faults have ended, for good
        /// ([`crate::seeded::aftermath`]).
        LeftCutOff = "servers left cut off",
        /// Servers vote by lot, whatever their histories ([`Election::ByLot`](vivarium_model::config::Election::ByLot)):
        /// what keeps one that lacks commits from leading is ZAB alone.
        ElectionByLot = "elections by lot",
        /// Some clients know one server, and reconnect to that one ([`crate::seeded::transport`]).
        OneServer = "connect strings of one server",
        /// Packets that a cut has held arrive by a clock of each connection, and ends of connections late
        /// ([`crate::seeded::transport`]).
        LateRetransmission = "late retransmission",
    }
}

/// What a fault lies in wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Await {
    /// A client sends a write.
    Write,
    /// A leader begins to synchronise a learner.
    Synchronisation,
    /// A server ends its election.
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
    /// Whether this kind strikes at any time, by the clock.
    pub(crate) fn takes_turns(self) -> bool {
        self.awaits().is_none() && !self.holds_throughout()
    }

    /// Whether this kind neither takes turns nor lies in wait, but holds throughout a run that has it.
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

    /// In one of how many seeds this kind is on, unless its rate says otherwise. Disks fail more seldom than
    /// processes and networks.
    pub(crate) fn usual_share(self) -> u32 {
        match self {
            Fault::FsyncError | Fault::SyncFsyncError | Fault::LoneFsyncError => 8,
            // Most of what elections do wrong shows only where they are as in the code.
            Fault::ElectionByLot => 16,
            Fault::OneServer => 8,
            // In every other run with clients that know one server.
            Fault::LateRetransmission => 16,
            kind if kind.holds_throughout() => 3,
            _ => 2,
        }
    }

    /// What this kind lies in wait for; `None` for one that does not.
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

/// Streams go by a kind's name, so that a new kind leaves those of the others as they are.
pub(crate) fn purpose(kind: Fault) -> String {
    format!("fault {kind}")
}
