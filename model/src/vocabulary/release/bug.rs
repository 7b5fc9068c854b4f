//! The defects that can be switched on: those of releases, and those that are planted to see whether they are found.

use crate::named;

named! {
    /// A defect of the server.
    pub enum Bug ("bug") {
        /// A start-up that finds zxids of a newer epoch than `currentEpoch`, and no
        /// `currentEpoch.tmp`, refuses for good (rule 6.2.2): a crash between the synchronisation's
        /// appends or snapshot and its epoch file leaves just that. Repaired: the epoch of the last zxid
        /// is taken; the history up to it is whole, because synchronisation is in order.
        RefuseNewerZxid => "start-up refuses a log newer than currentEpoch (HEAD)",
        /// TRUNC reloads the newest snapshot whatever its label (rule 6.9.6), although a prospective
        /// leader's snapshot can hold transactions beyond the cut. Repaired: such snapshots are deleted.
        TruncKeepsNewerSnapshot => "TRUNC reloads a snapshot beyond the cut (HEAD)",
        /// TRUNC to a zxid that is not in the log (a SNAP brought it) cuts behind the first record
        /// beyond it, which so stays (rule 6.9.6). Repaired: that record is cut as well.
        TruncKeepsRecordBeyond => "TRUNC to an unlogged zxid leaves one record beyond it (HEAD)",
        /// A SNAP leaves the old log below the new snapshot (rule 6.9.7), transactions that never were
        /// committed included: should a TRUNC reach below the snapshot, they come back; and a leader sends them
        /// to learners, without what the SNAP brought (ZOOKEEPER-2846; rule 6.4.10). Repaired: a SNAP
        /// replaces log and snapshots, and a TRUNC below it is answered by asking for a SNAP.
        SnapKeepsOldLog => "SNAP leaves uncommitted transactions in the old log (HEAD)",
        /// A synchronisation by TRUNC that breaks off keeps its tree, to which commits were applied
        /// that no log holds (ZOOKEEPER-5094; rule 6.8.3). Repaired: reload from disk, as after SNAP.
        InterruptedTruncKeepsTree =>
            "a broken-off TRUNC keeps unlogged commits in memory (ZOOKEEPER-5094, HEAD)",
        /// A synchronisation by TRUNC applies what commits before NEWLEADER to memory and logs none of
        /// it; the snapshot that holds it is not fsynced, yet NEWLEADER is acknowledged (rule 6.6.3).
        /// Repaired: the snapshot is fsynced and replaces the log, as after SNAP.
        TruncSnapshotUnsynced =>
            "TRUNC acknowledges commits that only an unsynced snapshot holds (HEAD)",
        /// A TRUNC shortens a log file and deletes those behind it, and neither is ever fsynced
        /// (`FileTxnLog.truncate`), although NEWLEADER is acknowledged and clients are served. POSIX lets a power
        /// loss undo both, whatever other files were fsynced since; file systems that write all their metadata in
        /// order do not make use of that. Then the next start replays what was cut below what was logged since
        /// (rule 6.9.10). Found here, by reading. Repaired: the file and its directory are fsynced.
        TruncUnsynced => "a power loss can undo a TRUNC (HEAD)",
        /// A leader whose epoch is below what a server has accepted meanwhile (from a rival that came to
        /// nothing) leads on, and that server, which refuses it, stays out for as long as it leads
        /// (rule 6.3.2). Repaired: the leader steps down, so that the next epoch is above both.
        LeaderIgnoresNewerEpoch =>
            "a server that accepted a newer epoch is shut out for as long as the leader leads (HEAD)",
        /// A leader counts what a learner acknowledged before it registered again, although that
        /// synchronisation can have cut it: a learner whose last zxid is proposed and not yet committed
        /// is told to TRUNC (rules 6.4.3 and 4.4.3). The transaction then commits while too few
        /// disks hold it. Found here, by the explorer. Repaired: once a learner has registered again,
        /// its older acks are forgotten and those that still come by its older connection are ignored.
        AcksOutliveReconnect =>
            "an ack still counts after its learner has reconnected and been truncated (HEAD)",
        /// A learner is synchronised by what the leader has *applied*: one that has logged, and
        /// acknowledged, more is told to TRUNC, although the leader may have committed that already and
        /// answered clients, and only not applied it yet (`LearnerHandler.syncFollower`; rules 6.4.3 and
        /// 4.5.8). The transaction is sent again, but until that is durable one disk less holds what a
        /// quorum has acknowledged. Found here, by reading; the sweeps and the explorer show it. Repaired: the
        /// history to go by is what is committed, toBeApplied included.
        TruncCutsCommitted =>
            "a reconnecting learner is told to cut what its leader has committed and not applied (HEAD)",
        /// A leader answers the syncs of its own clients at once, ahead of commits that it has yet to apply
        /// (`CommitProcessor.needCommit` with `matchSyncs` off; rules 4.5.6 and 4.5.8). What is read behind such a
        /// sync can miss a write that another server's client was answered before. Found here, by reading;
        /// the sweeps show it. Repaired: it takes its turn behind what is committed, as on learners.
        SyncOvertakesCommits =>
            "a leader answers its own clients' syncs ahead of commits that it has not applied (HEAD)",
        /// A server whose fsync has failed leaves its role and keeps its tree, although commits were
        /// applied to that (the quorum being others) which its log has lost (ZOOKEEPER-4882; rules
        /// 6.8 and 4.5.3). It votes with them, is never sent them again, and lacks them after its next
        /// start. Repaired: reload from disk, as after a broken-off SNAP.
        FsyncErrorKeepsMemory =>
            "a failed fsync keeps commits in memory that the log has lost (ZOOKEEPER-4882, HEAD)",
        /// A write to the log that fails halfway (the disk is full) leaves half a record in the file, and the
        /// server, which leaves its role without its process ending, later goes on behind it in the same file.
        /// A start takes the half record for the end of the file: everything that was acknowledged since is
        /// gone, until a new file was begun (rule 6.9.8). Found here, by reading. Repaired: a new file is begun
        /// after a failure.
        TornRecordHidesLog => "a log goes on behind the half record of a failed write (HEAD)",
        /// What a failed write was to bring to the log stays in the buffer of the file, which outlives the role.
        /// The server has forgotten it, and joins with what it has in memory and on disk; then the next write
        /// brings it along: a transaction that may never have been committed stands in the log, below what
        /// was (rule 6.9.9). A start replays it. Found here, by reading. Repaired: the buffer is given up with
        /// the file.
        FailedWriteComesLater =>
            "what a failed write has left in its buffer comes with a later one (HEAD)",
        /// A background snapshot is a file like any other as soon as it is written, although the log may
        /// not hold yet, or not durably, what it was taken of: a commit is applied before the server's own
        /// log thread has appended it (rule 4.5.3). It is not fsynced either, and
        /// `PurgeTxnLog` counts files. A power loss that takes the log's tail and spares the snapshot
        /// leaves a tree that no prefix yields, or a label beyond the log's end; the log goes on behind
        /// that label and has a gap that only this one snapshot covers, until three newer ones, which the
        /// next power loss can take, push it out. Found here, by a sweep. Repaired: a snapshot is fsynced,
        /// and gets its name when the log is durable up to all that it may hold; none goes before a newer
        /// one is durable.
        SnapshotAheadOfLog => "a background snapshot holds what its log may yet lose (HEAD)",
        /// While a setACL is under way, requests behind it are still checked against the old ACL
        /// (`PrepRequestProcessor`: the change record gets the new aversion and keeps the list). Repaired:
        /// the record gets the list too. Found here, by reading; the bridge objects where a client has writes under way
        /// when its right is taken away.
        OutstandingAclIsOld => "a setACL under way is not yet asked (HEAD)",
        /// The container manager lists what is to be deleted and then asks for one deletion after the other, without a
        /// look at what has become of the znode meanwhile (`ContainerManager.checkContainers`; rules 1.5.4 and 1.5.5).
        /// Whatever has no children and is no ephemeral goes: a TTL znode that was just changed, a container that was
        /// made anew, a persistent znode in the place of a container. Found here, by reading. Repaired: it looks again
        /// before each deletion, and leaves a znode alone while a change of it is outstanding.
        ContainerListIsOld => "the leader deletes what has taken a container's place (HEAD)",
        /// The thread that applies what is committed is not waited for when the role ends (`CommitProcessor.shutdown`;
        /// rule 6.8.6; ZOOKEEPER-3598, which was reverted). The transaction that it has begun is applied from the log
        /// by the main thread, and what the thread has left of it comes last, over whatever the server has applied
        /// since: older data, the deletion of a znode that was created anew. The last zxid is right, so no leader
        /// mends it. Repaired: the role's end waits for the thread.
        ApplyOutlivesRole =>
            "the rest of a transaction is applied after the role has ended (ZOOKEEPER-3598, HEAD)",
        /// `acceptedEpoch` and `currentEpoch` are replaced by files that are fsynced and renamed over them, and the
        /// directory is never fsynced (`AtomicFileOutputStream`; rule 6.9.14), though a server answers what it has
        /// written there. As POSIX has it, a power loss may undo the rename, whatever other files were fsynced since;
        /// with [`Metadata::Ordered`](crate::vocabulary::file_system::Metadata::Ordered) only until then. A server
        /// accepts the same epoch twice, or does not start. Found here, by reading. Repaired: the directory is fsynced.
        RenameUnsynced => "a power loss can undo the rename of an epoch file (HEAD)",
        /// Znodes have numbers for their ACLs, and a snapshot has the list of numbers from its beginning, the znodes from
        /// later (`ReferenceCountedACLCache`; rule 6.9.15; ZOOKEEPER-4689). A znode that got a new ACL meanwhile is in it
        /// with a number that stands for none there. A start that looks it up ends; else no client may read the znode until
        /// another ACL gets that number, and then that ACL decides. Repaired: an ACL that is not in the list yet is written
        /// with the first znode that has it.
        AclByNumber => "a snapshot has numbers of ACLs that its list has not (ZOOKEEPER-4689, HEAD)",
        /// A record is written whatever its length, and read up to a limit only (`BinaryInputArchive.checkLength`; rule
        /// 1.11.2; ZOOKEEPER-4306). A closeSession lists all the session's ephemerals; a multi has identities in
        /// place of `auth`. When one becomes too long the learners cannot read the proposal and leave, their leader cannot
        /// read its own log any more when it leaves its role, and the next leader does the same when the session expires.
        /// Repaired: `prep` refuses such a multi, and such a closeSession is written without the list (as all are with
        /// `zookeeper.closeSessionTxn.enabled=false`): who applies it finds the same znodes by their owner.
        LongRecordUnreadable => "a record is logged that is longer than servers read (ZOOKEEPER-4306, HEAD)",
        /// A snapshot is written over the file of its name, which is truncated first (`FileTxnSnapLog.save`; rule
        /// 6.9.11): by a new leader whose tree is at the zxid of a snapshot, above all. Should the process end before
        /// the file is whole, or the power fail before it is on the disk, a start passes over it to an older one, or
        /// begins with the empty database where there is none, without a word. What the log does not reach back to is
        /// lost: all that a SNAP has brought. Found here, by reading. Repaired: a snapshot is written under another
        /// name and renamed once it is on the disk, as that of a SNAP.
        SnapshotWrittenInPlace => "a snapshot is written over the file that a start would read (HEAD)",
        /// The snapshot of a first start is not fsynced, though a log without any snapshot is refused
        /// (`FileTxnSnapLog.restore`; rule 6.9.4): a power loss soon after, which leaves the log as it was acknowledged,
        /// leaves servers that never start again by themselves. Found here, by reading. Repaired: it is fsynced.
        FirstSnapshotUnsynced => "a power loss takes the first snapshot, without which no log is read (HEAD)",
        /// The background snapshot goes on when its server leaves its role (`SyncRequestProcessor` does not join the
        /// thread; rule 6.9.12), and so holds what the log has and was never committed, which the server applies then.
        /// A TRUNC cuts that from the log and loads this snapshot, whose name is older. Found here, by reading.
        /// Repaired: the role ends when the snapshot is written.
        SnapshotOutlivesRole => "a background snapshot goes on after its server has left its role (HEAD)",
        /// exists asks no READ of whoever asks (up to 3.8.3 and 3.9.1; ZOOKEEPER-2590): the Stat of a
        /// znode is no secret.
        ExistsAsksNoAcl => "exists needs no READ (ZOOKEEPER-2590)",
        /// Watch events are told to everybody, READ or not (up to 3.8.3 and 3.9.1; ZOOKEEPER-4799).
        EventsAskNoAcl => "watch events need no READ (ZOOKEEPER-4799)",
        /// A `create2` inside a multi is taken for a `create` and tells no Stat (3.8.0;
        /// `MultiOperationRecord`).
        MultiTellsNoStat => "create2 in a multi tells no Stat",
        /// A gap in the log is replayed like any other log, and a learner takes a DIFF with a gap (up to
        /// 3.9.3; ZOOKEEPER-4925). Today a start refuses a log with a gap above its snapshot
        /// (`ZKDatabase.addCommittedProposal`).
        GapsAreReplayed => "a log with a gap is replayed (ZOOKEEPER-4925)",
        /// A version comes to -1 on its way around, which as an expected version means any (up to 3.9;
        /// ZOOKEEPER-4743).
        VersionBecomesMinusOne => "a version can be -1 (ZOOKEEPER-4743)",
        /// A connection watches a path in one way only: another watch on the same path takes the place
        /// of the first. And removeWatches knows of no ways: it takes what it finds among the data
        /// watches, the child watches, or both (up to 3.8; ZOOKEEPER-4466).
        OneWatchModePerPath =>
            "a watch takes the place of one of another kind on its path (ZOOKEEPER-4466)",
        /// A recursive watch is registered among the child watches too (up to 3.8; ZOOKEEPER-4475).
        RecursiveWatchIsChildWatch => "a recursive watch is a child watch too (ZOOKEEPER-4475)",
        /// checkWatches finds whoever watches the path, whether it is the asker or not (3.8.0, as observed; up to the rework of ZOOKEEPER-4466).
        CheckWatchesSeesOthers => "checkWatches finds others' watches too",
        /// removeWatches and checkWatches do not know the types of persistent watches, and call them unreadable (3.8.0).
        NoPersistentWatcherTypes => "types of persistent watches are unreadable",

        /// A CommitProcessor looks into its queues, finds nothing, and waits for a wake-up that has just gone by:
        /// what had come in between stays there until something else comes (3.6.0 to 3.8.0; ZOOKEEPER-4537; rule
        /// 4.5.10). Since then it looks once more before it waits.
        MissedWakeUp => "a CommitProcessor sleeps although something waits (ZOOKEEPER-4537)",

        // ---- planted: no release has these; the comparison with a real server must find them ----
        /// Planted: a create counts twice in the parent's cversion.
        PlantedCversion => "planted: creates count twice in cversion",
        /// Planted: a delete leaves the parent's pzxid alone.
        PlantedPzxid => "planted: deletes leave pzxid alone",
        /// Planted: a sequence number is the number of children.
        PlantedSequence => "planted: sequence numbers are numbers of children",
        /// Planted: -1 as an expected version is a version like any other.
        PlantedVersion => "planted: version -1 is compared",
        /// Planted: in a failed multi the operations before the failing one are said to have failed too.
        PlantedMultiResults => "planted: a failed multi's first results are wrong",
        /// Planted: a watch for a creation tells of changed data.
        PlantedExistEvent => "planted: a creation is told as changed data",
        /// Planted: a deletion is no change of the parent's children.
        PlantedChildWatch => "planted: deletions fire no child watch of the parent",
        /// Planted: a delete asks the znode's ACL instead of the parent's.
        PlantedDeleteAcl => "planted: delete asks the znode's own ACL",
        /// Planted: an ephemeral can have children.
        PlantedEphemeralParent => "planted: ephemerals can have children",
        /// Planted: a closing session's connection is closed before its ephemerals are deleted, and so
        /// hears nothing of them.
        PlantedCloseOrder => "planted: who closes hears nothing of it",

        // ---- planted: no release has these; sweeps must find them ----
        /// Planted: the leader takes no notice of signs of life.
        PlantedDeafLeader => "planted: the leader takes no notice of touches",
        /// Planted: a session that goes on at another server is not heard of by that.
        PlantedRevalidateKeepsTimer => "planted: revalidation does not touch the session",
        /// Planted: a learner tells its leader of nobody.
        PlantedTouchesKept => "planted: learners forward no touches",
        /// Planted: a new leader expires none of the sessions that it finds in its tree.
        PlantedInheritedSessionsStay => "planted: a new leader never expires older sessions",
        /// Planted: one answer in sixteen has the number of the next request.
        PlantedWrongXid => "planted: some answers have another request's number",
        /// Planted: a leader's own log does not count towards its quorum, so that it needs one server more.
        PlantedLeaderNotCounted => "planted: a leader does not count itself",
        /// Planted: a learner answers a sync by itself.
        PlantedLocalSync => "planted: learners answer syncs by themselves",
        /// Planted: a leader answers a sync at once, whatever it has proposed.
        PlantedHastySync => "planted: a leader answers syncs ahead of what it has proposed",
        /// Planted: a leader does not keep what a session asks of it behind what it has asked by a learner, as if
        /// `forward_learner_requests_to_commit_processor_disabled` were set.
        PlantedRequestsNotHeld => "planted: leaders do not hold learners' requests",
        /// Planted: a session that goes on at another server still belongs to the one before.
        PlantedOwnerStays => "planted: revalidation does not change the owner of a session",
        /// Planted: SetWatches neither tells of a znode that stands though its creation was awaited, nor sets the watch.
        PlantedExistForgotten =>
            "planted: SetWatches tells nothing of a znode that was awaited and stands",
        /// Planted: SetWatches compares the znode's czxid where the children's pzxid counts.
        PlantedChildByCzxid =>
            "planted: SetWatches asks when a znode was created, not when its children changed",
        /// Planted: a client does not tell a server to which it comes back what it watches.
        PlantedWatchesNotSetAgain => "planted: clients do not set their watches again",
        /// Planted: a client's new session goes on from what the old one has seen.
        PlantedZxidOutlivesSession => "planted: a new session says what the old one has seen",
        /// Planted: a deletion is not told to those who watch the znode's children.
        PlantedDeletionMissesChildWatch => "planted: clients tell child watches of no deletion",
        /// Planted: of the requests that wait for a connection the newest fails first.
        PlantedNewestFailsFirst => "planted: of requests that were not sent the newest fails first",
        /// Planted: a call that is pinned to a session is taken by the next one.
        PlantedScopeIgnored => "planted: calls of an older session go to the new one",
        /// Planted: a client does not prove its identities again to a server to which it reconnects.
        PlantedIdentitiesNotProvenAgain => "planted: clients do not prove their identities again",
        /// Planted: a client below a chroot tells its program the whole paths of events.
        PlantedWholePathsTold => "planted: events name whole paths to clients with a chroot",
        /// Planted: a client pings after two thirds of its timeout, when it should have heard already.
        PlantedLatePings => "planted: clients ping too late",
        /// Planted: a client takes its timeout for half as long again as it is.
        PlantedLongerTimeout => "planted: clients take their timeout for longer than it is",
        /// Planted: whose session is closing can still create.
        PlantedClosingSessionWrites => "planted: a session that is closing can write",
        /// Planted: a leader answers no request of a session of its own clients that was created since it leads.
        PlantedNewSessionsUnanswered =>
            "planted: a leader answers no client of its own whose session is new",
        /// Planted: a sync that waits for a proposal is never answered.
        PlantedSyncForgotten => "planted: a sync behind a proposal is forgotten",
        /// Planted: what a session has asked behind a write stays in its queue when that commits.
        PlantedReadsWait => "planted: what waits behind a write is left there when it commits",
        /// Planted: a leader hangs up on a learner that has a proposal to acknowledge when it is time for pings.
        PlantedHealthyHungUp => "planted: a leader hangs up on learners that are about to acknowledge",
        /// Planted: a leader pings its learners just often enough for them to stay, and hears as seldom of their sessions.
        PlantedSlowPings => "planted: a leader pings once in almost syncLimit ticks",
        /// Planted: a client that moves to another server gets a timeout that is a tick longer than the leader's.
        PlantedTimeoutTold => "planted: a client gets another timeout than the leader has",
        /// Planted: a learner acknowledges what it has appended and not fsynced, besides.
        PlantedAckBeforeFsync => "planted: a learner acknowledges before its fsync",
        /// Planted: a leader acknowledges to itself what it has appended and not fsynced, besides.
        PlantedLeaderAckBeforeFsync => "planted: a leader counts itself before its fsync",
        /// Planted: a session that comes back to a server keeps its old connection there as well.
        PlantedOldConnectionStays => "planted: a server keeps a session's old connection",
        /// Planted: a create asks the parent's ACL for no permission.
        PlantedCreateAsksNoAcl => "planted: creates ask for no permission",
        /// Planted: an identity that a connection proves takes the place of those it has proven before.
        PlantedIdentitiesReplaced => "planted: addAuth replaces a connection's identities",
        /// Planted: of two votes the one for the larger server id is better, whatever their zxids.
        PlantedElectionById => "planted: the larger server id wins an election",
        /// Planted: who hears of a leader from a quorum follows, although that one has not said that it leads.
        PlantedLeaderNotAsked => "planted: an election ends for a leader that has not said that it leads",

        /// Planted: a container goes when it is looked at, though nothing was ever in it.
        PlantedContainersAtOnce => "planted: containers go although they never had a child",
        /// Planted: a TTL znode's time begins with its creation, whenever its data change.
        PlantedTtlSinceCreation => "planted: a time to live begins with the creation only",
        /// Planted: a leader looks for containers and TTL znodes once, and never again.
        PlantedContainersStay => "planted: a leader looks for containers to delete only once",

        // ---- planted: no release has these; guards of ZAB that only matter if elections do not choose the largest, or
        // among five servers ----
        /// Planted: a leader does not wait for acknowledgements of the new epoch before it synchronises.
        PlantedEpochWithoutQuorum =>
            "planted: a leader needs no quorum of servers that acknowledge its epoch",
        /// Planted: a leader counts a learner whose history is ahead of its own.
        PlantedAheadCounts => "planted: a follower that is ahead of its leader counts",
        /// Planted: a leader's currentEpoch is the new one as soon as it has accepted it itself.
        PlantedHastyEpoch =>
            "planted: a leader's currentEpoch is new before a quorum has acknowledged that epoch",
        /// Planted: the NEWLEADER that a learner acknowledges once more after it has reconnected counts twice.
        PlantedAckedTwice => "planted: a learner that reconnects acknowledges NEWLEADER twice",
    }
}

