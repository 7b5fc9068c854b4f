//! The observations of an acknowledged queue, in addition to those of its puts
//! ([`QueueSeen`](crate::queue::QueueSeen)).

use serde::Serialize;
use std::sync::Arc;
use vivarium_model::observation::Observation;
use vivarium_model::zxid::Zxid;

/// An observation of a consumer of an acknowledged queue. Its properties ([`super::properties`]) use no other
/// observations of consumers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum AckSeen {
    /// The program believes from now on that the item is its to work on.
    Claimed {
        /// The directory of the items.
        queue: Arc<str>,
        /// The item's data.
        item: Arc<str>,
        /// Full path of the item.
        node: Arc<str>,
        /// The czxid of the claim.
        token: Zxid,
    },
    /// The program acknowledges, requeues or releases the item: the belief ends here.
    Finishing { queue: Arc<str>, node: Arc<str>, token: Zxid },
    /// The program was notified that the claim is lost.
    Lost { queue: Arc<str>, node: Arc<str>, token: Zxid },
    /// The program knows that its acknowledgement was applied.
    Acked { queue: Arc<str>, node: Arc<str>, token: Zxid },
    /// The program knows that its acknowledgement was not applied and never will be.
    NotAcked { queue: Arc<str>, node: Arc<str>, token: Zxid },
}

impl Observation for AckSeen {
    fn words(&self) -> String {
        match self {
            AckSeen::Claimed { item, node, token, .. } => {
                format!("has CLAIMED {item} from now on, at {node}, token {token}")
            }
            AckSeen::Finishing { node, token, .. } => {
                format!("finishes its work on {node}, token {token}")
            }
            AckSeen::Lost { node, token, .. } => {
                format!("learns that its claim of {node} is LOST, token {token}")
            }
            AckSeen::Acked { node, token, .. } => {
                format!("has ACKNOWLEDGED {node}, token {token}")
            }
            AckSeen::NotAcked { node, token, .. } => {
                format!("has NOT acknowledged {node}, token {token}")
            }
        }
    }
}
