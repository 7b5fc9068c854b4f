//! Flaws that can be planted in the conditions of eager steps, to test that the checks find them.

use crate::named;

named! {
    /// A flaw in the condition of a reduction over servers: a part of the condition is left out. It can be planted
    /// (`EnsembleModel::flawed`) to test whether a comparison of searches finds it. Some are not found in small
    /// cases, because they need more servers or faults, or because another rule also excludes the error.
    pub enum Flaw ("flaw") {
        /// Steps are eager although a background snapshot is being written.
        EagerThoughSnapshots,
        /// The log thread appends immediately although a background snapshot begins with that.
        AppendsThoughSnapshotDue,
        /// A commit is applied immediately although a background snapshot can begin later.
        AppliesThoughSnapshots,
        /// The log thread appends although something waits to be fsynced without it.
        AppendsThoughUnsynced,
        /// A follower fsyncs immediately although it can crash.
        FollowerFsyncsThoughCrashing,
        /// A follower fsyncs immediately although it can leave its role.
        FollowerFsyncsThoughLeaving,
        /// A leader fsyncs immediately although it can crash.
        LeaderFsyncsThoughCrashing,
        /// A leader fsyncs immediately although its ack commits.
        LeaderFsyncsThoughCommitting,
        /// A leader fsyncs immediately although it may send learners what is in its log on disk.
        LeaderFsyncsThoughRead,
        /// A record that becomes durable immediately is not committed.
        DurableThoughUncommitted,
        /// A synchronisation's record is appended immediately although that can fail.
        SyncAppendThoughLeaving,
        /// A synchronisation's records are fsynced immediately although the learner can crash.
        SyncFsyncThoughCrashing,
        /// A leader's writes complete immediately although servers can crash.
        LeaderWritesThoughCrashing,
        /// A leader's writes complete immediately although connections can break.
        LeaderWritesThoughBreaking,
        /// A leader's writes complete immediately although servers can leave their roles.
        LeaderWritesThoughLeaving,
        /// A leader's writes complete immediately although its quorum is about to leave.
        LeaderWritesThoughDeserted,
        /// A leader's epochs are durable immediately although there are newer ones, or rivals that try.
        LeaderWritesThoughDisputed,
        /// A leader's current epoch is durable immediately although that activates it.
        LeaderEpochThoughActivating,
        /// Other writes complete immediately although the server can crash.
        WritesThoughCrashing,
        /// A stream's end is read immediately although the server can crash with transactions queued for its log
        /// thread.
        EndThoughQueued,
        /// A stream's end is read immediately although the server can crash with an unsynced log.
        EndThoughUnsynced,
        /// A leader applies commits immediately although faults can make learners register again.
        AppliesThoughFaulty,
        /// A leader applies what is committed immediately although learners have yet to be synchronised.
        AppliesThoughRegistering,
        /// A learner reads any packet immediately although servers can crash.
        PacketsThoughCrashing,
        /// A learner reads any packet immediately although connections can break.
        PacketsThoughBreaking,
        /// A learner reads any packet immediately although servers can leave their roles.
        PacketsThoughLeaving,
        /// A learner reads an epoch that it has accepted before immediately although it can leave its role.
        KnownEpochThoughLeaving,
        /// A learner reads an epoch that is new to it immediately.
        NewEpochAtOnce,
        /// A learner reads TRUNC immediately.
        TruncAtOnce,
        /// A learner reads a commit in a TRUNC immediately although its tree outlives that.
        CommitThoughTreeIsKept,
        /// A learner reads NEWLEADER immediately.
        NewLeaderAtOnce,
        /// A learner reads UPTODATE immediately although proposals arrived meanwhile.
        UpToDateThoughProposed,
        /// A serving learner reads a proposal immediately.
        ProposalAtOnce,
        /// A serving learner reads a commit immediately although its tree outlives a failed fsync.
        CommitThoughMemoryIsKept,
        /// A leader reads acks immediately although servers can crash.
        AcksThoughCrashing,
        /// A leader reads acks immediately although connections can break.
        AcksThoughBreaking,
        /// A leader reads acks immediately although servers can leave their roles.
        AcksThoughLeaving,
        /// A leader reads an ack immediately although it commits.
        AcksThoughCommitting,
        /// A leader reads an ack of NEWLEADER immediately.
        AcksOfNewLeader,
        /// A leader streams immediately although it can leave its role.
        StreamThoughLeaving,
        /// A leader streams immediately although it can propose.
        StreamThoughProposing,
        /// A leader streams immediately although a proposal is outstanding.
        StreamThoughOutstanding,
        /// A leader streams immediately although there are newer epochs, or rivals that try.
        StreamThoughDisputed,
        /// A leader streams snapshots immediately.
        StreamOfSnapshot,
        /// No packet of a follower survives its crash.
        FollowersPacketsAreLost,
        /// Only the learner may notice a broken connection first.
        OnlyLearnersNotice,
        /// Only the leader may notice a broken connection first.
        OnlyLeadersNotice,
        /// No server that an election left out joins the quorum.
        NobodyJoins,
    }
}
