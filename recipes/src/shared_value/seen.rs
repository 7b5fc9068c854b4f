//! What a program with a shared value tells the monitors, beside what its cache does
//! ([`CacheSeen`](crate::cache::CacheSeen)).

use serde::Serialize;
use std::sync::Arc;
use vivarium_model::observation::Observation;

/// What can be seen of a program that writes a shared value. Its own properties ([`super::properties`]) read
/// nothing else of programs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum SharedValueSeen {
    /// From now on the value may be written.
    Writing {
        /// The value's znode.
        path: Arc<str>,
        /// What tells this write from all others.
        id: Arc<str>,
        /// Over the value of this version only; `None` for any.
        expected: Option<i32>,
    },
    /// It was, once.
    Written { path: Arc<str>, id: Arc<str> },
    /// It was not, and never will be.
    Refused { path: Arc<str>, id: Arc<str> },
    /// It was, once, or was not.
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
