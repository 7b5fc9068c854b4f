//! Which steps of a server may as well happen at once: what a search need not try late.
//!
//! A step is *eager* where putting it off can be told from taking it at once neither by anything
//! that can still happen to this server, nor by anybody else: whatever the late order reaches, the
//! early one reaches too. Steps of different servers commute (the tests check it), so only this
//! can tell: steps of the same server, a crash of it, its leaving its role, a crash or departure of
//! the server at the other end and a break between them (packets under way are lost), and, for
//! what a leader sends, whatever else it may send first.
//!
//! Some facts carry most of the rules:
//!
//! * A crash forgets memory and takes back what was sent and not read (no packet of the process need
//!   survive it: one that did could as well have been read before).
//! * Leaving a role forgets the learner or leader, flushes the log and applies all of it; so a
//!   commit that was read leaves no trace that the log has not (rule 6.8.1).
//! * An appended record that is not durable is as good as one that waits to be appended: a crash can
//!   lose both, and so can a failed fsync.
//! * A failed fsync is like a crash for the log and like leaving the role for all else, and needs
//!   something to make durable: what waits for neither of these does not wait for it. Only where
//!   memory outlives it ([`Bug::FsyncErrorKeepsMemory`]) does a commit that was read leave a trace.
//! * A background snapshot holds what is applied by then, and its label says what was when it began. So nothing of its
//!   server is eager while one is written, an append not where it begins one, and what is applied not where one can
//!   begin later.
//! * What is fsynced can make renames and cuts durable that a crash could have undone: whatever does so is eager only where
//!   no crash is left.
//! * What becomes durable makes no other server do anything, but it can be told by who counts disks
//!   when something is committed (S3): so only what is committed already becomes durable at once.

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

/// What can still go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threats {
    /// A server can crash.
    pub crashes: bool,
    /// A connection can break.
    pub breaks: bool,
    /// A server can leave its role though nothing is wrong.
    pub timeouts: bool,
    /// An fsync of a log thread can fail, which both loses what is not durable and ends a role: where
    /// this is, so are `crashes` and `timeouts`.
    pub fsync_errors: bool,
    /// A leader can propose something new.
    pub proposals: bool,
}

/// Whether a leader that nothing happens to goes on leading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// A quorum follows it, on connections of which no end is closed.
    pub is_followed: bool,
    /// Nobody has accepted a newer epoch than its own, and nobody else leads, who could make others do
    /// so.
    pub is_undisputed: bool,
}

impl Threats {
    /// Nothing goes wrong any more.
    fn are_over(self) -> bool {
        !(self.crashes || self.breaks || self.timeouts)
    }
}

/// What a condition is asked under: what can still go wrong, and perhaps a mistake that is planted in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// What can still go wrong.
    pub threats: Threats,
    /// The last transaction that is committed.
    pub committed: Zxid,
    /// The mistake.
    pub flaw: Option<Flaw>,
}

impl Outlook {
    /// Whether this mistake is planted.
    pub fn has(self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    /// No server crashes any more; or that is overlooked by this mistake.
    fn lives(self, overlooked_by: Flaw) -> bool {
        !self.threats.crashes || self.has(overlooked_by)
    }

    /// No connection breaks any more; or that is overlooked by this mistake.
    fn holds(self, overlooked_by: Flaw) -> bool {
        !self.threats.breaks || self.has(overlooked_by)
    }

    /// No server leaves its role for nothing any more; or that is overlooked by this mistake.
    fn stays(self, overlooked_by: Flaw) -> bool {
        !self.threats.timeouts || self.has(overlooked_by)
    }

    /// What becomes durable is nothing that can still be committed; or that is overlooked.
    fn is_committed(self, zxid: Zxid) -> bool {
        zxid <= self.committed || self.has(Flaw::DurableThoughUncommitted)
    }

    /// Nothing goes wrong any more: packets under way arrive, disk operations complete. A mistake each
    /// overlooks crashes, breaks and timeouts.
    fn is_calm(self, overlooked_by: [Flaw; 3]) -> bool {
        let [crashes, breaks, timeouts] = overlooked_by;
        self.lives(crashes) && self.holds(breaks) && self.stays(timeouts)
    }
}

impl Server {
    /// Whether its log thread may append at once: what is appended can be lost in a crash like what
    /// is not, and leaving the role appends it. But the next fsync takes it along: so not where that
    /// has something to do without it, whose acks then leave while this can still be lost.
    pub fn appends_eagerly(&self, config: &Config, outlook: Outlook) -> bool {
        self.log.can_append()
            && (!self.log.can_fsync() || outlook.has(Flaw::AppendsThoughUnsynced))
            && (!self.log.is_due_for_snapshot(self.id, config)
                || outlook.has(Flaw::AppendsThoughSnapshotDue))
    }

    /// Whether its thread is writing a background snapshot.
    pub fn is_writing_snapshot(&self) -> bool {
        self.database.is_writing_snapshot()
    }

    /// Whether its log thread may fsync at once.
    pub fn fsyncs_eagerly(&self, disk: &Disk, config: &Config, outlook: Outlook) -> bool {
        self.log.can_fsync()
            && outlook.is_committed(disk.last_logged())
            && match &self.role {
                // The acks that leave can be read, and nothing takes them back then.
                Role::Following(_) => {
                    outlook.lives(Flaw::FollowerFsyncsThoughCrashing)
                        && outlook.stays(Flaw::FollowerFsyncsThoughLeaving)
                }
                // Who registers may be sent what is durable (rule 6.4.5). Its own acks only count: eager
                // unless they are the ones that commit, for what is proposed before a commit and after it
                // goes out in another order.
                Role::Leading(leader) => {
                    let would_commit = |zxid| leader.would_commit(self.id, zxid);
                    let is_read =
                        Window::of(&self.database, &self.commits, config).waits_for(disk, config);
                    (!is_read || outlook.has(Flaw::LeaderFsyncsThoughRead))
                        && outlook.lives(Flaw::LeaderFsyncsThoughCrashing)
                        && (!self.log.to_ack.iter().any(|zxid| would_commit(*zxid))
                            || outlook.has(Flaw::LeaderFsyncsThoughCommitting))
                }
                Role::Looking => false,
            }
    }

