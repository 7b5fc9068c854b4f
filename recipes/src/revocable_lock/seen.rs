//! What a revocable lock tells the monitors, beside what every lock does.

use serde::Serialize;
use std::sync::Arc;
use vivarium_model::observation::Observation;
use vivarium_model::zxid::Zxid;

/// What can be seen of a program at a revocable lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum RevocationSeen {
    /// An owner was told that somebody asks it to give the lock back.
    Told {
        /// The lock's directory.
        lock: Arc<str>,
        /// The token of the grant.
        token: Zxid,
    },
    /// An owner's release is done: what it was not told by now it never is.
    LetGo { lock: Arc<str>, token: Zxid },
    /// A request stands in this znode, as whoever has asked for it believes.
    Requested {
        lock: Arc<str>,
        /// Full path of the owner's znode.
        node: Arc<str>,
    },
    /// The owner's znode was taken away, as whoever has done it believes.
    Taken { lock: Arc<str>, node: Arc<str> },
}

impl Observation for RevocationSeen {
    fn words(&self) -> String {
        match self {
            RevocationSeen::Told { lock, token } => {
                format!("was told to give {lock} back, token {token}")
            }
            RevocationSeen::LetGo { lock, token } => {
                format!("has done with {lock}, token {token}")
            }
            RevocationSeen::Requested { node, .. } => {
                format!("has asked for the lock that is held by {node}")
            }
            RevocationSeen::Taken { node, .. } => format!("has taken the lock away from {node}"),
        }
    }
}
