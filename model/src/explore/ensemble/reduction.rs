//! Steps that a search takes at once, so that it need not try them late.

use crate::config::Config;
use crate::ensemble::ServerNode;
use crate::id::ServerId;
use crate::network::LearnerLinks;
use crate::server::eager::Threats;
use crate::server::{Role, Server};
use crate::step::Step;

/// What an eager step is chosen by: a server, and what it could read.
pub(super) struct Sight<'a, L> {
    pub(super) config: &'a Config,
    pub(super) server: ServerId,
    pub(super) node: &'a ServerNode,
    /// The connections of a learner.
    pub(super) links: L,
}

impl<'a, L: Fn(ServerId) -> &'a LearnerLinks> Sight<'a, L> {
    /// A step of the server that may as well be taken now (see [`crate::server::eager`]), the first
    /// in a fixed order: such steps commute, so their order does not matter.
    pub(super) fn eager(&self, threats: Threats) -> Option<Step> {
        // A background snapshot takes what is applied by then, so nothing may be put before it.
        if self.config.snap_count != u32::MAX {
            return None;
        }
        let process = self.node.process.as_ref()?;
        if process.appends_eagerly() {
            return Some(Step::Append(self.server));
        }
        if process.fsyncs_eagerly(threats) {
            return Some(Step::Fsync(self.server));
        }
        if process.writes_eagerly(threats) {
            return Some(Step::Write(self.server));
        }
        self.eager_packet(process, threats)
    }

    fn eager_packet(&self, process: &Server, threats: Threats) -> Option<Step> {
        match process.role() {
            Role::Looking => None,
            Role::Following(learner) => {
                let connection = learner.connection()?;
                let next = (self.links)(self.server).next_for_opener(connection.slot)?;
                let (disk, bugs) = (&self.node.disk, self.config.bugs);
                let eager = process.reads_eagerly(next, disk, bugs, threats);
                eager.then_some(Step::ToLearner(connection))
            }
            Role::Leading(leader) => {
                if leader.is_deaf(process.writing()) {
                    return None;
                }
                leader.each_connection().find_map(|connection| {
                    if process.streams_eagerly(connection, threats) {
                        return Some(Step::Stream(connection));
                    }
                    let links = (self.links)(connection.learner);
                    let next = links.next_for_acceptor(connection.slot)?;
                    let eager = process.hears_eagerly(connection, next, threats);
                    eager.then_some(Step::ToLeader(connection))
                })
            }
        }
    }
}
