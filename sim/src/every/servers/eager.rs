//! Chooses eager steps: steps that a search takes immediately, so that it need not try them later.

use super::reductions::Reductions;
use vivarium_model::config::Config;
use vivarium_model::ensemble::ServerNode;
use vivarium_model::id::{LearnerConnection, ServerId, ServerSet};
use vivarium_model::network::{LearnerLinks, Next};
use vivarium_model::packet::LeaderPacket;
use vivarium_model::release::Bug;
use vivarium_model::server::eager::{Flaw, Hold, Outlook};
use vivarium_model::server::{Role, Server};
use vivarium_model::step::Step;

/// The input of the choice: a server, and what it can read.
pub(super) struct Sight<'a, L, N> {
    pub(super) config: &'a Config,
    pub(super) server: ServerId,
    pub(super) node: &'a ServerNode,
    /// The kinds of steps that may be eager.
    pub(super) reductions: Reductions,
    /// Returns the connections of a learner.
    pub(super) links: L,
    /// Returns a server.
    pub(super) nodes: N,
}

impl<'a, L, N> Sight<'a, L, N>
where
    L: Fn(ServerId) -> &'a LearnerLinks,
    N: Fn(ServerId) -> &'a ServerNode,
{
    /// Returns an eager step of the server (see [`vivarium_model::server::eager`]), the first in a fixed order. Eager
    /// steps commute, so their order does not matter.
    pub(super) fn eager(&self, outlook: Outlook) -> Option<Step> {
        // The conditions do not cover the events that wake a sleeping CommitProcessor early or late.
        if self.config.bugs.has(Bug::MissedWakeUp) {
            return None;
        }
        let (process, reductions) = (self.node.process.as_ref()?, self.reductions);
        if process.is_writing_snapshot() && !outlook.has(Flaw::EagerThoughSnapshots) {
            return None;
        }
        if process.has_left() {
            return None;
        }
        if reductions.appends && process.appends_eagerly(self.config, outlook) {
            return Some(Step::Append(self.server));
        }
        if reductions.fsyncs && process.fsyncs_eagerly(&self.node.disk, self.config, outlook) {
            return Some(Step::Fsync(self.server));
        }
        if reductions.writes
            && process.writes_eagerly(&self.node.disk, outlook, || self.hold(process))
        {
            return Some(Step::Write(self.server));
        }
        if reductions.applies && self.applies(process, outlook) {
            return Some(Step::Apply(self.server));
        }
        self.eager_packet(process, outlook)
    }

    fn applies(&self, process: &Server, outlook: Outlook) -> bool {
        process.applies_eagerly(self.config, outlook, |leader| {
            let others = || self.config.server_ids().filter(|id| *id != self.server);
            others().all(|id| {
                self.followed_by(id).is_some_and(|connection| leader.has_synchronised(connection))
            })
        })
    }

    /// Returns the connection by which another server follows this one, if neither end of it is closed.
    fn followed_by(&self, other: ServerId) -> Option<LearnerConnection> {
        let process = (self.nodes)(other).process.as_ref()?;
        let learner = process.role().learner()?;
        let connection = learner.connection().filter(|_| learner.leader() == self.server)?;
        (self.links)(other).is_whole(connection.slot).then_some(connection)
    }

    fn streams(&self, process: &Server, connection: LearnerConnection, outlook: Outlook) -> bool {
        self.reductions.streams
            && process.streams_eagerly(connection, outlook, || self.hold(process))
    }

    /// Returns whether a quorum follows this leader and no other server disputes its epoch, so that it continues to
    /// lead if nothing happens to it.
    fn hold(&self, process: &Server) -> Hold {
        let Role::Leading(leader) = process.role() else {
            return Hold { is_followed: false, is_undisputed: false };
        };
        let others = || self.config.server_ids().filter(|id| *id != self.server);
        let role = |id: ServerId| (self.nodes)(id).process.as_ref().map(Server::role);
        let follows = |id: &ServerId| self.followed_by(*id).is_some();
        let disputes = |id: ServerId| {
            let is_newer = (self.nodes)(id).disk.accepted_epoch() > leader.epoch();
            is_newer || matches!(role(id), Some(Role::Leading(_)))
        };
        let followers: ServerSet = others().filter(follows).collect();
        Hold {
            is_followed: self.config.quorum_verifier().contains_quorum(followers.with(self.server)),
            is_undisputed: !others().any(disputes),
        }
    }

    fn eager_packet(&self, process: &Server, outlook: Outlook) -> Option<Step> {
        let reductions = self.reductions;
        match process.role() {
            // An observer's packets are no eager steps: the conditions are about a learner that acks.
            Role::Looking | Role::Observing(_) => None,
            Role::Following(learner) => {
                let connection = learner.connection()?;
                let next = (self.links)(self.server).next_for_opener(connection.slot)?;
                // In real elections, any server may learn another server's state and epoch, which these packets change.
                let tells = match next {
                    Next::End => true,
                    Next::Packet(packet) => {
                        matches!(
                            packet,
                            LeaderPacket::LeaderInfo { .. } | LeaderPacket::UpToDate(_)
                        )
                    }
                };
                let may = match next {
                    Next::End => reductions.ends,
                    Next::Packet(_) => reductions.packets,
                };
                let may = may && (!tells || self.config.election.is_oracle());
                let disk = &self.node.disk;
                let eager = may && process.reads_eagerly(next, disk, self.config, outlook);
                eager.then_some(Step::ToLearner(connection))
            }
            Role::Leading(leader) => {
                if process.is_deaf_to_learners() {
                    return None;
                }
                leader.each_connection().find_map(|connection| {
                    if self.streams(process, connection, outlook) {
                        return Some(Step::Stream(connection));
                    }
                    let links = (self.links)(connection.learner);
                    let next = links.next_for_acceptor(connection.slot)?;
                    let eager = reductions.acks && process.hears_eagerly(connection, next, outlook);
                    eager.then_some(Step::ToLeader(connection))
                })
            }
        }
    }
}
