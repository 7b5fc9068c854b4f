//! What a queue tells the monitors.

use serde::Serialize;
use std::sync::Arc;
use vivarium_model::observation::Observation;

/// What can be seen of a program at a queue, of any order. Its properties ([`super::properties`]) read
/// nothing else of programs. An item is known by its data, so no two may have the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum QueueSeen {
    /// From now on the item may be in the queue.
    Putting {
        /// The directory whose children the items are.
        queue: Arc<str>,
        item: Arc<str>,
    },
    /// It is known that it was put, once.
    Put { queue: Arc<str>, item: Arc<str> },
    /// From now on the program may have taken the item: if it dies before it says more, the item may have
    /// died with it.
    Taking { queue: Arc<str>, item: Arc<str> },
    /// The item is the program's.
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
