//! Eager steps of a server: a search takes them immediately and need not try them late.
//!
//! A step is *eager* if neither later events at this server nor any other server can distinguish taking it late from
//! taking it immediately: every state that is reachable in the late order is reachable in the early one. Steps of
//! different servers commute (the tests check this), so the only events that can distinguish the orders are: steps of
//! the same server, its crash, its leaving its role, a crash or departure of the server at the other end and a break
//! between the two (packets in flight are lost), and, for packets of a leader, other packets that it may send first.
//!
//! Most of the rules follow from a few facts:
//!
//! * A crash loses the memory, and the sent packets that were not read. (No packet of the process need survive it:
//!   one that does could have been read earlier as well.)
//! * Leaving a role forgets the learner or leader, flushes the log and applies all of it; so a commit that was read
//!   leaves no trace beyond the log (rule 6.8.1).
//! * A record that was appended and is not durable is equivalent to one that waits to be appended: a crash can lose
//!   both, and so can a failed fsync.
//! * A failed fsync affects the log like a crash and everything else like leaving the role, and requires something to
//!   make durable: a step that need not wait for a crash or a departure need not wait for it. A commit that was read
//!   leaves a trace only where memory outlives the failure ([`Bug::FsyncErrorKeepsMemory`]).
//! * A background snapshot contains what is applied by its end, and its name has the zxid of its beginning. So no
//!   step of its server is eager while one is being written, no append where it begins one, and no application where
//!   one can begin later.
//! * An fsync can make renames and truncations durable that a crash could otherwise undo: such a step is eager only
//!   if no crash is left.
//! * Durability causes no step of another server, but a property that counts disks at a commit can observe it (S3):
//!   so only transactions that are committed already become durable immediately.
//! * No step of an observer is eager: these facts are about learners whose acks are counted.
//! * Some defects of older releases contradict these facts. With one of them the log thread works while a
//!   learner is synchronised, or outlives the role, or a role leaves other work unfinished: then no step of a learner is
//!   eager. While the log thread of an earlier role has work, no step of its server is.

mod flaw;

pub use flaw::Flaw;

use super::leader::{HandlerPhase, Leader, Window};
use super::learner::{Learner, Phase};
use super::{Role, Server, Writing};
use crate::network::Next;
use crate::server::disk::Disk;
use crate::vocabulary::config::Config;
use crate::vocabulary::event::SyncMode;
use crate::vocabulary::id::{LearnerConnection, ServerSet};
use crate::vocabulary::packet::{LeaderPacket, LearnerPacket};
use crate::vocabulary::release::{Bug, Bugs};
use crate::vocabulary::zxid::Zxid;

/// The defects that contradict the facts above.
const CONTRADICTING: [Bug; 7] = [
    Bug::NewLeaderAckedBeforeFsync,
    Bug::ProposalsAckedFirst,
    Bug::PendingClearedAtNewLeader,
    Bug::LogThreadOutlivesRole,
    Bug::TreeTakenBeforeLogEnds,
    Bug::TailNotApplied,
    Bug::InterruptedSnapKeepsTree,
];

/// Returns true if learners keep to the facts above.
fn keeps_to_the_facts(config: &Config) -> bool {
    !CONTRADICTING.iter().any(|bug| config.bugs.has(*bug))
}

/// The faults that are still possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threats {
    /// A server can crash.
    pub crashes: bool,
    /// A connection can break.
    pub breaks: bool,
    /// A server can leave its role without a reason.
    pub timeouts: bool,
    /// An fsync of a log thread can fail, which loses the records that are not durable and ends a role: this implies
    /// `crashes` and `timeouts`.
    pub fsync_errors: bool,
    /// A leader can propose something new.
    pub proposals: bool,
}

/// Whether a leader will continue to lead if nothing happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// A quorum follows it, on connections whose ends are all open.
    pub is_followed: bool,
    /// No server has accepted an epoch newer than the leader's, and no other server leads, which could propose one.
    pub is_undisputed: bool,
}

