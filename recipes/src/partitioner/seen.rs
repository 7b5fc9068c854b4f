//! What a partitioner tells the monitors, beside what its group and its locks do.

use serde::Serialize;
use std::sync::Arc;
use vivarium_model::observation::Observation;

/// What can be seen of a member that uses its share.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum PartitionSeen {
    /// It uses these items from now on, and no others.
    Uses {
        /// The partition's directory.
        partition: Arc<str>,
        /// In the order of text.
        items: Vec<Arc<str>>,
    },
    /// It uses nothing any more.
    Stops { partition: Arc<str> },
    /// It divides another set than the others, and takes no part.
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
