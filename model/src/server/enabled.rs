//! The steps that a server can take: the one definition, for taking steps as well as for listing them. Links and
//! mailboxes are checked by the network.

use super::disk::Disk;
use super::{Role, Server, Writing};
use crate::vocabulary::id::{LearnerConnection, SessionId};
use crate::vocabulary::release::{Bug, Bugs};
use crate::vocabulary::step::Step;
use crate::vocabulary::timer::{ServerTimer, Timer};

impl Server {
    /// Returns true if this server can take the step. Outdated steps are impossible: a disk operation of a role that
    /// it has left, a timer that has no meaning in its present role.
    ///
    /// # Panics
    /// For a step of more than one server, and for deliveries, which the network checks.
    pub(crate) fn enables(&self, step: &Step, disk: &Disk, bugs: Bugs) -> bool {
        match *step {
            Step::Append(_) => self.log.can_append(),
            Step::Fsync(_) => self.log.can_fsync(),
            Step::FsyncError { .. } => self.can_fail_to_write(disk),
            Step::Apply(_) => self.commits.can_apply(),
            Step::ApplyRest(_) => self.database.has_rest(),
            Step::MissWakeUp(_) => self.commits.can_miss_wake_up(bugs),
            Step::Write(_) => match self.thread.writing {
                // It waits for the log thread, unless it need not.
                Some(Writing::NewLeaderAck) => {
                    bugs.has(Bug::NewLeaderAckedBeforeFsync) || self.log.is_idle()
                }
                _ => self.thread.writing.is_some(),
            },
            Step::Snapshot(_) => self.database.can_snapshot(disk),
            Step::Stream(connection) => {
                self.left.can_stream(connection)
                    || match &self.role {
                        Role::Leading(leader) => leader.can_stream(connection),
                        Role::Following(learner) => {
                            let master = learner.master.0.as_ref();
                            master.is_some_and(|master| master.can_stream(connection))
                        }
                        Role::Observing(_) | Role::Looking => false,
                    }
            }
            Step::Propose(_) | Step::Reconfigure { .. } => match &self.role {
                Role::Leading(leader) => leader.is_established(),
                Role::Following(_) | Role::Observing(_) | Role::Looking => false,
            },
            Step::Expire(session) => self.tracks(session),
            Step::Rejoin(_) => !self.is_looking(),
            Step::Fire(Timer::Server(_, timer)) => self.heeds(timer),
            _ => unreachable!("{step} is no step of one server"),
        }
    }

    /// Returns the connections of learners that have a handler here.
    pub(crate) fn handlers(&self) -> Vec<LearnerConnection> {
        let mut handlers: Vec<LearnerConnection> = self.left.connections().collect();
        match &self.role {
            Role::Leading(leader) => handlers.extend(leader.each_connection()),
            Role::Following(learner) => {
                handlers.extend(learner.master.0.iter().flat_map(|master| master.connections()));
            }
            Role::Observing(_) | Role::Looking => {}
        }
        handlers
    }

    /// Returns true if the log or a snapshot is being written.
    pub(super) fn can_fail_to_write(&self, disk: &Disk) -> bool {
        let main =
            matches!(self.thread.writing, Some(Writing::LeadSnapshot | Writing::SyncSnapshot));
        self.writes_log() || main || self.database.can_snapshot(disk)
    }

    /// Returns true if the log is being written or fsynced: by the log thread, or in a synchronisation by the packet
    /// thread. It is never both, because the log thread is idle until the synchronisation is over.
    pub(super) fn writes_log(&self) -> bool {
        let synchronises =
            matches!(self.thread.writing, Some(Writing::SyncAppend | Writing::SyncFsync));
        self.log.can_fsync() || synchronises
    }

    /// Returns true if the server does not read from learners now: as a leader before it accepts learners, and while
    /// it accepts its epoch. (A server that does not lead reads and refuses.)
    pub fn is_deaf_to_learners(&self) -> bool {
        matches!(&self.role, Role::Leading(leader) if leader.is_deaf(self.writing()))
    }

    /// Returns true if the server does not read from its leader now, because the packet thread waits for its disk.
    pub(crate) fn is_deaf_to_its_leader(&self) -> bool {
        self.writing().is_some()
    }

    /// Returns true if only an error of its disk can make the server leave its role now: the thread that would do so
    /// waits for that disk.
    pub(crate) fn is_held_in_its_role(&self) -> bool {
        self.writing().is_some()
    }

    /// Returns true if a timer has a meaning now.
    fn heeds(&self, timer: ServerTimer) -> bool {
        match (timer, &self.role) {
            (ServerTimer::Notification, Role::Looking) => true,
            (ServerTimer::Finalize, Role::Looking) => self.election.is_finalizing(),
            (ServerTimer::ReadOnly, Role::Looking) => !self.clients.read_only,
            (ServerTimer::ConnectLeader, Role::Following(learner) | Role::Observing(learner)) => {
                learner.can_connect()
            }
            (ServerTimer::LeaderSilent, Role::Following(learner) | Role::Observing(learner)) => {
                learner.is_synchronised()
            }
            // The timer limits a single wait, and there is none during a disk operation (rule 5.5.2).
            (
                ServerTimer::InitLimit,
                Role::Following(_) | Role::Observing(_) | Role::Leading(_),
            ) => !self.is_serving() && self.writing().is_none(),
            (ServerTimer::LearnerSilent(connection), _) if self.left.has(connection) => true,
            (ServerTimer::LearnerSilent(connection), Role::Leading(leader)) => {
                leader.handles(connection)
            }
            (ServerTimer::LearnerSilent(connection), Role::Following(learner)) => {
                learner.master.0.as_ref().is_some_and(|master| master.hosts(connection))
            }
            (ServerTimer::ConnectMaster(_), Role::Observing(learner)) => learner.chooses_master(),
            (ServerTimer::Ping, Role::Following(learner)) => !learner.master.is_none(),
            (ServerTimer::AckDeadline(connection), Role::Leading(leader)) => {
                leader.counts(connection)
            }
            (ServerTimer::Unacknowledged(connection, watched), Role::Leading(leader)) => {
                leader.watches(connection, watched)
            }
            (ServerTimer::Ping, Role::Leading(leader)) => leader.is_established(),
            (ServerTimer::Containers | ServerTimer::DeleteContainer, Role::Leading(leader)) => {
                leader.container_timers().any(|armed| armed == timer)
            }
            (ServerTimer::SessionExpiry(session), _) => {
                self.clients.local.contains(session) || self.tracks(session)
            }
            _ => false,
        }
    }

    /// Returns true if the server leads and can expire this session.
    fn tracks(&self, session: SessionId) -> bool {
        matches!(&self.role, Role::Leading(leader) if leader.can_expire(session))
    }
}