impl Threats {
    /// Returns true if no crash, break or timeout is possible any more.
    fn are_over(self) -> bool {
        !(self.crashes || self.breaks || self.timeouts)
    }
}

/// The input of a condition: the faults that are still possible, and a planted flaw, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// The faults that are still possible.
    pub threats: Threats,
    /// The last committed transaction.
    pub committed: Zxid,
    /// The planted flaw.
    pub flaw: Option<Flaw>,
}

impl Outlook {
    /// Returns true if this flaw is planted.
    pub fn has(self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    /// Returns true if no server can crash any more, or if this planted flaw ignores crashes.
    fn lives(self, overlooked_by: Flaw) -> bool {
        !self.threats.crashes || self.has(overlooked_by)
    }

    /// Returns true if no connection can break any more, or if this planted flaw ignores breaks.
    fn holds(self, overlooked_by: Flaw) -> bool {
        !self.threats.breaks || self.has(overlooked_by)
    }

    /// Returns true if no server can leave its role any more, or if this planted flaw ignores that.
    fn stays(self, overlooked_by: Flaw) -> bool {
        !self.threats.timeouts || self.has(overlooked_by)
    }

    /// Returns true if everything up to `zxid` is committed, so that its durability makes no difference, or if the
    /// planted flaw ignores that.
    fn is_committed(self, zxid: Zxid) -> bool {
        zxid <= self.committed || self.has(Flaw::DurableThoughUncommitted)
    }

    /// Returns true if no fault is left: packets in flight arrive and disk operations complete. The three flaws
    /// ignore crashes, breaks and timeouts, respectively.
    fn is_calm(self, overlooked_by: [Flaw; 3]) -> bool {
        let [crashes, breaks, timeouts] = overlooked_by;
        self.lives(crashes) && self.holds(breaks) && self.stays(timeouts)
    }
}

impl Server {
    /// Returns true if the log thread may append immediately: a crash can lose an appended record like a queued one,
    /// and leaving the role appends it. But the next fsync includes it, so this does not hold if an fsync already has
    /// something to do without it: its acks then leave while the record can still be lost.
    pub fn appends_eagerly(&self, config: &Config, outlook: Outlook) -> bool {
        self.log.can_append()
            && keeps_to_the_facts(config)
            && (!self.log.can_fsync() || outlook.has(Flaw::AppendsThoughUnsynced))
            && (!self.log.is_due_for_snapshot(self.id, config)
                || outlook.has(Flaw::AppendsThoughSnapshotDue))
    }

    /// Returns true if a background snapshot is being written.
    pub fn is_writing_snapshot(&self) -> bool {
        self.database.is_writing_snapshot()
    }

    /// Returns true if the log thread of an earlier role still has work ([`Bug::LogThreadOutlivesRole`]).
    ///
    /// The conditions assume that only the present role writes to the log. The earlier thread appends and fsyncs whenever
    /// it is scheduled, in every role: before a step of the packet thread it leaves another log than after it, and one
    /// fsync makes the records of both threads durable. So no step of this server is eager.
    pub fn has_left(&self) -> bool {
        self.log.has_left()
    }

