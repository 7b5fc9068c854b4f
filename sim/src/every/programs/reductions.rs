//! What makes a search smaller and loses nothing, each with its condition; and the mistakes that can be
//! planted in the conditions, to see that the checks find them.

use vivarium_model::named;

/// Which reductions a search uses. See the table in the [module](super) for their conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reductions {
    /// A client's private steps come right before its next step that is not private, as one action.
    pub blocks: bool,
    /// Where no fault can come in between, a program takes its input at once, and a client machine its
    /// packet.
    pub inputs: bool,
    /// Of the prefixes of the log that come to the same, a server has applied the shortest.
    pub prefixes: bool,
    /// The part of the log that no client can ever be shown again is forgotten.
    pub past: bool,
}

impl Reductions {
    /// All of them.
    pub const ALL: Reductions =
        Reductions { blocks: true, inputs: true, prefixes: true, past: true };

    /// None: every step is an action, two states are one only if nothing tells them apart.
    pub const NONE: Reductions =
        Reductions { blocks: false, inputs: false, prefixes: false, past: false };

    /// Whether any is in use.
    pub fn any(self) -> bool {
        self != Reductions::NONE
    }
}

named! {
    /// A mistake in a reduction's condition, or in what a search must not leave out. Each can be planted
    /// ([`ProgramModel::flawed`](super::ProgramModel::flawed)), and each must be found by comparing searches.
    pub enum Flaw ("flaw") {
        /// A program takes its next input at once: no fault falls between a reply and the next call.
        InputAtOnce,
        /// A client machine reads its packets at once: no fault falls before that.
        PacketAtOnce,
        /// A sync is answered at once.
        SyncAtOnce,
        /// A random number is there at once.
        RandomAtOnce,
        /// The answer to a new session's request is read at once.
        SessionAtOnce,
        /// That a timer is kept from ending is asked only where a block begins.
        TimersOutsideOfBlocks,
        /// A step is private although a monitor minds when it happens.
        VisibleIsPrivate,
        /// Requests that are sent are taken for something that no monitor minds.
        SentIsInvisible,
        /// A late write is private.
        LateIsPrivate,
        /// The deletion of a container is private.
        DeletionIsPrivate,
        /// An input is taken at once whatever the program does with it.
        InputAlways,
        /// A packet is read at once whatever else there is for the program.
        PacketAlways,
        /// Both, although a connection can still be lost.
        AtOnceThoughLost,
        /// Both, although the session can still expire.
        AtOnceThoughExpiring,
        /// Both, although the program can still be killed.
        AtOnceThoughKilled,
        /// Both, although a timer can still end early.
        AtOnceThoughTimed,
        /// Both, although the leader can delete a container first.
        AtOnceThoughDeleting,
        /// Both, although a monitor takes notice.
        HeardAtOnce,
        /// A write that changes nothing is private.
        FailedWriteIsPrivate,
        /// That the time of a session is up which nobody keeps alive is private.
        OrphanExpiryIsPrivate,
        /// A block ends behind the first of its ways that ends in a step that is not private.
        OneWayOfABlock,
        /// The shortest prefix is taken whatever watches it sets.
        PrefixIgnoresWatches,
        /// The past is forgotten although a new session can be shown it.
        PastIgnoresNewSessions,
        /// The past is forgotten though servers lag.
        PastIgnoresServers,
        /// What monitors can look up in the history is not part of a state.
        PastIgnoresMonitors,
    }
}
