//! The defects that can be switched on: those of releases, and those planted to test the checkers.

use crate::named;

named! {
    /// A defect of the server.
    pub enum Bug ("bug") {
        /// A start refuses for good if the log has zxids of a newer epoch than `currentEpoch` and there is no
        /// `currentEpoch.tmp` (rule 6.2.2). A crash during synchronisation, between its appends or snapshot and its
        /// epoch file, leaves exactly that. Repaired: the server takes the epoch of the last zxid; the history up to
        /// there is complete, because synchronisation writes in order.
        RefuseNewerZxid => "start-up refuses a log newer than currentEpoch (HEAD)",
        /// TRUNC reloads the newest snapshot whatever zxid its name has (rule 6.9.6), although a prospective leader's
        /// snapshot can hold transactions after the truncation point. Repaired: such snapshots are deleted.
        TruncKeepsNewerSnapshot => "TRUNC reloads a snapshot beyond the cut (HEAD)",
        /// TRUNC to a zxid that the log lacks (because a SNAP brought it) truncates after the first record beyond
        /// that zxid, and so keeps the record (rule 6.9.6). Repaired: that record is truncated as well.
        TruncKeepsRecordBeyond => "TRUNC to an unlogged zxid leaves one record beyond it (HEAD)",
        /// A SNAP leaves the old log below the new snapshot (rule 6.9.7), including transactions that were never
        /// committed. A TRUNC to a zxid below the snapshot brings them back, and a leader sends them to learners
        /// without the content of the SNAP (ZOOKEEPER-2846; rule 6.4.10). Repaired: a SNAP replaces log and
        /// snapshots, and the server answers a TRUNC below it with a request for a SNAP.
        SnapKeepsOldLog => "SNAP leaves uncommitted transactions in the old log (HEAD)",
        /// A synchronisation by TRUNC that is interrupted keeps its tree, to which it has applied commits that no log
        /// holds (ZOOKEEPER-5094; rule 6.8.3). Repaired: the server reloads from disk, as after an interrupted SNAP.
        InterruptedTruncKeepsTree =>
            "a broken-off TRUNC keeps unlogged commits in memory (ZOOKEEPER-5094, HEAD)",
        /// A synchronisation by TRUNC applies the commits before NEWLEADER to memory and logs none of them. Only a
        /// snapshot without fsync holds them when the learner acknowledges NEWLEADER (rule 6.6.3). Repaired: the
        /// snapshot is fsynced and replaces the log, as after SNAP.
        TruncSnapshotUnsynced =>
            "TRUNC acknowledges commits that only an unsynced snapshot holds (HEAD)",
        /// A TRUNC shortens one log file and deletes the later ones without an fsync of either change
        /// (`FileTxnLog.truncate`), and yet the learner acknowledges NEWLEADER and serves clients. POSIX allows a
        /// power loss to undo both changes, whatever other files were fsynced since; file systems that write all
        /// metadata in order do not do this. The next start then replays the truncated records before those logged
        /// since (rule 6.9.10). Found here, by reading. Repaired: the file and its directory are fsynced.
        TruncUnsynced => "a power loss can undo a TRUNC (HEAD)",
        /// A leader continues although a server has accepted a newer epoch from an unsuccessful rival. That server
        /// refuses the leader and stays out of the quorum as long as the leader leads (rule 6.3.2). Repaired: the
        /// leader steps down, so that the next epoch is larger than both.
        LeaderIgnoresNewerEpoch =>
            "a server that accepted a newer epoch is shut out for as long as the leader leads (HEAD)",
        /// A leader counts acks that a learner sent before it registered again, although the new synchronisation can
        /// truncate the acknowledged transactions: a learner whose last zxid is proposed and not committed gets a
        /// TRUNC (rules 6.4.3 and 4.4.3). The transaction then commits while too few disks hold it. Found here, by
        /// the explorer. Repaired: after a learner has registered again, the leader forgets its older acks and
        /// ignores those that arrive on the older connection.
        AcksOutliveReconnect =>
            "an ack still counts after its learner has reconnected and been truncated (HEAD)",
        /// A leader synchronises a learner up to what the leader has *applied*. A learner that has logged and
        /// acknowledged more gets a TRUNC, although the leader may have committed those transactions and answered
        /// clients without having applied them (`LearnerHandler.syncFollower`; rules 6.4.3 and 4.5.8). The leader
        /// sends them again, but until they are durable, one disk too few holds an acknowledged transaction. Found
        /// here, by reading; the sweeps and the explorer show it. Repaired: the leader goes by the committed history,
        /// toBeApplied included.
        TruncCutsCommitted =>
            "a reconnecting learner gets a TRUNC of transactions that its leader has committed but not applied (HEAD)",
        /// A leader answers the syncs of its own clients immediately, before commits that it has yet to apply
        /// (`CommitProcessor.needCommit` with `matchSyncs` off; rules 4.5.6 and 4.5.8). A read after such a sync can
        /// miss a write whose reply a client of another server already has. Found here, by reading; the sweeps show
        /// it. Repaired: the sync waits for the earlier commits, as on learners.
        SyncOvertakesCommits =>
            "a leader answers its own clients' syncs ahead of commits that it has not applied (HEAD)",
        /// A server whose fsync failed leaves its role and keeps its tree. The tree may contain commits (of a quorum
        /// of other servers) that its log has lost (ZOOKEEPER-4882; rules 6.8 and 4.5.3). The server votes with their
        /// zxids, never receives them again, and lacks them after its next start. Repaired: the server reloads from
        /// disk, as after an interrupted SNAP.
        FsyncErrorKeepsMemory =>
            "a failed fsync keeps commits in memory that the log has lost (ZOOKEEPER-4882, HEAD)",
        /// A write to the log that fails halfway, as on a full disk, leaves half a record in the file. The server
        /// leaves its role while its process continues, and later appends to the same file. A start takes the half
        /// record for the end of the file and ignores everything acknowledged since, up to the next new file (rule
        /// 6.9.8). Found here, by reading. Repaired: the server begins a new file after a failure.
        TornRecordHidesLog => "a log is appended to after the half-written record of a failed write (HEAD)",
        /// The content of a failed write stays in the file's buffer, which outlives the role. The server has
        /// forgotten it and joins with the content of its memory and disk. Then its next write also writes the
        /// buffer: a transaction that may never have been committed is in the log, before committed ones (rule
        /// 6.9.9). A start replays it. Found here, by reading. Repaired: the buffer is discarded with the file.
        FailedWriteComesLater =>
            "a later write also writes the buffer of a failed one (HEAD)",
        /// A background snapshot counts as valid as soon as it is written, although the log may not hold its content
        /// yet, or not durably: a server can apply a commit before its own log thread has appended it (rule 4.5.3).
        /// Nor is the snapshot fsynced, and `PurgeTxnLog` only counts files. A power loss that takes the log's tail
        /// and spares the snapshot leaves a tree that no prefix of the history yields, or a snapshot newer than the
        /// end of the log. The log then continues after the snapshot's zxid, with a gap that this one snapshot covers
        /// until three newer ones, which the next power loss can take, displace it. Found here, by a sweep. Repaired:
        /// a snapshot is fsynced and renamed only when the log is durable up to everything that it may hold, and no
        /// snapshot is deleted before a newer one is durable.
        SnapshotAheadOfLog => "a background snapshot holds what its log may yet lose (HEAD)",
        /// While a setACL is in flight, `prep` checks later requests against the old ACL (`PrepRequestProcessor`: the
        /// change record gets the new aversion and keeps the old list). Repaired: the record gets the new list too.
        /// Found here, by reading; the bridge objects if a client has writes in flight when its permission is
        /// revoked.
        OutstandingAclIsOld => "requests after a pending setACL are checked against the old ACL (HEAD)",
        /// The container manager lists what to delete and then requests one deletion after the other, without
        /// checking the znodes again (`ContainerManager.checkContainers`; rules 1.5.4 and 1.5.5). Any znode without
        /// children that is not ephemeral is deleted: a TTL znode that has just changed, a container that was created
        /// anew, a persistent znode created in place of a container. Found here, by reading. Repaired: the leader
        /// checks again before each deletion, and skips a znode with an outstanding change.
        ContainerListIsOld => "the leader deletes a znode created in place of a container (HEAD)",
        /// The end of a role does not wait for the thread that applies commits (`CommitProcessor.shutdown`; rule
        /// 6.8.6; ZOOKEEPER-3598, which was reverted). The main thread applies that thread's current transaction from
        /// the log, and the thread then applies the rest of it late, over whatever the server has applied since:
        /// older data, or the deletion of a znode that was created anew. The last zxid is correct, so no leader
        /// repairs the tree. Repaired: the end of the role waits for the thread.
        ApplyOutlivesRole =>
            "the rest of a transaction is applied after the role has ended (ZOOKEEPER-3598, HEAD)",
        /// `acceptedEpoch` and `currentEpoch` are replaced by files that are fsynced and renamed, but the directory
        /// is never fsynced (`AtomicFileOutputStream`; rule 6.9.14), although the server then announces the epoch to
        /// others. POSIX allows a power loss to undo the rename, whatever other files were fsynced since; with
        /// [`Metadata::Ordered`](crate::vocabulary::file_system::Metadata::Ordered), only until the next fsync of
        /// another file. The server then accepts the same epoch twice, or does not start. Found here, by reading.
        /// Repaired: the directory is fsynced.
        RenameUnsynced => "a power loss can undo the rename of an epoch file (HEAD)",
        /// Znodes refer to their ACLs by number. A snapshot contains the list of numbers from its beginning but the
        /// znodes from later (`ReferenceCountedACLCache`; rule 6.9.15; ZOOKEEPER-4689), so a znode that got a new ACL
        /// meanwhile has a number that the list lacks. A start that looks the number up fails; otherwise no client
        /// may read the znode until another ACL gets that number, and then that ACL applies. Repaired: an ACL that
        /// the list lacks is written with the first znode that has it.
        AclByNumber => "a snapshot contains ACL numbers that its list lacks (ZOOKEEPER-4689, HEAD)",
        /// Servers write records of any length but read only up to a limit (`BinaryInputArchive.checkLength`; rule
        /// 1.11.2; ZOOKEEPER-4306). A closeSession lists all ephemerals of the session; a multi contains identities
        /// in place of `auth`. If one becomes too long, the learners cannot read the proposal and leave, the leader
        /// can no longer read its own log when it leaves its role, and the next leader does the same when the session
        /// expires. Repaired: `prep` refuses such a multi, and writes such a closeSession without the list (as all
        /// are with `zookeeper.closeSessionTxn.enabled=false`); servers then find the same znodes by their owner.
        LongRecordUnreadable => "a record is logged that is longer than servers read (ZOOKEEPER-4306, HEAD)",
        /// A snapshot truncates and overwrites the file of the same name (`FileTxnSnapLog.save`; rule 6.9.11). This
        /// happens mostly to a new leader whose tree is at the zxid of an existing snapshot. If the process ends
        /// before the file is complete, or the power fails before it is on disk, the next start silently uses an
        /// older snapshot, or an empty database if there is none. Everything that the log does not cover is lost,
        /// such as the content of a SNAP. Found here, by reading. Repaired: a snapshot is written under another name
        /// and renamed once it is on disk, as that of a SNAP is.
        SnapshotWrittenInPlace => "a snapshot is written over the file that a start would read (HEAD)",
        /// The snapshot of a first start is not fsynced, although a start refuses a log without a snapshot
        /// (`FileTxnSnapLog.restore`; rule 6.9.4). After an early power loss that keeps the acknowledged log, the
        /// servers never start again without help. Found here, by reading. Repaired: it is fsynced.
        FirstSnapshotUnsynced => "a power loss takes the first snapshot, without which no log is read (HEAD)",
        /// A background snapshot continues after its server has left its role (`SyncRequestProcessor` does not join
        /// the thread; rule 6.9.12). It then contains logged transactions that were never committed, which the server
        /// applies at that point. A TRUNC removes them from the log and loads this snapshot, whose name has an older
        /// zxid. Found here, by reading. Repaired: the role ends only when the snapshot is written.
        SnapshotOutlivesRole => "a background snapshot goes on after its server has left its role (HEAD)",
        /// exists does not require READ (up to 3.8.3 and 3.9.1; ZOOKEEPER-2590), so any client gets a znode's Stat.
        ExistsAsksNoAcl => "exists needs no READ (ZOOKEEPER-2590)",
        /// Watch events are sent to clients without READ too (up to 3.8.3 and 3.9.1; ZOOKEEPER-4799).
        EventsAskNoAcl => "watch events need no READ (ZOOKEEPER-4799)",
        /// A `create2` inside a multi is executed as a `create` and returns no Stat (3.8.0; `MultiOperationRecord`).
        MultiTellsNoStat => "create2 in a multi returns no Stat",
        /// A start replays a log with a gap, and a learner accepts a DIFF with a gap (up to 3.9.3; ZOOKEEPER-4925).
        /// Since then a start refuses a log with a gap after its snapshot (`ZKDatabase.addCommittedProposal`).
        GapsAreReplayed => "a log with a gap is replayed (ZOOKEEPER-4925)",
        /// A version that wraps around can become -1, which as an expected version means any version (up to 3.9; rule
        /// 1.3.7; ZOOKEEPER-4743).
        VersionBecomesMinusOne => "a version can be -1 (ZOOKEEPER-4743)",
        /// A connection has one watch mode per path: another watch on the same path replaces the first. And
        /// removeWatches ignores the mode: it removes what it finds among the data watches, the child watches, or
        /// both (up to 3.8; ZOOKEEPER-4466).
        OneWatchModePerPath =>
            "a watch takes the place of one of another kind on its path (ZOOKEEPER-4466)",
        /// A recursive watch is registered among the child watches too (up to 3.8; ZOOKEEPER-4475).
        RecursiveWatchIsChildWatch => "a recursive watch is a child watch too (ZOOKEEPER-4475)",
        /// checkWatches finds any client's watch on the path, not only the caller's (3.8.0, as observed; up to the
        /// rework of ZOOKEEPER-4466).
        CheckWatchesSeesOthers => "checkWatches finds others' watches too",
        /// removeWatches and checkWatches reject the types of persistent watches with MarshallingError (3.8.0).
        NoPersistentWatcherTypes => "types of persistent watches are unreadable",

        /// A CommitProcessor finds its queues empty, misses the wake-up for an entry that is queued just then, and
        /// waits. The entry stays in its queue until another event arrives (3.6.0 to 3.8.0; ZOOKEEPER-4537; rule
        /// 4.5.10). Later releases check the queues again before they wait.
        MissedWakeUp => "a CommitProcessor sleeps although something waits (ZOOKEEPER-4537)",

        // ---- planted: no release has these; the comparison with a real server must find them ----
        /// Planted: a create counts twice in the parent's cversion.
        PlantedCversion => "planted: creates count twice in cversion",
        /// Planted: a delete does not change the parent's pzxid.
        PlantedPzxid => "planted: deletes leave pzxid alone",
        /// Planted: a sequence number is the number of children.
        PlantedSequence => "planted: sequence numbers are numbers of children",
        /// Planted: -1 as an expected version is compared like any other version.
        PlantedVersion => "planted: version -1 is compared",
        /// Planted: in a failed multi, the operations before the failing one are reported as failed too.
        PlantedMultiResults => "planted: a failed multi's first results are wrong",
        /// Planted: an exist watch fires with NodeDataChanged instead of NodeCreated.
        PlantedExistEvent => "planted: exist watches fire with NodeDataChanged",
        /// Planted: a deletion fires no child watches of the parent.
        PlantedChildWatch => "planted: deletions fire no child watch of the parent",
        /// Planted: a delete checks the znode's ACL instead of the parent's.
        PlantedDeleteAcl => "planted: delete checks the znode's own ACL",
        /// Planted: an ephemeral can have children.
        PlantedEphemeralParent => "planted: ephemerals can have children",
        /// Planted: a closing session's connection is closed before its ephemerals are deleted, so it receives no
        /// notifications of their deletion.
        PlantedCloseOrder => "planted: a closing client gets no notifications of its deletions",

        /// An observer answers a LOOKING voter whose round is older than its own, or for which it knows a leader; and a
        /// voter answers an observer whatever it says (rule 5.7.2). So the two answer each other's answers, as fast as the
        /// network is, for as long as the voter finds no leader. Found here, by a story. Repaired: a server that does not
        /// vote answers only those whose configuration is older.
        ObserversAnswer =>
            "an observer and a voter without a leader send each other votes without end (HEAD)",

        /// A LOOKING voter tells an observer its last decision and not its proposal (rule 5.7.2). So when the voters of a
        /// quorum have given up their leader, the observer elects that leader once more. If it is hung or cut off, the
        /// observer waits for it for initLimit ticks, while the voters have another one. Found here, by a story. Repaired:
        /// the voter tells its proposal.
        ObserversToldOldVotes =>
            "an observer goes back to the leader that its voters have given up (HEAD)",

        // ---- of releases before 3.8.0 ----
        /// A leader counts observers among the servers that have told their accepted epochs and that have acknowledged the
        /// new one (rule 5.7.3), so that it begins to synchronise without a quorum of voters: another leader can
        /// choose the same epoch (ZOOKEEPER-2959; repaired in 3.4.13 and 3.5.4).
        ObserversCounted =>
            "discovery counts observers (ZOOKEEPER-2959; 3.4.0 to 3.4.12, 3.5.0 to 3.5.3)",

        // ---- planted: no release has these; sweeps must find them ----
        /// Planted: the leader ignores signs of life.
        PlantedDeafLeader => "planted: the leader takes no notice of touches",
        /// Planted: re-attaching a session to another server does not restart its expiry timer.
        PlantedRevalidateKeepsTimer => "planted: revalidation does not touch the session",
        /// Planted: a learner reports no sessions to its leader.
        PlantedTouchesKept => "planted: learners forward no touches",
        /// Planted: a new leader expires none of the sessions of its tree.
        PlantedInheritedSessionsStay => "planted: a new leader never expires older sessions",
        /// Planted: one reply in sixteen has the xid of the next request.
        PlantedWrongXid => "planted: some answers have another request's number",
        /// Planted: a leader's own log does not count towards its quorum, so it needs one more ack.
        PlantedLeaderNotCounted => "planted: a leader does not count itself",
        /// Planted: a learner answers a sync without asking the leader.
        PlantedLocalSync => "planted: learners answer syncs by themselves",
        /// Planted: a leader answers a sync immediately, whatever it has proposed.
        PlantedHastySync => "planted: a leader answers syncs ahead of what it has proposed",
        /// Planted: a leader does not order a session's requests after those that it received through a learner, as
        /// if `forward_learner_requests_to_commit_processor_disabled` were set.
        PlantedRequestsNotHeld => "planted: leaders do not hold learners' requests",
        /// Planted: a session that re-attaches to another server keeps its previous owner.
        PlantedOwnerStays => "planted: revalidation does not change the owner of a session",
        /// Planted: SetWatches ignores an exist watch if the znode was created meanwhile: no notification, no watch.
        PlantedExistForgotten =>
            "planted: SetWatches sends no event for an awaited znode that exists",
        /// Planted: SetWatches compares the znode's czxid instead of its pzxid for child watches.
        PlantedChildByCzxid =>
            "planted: SetWatches checks when a znode was created, not when its children changed",
        /// Planted: a client does not send its watches after a reconnect.
        PlantedWatchesNotSetAgain => "planted: clients do not set their watches again",
        /// Planted: a client's new session keeps the last zxid seen by the old one.
        PlantedZxidOutlivesSession => "planted: a new session keeps the old one's last zxid",
        /// Planted: a client does not pass a deletion to child watches of the deleted znode.
        PlantedDeletionMissesChildWatch => "planted: clients fire no child watch on a deletion",
        /// Planted: the requests that wait for a connection fail newest first.
        PlantedNewestFailsFirst => "planted: of requests that were not sent the newest fails first",
        /// Planted: a call pinned to an old session is sent on the new one.
        PlantedScopeIgnored => "planted: calls of an older session go to the new one",
        /// Planted: a client does not repeat its addAuth after a reconnect.
        PlantedIdentitiesNotProvenAgain => "planted: clients do not prove their identities again",
        /// Planted: a client with a chroot passes events with whole paths to its program.
        PlantedWholePathsTold => "planted: events name whole paths to clients with a chroot",
        /// Planted: a client pings only after two thirds of its timeout, when the answer is already due.
        PlantedLatePings => "planted: clients ping too late",
        /// Planted: a client takes its timeout to be half as long again.
        PlantedLongerTimeout => "planted: clients take their timeout for longer than it is",
        /// Planted: a leader answers no request of its own clients' sessions created in its term.
        PlantedNewSessionsUnanswered =>
            "planted: a leader answers no client of its own whose session is new",
        /// Planted: a sync that waits for a proposal is never answered.
        PlantedSyncForgotten => "planted: a sync that waits for a proposal is never answered",
        /// Planted: the requests that a session queued after a write stay in its queue when the write commits.
        PlantedReadsWait => "planted: requests queued after a write stay queued when it commits",
        /// Planted: at its ping round, a leader closes the connection of any learner with an unacknowledged proposal.
        PlantedHealthyHungUp => "planted: a leader hangs up on learners that are about to acknowledge",
        /// Planted: a leader pings its learners just often enough to keep them, and so learns of their sessions as
        /// rarely.
        PlantedSlowPings => "planted: a leader pings once in almost syncLimit ticks",
        /// Planted: a client that re-attaches to another server gets a timeout one tick longer than the leader's.
        PlantedTimeoutTold => "planted: a client gets another timeout than the leader has",
        /// Planted: a learner also acknowledges transactions that it has appended but not fsynced.
        PlantedAckBeforeFsync => "planted: a learner acknowledges before its fsync",
        /// Planted: a leader also counts its own transactions as acknowledged before their fsync.
        PlantedLeaderAckBeforeFsync => "planted: a leader counts itself before its fsync",
        /// Planted: a server keeps a session's old connection when the session re-attaches.
        PlantedOldConnectionStays => "planted: a server keeps a session's old connection",
        /// Planted: a create does not check the parent's ACL.
        PlantedCreateAsksNoAcl => "planted: creates check no permission",
        /// Planted: an identity that a connection proves replaces those that it proved before.
        PlantedIdentitiesReplaced => "planted: addAuth replaces a connection's identities",
        /// Planted: the vote for the larger server id wins, whatever the zxids.
        PlantedElectionById => "planted: the larger server id wins an election",
        /// Planted: a server follows the leader that a quorum names, although that leader has not said that it leads.
        PlantedLeaderNotAsked => "planted: an election ends for a leader that has not said that it leads",

        /// Planted: the leader deletes a container at its next check even if it never had a child.
        PlantedContainersAtOnce => "planted: containers go although they never had a child",
        /// Planted: a TTL znode's time runs from its creation, although its data changed since.
        PlantedTtlSinceCreation => "planted: a time to live begins with the creation only",
        /// Planted: a leader searches for containers and TTL znodes only once.
        PlantedContainersStay => "planted: a leader looks for containers to delete only once",

        // ---- planted: no release has these; guards of ZAB that matter only if elections do not
        // choose the largest vote, or among five servers ----
        /// Planted: a leader starts synchronising without a quorum of acknowledgements of the new epoch.
        PlantedEpochWithoutQuorum =>
            "planted: a leader needs no quorum of servers that acknowledge its epoch",
        /// Planted: a leader accepts the acknowledgement of a learner whose history is ahead of its own.
        PlantedAheadCounts => "planted: a follower that is ahead of its leader counts",
        /// Planted: a leader informs observers of transactions that it proposes.
        PlantedInformedEarly => "planted: observers are informed before the commit",
        /// Planted: an observer forgets what it was informed of before UPTODATE.
        PlantedInformsForgotten => "planted: an observer forgets what came during its synchronisation",
        /// Planted: a leader writes the new currentEpoch as soon as it has accepted the epoch itself.
        PlantedHastyEpoch =>
            "planted: a leader's currentEpoch is new before a quorum has acknowledged that epoch",
        /// Planted: the NEWLEADER that a learner acknowledges once more after it has reconnected counts twice.
        PlantedAckedTwice => "planted: a learner that reconnects acknowledges NEWLEADER twice",

        // ---- synchronisation, as older releases do it ----
        /// A learner acknowledges NEWLEADER although the transactions of a DIFF are in its memory alone; it logs them
        /// after UPTODATE (rule 6.6.5; ZOOKEEPER-3911, opened by ZOOKEEPER-2678). Repaired: they are logged and fsynced
        /// before.
        DiffAckedUnlogged => "NEWLEADER is acknowledged before a DIFF is logged (ZOOKEEPER-3911)",
        /// A learner writes currentEpoch at NEWLEADER before it logs the transactions of the DIFF (rule 6.6.5;
        /// ZOOKEEPER-4643). A crash between the two leaves a high epoch above a short log, which wins elections.
        /// Repaired: the log is fsynced first.
        EpochBeforeLog => "currentEpoch is written before a DIFF is logged (ZOOKEEPER-4643)",
        /// A learner leaves the logging of a DIFF to the log thread and acknowledges NEWLEADER without waiting for it
        /// (rule 6.6.5; ZOOKEEPER-4646). Repaired: the packet thread logs and fsyncs by itself.
        NewLeaderAckedBeforeFsync => "NEWLEADER is acknowledged before a DIFF is fsynced (ZOOKEEPER-4646)",
        /// A learner's log thread logs the DIFF and acknowledges its transactions before the packet thread acknowledges
        /// NEWLEADER (rule 6.6.5; ZOOKEEPER-4685). The leader takes the first acknowledgement for that of NEWLEADER, does
        /// not count it, and never reads the true one as such. Repaired: no proposal of a synchronisation is acknowledged
        /// before NEWLEADER.
        ProposalsAckedFirst => "proposals of a DIFF are acknowledged before NEWLEADER (ZOOKEEPER-4685)",
        /// At NEWLEADER a learner logs everything that was proposed, committed or not, and forgets the list. A COMMIT
        /// before UPTODATE then finds an empty list, and an exception ends the role (rule 6.6.5; ZOOKEEPER-4394).
        /// Repaired: only what is committed is logged and applied, and the rest stays in the list.
        PendingClearedAtNewLeader => "a COMMIT after NEWLEADER ends the role (ZOOKEEPER-4394)",
        /// A learner's log thread outlives its role: what is in its queue is logged later, when the server has voted with
        /// an older zxid (rule 6.8.7; ZOOKEEPER-4712, ZOOKEEPER-4541). Repaired: the end of the role waits for it.
        LogThreadOutlivesRole => "a learner's log thread goes on after its role (ZOOKEEPER-4712)",
        /// A learner that leaves its role applies what its log has and only then waits for its log thread, which logs the
        /// rest of its queue: the tree and the vote lack it (3.4.12 to 3.5.9 and 3.6.2, which have ZOOKEEPER-2845 and not
        /// ZOOKEEPER-3642; rule 6.8.8). Repaired: it waits first.
        TreeTakenBeforeLogEnds =>
            "the end of a role applies the log before its thread has written it (3.4.12 to 3.6.2)",
        /// What a learner applies at NEWLEADER is missing in its committedLog, which later commits continue (3.9.3;
        /// rule 6.6.5; ZOOKEEPER-4925). If it leads, it sends learners a DIFF with a gap. Repaired: committedLog has it.
        SyncSkipsCommittedLog => "committedLog lacks what a synchronisation has applied (ZOOKEEPER-4925)",
        /// A server leaves its role and does not apply what its log has beyond its tree (up to 3.4.11 and 3.5.3; rule
        /// 6.8.9; ZOOKEEPER-2845). Its vote and its ACKEPOCH have a zxid below that of its log, so no leader truncates the
        /// rest, which a later start replays. Repaired: the rest is applied.
        TailNotApplied => "the end of a role leaves the log's tail out of the tree (ZOOKEEPER-2845)",
        /// A learner whose SNAP is broken off keeps the tree that it has loaded so far (up to 3.5.9 and 3.6.2; rule 6.8.10;
        /// ZOOKEEPER-3642). A later DIFF continues from it. Repaired: the database is loaded from disk.
        InterruptedSnapKeepsTree => "a broken-off SNAP keeps what it has loaded (ZOOKEEPER-3642)",
        /// A learner's snapshot of a SNAP is not fsynced when it acknowledges NEWLEADER (up to 3.5.9; rule 6.6.5;
        /// ZOOKEEPER-2872). A power loss can take everything that the SNAP brought. Repaired: it is fsynced.
        SnapNotFsynced => "NEWLEADER is acknowledged before the snapshot of a SNAP is fsynced (ZOOKEEPER-2872)",

        // ---- reconfiguration ----
        /// A learner that synchronises with an established leader activates, at UPTODATE, the last configuration that the
        /// leader has proposed, committed or not: NEWLEADER carries it (HEAD; rule 5.8.8). Such learners decide by its
        /// quorums alone, beside servers that know only the one before. Repaired: UPTODATE activates what the leader has
        /// committed. Then a server that votes in the proposed one can stay an observer, so that a leader does not count
        /// it: it acknowledges no proposal, and that leader would lead for ever and commit nothing.
        UncommittedConfigActivated =>
            "a learner activates a configuration that is proposed and not committed (HEAD)",

        /// A server that has read a reconfiguration which was never committed follows an established leader only with
        /// quorums of both configurations (HEAD; rule 5.8.7). Where no quorum of the second one votes, it looks for a leader
        /// for ever. Repaired: the votes of servers that follow or lead need a quorum of the committed configuration.
        UncommittedConfigKeepsOut =>
            "a server needs a quorum of a configuration that was never committed to find its leader (HEAD)",

        /// An observer writes the new currentEpoch at NEWLEADER, and logs the transactions of the DIFF only after UPTODATE
        /// (HEAD; rule 5.7.5): ZOOKEEPER-4643 and 3911 were repaired for followers. Once it is a voter, its high epoch
        /// above a short log wins elections. Repaired: an observer does as a follower.
        ObserverEpochBeforeLog =>
            "an observer writes currentEpoch before it logs a DIFF, and may become a voter so (HEAD)",

        /// A start deletes the file of the last configuration seen, which it has read, and nothing writes it again (HEAD;
        /// rule 5.8.1). The next start knows only the committed one, so a quorum of that decides alone, although the
        /// reconfiguration may be committed elsewhere. Repaired: the file stays until its configuration is committed.
        NextConfigDeletedAtStart =>
            "a start deletes the file of the last configuration seen (HEAD)",

        /// A server that its committed configuration does not let vote takes over no vote with an older history than its own,
        /// although no server counts its own one (3.5.0 and later; rule 5.8.7). A leader that comes back and has lost the end
        /// of its history, but not the last configuration seen, needs that server's vote for ever. Repaired: its own vote is
        /// smaller than any other, and a leader does not refuse it for being ahead (rule 6.3.3).
        JoinerKeepsVote =>
            "a server that joins agrees to no leader with an older history than its own (3.5.0 and later)",

        /// A start without any snapshot replays the log on an empty database (ZOOKEEPER-2325; 3.4.14). A log that begins after a SNAP
        /// lacks what the lost snapshot had. Repaired: the start refuses such a log (rule 6.9.4).
        LogWithoutSnapshotReplayed => "a log without a snapshot is replayed on an empty database (ZOOKEEPER-2325)",

        /// A leader sends a DIFF to a learner whose last transaction it has not, and which lies between two that it has: that
        /// transaction stays there (ZOOKEEPER-1154; before 3.4.0). Repaired: TRUNC (rule 6.4.7).
        DiffWithoutTrunc => "a DIFF leaves a learner a transaction that its leader has not (ZOOKEEPER-1154)",

        /// A start passes over `currentEpoch.tmp`, and so refuses a log whose epoch is newer than `currentEpoch`
        /// (ZOOKEEPER-1653, 2354; 3.4.5, 3.5.9, 3.6.2). Repaired: it completes the rename (rule 6.2.2).
        EpochFileNotCompleted => "a start does not complete the rename of currentEpoch (ZOOKEEPER-1653)",

        /// A server takes over from another round that it leads itself, if a quorum of the votes says so (ZOOKEEPER-1514).
        /// Repaired: the round must be its own (rule 5.3.4).
        LeaderOfAnotherRound => "a server leads by votes of another round than its own (ZOOKEEPER-1514)",

        /// The larger server id wins between equal zxids, whatever the epochs, so three votes can each win against the next
        /// (ZOOKEEPER-1419). Repaired: the epoch comes first (rule 5.1.2).
        EqualZxidsIgnoreEpoch => "between votes of equal zxids the id decides, whatever the epochs (ZOOKEEPER-1419)",

        /// A DIFF sets the last processed zxid to that of its end before its transactions arrive. If it breaks off, the learner
        /// claims to have them (ZOOKEEPER-2355; 3.4.10, 3.5.3). Repaired: what is applied counts (rule 6.6.1).
        DiffMovesZxidAhead => "a DIFF sets the learner's zxid before its transactions arrive (ZOOKEEPER-2355)",

        /// A leader sends what its log on disk has, and then its window, although the log ends before the window begins
        /// (ZOOKEEPER-2418; 3.5.10). Repaired: a SNAP (rule 6.4.5).
        LogEndsBeforeWindow => "a DIFF lacks what is between the leader's log and its window (ZOOKEEPER-2418)",

        /// A leader goes on past the largest counter, so the counter overflows into the epoch: the next transaction has the zxid
        /// that opens the next epoch (ZOOKEEPER-1277). Repaired: it leaves its role (rule 4.1.2).
        CounterWraps => "the zxid counter overflows into the epoch (ZOOKEEPER-1277)",

        /// A session whose closeSession is outstanding can still write. A request behind the closeSession of an expired session
        /// creates an ephemeral that is in no list of what is to be deleted, and stays for good (ZOOKEEPER-1208; repaired
        /// in 3.3.4 and 3.4.0). Repaired: the session is closing as soon as its closeSession is a transaction (rule 2.3.2).
        ClosingSessionWrites => "a session that is closing can write (ZOOKEEPER-1208)",

        /// SetWatches reports that a znode was created where its data were watched, if it was created anew meanwhile, and
        /// that its data changed where its creation was awaited (ZOOKEEPER-1667; repaired in 3.4.6). Repaired: each
        /// watch is answered with the event that it awaits (rule 3.4.1).
        RearmedByAge => "SetWatches confuses a creation with a change of data (ZOOKEEPER-1667)",

        /// The votes of servers that follow or lead agree only if they are the same in zxid and round, and keep the epoch of
        /// before the election (ZOOKEEPER-1732; repaired in 3.4.6). These differ among the servers of one established
        /// ensemble, and then no further server joins it. Repaired: leader and epoch alone count (rule 5.3.4), and
        /// each server votes for the epoch in which it is established (rule 5.3.6).
        EstablishedVotesDiffer =>
            "a server joins no ensemble whose votes have several zxids or rounds (ZOOKEEPER-1732)",

        /// A leader whose log has a reconfiguration that was not committed synchronises its learners with it, but activates
        /// it nowhere (ZOOKEEPER-1324; repaired in 3.5.0, the first release with reconfigurations). The two configurations
        /// stay different, and every further reconfiguration is refused. Repaired: it is completed (rule 5.8.8).
        FoundConfigNotActivated =>
            "a new leader does not complete the reconfiguration that it finds (ZOOKEEPER-1324)",

        /// An observer without `syncEnabled` that a reconfiguration makes a voter goes on from the history in its memory, and
        /// logs what follows (3.5.0 and later; rule 5.7.7). Its log has a gap: it has acknowledged what a start from that
        /// log does not give. Found here, by reading. Repaired: it loads its database from disk before it votes.
        UnloggedObserverVotes =>
            "an observer without a log becomes a voter with a gap in its log (3.5.0 and later)",

        // ---- observer masters ----
        /// An observer master begins with an empty queue of proposals, and drops the commit of what was proposed before it began
        /// (3.6.0 and later; rule 5.9.4; ZOOKEEPER-5088): no observer that it has synchronised before is ever sent that
        /// transaction, and none notices the gap. Repaired: it begins with what its follower has not committed yet.
        MasterDropsProposed =>
            "an observer master drops commits of what was proposed before it began (ZOOKEEPER-5088)",

        /// What the synchronisation of a follower has committed, and its CommitProcessor has not applied yet, is neither in the
        /// tree from which it synchronises an observer nor in the queue that it continues from (3.6.0 and later; rule
        /// 5.9.4). Found here, by reading. Repaired: it begins with that in the queue.
        MasterOmitsCommitted =>
            "an observer master leaves out what its own synchronisation has committed (3.6.0 and later)",

        /// An observer master sends the requests of its observers' clients as its own, so the leader has one owner for the
        /// sessions of the follower and of all of its observers (3.6.0 and later; rule 5.9.6). A request that a client sent
        /// before it moved between two of these servers is executed after those that it sent since, in place of
        /// SessionMoved. Repaired: the leader learns the observer's connection, too.
        MasterIsOneOwner =>
            "a request overtakes others of its session that moves among an observer master's servers (3.6.0 and later)",

        /// A handler that has not begun to send when its master's role ends is not ended with it (3.6.0 and later; rule
        /// 5.9.10). It synchronises its observer by whatever the database holds by then, uncommitted transactions included.
        /// Found here, by reading. Repaired: every handler ends with the role.
        HandlersOutliveMaster =>
            "the end of an observer master leaves handlers that have yet to synchronise (3.6.0 and later)",

        /// What is proposed while a reconfiguration is outstanding needs quorums of both configurations, for ever
        /// (`SyncedLearnerTracker`; rule 5.8.6). A voter that the reconfiguration makes an observer leaves its role and does
        /// not acknowledge it any more. If the old quorum needs that server, the proposal is never committed, and no later
        /// one is: a leader with a quorum of the new configuration stays, and every write waits. Found here, by a sweep.
        /// Repaired: once the reconfiguration is committed, the new quorum is enough.
        OldQuorumStillNeeded =>
            "a write beside a reconfiguration waits for ever for servers that have become observers (3.5.0 and later)",

        // ---- planted in reconfigurations ----
        /// Planted: a reconfiguration, and what follows it, needs the quorum of the committed configuration alone.
        PlantedOldQuorumEnough => "planted: the old quorum alone commits a reconfiguration",
        /// Planted: a new leader needs no quorum of the configuration that it completes.
        PlantedNewLeaderOfOldQuorum => "planted: a new leader completes a reconfiguration without a quorum of it",
        /// Planted: a server that reads a newer configuration in a notification leaves it.
        PlantedConfigurationLeft => "planted: a LOOKING server keeps its configuration beside a newer one",
        /// Planted: a LOOKING server takes over a vote for a server whose weight is 0.
        PlantedNoWeightLeads => "planted: a server without weight is elected",
    }
}