    /// Returns true if the log thread may fsync immediately.
    pub fn fsyncs_eagerly(&self, disk: &Disk, config: &Config, outlook: Outlook) -> bool {
        self.log.can_fsync()
            && keeps_to_the_facts(config)
            && outlook.is_committed(disk.last_logged())
            && match &self.role {
                // A crash would take back the acks, which can be read otherwise.
                Role::Following(_) => {
                    outlook.lives(Flaw::FollowerFsyncsThoughCrashing)
                        && outlook.stays(Flaw::FollowerFsyncsThoughLeaving)
                }
                // A learner that registers may be sent what is durable (rule 6.4.5). The leader's own acks are only
                // counted: the fsync is eager unless these acks commit, because a proposal before a commit and one
                // after it are sent in different orders.
                Role::Leading(leader) => {
                    let would_commit = |zxid| leader.would_commit(self.id, zxid);
                    let is_read =
                        Window::of(&self.database, &self.commits, config).waits_for(disk, config);
                    (!is_read || outlook.has(Flaw::LeaderFsyncsThoughRead))
                        && outlook.lives(Flaw::LeaderFsyncsThoughCrashing)
                        && (!self.log.to_ack.iter().any(|zxid| would_commit(*zxid))
                            || outlook.has(Flaw::LeaderFsyncsThoughCommitting))
                }
                Role::Looking | Role::Observing(_) => false,
            }
    }

    /// Returns true if the packet thread's disk operation may complete immediately.
    ///
    /// Only a crash or an error of this disk can interrupt it: the thread that would leave the role is the one that
    /// waits for the operation (rule 6.8.5). But a leader that learns of a newer epoch gives up its pending write, if
    /// it is repaired ([`Bug::LeaderIgnoresNewerEpoch`]): so no fault may be left that could produce a newer epoch.
    pub fn writes_eagerly(&self, disk: &Disk, outlook: Outlook, hold: impl Fn() -> Hold) -> bool {
        let leads_on = || {
            let over = [
                Flaw::LeaderWritesThoughCrashing,
                Flaw::LeaderWritesThoughBreaking,
                Flaw::LeaderWritesThoughLeaving,
            ];
            outlook.is_calm(over)
                && (hold().is_followed || outlook.has(Flaw::LeaderWritesThoughDeserted))
        };
        let becomes_durable = match self.thread.writing {
            Some(Writing::LeadSnapshot | Writing::SyncSnapshot) => {
                self.database.tree.last_processed()
            }
            Some(Writing::SyncFsync) => disk.last_logged(),
            _ => Zxid::ZERO,
        };
        if becomes_durable > disk.last_durable() && !outlook.is_committed(becomes_durable) {
            return false;
        }
        match (&self.thread.writing, &self.role) {
            // The log thread may go first.
            (None | Some(Writing::NewLeaderAck), _) => false,
            // The leader reads nothing meanwhile, so it does not learn of a newer epoch.
            (Some(Writing::LeadSnapshot | Writing::AcceptedEpoch), Role::Leading(_)) => leads_on(),
            // A crash loses the append as if it had not happened. Its fsync can fail, which implies `timeouts`.
            (Some(Writing::SyncAppend), _) => outlook.stays(Flaw::SyncAppendThoughLeaving),
            (Some(Writing::SyncFsync), _) => outlook.lives(Flaw::SyncFsyncThoughCrashing),
            (Some(writing), Role::Leading(leader)) => {
                let activates = *writing == Writing::CurrentEpoch
                    && leader.would_be_activated_by_itself(self.id);
                leads_on()
                    && (hold().is_undisputed || outlook.has(Flaw::LeaderWritesThoughDisputed))
                    && (!activates || outlook.has(Flaw::LeaderEpochThoughActivating))
            }
            (Some(_), _) => outlook.lives(Flaw::WritesThoughCrashing),
        }
    }

    /// Returns true if the CommitProcessor may apply the next transaction immediately.
    ///
    /// A learner's tree is read by its clients, which searches of servers do not have, and by the server itself after
    /// it has left its role: it then applies the whole log, and the log thread has at least queued what is committed
    /// here. Only a failed fsync removes that. A leader's tree is also read by the learners that register: so this
    /// requires that none can register, because all others are synchronised on intact connections and no fault is
    /// left.
    pub fn applies_eagerly(
        &self,
        config: &Config,
        outlook: Outlook,
        has_synchronised_all: impl Fn(&Leader) -> bool,
    ) -> bool {
        if self.commits.is_empty()
            || !leaves_no_trace(config.bugs, outlook)
            || !keeps_to_the_facts(config)
        {
            return false;
        }
        if config.takes_snapshots() && !outlook.has(Flaw::AppliesThoughSnapshots) {
            return false;
        }
        match &self.role {
            Role::Looking | Role::Observing(_) => false,
            Role::Following(_) => true,
            Role::Leading(leader) => {
                outlook.is_calm([Flaw::AppliesThoughFaulty; 3])
                    && (has_synchronised_all(leader) || outlook.has(Flaw::AppliesThoughRegistering))
            }
        }
    }

