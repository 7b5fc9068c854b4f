//! The observations of a shared value, in addition to those of its cache ([`CacheSeen`](crate::cache::CacheSeen)).

use serde::Serialize;
use std::sync::Arc;
use vivarium_model::observation::Observation;

/// An observation of a program that writes a shared value. Its own properties ([`super::properties`]) use no other
/// observations.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum SharedValueSeen {
    /// From this observation on, the value may be written.
    Writing {
        /// The value's znode.
        path: Arc<str>,
        /// The unique id of this write.
        id: Arc<str>,
        /// The version that the write expects; `None` for any.
        expected: Option<i32>,
    },
    /// The value was written once.
    Written { path: Arc<str>, id: Arc<str> },
    /// The value was not written, and never will be.
    Refused { path: Arc<str>, id: Arc<str> },
    /// The value was written once or not at all.
    Unknown { path: Arc<str>, id: Arc<str> },
}

impl Observation for SharedValueSeen {
    fn words(&self) -> String {
        match self {
            SharedValueSeen::Writing { path, id, expected: Some(version) } => {
                format!("writes {path} over version {version} ({id})")
            }
            SharedValueSeen::Writing { path, id, expected: None } => {
                format!("writes {path} ({id})")
            }
            SharedValueSeen::Written { path, id } => format!("has WRITTEN {path} ({id})"),
            SharedValueSeen::Refused { path, id } => format!("has NOT written {path} ({id})"),
            SharedValueSeen::Unknown { path, id } => {
                format!("does not know whether it has written {path} ({id})")
            }
        }
    }
}
