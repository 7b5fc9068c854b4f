//! The reductions, which make a search smaller without loss, and the mistakes that can be planted in their conditions
//! to test the checks.

use vivarium_model::named;

/// Selects the reductions of a search. The table in the [module](super) states their conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reductions {
    /// A client's private steps come right before its next step that is not private, as one action.
    pub blocks: bool,
    /// Where no fault can come in between, a program takes its input, and a client machine its packet, before any other
    /// step of the client.
    pub inputs: bool,
    /// Of several prefixes of the log with the same result, a server has applied the shortest.
    pub prefixes: bool,
    /// A state does not contain the part of the log that no client can observe any more.
    pub past: bool,
}

impl Reductions {
    /// All reductions.
    pub const ALL: Reductions =
        Reductions { blocks: true, inputs: true, prefixes: true, past: true };

    /// No reductions: every step is an action, and only equal states are merged.
    pub const NONE: Reductions =
        Reductions { blocks: false, inputs: false, prefixes: false, past: false };

    /// Returns true if any reduction is selected.
    pub fn any(self) -> bool {
        self != Reductions::NONE
    }
}

named! {
    /// A mistake in a reduction's condition, or in what a search must not leave out. Each can be planted
    /// ([`ProgramModel::flawed`](super::ProgramModel::flawed)), and a comparison of searches must find each.
    pub enum Flaw ("flaw") {
        /// A program takes its next input before anything else: no fault falls between a reply and the next call.
        InputAtOnce,
        /// A client machine reads its packets before anything else: no fault falls before the read.
        PacketAtOnce,
        /// A sync is answered before any other step of the client.
        SyncAtOnce,
        /// A random number is drawn before any other step of the client.
        RandomAtOnce,
        /// The answer to a new session's request is read before any other step of the client.
        SessionAtOnce,
        /// A search records a timer that it kept from ending early only at the start of a block.
        TimersOutsideOfBlocks,
        /// A step is private although a monitor minds when it happens.
        VisibleIsPrivate,
        /// The sending of requests counts as invisible to all monitors.
        SentIsInvisible,
        /// A late write is private.
        LateIsPrivate,
        /// The deletion of a container is private.
        DeletionIsPrivate,
        /// An input is taken first, whatever the program does with it.
        InputAlways,
        /// A packet is read first, whatever else the program can receive.
        PacketAlways,
        /// Inputs and packets are taken first although a connection can still be lost.
        AtOnceThoughLost,
        /// Inputs and packets are taken first although the session can still expire.
        AtOnceThoughExpiring,
        /// Inputs and packets are taken first although the program can still be killed.
        AtOnceThoughKilled,
        /// Inputs and packets are taken first although a timer can still end early.
        AtOnceThoughTimed,
        /// Inputs and packets are taken first although the leader can delete a container before.
        AtOnceThoughDeleting,
        /// Inputs and packets are taken first although they concern a monitor.
        HeardAtOnce,
        /// A write that changes nothing is private.
        FailedWriteIsPrivate,
        /// The expiry of a session that no process keeps alive is private.
        OrphanExpiryIsPrivate,
        /// A block ends at the first step that is not private, and the alternatives are lost.
        OneWayOfABlock,
        /// The shortest prefix is taken whatever watches it sets.
        PrefixIgnoresWatches,
        /// The past is forgotten although a new session can observe it.
        PastIgnoresNewSessions,
        /// The past is forgotten although servers lag.
        PastIgnoresServers,
        /// What monitors can look up in the history is not part of a state.
        PastIgnoresMonitors,
        /// A client's steps are looked up without regard to its sessions.
        FootprintWithoutSessions,
        /// A client's steps are looked up without regard to the faults that are left.
        FootprintWithoutBudget,
        /// The result of a write is looked up without regard to the log.
        FootprintOfWrites,
        /// The answer to a read is looked up without regard to the log.
        FootprintOfReads,
        /// A client's notification is looked up without regard to the transaction that causes it.
        FootprintOfWatches,
        /// What monitors make of events is looked up without regard to the tree that they look at.
        MonitorsWithoutTip,
        /// The steps of clients that are taken for each other are not compared.
        SymmetryOfSteps,
        /// The results of writes of clients that are taken for each other are not compared.
        SymmetryOfWrites,
        /// What monitors make of events is not compared with what they make of the events' images.
        SymmetryOfMonitors,
        /// The ends of runs are not compared with their images.
        SymmetryOfEnds,
    }
}

impl Flaw {
    /// The mistakes in how clients are taken for each other.
    pub const OF_SYMMETRY: [Flaw; 4] = [
        Flaw::SymmetryOfSteps,
        Flaw::SymmetryOfWrites,
        Flaw::SymmetryOfMonitors,
        Flaw::SymmetryOfEnds,
    ];
}
