//! The observations of keepers of a persistent node.

use serde::Serialize;
use std::sync::Arc;
use vivarium_model::observation::Observation;
use vivarium_model::op::Data;

/// An observation of a keeper. Its properties ([`super::properties`]) use no other observations.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum PersistentSeen {
    /// The keeper keeps the znode in existence from now on.
    Keeps {
        path: Arc<str>,
        /// The data that it should contain.
        data: Data,
    },
    /// The keeper wants the znode gone from now on.
    Closes { path: Arc<str> },
}

impl Observation for PersistentSeen {
    fn words(&self) -> String {
        match self {
            PersistentSeen::Keeps { path, data } => {
                format!("keeps {path} there, with `{}`", String::from_utf8_lossy(data))
            }
            PersistentSeen::Closes { path } => format!("wants {path} gone"),
        }
    }
}