    /// Whether the packet thread's disk operation may complete at once.
    ///
    /// Nothing interrupts it but a crash, or an error of this disk: the thread that waits for it is the one that
    /// would leave the role (rule 6.8.5). Only a leader that hears of a newer epoch gives up what it was about to
    /// write, if it is repaired ([`Bug::LeaderIgnoresNewerEpoch`]): so nothing may go wrong that could bring one up.
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
            (None, _) => false,
            // Nobody is heard meanwhile, so no newer epoch either.
            (Some(Writing::LeadSnapshot | Writing::AcceptedEpoch), Role::Leading(_)) => leads_on(),
            // Lost in a crash as if it had not happened; but its fsync can fail, which `timeouts` says too.
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

    /// Whether its CommitProcessor may apply the next transaction at once.
    ///
    /// A learner's tree is asked by its clients, of whom searches of servers have none, and by the server itself
    /// once it has left its role: which applies all that is logged, and what is committed here waits for
    /// the log thread at least. Only a failed fsync takes that away. A leader's is asked by those who
    /// register with it as well: so not while somebody can, which is not the case if all others are
    /// synchronised, on connections that are whole, and nothing goes wrong any more.
    pub fn applies_eagerly(
        &self,
        config: &Config,
        outlook: Outlook,
        has_synchronised_all: impl Fn(&Leader) -> bool,
    ) -> bool {
        if self.commits.is_empty() || !leaves_no_trace(config.bugs, outlook) {
            return false;
        }
        if config.takes_snapshots() && !outlook.has(Flaw::AppliesThoughSnapshots) {
            return false;
        }
        match &self.role {
            Role::Looking => false,
            Role::Following(_) => true,
            Role::Leading(leader) => {
                outlook.is_calm([Flaw::AppliesThoughFaulty; 3])
                    && (has_synchronised_all(leader) || outlook.has(Flaw::AppliesThoughRegistering))
            }
        }
    }

    /// Whether a learner may read this at once.
    pub fn reads_eagerly(
        &self,
        next: Next<'_, LeaderPacket>,
        disk: &Disk,
        config: &Config,
        outlook: Outlook,
    ) -> bool {
        let Role::Following(learner) = &self.role else { return false };
        if self.is_deaf_to_its_leader() {
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

    /// Whether a leader may read this at once.
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
        // It changes nothing; or it counts, and commits nothing yet.
        leader.ignores(*zxid)
            || outlook.is_calm(over) && (!would_commit() || outlook.has(Flaw::AcksThoughCommitting))
    }

    /// Whether a leader may send what is queued for a learner that needs no snapshot at once: where
    /// nothing is or can be proposed, nothing else can come before NEWLEADER; and where the leader does
    /// not leave its role before, for then NEWLEADER is not sent. (It has a quorum with this learner,
    /// or needs others, who must stay. A fault of the learner's own takes back what was sent.)
    pub fn streams_eagerly(
        &self,
        connection: LearnerConnection,
        outlook: Outlook,
        hold: impl Fn() -> Hold,
    ) -> bool {
        let Role::Leading(leader) = &self.role else { return false };
        let both = ServerSet::default().with(self.id).with(connection.learner);
        let has_quorum = || {
            leader.verifier.contains_quorum(both)
                || outlook.threats.are_over() && hold().is_followed
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
    /// Whether nothing of this packet remains once the server has left its role or crashed, and
    /// reading it obliges to nothing (a disk operation that is begun holds up the end of the stream).
    fn forgets(
        &self,
        packet: &LeaderPacket,
        disk: &Disk,
        config: &Config,
        outlook: Outlook,
    ) -> bool {
        let (bugs, applies_at_once) = (config.bugs, config.applies_at_once);
        match (&self.phase, packet) {
            // An epoch that was accepted before is answered at once; an older one makes it leave.
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
            (Phase::Synchronising, LeaderPacket::NewLeader(_)) => {
                outlook.has(Flaw::NewLeaderAtOnce)
            }
            (Phase::AwaitingUpToDate, LeaderPacket::Commit(_)) => true,
            // What was proposed meanwhile goes to the log now, and stays.
            (Phase::AwaitingUpToDate, LeaderPacket::UpToDate) => {
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

/// Whether nothing of what is applied remains that the log has not, once the role is left.
fn leaves_no_trace(bugs: Bugs, outlook: Outlook) -> bool {
    !outlook.threats.fsync_errors
        || !bugs.has(Bug::FsyncErrorKeepsMemory)
        || outlook.has(Flaw::CommitThoughMemoryIsKept)
}

impl Leader {
    /// Whether the learner of this connection has been sent all that there was when it registered.
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

    /// Whether it has something to send to this learner, and that is no snapshot, or may be one.
    fn streams(&self, connection: LearnerConnection, snapshots: bool) -> bool {
        let handler = self.handlers.get(&connection);
        handler.is_some_and(|handler| {
            matches!(&handler.phase, HandlerPhase::Streaming(stream) if !stream.is_snap || snapshots)
        })
    }
}
