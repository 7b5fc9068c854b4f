//! What makes a search over servers smaller and loses nothing, each with its condition.

/// Which reductions a search over servers uses.
///
/// The first eight are *eager steps*: a step that is taken as soon as its condition holds, before
/// anything else is tried. Each is a persistent set of one step: nothing that can still happen, faults
/// included, can be told to have come before it rather than behind it, and it shows nobody anything
/// that is not shown either way. [`vivarium_model::server::eager`] has the conditions in full, and why. None of
/// them holds where background snapshots are taken, for these take whatever is applied by then; and
/// none makes anything durable that is not committed, for S3 counts disks when it is.
///
/// The last four leave out faults and elections that come to the same as others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reductions {
    /// The log thread appends. *If nothing waits to be fsynced without it.* A crash loses what is
    /// appended like what is not, a failed fsync as well, and leaving the role appends the rest; but an
    /// fsync takes it along.
    pub appends: bool,
    /// The log thread fsyncs. *If it cannot crash any more; a follower, if it cannot leave its role
    /// either (its acks are read, though nobody would have sent them); a leader, unless that commits.*
    pub fsyncs: bool,
    /// The packet thread's disk operation completes. *A learner's, if it can neither crash nor leave its
    /// role, except for those whose traces one of these wipes out or brings about anyway. A leader's,
    /// if nothing can go wrong any more, a quorum follows it and is about to stay, and nobody can bring
    /// up a newer epoch; never the one that activates it.*
    pub writes: bool,
    /// A learner reads a packet. *If nothing can go wrong any more, or if nothing of it is left when
    /// the server leaves its role or crashes, and it answers nothing that could be told from silence. In elections of the code, if it does not
    /// change what the learner says of itself.*
    pub packets: bool,
    /// A learner reads the end of the stream and leaves its role. *If it cannot crash, or its log is
    /// durable: leaving flushes it, which a crash would not. And if elections are the oracle's: in
    /// those of the code, whoever votes can tell a server that follows from one that is LOOKING.*
    pub ends: bool,
    /// A leader reads an ack of a proposal. *If it counts for nothing; or if nothing can go wrong any
    /// more and it does not commit.*
    pub acks: bool,
    /// A leader sends what is queued for a learner behind a DIFF or TRUNC. *If it cannot leave its
    /// role, not for a newer epoch either, and nothing is or can be proposed that could come before.*
    pub streams: bool,
    /// The CommitProcessor applies what is committed. *A learner's: searches of servers have no clients who
    /// could tell, and leaving the role applies all that is logged. A leader's, if nothing can go wrong any
    /// more and every learner is synchronised: who registers is told by what is applied.*
    pub applies: bool,
    /// A server that has crashed starts again at once. *Under the oracle: one that is LOOKING does
    /// nothing until it is elected, as one that is down. (In elections of the code it votes.)*
    pub starts: bool,
    /// No packet of a leader survives its crash. *Always: what does can as well be read before, for a
    /// learner that reads it has nothing else to do and learns of the crash only behind it.*
    pub mail: bool,
    /// Where a connection breaks, one side notices at once. *Always: whichever side comes to the end of
    /// the stream first has read all it will read by then, and the break can be put off until just
    /// then.*
    pub breaks: bool,
    /// Only the smallest quorums elect. *Always, under the oracle: a larger one is one that the rest
    /// has joined.*
    pub quorums: bool,
}

impl Reductions {
    /// All of them.
    pub const ALL: Reductions = Reductions::uniform(true);

    /// None: every step is an action.
    pub const NONE: Reductions = Reductions::uniform(false);

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

    /// Whether any step is taken as soon as it can be.
    pub(super) fn has_eager_steps(self) -> bool {
        let Reductions { appends, fsyncs, writes, packets, ends, acks, streams, applies, .. } =
            self;
        appends || fsyncs || writes || packets || ends || acks || streams || applies
    }
}
