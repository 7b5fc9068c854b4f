//! What the barrier tells the monitors.

use serde::Serialize;
use std::sync::Arc;
use vivarium_model::observation::Observation;
use vivarium_model::zxid::Zxid;

/// What can be seen of a program at a barrier. Its properties ([`super::properties`]) read nothing else of
/// programs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum BarrierSeen {
    /// Somebody has told the program, beside ZooKeeper, that the barrier was raised.
    Told {
        /// The barrier's znode.
        node: Arc<str>,
        /// The transaction that raised it.
        raised: Zxid,
    },
    /// The program was shown that the barrier is up.
    Found {
        node: Arc<str>,
        /// The transaction that raised it.
        raised: Zxid,
    },
    /// Its wait is over: it goes on.
    Passed { node: Arc<str> },
}

impl Observation for BarrierSeen {
    fn words(&self) -> String {
        match self {
            BarrierSeen::Told { node, raised } => {
                format!("is told that the barrier {node} was raised by {raised}")
            }
            BarrierSeen::Found { node, raised } => {
                format!("sees that the barrier {node} is up, raised by {raised}, and waits")
            }
            BarrierSeen::Passed { node } => format!("PASSES the barrier {node}"),
        }
    }
}
