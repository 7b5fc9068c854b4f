//! The kinds of faults that a run can have.
//!
//! These are what a plan schedules and a scenario switches on or off. What is counted and reported
//! are the steps that they lead to ([`vivarium_model::mark::FaultKind`]): a power loss is several
//! crashes, a lost reply a broken connection.

use std::fmt;

/// A kind of fault that a plan can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// A server's process dies; its unsynced tail is lost, survives in part or is torn. It starts
    /// again after a while.
    Crash,
    /// All servers die at once.
    PowerLoss,
    /// A server leaves its role, memory kept.
    Rejoin,
    /// A client's connection breaks; the last packets under way are lost.
    ClientReset,
    /// A learner's connection to its leader breaks; the last packets under way are lost.
    LearnerReset,
    /// Some machines and the others cannot hear each other for a while.
    Partition,
    /// Some machines hear the others and are not heard for a while, or the other way round.
    OneWayPartition,
    /// A machine's packets take much longer for a while.
    DelayBurst,
    /// A server's disk makes nothing durable for a while.
    DiskStall,
    /// The leader takes a session for over, whenever it was last heard from.
    SessionExpiry,
    /// A program's process dies; another takes its place after a while.
    ProgramCrash,
    /// A client machine stands still for a while, as in a long garbage collection.
    Pause,
    /// A program's cancellable work is dropped at its present await point.
    Cancellation,
    /// A connection breaks with the reply to a write under way that has been applied.
    LostReplyApplied,
    /// A connection breaks with a write under way, which no server ever reads.
    LostReplyNeverApplied,
    /// A connection breaks with a write proposed, which commits only after the session had time
    /// to re-attach elsewhere.
    LostReplyPending,
    /// A learner dies in the middle of its synchronisation, or its leader does.
    SyncCrash,
    /// A synchronisation is broken off: its connection breaks, or the learner leaves its role.
    SyncBreak,
    /// The leader's handler takes long over a synchronisation, while transactions commit.
    SlowSync,
    /// A server dies just after an election: mostly the new leader.
    ElectionCrash,
    /// A leader that has just proposed is cut off from all others, which have not heard of the
    /// proposal, and logs it alone.
    LoneLeader,
    /// All servers leave their roles, each once or twice within a second.
    RejoinStorm,
    /// Programs, and machines' packets, now and then take long over a step: anything from a round trip to
    /// seconds ([`crate::seeded::pace`]).
    SlowReactions,
    /// Programs wait for each other by priorities, which change a few times ([`crate::seeded::pace`]).
    Priorities,
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
    /// All of them.
    pub const ALL: [Fault; 24] = [
        Fault::Crash,
        Fault::PowerLoss,
        Fault::Rejoin,
        Fault::ClientReset,
        Fault::LearnerReset,
        Fault::Partition,
        Fault::OneWayPartition,
        Fault::DelayBurst,
        Fault::DiskStall,
        Fault::SessionExpiry,
        Fault::ProgramCrash,
        Fault::Pause,
        Fault::Cancellation,
        Fault::LostReplyApplied,
        Fault::LostReplyNeverApplied,
        Fault::LostReplyPending,
        Fault::SyncCrash,
        Fault::SyncBreak,
        Fault::SlowSync,
        Fault::ElectionCrash,
        Fault::LoneLeader,
        Fault::RejoinStorm,
        Fault::SlowReactions,
        Fault::Priorities,
    ];

    /// The name in printed plans; random streams go by it too, so it must not change.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Crash => "crash",
            Fault::PowerLoss => "power loss",
            Fault::Rejoin => "rejoin",
            Fault::ClientReset => "client connection reset",
            Fault::LearnerReset => "learner connection reset",
            Fault::Partition => "partition",
            Fault::OneWayPartition => "one-way partition",
            Fault::DelayBurst => "delay burst",
            Fault::DiskStall => "disk stall",
            Fault::SessionExpiry => "session expiry",
            Fault::ProgramCrash => "program crash",
            Fault::Pause => "pause",
            Fault::Cancellation => "cancellation",
            Fault::LostReplyApplied => "lost reply, applied",
            Fault::LostReplyNeverApplied => "lost reply, never applied",
            Fault::LostReplyPending => "lost reply, still pending",
            Fault::SyncCrash => "crash during synchronisation",
            Fault::SyncBreak => "synchronisation broken off",
            Fault::SlowSync => "slow synchronisation",
            Fault::ElectionCrash => "crash after election",
            Fault::LoneLeader => "lone leader",
            Fault::RejoinStorm => "rejoin storm",
            Fault::SlowReactions => "slow reactions",
            Fault::Priorities => "priorities",
        }
    }

    /// Whether this kind strikes at any time, by the clock.
    pub(crate) fn takes_turns(self) -> bool {
        self.awaits().is_none() && !self.holds_throughout()
    }

    /// Whether this kind neither takes turns nor lies in wait, but holds throughout a run that has it.
    pub(crate) fn holds_throughout(self) -> bool {
        matches!(self, Fault::SlowReactions | Fault::Priorities)
    }

    /// What this kind lies in wait for; `None` for one that does not.
    pub(crate) fn awaits(self) -> Option<Await> {
        match self {
            Fault::LostReplyApplied | Fault::LostReplyNeverApplied | Fault::LostReplyPending => {
                Some(Await::Write)
            }
            Fault::SyncCrash | Fault::SyncBreak | Fault::SlowSync => Some(Await::Synchronisation),
            Fault::ElectionCrash => Some(Await::Election),
            Fault::LoneLeader => Some(Await::Proposal),
            _ => None,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
