//! What keepers of a persistent node tell the monitors.

use serde::Serialize;
use std::sync::Arc;
use vivarium_model::observation::Observation;
use vivarium_model::op::Data;

/// What can be seen of a keeper. Its properties ([`super::properties`]) read nothing else of programs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum PersistentSeen {
    /// It keeps the znode there from now on.
    Keeps {
        path: Arc<str>,
        /// What is to be in it.
        data: Data,
    },
    /// It wants the znode gone from now on.
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
