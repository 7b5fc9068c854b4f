//! The names of what a run can reach, and of what faults can do to it.

use crate::named;
use crate::vocabulary::step::{Step, Tail};

named! {
    /// Something that a run reached.
    pub enum Mark ("mark") {
        /// A learner was synchronised by DIFF.
        SyncByDiff = "sync by DIFF",
        /// A learner was synchronised by TRUNC.
        SyncByTrunc = "sync by TRUNC",
        /// A learner was synchronised by SNAP.
        SyncBySnap = "sync by SNAP",
        /// The reply to a create was lost. When the session was connected again, the create had been committed.
        LostReplyApplied = "lost reply: applied",
        /// The reply to a create was lost, and the create was never committed.
        LostReplyNeverApplied = "lost reply: never applied",
        /// The reply to a create was lost. When the session was connected again, the create was not committed; it was
        /// committed later.
        LostReplyPending = "lost reply: pending",
        /// A session was connected to a server other than the previous one.
        SessionMoved = "session moved",
        /// A server elected a new leader while the previous one was dead, and the new leader was established later.
        ElectionWithDeadLeader = "election with dead leader",
        /// A client learned that its session had expired.
        SessionExpired = "session expired",
        /// A crash lost transactions that had not been synced.
        UnsyncedTailLost = "unsynced tail lost",
        /// A server refused to start, or its process exited.
        ServerExited = "server exited",
        /// A leader was established after a leader of a newer epoch.
        LateLeader = "late leader",
        /// A multi failed at an operation after its first, and the earlier operations were rolled back.
        MultiRolledBack = "multi rolled back after its first operation",
        /// After a reconnect, a client was notified that a znode awaited by an exist watch exists.
        ExistWatchMadeUp = "exist watch answered by SetWatches",
        /// After a reconnect, a client was notified of a missed change or deletion by a data watch.
        DataWatchMadeUp = "data watch answered by SetWatches",
        /// After a reconnect, a client was notified of a missed change by a child watch.
        ChildWatchMadeUp = "child watch answered by SetWatches",
        /// After a reconnect, a client's persistent watches were set again.
        StayingWatchSetAgain = "staying watch set again by SetWatches",
        /// A client removed watches at the server.
        WatchRemoved = "watch removed",
        /// A session sent a request after a pause of at least its timeout.
        IdleSession = "idle session went on",
        /// Ten sessions existed at the same time.
        ManySessions = "ten sessions at once",
        /// A sync was answered after a proposal that its leader had made before it read the sync.
        SyncWaited = "sync waited for a proposal",
        /// A leader closed the connection of a learner that did not acknowledge for syncLimit ticks.
        AcksStalled = "acks stalled for syncLimit ticks",
        /// A server left its role because a write or an fsync of its log had failed.
        WriteFailed = "write to the log failed",
        /// A session re-attached to a server that still had its old connection.
        SessionReattached = "session back at a server that had its old connection",
        /// A client's request was refused by the ACL of a znode.
        RefusedByAcl = "request refused by an ACL",
        /// An observer was synchronised by DIFF.
        ObserverByDiff = "observer synchronised by DIFF",
        /// An observer was synchronised by SNAP.
        ObserverBySnap = "observer synchronised by SNAP",
        /// A session was connected to an observer after a server that votes, or the other way round.
        MovedToObserver = "session moved to or from an observer",
        /// A reconfiguration was committed.
        Reconfigured = "reconfiguration committed",
        /// A new leader completed a reconfiguration of an earlier one, without a transaction.
        ConfigurationCompleted = "reconfiguration completed by a new leader",
        /// A reconfiguration designated another leader, which led without an election.
        LeaderDesignated = "leader designated by a reconfiguration",
        /// A server that was in no configuration at first became a voter.
        ServerJoined = "server joined the voters",
        /// A voter of the first configuration became an observer.
        VoterObserves = "voter became an observer",
        /// A reconfiguration was refused because another one was in progress.
        ReconfigInProgress = "refused with ReconfigInProgress",
        /// A reconfiguration was refused because no quorum of the new configuration was synchronised.
        NewConfigNoQuorum = "refused with NewConfigNoQuorum",
        /// A reconfiguration put the servers into groups, each with a weight.
        GroupsConfigured = "groups configured",
        /// A reconfiguration left a voter without weight.
        VoterWithoutWeight = "voter without weight",
        /// A leader was established by a quorum that was no majority of the voters.
        LedByMinority = "leader established by a minority",
        /// A majority of the voters followed a leader that was not established in its epoch.
        MajorityNotEnough = "majority that was no quorum",
        /// A leader left its role because no zxid was left in its epoch.
        CounterExhausted = "zxid counter exhausted",
        /// A follower synchronised an observer.
        ObserverOfFollower = "observer synchronised by a follower",
        /// A follower sent an observer what it kept of its earlier INFORMs.
        InformedFromCache = "observer sent what its master had kept",
        /// A follower refused an observer because it no longer had all that the observer lacked.
        ObserverTooFarBehind = "observer refused as too far behind",
        /// A session moved between two observers of one follower, or between a follower and its observer.
        MovedWithinMaster = "session moved between servers of one observer master",
        /// The role of a follower ended while it synchronised an observer.
        MasterEndedMeanwhile = "role of an observer master ended while it synchronised",
    }
}

