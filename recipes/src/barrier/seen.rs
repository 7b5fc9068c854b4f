//! The observations of the barrier.

use serde::Serialize;
use std::sync::Arc;
use vivarium_model::observation::Observation;
use vivarium_model::zxid::Zxid;

/// An observation of a program at a barrier. Its properties ([`super::properties`]) use no other observations.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum BarrierSeen {
    /// The program was told outside of ZooKeeper that the barrier was raised.
    Told {
        /// The barrier's znode.
        node: Arc<str>,
        /// The transaction that raised it.
        raised: Zxid,
    },
    /// The program observed that the barrier is up.
    Found {
        node: Arc<str>,
        /// The transaction that raised it.
        raised: Zxid,
    },
    /// The program's wait is over, and it proceeds.
    Passed { node: Arc<str> },
}

impl Observation for BarrierSeen {
    fn words(&self) -> String {
        match self {
            BarrierSeen::Told { node, raised } => {
                format!("learns that the barrier {node} was raised by {raised}")
            }
            BarrierSeen::Found { node, raised } => {
                format!("sees that the barrier {node} is up, raised by {raised}, and waits")
            }
            BarrierSeen::Passed { node } => format!("PASSES the barrier {node}"),
        }
    }
}