    /// Returns true if a learner may read this immediately.
    pub fn reads_eagerly(
        &self,
        next: Next<'_, LeaderPacket>,
        disk: &Disk,
        config: &Config,
        outlook: Outlook,
    ) -> bool {
        let Role::Following(learner) = &self.role else { return false };
        if self.is_deaf_to_its_leader() || !keeps_to_the_facts(config) {
            return false;
        }
        let over =
            [Flaw::PacketsThoughCrashing, Flaw::PacketsThoughBreaking, Flaw::PacketsThoughLeaving];
        match next {
            // Leaving the role flushes the log, which a crash would not.
            Next::End => {
                let queued = self.log.queue.back().map_or(Zxid::ZERO, |txn| txn.zxid);
                let is_committed = outlook.is_committed(queued.max(disk.last_logged()));
                !outlook.threats.crashes && is_committed
                    || (self.log.queue.is_empty() || outlook.has(Flaw::EndThoughQueued))
                        && (disk.unsynced() == 0 || outlook.has(Flaw::EndThoughUnsynced))
            }
            Next::Packet(packet) => {
                outlook.is_calm(over) || learner.forgets(packet, disk, config, outlook)
            }
        }
    }

    /// Returns true if a leader may read this immediately.
    pub fn hears_eagerly(
        &self,
        connection: LearnerConnection,
        next: Next<'_, LearnerPacket>,
        outlook: Outlook,
    ) -> bool {
        let Role::Leading(leader) = &self.role else { return false };
        let Next::Packet(LearnerPacket::Ack(zxid)) = next else { return false };
        if !leader.is_in_broadcast(connection) && !outlook.has(Flaw::AcksOfNewLeader) {
            return false;
        }
        let over = [Flaw::AcksThoughCrashing, Flaw::AcksThoughBreaking, Flaw::AcksThoughLeaving];
        let would_commit = || leader.would_commit(connection.learner, *zxid);
        // It changes nothing, or it counts and does not commit yet.
        leader.ignores(*zxid)
            || outlook.is_calm(over) && (!would_commit() || outlook.has(Flaw::AcksThoughCommitting))
    }

