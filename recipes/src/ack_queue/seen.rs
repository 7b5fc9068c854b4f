//! What an acknowledged queue tells the monitors, beside what it tells of its puts
//! ([`QueueSeen`](crate::queue::QueueSeen)).

use serde::Serialize;
use std::sync::Arc;
use vivarium_model::observation::Observation;
use vivarium_model::zxid::Zxid;

/// What can be seen of a consumer of an acknowledged queue. Its properties ([`super::properties`]) read
/// nothing else of consumers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum AckSeen {
    /// The program believes that the item is its to work on from now on.
    Claimed {
        /// The directory whose children the items are.
        queue: Arc<str>,
        /// The item's data.
        item: Arc<str>,
        /// Full path of the item.
        node: Arc<str>,
        /// The czxid of the claim.
        token: Zxid,
    },
    /// It acknowledges, requeues or releases it: the belief ends here.
    Finishing { queue: Arc<str>, node: Arc<str>, token: Zxid },
    /// It was told that the claim is lost, and believes it.
    Lost { queue: Arc<str>, node: Arc<str>, token: Zxid },
    /// It knows that its acknowledgement was done.
    Acked { queue: Arc<str>, node: Arc<str>, token: Zxid },
    /// It knows that its acknowledgement was not done, and never will be.
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
                format!("was told that its claim of {node} is LOST, token {token}")
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
