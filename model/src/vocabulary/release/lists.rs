//! The lists of defects: which are planted, which show among servers alone, in a synchronisation or with observers, and
//! which break no property.

use super::Bug;

impl Bug {
    /// Deviations that are planted to test that the comparison with a real server finds them.
    pub const PLANTED: [Bug; 10] = [
        Bug::PlantedCversion,
        Bug::PlantedPzxid,
        Bug::PlantedSequence,
        Bug::PlantedVersion,
        Bug::PlantedMultiResults,
        Bug::PlantedExistEvent,
        Bug::PlantedChildWatch,
        Bug::PlantedDeleteAcl,
        Bug::PlantedEphemeralParent,
        Bug::PlantedCloseOrder,
    ];

    /// Deviations that are planted to test that sweeps find them.
    pub const PLANTED_FOR_SWEEPS: [Bug; 34] = [
        Bug::PlantedInformedEarly,
        Bug::PlantedInformsForgotten,
        Bug::PlantedDeafLeader,
        Bug::PlantedRevalidateKeepsTimer,
        Bug::PlantedTouchesKept,
        Bug::PlantedInheritedSessionsStay,
        Bug::PlantedWrongXid,
        Bug::PlantedLeaderNotCounted,
        Bug::PlantedLocalSync,
        Bug::PlantedHastySync,
        Bug::PlantedRequestsNotHeld,
        Bug::PlantedOwnerStays,
        Bug::PlantedExistForgotten,
        Bug::PlantedChildByCzxid,
        Bug::PlantedNewSessionsUnanswered,
        Bug::PlantedSyncForgotten,
        Bug::PlantedReadsWait,
        Bug::PlantedHealthyHungUp,
        Bug::PlantedSlowPings,
        Bug::PlantedTimeoutTold,
        Bug::PlantedAckBeforeFsync,
        Bug::PlantedLeaderAckBeforeFsync,
        Bug::PlantedElectionById,
        Bug::PlantedLeaderNotAsked,
        Bug::PlantedOldConnectionStays,
        Bug::PlantedCreateAsksNoAcl,
        Bug::PlantedIdentitiesReplaced,
        Bug::PlantedContainersAtOnce,
        Bug::PlantedTtlSinceCreation,
        Bug::PlantedContainersStay,
        Bug::PlantedOldQuorumEnough,
        Bug::PlantedNewLeaderOfOldQuorum,
        Bug::PlantedConfigurationLeft,
        Bug::PlantedNoWeightLeads,
    ];

    /// Errors of a client machine that are planted to test that its program's observations reveal them.
    pub const PLANTED_IN_CLIENTS: [Bug; 9] = [
        Bug::PlantedWatchesNotSetAgain,
        Bug::PlantedZxidOutlivesSession,
        Bug::PlantedDeletionMissesChildWatch,
        Bug::PlantedNewestFailsFirst,
        Bug::PlantedScopeIgnored,
        Bug::PlantedIdentitiesNotProvenAgain,
        Bug::PlantedWholePathsTold,
        Bug::PlantedLatePings,
        Bug::PlantedLongerTimeout,
    ];

    /// Guards of ZAB that are left out, to test that elections of arbitrary servers reveal it.
    pub const PLANTED_GUARDS: [Bug; 4] = [
        Bug::PlantedEpochWithoutQuorum,
        Bug::PlantedAheadCounts,
        Bug::PlantedHastyEpoch,
        Bug::PlantedAckedTwice,
    ];

    /// Returns true if no release has this bug.
    pub fn is_planted(self) -> bool {
        Bug::PLANTED.contains(&self)
            || Bug::PLANTED_FOR_SWEEPS.contains(&self)
            || Bug::PLANTED_IN_CLIENTS.contains(&self)
            || Bug::PLANTED_GUARDS.contains(&self)
    }

