//! Steps that a search takes at once, so that it need not try them late.

use crate::ensemble::Ensemble;
use crate::id::ServerId;
use crate::server::eager::Threats;
use crate::server::{Role, Server};
use crate::step::Step;

/// A step of a server that may as well be taken now (see [`crate::server::eager`]), the first in a
/// fixed order: such steps commute, so their order does not matter.
pub(super) fn eager_of(ensemble: &Ensemble, id: ServerId, threats: Threats) -> Option<Step> {
    // A background snapshot takes what is applied by then, so nothing may be put before it.
    if ensemble.config().snap_count != u32::MAX {
        return None;
    }
    let process = ensemble.server(id)?;
    if process.appends_eagerly() {
        return Some(Step::Append(id));
    }
    if process.fsyncs_eagerly(threats) {
        return Some(Step::Fsync(id));
    }
    if process.writes_eagerly(threats) {
        return Some(Step::Write(id));
    }
    eager_packet(ensemble, id, process, threats)
}

fn eager_packet(
    ensemble: &Ensemble,
    id: ServerId,
    process: &Server,
    threats: Threats,
) -> Option<Step> {
    let (disk, bugs) = (ensemble.disk(id), ensemble.config().bugs);
    match process.role() {
        Role::Looking => None,
        Role::Following(learner) => {
            let connection = learner.connection()?;
            let next = ensemble.network.next_from_leader(connection)?;
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
                let next = ensemble.network.next_from_learner(connection)?;
                let eager = process.hears_eagerly(connection, next, threats);
                eager.then_some(Step::ToLeader(connection))
            })
        }
    }
}
