//! Mistakes that can be planted in the conditions, to see that the checks find them.

use crate::named;

named! {
    /// A mistake in the condition of a reduction over servers: one of its parts is left out. It can be
    /// planted (`EnsembleModel::flawed`), to see whether comparing searches finds it. Some are not found in
    /// small cases: they need more servers or faults, or what they leave out comes about in another way too.
    pub enum Flaw ("flaw") {
        /// Steps are eager although a background snapshot is being written.
        EagerThoughSnapshots,
        /// The log thread appends at once although a background snapshot begins with that.
        AppendsThoughSnapshotDue,
        /// What is committed is applied at once although a background snapshot can begin later.
        AppliesThoughSnapshots,
        /// The log thread appends although something waits to be fsynced without it.
        AppendsThoughUnsynced,
        /// A follower fsyncs at once although it can crash.
        FollowerFsyncsThoughCrashing,
        /// A follower fsyncs at once although it can leave its role.
        FollowerFsyncsThoughLeaving,
        /// A leader fsyncs at once although it can crash.
        LeaderFsyncsThoughCrashing,
        /// A leader fsyncs at once although its ack commits.
        LeaderFsyncsThoughCommitting,
        /// A leader fsyncs at once although it may send learners what is in its log on disk.
        LeaderFsyncsThoughRead,
        /// What becomes durable at once is not committed.
        DurableThoughUncommitted,
        /// A synchronisation's record is appended at once although that can fail.
        SyncAppendThoughLeaving,
        /// A synchronisation's records are fsynced at once although the learner can crash.
        SyncFsyncThoughCrashing,
        /// A leader's writes complete at once although servers can crash.
        LeaderWritesThoughCrashing,
        /// A leader's writes complete at once although connections can break.
        LeaderWritesThoughBreaking,
        /// A leader's writes complete at once although servers can leave their roles.
        LeaderWritesThoughLeaving,
        /// A leader's writes complete at once although its quorum is going.
        LeaderWritesThoughDeserted,
        /// A leader's epochs are there at once although there are newer ones, or rivals that try.
        LeaderWritesThoughDisputed,
        /// A leader's current epoch is there at once although that activates it.
        LeaderEpochThoughActivating,
        /// Other writes complete at once although the server can crash.
        WritesThoughCrashing,
        /// A stream's end is read at once although the server can crash with transactions that wait for
        /// its log thread.
        EndThoughQueued,
        /// A stream's end is read at once although the server can crash with an unsynced log.
        EndThoughUnsynced,
        /// A leader applies what is committed at once although faults can make learners register again.
        AppliesThoughFaulty,
        /// A leader applies what is committed at once although learners have yet to be synchronised.
        AppliesThoughRegistering,
        /// A learner reads whatever comes at once although servers can crash.
        PacketsThoughCrashing,
        /// A learner reads whatever comes at once although connections can break.
        PacketsThoughBreaking,
        /// A learner reads whatever comes at once although servers can leave their roles.
        PacketsThoughLeaving,
        /// A learner reads an epoch that it has accepted before at once although it can leave its role.
        KnownEpochThoughLeaving,
        /// A learner reads an epoch that is new to it at once.
        NewEpochAtOnce,
        /// A learner reads TRUNC at once.
        TruncAtOnce,
        /// A learner reads a commit in a TRUNC at once although its tree outlives that.
        CommitThoughTreeIsKept,
        /// A learner reads NEWLEADER at once.
        NewLeaderAtOnce,
        /// A learner reads UPTODATE at once although something was proposed meanwhile.
        UpToDateThoughProposed,
        /// A serving learner reads a proposal at once.
        ProposalAtOnce,
        /// A serving learner reads a commit at once although its tree outlives a failed fsync.
        CommitThoughMemoryIsKept,
        /// A leader reads acks at once although servers can crash.
        AcksThoughCrashing,
        /// A leader reads acks at once although connections can break.
        AcksThoughBreaking,
        /// A leader reads acks at once although servers can leave their roles.
        AcksThoughLeaving,
        /// A leader reads an ack at once although it commits.
        AcksThoughCommitting,
        /// A leader reads an ack of NEWLEADER at once.
        AcksOfNewLeader,
        /// A leader streams at once although it can leave its role.
        StreamThoughLeaving,
        /// A leader streams at once although it can propose something.
        StreamThoughProposing,
        /// A leader streams at once although something is proposed.
        StreamThoughOutstanding,
        /// A leader streams at once although there are newer epochs, or rivals that try.
        StreamThoughDisputed,
        /// A leader streams snapshots at once.
        StreamOfSnapshot,
        /// No packet of a follower survives its crash either.
        FollowersPacketsAreLost,
        /// Of a broken connection only the learner may notice first.
        OnlyLearnersNotice,
        /// Of a broken connection only the leader may notice first.
        OnlyLeadersNotice,
        /// A quorum is not joined by those whom it leaves out.
        NobodyJoins,
    }
}