    /// Defects that can show among servers without clients, if every crashed server restarts. All others need
    /// clients, or a server that stays down ([`Bug::PlantedLeaderNotCounted`]), so a search of servers alone cannot
    /// find them.
    pub const AMONG_SERVERS: [Bug; 32] = [
        Bug::RefuseNewerZxid,
        Bug::TruncKeepsNewerSnapshot,
        Bug::TruncKeepsRecordBeyond,
        Bug::SnapKeepsOldLog,
        Bug::InterruptedTruncKeepsTree,
        Bug::TruncSnapshotUnsynced,
        Bug::TruncUnsynced,
        Bug::LeaderIgnoresNewerEpoch,
        Bug::AcksOutliveReconnect,
        Bug::FsyncErrorKeepsMemory,
        Bug::TornRecordHidesLog,
        Bug::FailedWriteComesLater,
        Bug::TruncCutsCommitted,
        Bug::SnapshotAheadOfLog,
        Bug::SnapshotWrittenInPlace,
        Bug::FirstSnapshotUnsynced,
        Bug::SnapshotOutlivesRole,
        Bug::RenameUnsynced,
        Bug::GapsAreReplayed,
        Bug::MissedWakeUp,
        Bug::DiffAckedUnlogged,
        Bug::EpochBeforeLog,
        Bug::NewLeaderAckedBeforeFsync,
        Bug::ProposalsAckedFirst,
        Bug::PendingClearedAtNewLeader,
        Bug::LogThreadOutlivesRole,
        Bug::TreeTakenBeforeLogEnds,
        Bug::SyncSkipsCommittedLog,
        Bug::TailNotApplied,
        Bug::InterruptedSnapKeepsTree,
        Bug::SnapNotFsynced,
        Bug::EpochFileNotCompleted,
    ];

    /// Differences of older releases that break no property of the registers by themselves: the comparison with real
    /// servers shows them, or the search that has two of them.
    pub const DIFFERENCES: [Bug; 11] = [
        Bug::ExistsAsksNoAcl,
        Bug::EventsAskNoAcl,
        Bug::MultiTellsNoStat,
        Bug::GapsAreReplayed,
        Bug::VersionBecomesMinusOne,
        Bug::OneWatchModePerPath,
        Bug::RecursiveWatchIsChildWatch,
        Bug::CheckWatchesSeesOthers,
        Bug::NoPersistentWatcherTypes,
        Bug::MissedWakeUp,
        Bug::LogWithoutSnapshotReplayed,
    ];

    /// Defects of elections and synchronisations that were repaired early, most of them before 3.4.14.
    pub const REPAIRED_EARLY: [Bug; 6] = [
        Bug::DiffWithoutTrunc,
        Bug::LeaderOfAnotherRound,
        Bug::EstablishedVotesDiffer,
        Bug::EqualZxidsIgnoreEpoch,
        Bug::DiffMovesZxidAhead,
        Bug::LogEndsBeforeWindow,
    ];

    /// Defects of older releases' synchronisations.
    pub const OF_SYNCHRONISATION: [Bug; 11] = [
        Bug::DiffAckedUnlogged,
        Bug::EpochBeforeLog,
        Bug::NewLeaderAckedBeforeFsync,
        Bug::ProposalsAckedFirst,
        Bug::PendingClearedAtNewLeader,
        Bug::LogThreadOutlivesRole,
        Bug::TreeTakenBeforeLogEnds,
        Bug::SyncSkipsCommittedLog,
        Bug::TailNotApplied,
        Bug::InterruptedSnapKeepsTree,
        Bug::SnapNotFsynced,
    ];

    /// Defects that show only in ensembles with observers.
    pub const OF_OBSERVERS: [Bug; 5] = [
        Bug::ObserversAnswer,
        Bug::ObserversToldOldVotes,
        Bug::ObserversCounted,
        Bug::PlantedInformedEarly,
        Bug::PlantedInformsForgotten,
    ];

    /// Defects that show only where observers connect to followers.
    pub const OF_OBSERVER_MASTERS: [Bug; 4] = [
        Bug::MasterDropsProposed,
        Bug::MasterOmitsCommitted,
        Bug::MasterIsOneOwner,
        Bug::HandlersOutliveMaster,
    ];

    /// Defects that show only where the configuration changes.
    pub const OF_RECONFIGURATION: [Bug; 12] = [
        Bug::UncommittedConfigActivated,
        Bug::UncommittedConfigKeepsOut,
        Bug::ObserverEpochBeforeLog,
        Bug::NextConfigDeletedAtStart,
        Bug::JoinerKeepsVote,
        Bug::OldQuorumStillNeeded,
        Bug::FoundConfigNotActivated,
        Bug::UnloggedObserverVotes,
        Bug::PlantedOldQuorumEnough,
        Bug::PlantedNewLeaderOfOldQuorum,
        Bug::PlantedConfigurationLeft,
        Bug::PlantedNoWeightLeads,
    ];

    /// Returns the defects of releases: all except the planted ones.
    pub fn of_releases() -> impl Iterator<Item = Bug> + Clone {
        Bug::ALL.into_iter().filter(|bug| !bug.is_planted())
    }
}