named! {
    /// What a fault did to a run. Each is a kind of step, except for two that only delay other steps.
    ///
    /// A fault is what a scenario enables and a plan schedules. It can cause several disruptions (a power loss
    /// crashes every server) or none (if there is nothing to affect).
    pub enum Disruption ("disruption") {
        /// A server crashes, and loses its unsynced tail or a part of it.
        Crash = "crash",
        /// A server crashes and leaves a half-written transaction at the end of its log.
        TornTail = "crash with torn tail",
        /// A crashed server starts again.
        Restart = "restart",
        /// A server leaves its role and keeps its memory.
        Rejoin = "rejoin",
        /// A client's connection breaks.
        ConnectionBreak = "connection break",
        /// A learner's connection to its leader breaks.
        LearnerBreak = "learner connection break",
        /// A link between two machines is cut in one direction. A partition consists of several cuts.
        Partition = "partition",
        /// A session is expired although its timeout has not passed.
        SessionExpiry = "session expiry",
        /// A program's process dies.
        ProgramCrash = "program crash",
        /// A client machine is paused.
        Pause = "pause",
        /// A program is cancelled at an await point.
        Cancellation = "cancellation",
        /// A server's fsync fails, and it leaves its role.
        FsyncError = "fsync error",
        /// The packets of a machine are slow for a while. This is not a step: the engine's clock does it.
        DelayBurst = "delay burst",
        /// A server's disk makes nothing durable for a while. This is not a step: the engine's clock does it.
        DiskStall = "disk stall",
    }
}

impl Disruption {
    /// Returns the disruption that a step is. Restarts count, because they are half of the effect of a crash; other
    /// repairs (heal, resume) do not.
    pub fn of(step: &Step) -> Option<Disruption> {
        Some(match step {
            Step::Crash { tail: Tail { torn: true, .. }, .. } => Disruption::TornTail,
            Step::Crash { .. } => Disruption::Crash,
            Step::Restart(_) => Disruption::Restart,
            Step::Rejoin(_) => Disruption::Rejoin,
            Step::FsyncError { .. } => Disruption::FsyncError,
            Step::BreakClient { .. } => Disruption::ConnectionBreak,
            Step::BreakLearner { .. } => Disruption::LearnerBreak,
            Step::Cut { .. } => Disruption::Partition,
            Step::Expire(_) => Disruption::SessionExpiry,
            Step::Kill(_) => Disruption::ProgramCrash,
            Step::Pause(_) => Disruption::Pause,
            Step::Cancel(_) => Disruption::Cancellation,
            _ => return None,
        })
    }
}
