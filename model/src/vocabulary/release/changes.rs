//! Which releases have which defect: by the number of a release follows what it does.
//!
//! Source: the history of Apache ZooKeeper's repository. A change is in a release if its commit is in the history of the
//! release's tag; what a commit changes was read. `vivarium conform` and `vivarium findings` compare with real releases.

use super::{Bug, ReleaseNumber};

/// When a defect came into ZooKeeper, and when it was repaired.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// The defect.
    pub bug: Bug,
    /// The number of its issue in ZooKeeper's tracker (`ZOOKEEPER-4925`), if it has one.
    pub tracker: Option<u16>,
    /// The first releases with it, one for each release line that got it. Empty if all releases before the repair have it.
    pub begins: &'static [ReleaseNumber],
    /// The first releases without it, one for each release line in which it is repaired. Empty if no release is.
    pub ends: &'static [ReleaseNumber],
}

impl Change {
    /// Returns true if a release has the defect.
    pub fn is_in(&self, number: ReleaseNumber) -> bool {
        (self.begins.is_empty() || number.has(self.begins)) && !number.has(self.ends)
    }
}

const MASTER: ReleaseNumber = ReleaseNumber::MASTER;

const fn v(minor: u8, patch: u8) -> ReleaseNumber {
    ReleaseNumber::new(3, minor, patch)
}

/// A defect that every release has.
const fn always(bug: Bug) -> Change {
    Change { bug, tracker: None, begins: &[], ends: &[] }
}

impl Change {
    const fn tracked(self, tracker: u16) -> Change {
        Change { tracker: Some(tracker), ..self }
    }

    const fn since(self, begins: &'static [ReleaseNumber]) -> Change {
        Change { begins, ..self }
    }

    const fn until(self, ends: &'static [ReleaseNumber]) -> Change {
        Change { ends, ..self }
    }
}

