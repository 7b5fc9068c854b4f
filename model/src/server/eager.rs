//! Which steps of a server may as well happen at once: what a search need not try late.
//!
//! A step is *eager* where putting it off can be told from taking it at once neither by anything
//! that can still happen to this server, nor by anybody else: whatever the late order reaches, the
//! early one reaches too. Steps of different servers commute (the tests check it), so only this
//! can tell: steps of the same server, a crash of it, its leaving its role, a crash or departure of
//! the server at the other end and a break between them (packets under way are lost), and, for
//! what a leader sends, whatever else it may send first.
//!
//! Three facts carry most of the rules:
//!
//! * A crash forgets memory and takes back what was sent and not read (no packet of the process need
//!   survive it: one that did could as well have been read before).
//! * Leaving a role forgets the learner or leader, flushes the log and applies all of it; so a
//!   commit that was read leaves no trace that the log has not (semantics 6.8).
//! * An appended record that is not durable is as good as one that waits to be appended: a crash can
//!   lose both, and so can a failed fsync.
//! * A failed fsync is like a crash for the log and like leaving the role for all else, and needs
//!   something to make durable: what waits for neither of these does not wait for it. Only where
//!   memory outlives it ([`Bug::FsyncErrorKeepsMemory`]) does a commit that was read leave a trace.

use super::leader::{HandlerPhase, Leader};
use super::learner::{Learner, Phase};
use super::{Role, Server, Writing};
use crate::event::SyncMode;
use crate::id::LearnerConnection;
use crate::network::Next;
use crate::packet::{LeaderPacket, LearnerPacket};
use crate::release::{Bug, Bugs};
use crate::server::disk::Disk;

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

impl Threats {
    /// Nothing goes wrong any more: packets under way arrive, disk operations complete.
    fn are_over(self) -> bool {
        !(self.crashes || self.breaks || self.timeouts)
    }
}

impl Server {
    /// Whether its log thread may append at once: what is appended can be lost in a crash like what
    /// is not, and leaving the role appends it.
    pub fn appends_eagerly(&self) -> bool {
        self.can_append()
    }

    /// Whether its log thread may fsync at once.
    pub fn fsyncs_eagerly(&self, threats: Threats) -> bool {
        self.can_fsync()
            && match &self.role {
                // The acks that leave can be read, and nothing takes them back then.
                Role::Following(_) => !threats.crashes && !threats.timeouts,
                // Its own acks only count: eager unless they are the ones that commit, for what is
                // proposed before a commit and after it goes out in another order.
                Role::Leading(leader) => {
                    !threats.crashes
                        && self.to_ack.iter().all(|zxid| !leader.would_commit(self.id, *zxid))
                }
                Role::Looking => false,
            }
    }

    /// Whether the packet thread's disk operation may complete at once.
    pub fn writes_eagerly(&self, threats: Threats) -> bool {
        let stays = !threats.timeouts;
        let lives = !threats.crashes;
        match (&self.writing, &self.role) {
            (None, _) => false,
            // Lost in a crash as if they had not happened.
            (Some(Writing::LeadSnapshot | Writing::SyncAppend), _) => stays,
            // Leaving the role fsyncs as well.
            (Some(Writing::SyncFsync), _) => lives,
            (Some(Writing::CurrentEpoch), Role::Leading(leader)) => {
                lives && stays && !leader.would_be_activated_by_itself(self.id)
            }
            (Some(_), _) => lives && stays,
        }
    }

    /// Whether a learner may read this at once.
    pub fn reads_eagerly(
        &self,
        next: Next<'_, LeaderPacket>,
        disk: &Disk,
        bugs: Bugs,
        threats: Threats,
    ) -> bool {
        let Role::Following(learner) = &self.role else { return false };
        if self.writing.is_some() {
            return false;
        }
        match next {
            // Leaving the role flushes the log, which a crash would not.
            Next::End => !threats.crashes || (self.log_queue.is_empty() && disk.unsynced() == 0),
            Next::Packet(packet) => {
                threats.are_over() || learner.forgets(packet, disk, bugs, threats)
            }
        }
    }

    /// Whether a leader may read this at once.
    pub fn hears_eagerly(
        &self,
        connection: LearnerConnection,
        next: Next<'_, LearnerPacket>,
        threats: Threats,
    ) -> bool {
        let Role::Leading(leader) = &self.role else { return false };
        let Next::Packet(LearnerPacket::Ack(zxid)) = next else { return false };
        if !leader.is_in_broadcast(connection) {
            return false;
        }
        // It changes nothing; or it counts, and commits nothing yet.
        leader.ignores(*zxid)
            || threats.are_over() && !leader.would_commit(connection.learner, *zxid)
    }

    /// Whether a leader may send what is queued for a learner that needs no snapshot at once: where
    /// nothing is or can be proposed, nothing else can come before NEWLEADER.
    pub fn streams_eagerly(&self, connection: LearnerConnection, threats: Threats) -> bool {
        let Role::Leading(leader) = &self.role else { return false };
        !threats.timeouts
            && !threats.proposals
            && leader.outstanding() == 0
            && leader.streams_no_snapshot(connection)
    }
}

impl Learner {
    /// Whether nothing of this packet remains once the server has left its role or crashed, and
    /// reading it obliges to nothing (a disk operation that is begun holds up the end of the stream).
    fn forgets(&self, packet: &LeaderPacket, disk: &Disk, bugs: Bugs, threats: Threats) -> bool {
        match (&self.phase, packet) {
            // An epoch that was accepted before is answered at once; an older one makes it leave.
            (Phase::Discovery, LeaderPacket::LeaderInfo { epoch }) => {
                *epoch < disk.accepted_epoch()
                    || *epoch == disk.accepted_epoch() && !threats.timeouts
            }
            (Phase::AwaitingSync, LeaderPacket::Diff(_)) => true,
            (Phase::LoadingSnapshot(_), _) => true,
            (
                Phase::Synchronising | Phase::AwaitingUpToDate,
                LeaderPacket::Proposal(_) | LeaderPacket::Ping,
            ) => true,
            (Phase::Synchronising, LeaderPacket::Commit(_)) => {
                self.mode != Some(SyncMode::Trunc) || !bugs.has(Bug::InterruptedTruncKeepsTree)
            }
            (Phase::AwaitingUpToDate, LeaderPacket::Commit(_)) => true,
            // What was proposed meanwhile goes to the log now, and stays.
            (Phase::AwaitingUpToDate, LeaderPacket::UpToDate) => self.not_logged.is_empty(),
            (Phase::Broadcast, LeaderPacket::Commit(_)) => {
                !threats.fsync_errors || !bugs.has(Bug::FsyncErrorKeepsMemory)
            }
            _ => false,
        }
    }
}

impl Leader {
    /// Whether this learner's acks are acks of proposals.
    fn is_in_broadcast(&self, connection: LearnerConnection) -> bool {
        let handler = self.handlers.get(&connection);
        handler.is_some_and(|handler| handler.phase == HandlerPhase::Broadcast)
    }

    fn streams_no_snapshot(&self, connection: LearnerConnection) -> bool {
        let handler = self.handlers.get(&connection);
        handler.is_some_and(
            |handler| matches!(&handler.phase, HandlerPhase::Streaming(stream) if !stream.is_snap),
        )
    }
}
