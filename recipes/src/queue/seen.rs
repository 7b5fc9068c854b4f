//! The observations of a queue.

use serde::Serialize;
use std::sync::Arc;
use vivarium_model::observation::Observation;

/// An observation of a program at a queue, of either order. Its properties ([`super::properties`]) use no other
/// observations. An item is identified by its data, so all items must have different data.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum QueueSeen {
    /// From this observation on, the item may be in the queue.
    Putting {
        /// The directory whose children the items are.
        queue: Arc<str>,
        item: Arc<str>,
    },
    /// The item was put exactly once.
    Put { queue: Arc<str>, item: Arc<str> },
    /// From this observation on, the program may have taken the item: if it crashes before [`QueueSeen::Taken`], the
    /// item may be lost with it.
    Taking { queue: Arc<str>, item: Arc<str> },
    /// The program has taken the item.
    Taken { queue: Arc<str>, item: Arc<str> },
}

impl Observation for QueueSeen {
    fn words(&self) -> String {
        match self {
            QueueSeen::Putting { queue, item } => format!("puts {item} into {queue}"),
            QueueSeen::Put { queue, item } => format!("has PUT {item} into {queue}"),
            QueueSeen::Taking { queue, item } => format!("is about to take {item} from {queue}"),
            QueueSeen::Taken { queue, item } => format!("has TAKEN {item} from {queue}"),
        }
    }
}