impl Bug {
    /// Deviations that are planted to see whether the comparison with a real server finds them.
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

    /// Deviations that are planted to see whether sweeps find them.
    pub const PLANTED_FOR_SWEEPS: [Bug; 29] = [
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
        Bug::PlantedClosingSessionWrites,
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
    ];

    /// Mistakes of a client machine that are planted to see whether what its program observes shows them.
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

    /// Guards of ZAB that are left out, to see whether elections that choose anybody find it.
    pub const PLANTED_GUARDS: [Bug; 4] = [
        Bug::PlantedEpochWithoutQuorum,
        Bug::PlantedAheadCounts,
        Bug::PlantedHastyEpoch,
        Bug::PlantedAckedTwice,
    ];

    /// Whether no release has it.
    pub fn is_planted(self) -> bool {
        Bug::PLANTED.contains(&self)
            || Bug::PLANTED_FOR_SWEEPS.contains(&self)
            || Bug::PLANTED_IN_CLIENTS.contains(&self)
            || Bug::PLANTED_GUARDS.contains(&self)
    }

    /// Defects that servers can show among themselves while every one of them comes back from its crashes. All
    /// others need clients, or a server that stays down ([`Bug::PlantedLeaderNotCounted`]): a search that has
    /// servers alone sees nothing of them.
    pub const AMONG_SERVERS: [Bug; 20] = [
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
    ];

    /// What release 3.8.0 does otherwise than today.
    pub const OF_3_8_0: [Bug; 10] = [
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
    ];

    /// The defects that some release has: all but those that are planted.
    pub fn of_releases() -> impl Iterator<Item = Bug> + Clone {
        Bug::ALL.into_iter().filter(|bug| !bug.is_planted())
    }
}
