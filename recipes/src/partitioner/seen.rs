//! The observations of a partitioner, in addition to those of its group and its locks.

use serde::Serialize;
use std::sync::Arc;
use vivarium_model::observation::Observation;

/// An observation of a member that uses its share.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum PartitionSeen {
    /// The member uses these items from now on, and no others.
    Uses {
        /// The partition's directory.
        partition: Arc<str>,
        /// In textual order.
        items: Vec<Arc<str>>,
    },
    /// The member stops using its share.
    Stops { partition: Arc<str> },
    /// The member divides another set than the others, and does not take part.
    Refused { partition: Arc<str> },
}

impl Observation for PartitionSeen {
    fn words(&self) -> String {
        match self {
            PartitionSeen::Uses { partition, items } if items.is_empty() => {
                format!("uses nothing of {partition}")
            }
            PartitionSeen::Uses { partition, items } => {
                format!("USES {} of {partition} from now on", items.join(", "))
            }
            PartitionSeen::Stops { partition } => format!("uses nothing of {partition} any more"),
            PartitionSeen::Refused { partition } => {
                format!("takes no part in {partition}, where another set is divided")
            }
        }
    }
}