/// All defects of releases, each once, in the order of [`Bug::ALL`].
pub const CHANGES: &[Change] = &[
    always(Bug::RefuseNewerZxid).tracked(2354).since(&[v(5, 0)]),
    always(Bug::TruncKeepsNewerSnapshot).tracked(4837),
    always(Bug::TruncKeepsRecordBeyond),
    always(Bug::SnapKeepsOldLog).tracked(2846),
    always(Bug::InterruptedTruncKeepsTree).tracked(5094).since(&[v(4, 10), v(5, 3), v(6, 0)]),
    always(Bug::TruncSnapshotUnsynced),
    always(Bug::TruncUnsynced),
    always(Bug::LeaderIgnoresNewerEpoch),
    always(Bug::AcksOutliveReconnect),
    always(Bug::TruncCutsCommitted),
    always(Bug::SyncOvertakesCommits).since(&[v(5, 0)]),
    always(Bug::FsyncErrorKeepsMemory).tracked(4882).since(&[v(4, 10), v(5, 3), v(6, 0)]),
    always(Bug::TornRecordHidesLog).since(&[v(4, 9), v(5, 1), v(6, 0)]),
    always(Bug::FailedWriteComesLater).since(&[v(4, 9), v(5, 1), v(6, 0)]),
    always(Bug::SnapshotAheadOfLog),
    always(Bug::OutstandingAclIsOld),
    always(Bug::ContainerListIsOld).since(&[v(5, 1), v(6, 0)]),
    always(Bug::ApplyOutlivesRole).tracked(3598).since(&[v(4, 12), v(6, 0)]),
    always(Bug::RenameUnsynced),
    always(Bug::AclByNumber).tracked(4689),
    always(Bug::LongRecordUnreadable).tracked(4306),
    always(Bug::SnapshotWrittenInPlace),
    always(Bug::FirstSnapshotUnsynced).since(&[v(5, 3), v(6, 0)]),
    always(Bug::SnapshotOutlivesRole).since(&[v(4, 12), v(5, 4), v(6, 0)]),
    always(Bug::ExistsAsksNoAcl).tracked(2590).until(&[v(8, 4), v(9, 2)]),
    always(Bug::EventsAskNoAcl).tracked(4799).until(&[v(8, 4), v(9, 2)]),
    always(Bug::MultiTellsNoStat).tracked(4026).since(&[v(5, 0)]).until(&[
        v(7, 2),
        v(8, 2),
        v(9, 0),
    ]),
    always(Bug::GapsAreReplayed).tracked(4925).until(&[v(9, 4)]),
    always(Bug::VersionBecomesMinusOne).tracked(4743).until(&[MASTER]),
    always(Bug::OneWatchModePerPath).tracked(4466).since(&[v(6, 0)]).until(&[v(9, 0)]),
    always(Bug::RecursiveWatchIsChildWatch).tracked(4475).since(&[v(6, 0)]).until(&[v(9, 0)]),
    always(Bug::CheckWatchesSeesOthers).tracked(4466).since(&[v(6, 0)]).until(&[v(9, 0)]),
    always(Bug::NoPersistentWatcherTypes).tracked(4472).since(&[v(6, 0)]).until(&[v(9, 0)]),
    always(Bug::MissedWakeUp).tracked(4537).since(&[v(6, 0)]).until(&[
        v(6, 4),
        v(7, 2),
        v(8, 1),
        v(9, 0),
    ]),
    always(Bug::ObserversAnswer),
    always(Bug::ObserversToldOldVotes),
    always(Bug::ObserversCounted).tracked(2959).until(&[v(4, 13), v(5, 4), v(6, 0)]),
    always(Bug::DiffAckedUnlogged).tracked(3911).since(&[v(4, 10), v(5, 3), v(6, 0)]).until(&[
        v(5, 10),
        v(6, 3),
        v(7, 0),
    ]),
    always(Bug::EpochBeforeLog)
        .tracked(4643)
        .since(&[v(5, 10), v(6, 3), v(7, 0)])
        .until(&[v(8, 5), v(9, 2)]),
    always(Bug::NewLeaderAckedBeforeFsync)
        .tracked(4646)
        .since(&[v(5, 10), v(6, 3), v(7, 0)])
        .until(&[v(8, 5), v(9, 2)]),
    always(Bug::ProposalsAckedFirst)
        .tracked(4685)
        .since(&[v(5, 10), v(6, 3), v(7, 0)])
        .until(&[v(8, 5), v(9, 2)]),
    always(Bug::PendingClearedAtNewLeader)
        .tracked(4394)
        .since(&[v(5, 10), v(6, 3), v(7, 0)])
        .until(&[v(9, 3)]),
    always(Bug::LogThreadOutlivesRole)
        .tracked(4712)
        .since(&[v(5, 10), v(6, 3), v(7, 0)])
        .until(&[v(9, 3)]),
    always(Bug::TreeTakenBeforeLogEnds).since(&[v(4, 12), v(5, 4), v(6, 0)]).until(&[
        v(5, 10),
        v(6, 3),
        v(7, 0),
    ]),
    always(Bug::SyncSkipsCommittedLog).tracked(4925).since(&[v(9, 3)]).until(&[v(9, 4)]),
    always(Bug::TailNotApplied).tracked(2845).until(&[v(4, 12), v(5, 4), v(6, 0)]),
    always(Bug::InterruptedSnapKeepsTree)
        .tracked(3642)
        .since(&[v(4, 10), v(5, 3), v(6, 0)])
        .until(&[v(5, 10), v(6, 3), v(7, 0)]),
    always(Bug::SnapNotFsynced).tracked(2872).until(&[v(5, 10), v(6, 0)]),
    always(Bug::UncommittedConfigActivated).since(&[v(5, 0)]),
    always(Bug::UncommittedConfigKeepsOut).since(&[v(5, 0)]),
    always(Bug::ObserverEpochBeforeLog),
    always(Bug::NextConfigDeletedAtStart).since(&[v(5, 0)]),
    always(Bug::JoinerKeepsVote).since(&[v(5, 0)]),
    always(Bug::LogWithoutSnapshotReplayed).tracked(2325).until(&[v(5, 3), v(6, 0)]),
    always(Bug::DiffWithoutTrunc).tracked(1154).until(&[v(3, 4), v(4, 0)]),
    always(Bug::EpochFileNotCompleted).tracked(1653).since(&[v(4, 0)]).until(&[
        v(4, 6),
        v(5, 10),
        v(6, 3),
        v(7, 1),
        v(8, 0),
    ]),
    always(Bug::LeaderOfAnotherRound).tracked(1514).until(&[v(4, 4), v(5, 0)]),
    always(Bug::EqualZxidsIgnoreEpoch).tracked(1419).since(&[v(4, 0)]).until(&[v(4, 4), v(5, 0)]),
    always(Bug::DiffMovesZxidAhead).tracked(2355).until(&[v(4, 11), v(5, 4), v(6, 0)]),
    always(Bug::LogEndsBeforeWindow).tracked(2418).since(&[v(5, 0)]).until(&[v(6, 0)]),
    always(Bug::CounterWraps).tracked(1277).until(&[v(4, 4), v(5, 0)]),
    always(Bug::ClosingSessionWrites).tracked(1208).until(&[v(4, 0)]),
    always(Bug::RearmedByAge).tracked(1667).until(&[v(4, 6), v(5, 0)]),
    always(Bug::EstablishedVotesDiffer).tracked(1732).until(&[v(4, 6), v(5, 0)]),
    always(Bug::FoundConfigNotActivated).tracked(1324).since(&[v(5, 0)]).until(&[v(5, 0)]),
    always(Bug::UnloggedObserverVotes).since(&[v(5, 0)]),
    always(Bug::MasterDropsProposed).tracked(5088).since(&[v(6, 0)]),
    always(Bug::MasterOmitsCommitted).since(&[v(6, 0)]),
    always(Bug::MasterIsOneOwner).since(&[v(6, 0)]),
    always(Bug::HandlersOutliveMaster).since(&[v(6, 0)]),
    always(Bug::OldQuorumStillNeeded).since(&[v(5, 0)]),
];
