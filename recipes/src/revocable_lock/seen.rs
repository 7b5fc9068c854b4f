//! The observations of a revocable lock, in addition to those of every lock.

use serde::Serialize;
use std::sync::Arc;
use vivarium_model::observation::Observation;
use vivarium_model::zxid::Zxid;

/// An observation of a program at a revocable lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum RevocationSeen {
    /// An owner was notified of a request to give the lock back.
    Told {
        /// The lock's directory.
        lock: Arc<str>,
        /// The token of the grant.
        token: Zxid,
    },
    /// An owner's release is complete: no later request can reach it.
    LetGo { lock: Arc<str>, token: Zxid },
    /// The requester believes that a request is in this znode.
    Requested {
        lock: Arc<str>,
        /// Full path of the owner's znode.
        node: Arc<str>,
    },
    /// The requester believes that it took the owner's znode away.
    Taken { lock: Arc<str>, node: Arc<str> },
}

impl Observation for RevocationSeen {
    fn words(&self) -> String {
        match self {
            RevocationSeen::Told { lock, token } => {
                format!("is asked to release {lock}, token {token}")
            }
            RevocationSeen::LetGo { lock, token } => {
                format!("has finished with {lock}, token {token}")
            }
            RevocationSeen::Requested { node, .. } => {
                format!("has asked for the lock that is held by {node}")
            }
            RevocationSeen::Taken { node, .. } => format!("has taken the lock away from {node}"),
        }
    }
}
