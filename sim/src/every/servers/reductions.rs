//! The reductions of a search of servers, which make it smaller without loss, each with its condition.

/// Selects the reductions of a search of servers.
///
/// The first eight are *eager steps*: a step that is taken as soon as its condition holds, before anything else is
/// tried. Each is a persistent set of one step. No step that can still happen, including faults, can be distinguished
/// as having come before it instead of after it, and the eager step reveals to no server anything that is not revealed
/// in the other order. [`vivarium_model::server::eager`] has the full conditions and the reasons. None of the
/// conditions holds where background snapshots are taken, because a snapshot contains what is applied at that time. And
/// no eager step makes anything durable that is not committed, because S3 counts disks at the commit.
///
/// The last four leave out faults and elections that are equivalent to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reductions {
    /// The log thread appends. *If nothing waits for an fsync without this append.* A crash loses appended and
    /// unappended transactions alike, a failed fsync does too, and leaving the role appends the rest; but an fsync
    /// would include it.
    pub appends: bool,
    /// The log thread fsyncs. *If the server cannot crash any more; for a follower, if it cannot leave its role either
    /// (its acks would be read, though it would not have sent them); for a leader, unless the fsync commits.*
    pub fsyncs: bool,
    /// The packet thread's disk operation completes. *For a learner, if it can neither crash nor leave its role, except
    /// for operations whose traces such a fault erases or causes anyway. For a leader, if nothing can go wrong any
    /// more, a quorum follows it and continues to, and no server can introduce a newer epoch; never the operation that
    /// activates it.*
    pub writes: bool,
    /// A learner reads a packet. *If nothing can go wrong any more, or if no trace of the packet is left when the
    /// server leaves its role or crashes, and its answer cannot be distinguished from silence. In real elections, if it
    /// does not change what the learner says about itself.*
    pub packets: bool,
    /// A learner reads the end of the stream and leaves its role. *If it cannot crash, or its log is durable: leaving
    /// flushes the log, which a crash would not. And if the oracle elects: in real elections, a voter can distinguish a
    /// follower from a LOOKING server.*
    pub ends: bool,
    /// A leader reads an ack of a proposal. *If it does not count; or if nothing can go wrong any more and it does not
    /// commit.*
    pub acks: bool,
    /// A leader sends what is queued for a learner after a DIFF or TRUNC. *If it cannot leave its role, not for a newer
    /// epoch either, and nothing is or can be proposed that could come before.*
    pub streams: bool,
    /// The CommitProcessor applies what is committed. *For a learner always: searches of servers have no clients that
    /// could tell, and leaving the role applies all that is logged. For a leader, if nothing can go wrong any more and
    /// every learner is synchronised, because a registering learner receives what is applied.*
    pub applies: bool,
    /// A crashed server restarts immediately. *Under the oracle: until its election, a LOOKING server does nothing,
    /// like a server that is down. (In real elections it votes.)*
    pub starts: bool,
    /// No packet of a leader survives its crash. *Always: a packet that survives can as well be read before, because
    /// the learner that reads it has nothing else to do and notices the crash only afterwards.*
    pub mail: bool,
    /// When a connection breaks, one side notices immediately. *Always: the side that reaches the end of the stream
    /// first has read all that it will read by then, so the break can be postponed until just then.*
    pub breaks: bool,
    /// Only the smallest quorums elect. *Always, under the oracle: a larger quorum equals a smaller one that the rest
    /// has joined.*
    pub quorums: bool,
}

impl Reductions {
    /// All reductions.
    pub const ALL: Reductions = Reductions::uniform(true);

    /// No reductions: every step is an action.
    pub const NONE: Reductions = Reductions::uniform(false);

    /// Those that rest on no quorum: where configurations change, the conditions of all others would have to know them.
    pub const OF_RECONFIGURATIONS: Reductions =
        Reductions { starts: true, mail: true, breaks: true, ..Reductions::NONE };

    const fn uniform(all: bool) -> Reductions {
        Reductions {
            appends: all,
            fsyncs: all,
            writes: all,
            packets: all,
            ends: all,
            acks: all,
            streams: all,
            applies: all,
            starts: all,
            mail: all,
            breaks: all,
            quorums: all,
        }
    }

    /// Returns true if any kind of step is eager.
    pub(super) fn has_eager_steps(self) -> bool {
        let Reductions { appends, fsyncs, writes, packets, ends, acks, streams, applies, .. } =
            self;
        appends || fsyncs || writes || packets || ends || acks || streams || applies
    }
}