    /// Returns true if a leader may immediately send the packets queued for a learner that needs no snapshot. Then
    /// nothing is or can be proposed, so nothing else can precede NEWLEADER; and the leader does not leave its role
    /// before that, in which case it would not send NEWLEADER. (It has a quorum with this learner, or needs others,
    /// which must stay. A fault of the learner itself takes back what was sent.)
    pub fn streams_eagerly(
        &self,
        connection: LearnerConnection,
        outlook: Outlook,
        hold: impl Fn() -> Hold,
    ) -> bool {
        let Role::Leading(leader) = &self.role else { return false };
        let both = ServerSet::default().with(self.id).with(connection.learner);
        let has_quorum = || {
            leader.quorums.contains_quorum(both) || outlook.threats.are_over() && hold().is_followed
        };
        outlook.stays(Flaw::StreamThoughLeaving)
            && has_quorum()
            && (hold().is_undisputed || outlook.has(Flaw::StreamThoughDisputed))
            && (!outlook.threats.proposals || outlook.has(Flaw::StreamThoughProposing))
            && (leader.outstanding() == 0 || outlook.has(Flaw::StreamThoughOutstanding))
            && leader.streams(connection, outlook.has(Flaw::StreamOfSnapshot))
    }
}

impl Learner {
    /// Returns true if nothing of this packet remains after the server has left its role or crashed, and reading it
    /// does not begin a disk operation (which would delay the end of the stream).
    fn forgets(
        &self,
        packet: &LeaderPacket,
        disk: &Disk,
        config: &Config,
        outlook: Outlook,
    ) -> bool {
        let (bugs, applies_at_once) = (config.bugs, config.applies_at_once);
        match (&self.phase, packet) {
            // An epoch that was accepted before is answered immediately; an older one makes the learner leave.
            (Phase::Discovery, LeaderPacket::LeaderInfo { epoch }) => {
                *epoch < disk.accepted_epoch()
                    || *epoch == disk.accepted_epoch()
                        && outlook.stays(Flaw::KnownEpochThoughLeaving)
                    || outlook.has(Flaw::NewEpochAtOnce)
            }
            (Phase::AwaitingSync, LeaderPacket::Diff(_)) => true,
            (Phase::AwaitingSync, LeaderPacket::Trunc(_)) => outlook.has(Flaw::TruncAtOnce),
            (Phase::LoadingSnapshot(_), _) => true,
            (
                Phase::Synchronising | Phase::AwaitingUpToDate,
                LeaderPacket::Proposal(_) | LeaderPacket::Ping,
            ) => true,
            (Phase::Synchronising, LeaderPacket::Commit(_)) => {
                self.mode != Some(SyncMode::Trunc)
                    || !bugs.has(Bug::InterruptedTruncKeepsTree)
                    || outlook.has(Flaw::CommitThoughTreeIsKept)
            }
            (Phase::Synchronising, LeaderPacket::NewLeader(..)) => {
                outlook.has(Flaw::NewLeaderAtOnce)
            }
            (Phase::AwaitingUpToDate, LeaderPacket::Commit(_)) => true,
            // Proposals queued meanwhile are appended to the log now, and stay there.
            (Phase::AwaitingUpToDate, LeaderPacket::UpToDate(_)) => {
                self.not_logged.is_empty() || outlook.has(Flaw::UpToDateThoughProposed)
            }
            (Phase::Broadcast, LeaderPacket::Commit(_)) => {
                !applies_at_once || leaves_no_trace(bugs, outlook)
            }
            (Phase::Broadcast, LeaderPacket::Proposal(_)) => outlook.has(Flaw::ProposalAtOnce),
            _ => false,
        }
    }
}

/// Returns true if an applied transaction leaves no trace beyond the log after the role has ended.
fn leaves_no_trace(bugs: Bugs, outlook: Outlook) -> bool {
    !outlook.threats.fsync_errors
        || !bugs.has(Bug::FsyncErrorKeepsMemory)
        || outlook.has(Flaw::CommitThoughMemoryIsKept)
}

impl Leader {
    /// Returns true if the learner of this connection has been sent everything that existed when it registered.
    pub fn has_synchronised(&self, connection: LearnerConnection) -> bool {
        let handler = self.handlers.get(&connection);
        handler.is_some_and(|handler| {
            matches!(
                handler.phase,
                HandlerPhase::AwaitingAck | HandlerPhase::AwaitingStart | HandlerPhase::Broadcast
            )
        })
    }

    /// Whether this learner's acks are acks of proposals.
    fn is_in_broadcast(&self, connection: LearnerConnection) -> bool {
        let handler = self.handlers.get(&connection);
        handler.is_some_and(|handler| handler.phase == HandlerPhase::Broadcast)
    }

    /// Returns true if the leader has packets to send to this learner, and they are not a snapshot unless
    /// `snapshots`.
    fn streams(&self, connection: LearnerConnection, snapshots: bool) -> bool {
        let handler = self.handlers.get(&connection);
        handler.is_some_and(|handler| {
            matches!(&handler.phase, HandlerPhase::Streaming(stream) if !stream.is_snap || snapshots)
        })
    }
}
