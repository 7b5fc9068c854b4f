//! What users of a name service tell the monitors.

use serde::Serialize;
use std::sync::Arc;
use vivarium_model::observation::Observation;
use vivarium_model::op::Data;
use vivarium_model::zxid::Zxid;

/// What can be seen of a user of names. Its properties ([`super::properties`]) read nothing else of programs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum NameSeen {
    /// The program takes the name for its own.
    Bound {
        /// Full path of the name.
        name: Arc<str>,
        /// Of the znode.
        czxid: Zxid,
        /// What it has given the name, unlike anybody else's.
        content: Data,
    },
    /// The program takes the name for somebody else's.
    Taken {
        name: Arc<str>,
        /// Of the znode.
        czxid: Zxid,
        /// What it wanted to give the name.
        own: Data,
    },
    /// The program takes this for the name's address.
    Resolved {
        name: Arc<str>,
        address: Arc<str>,
        /// Of the znode.
        mzxid: Zxid,
    },
}

impl Observation for NameSeen {
    fn words(&self) -> String {
        match self {
            NameSeen::Bound { name, czxid, .. } => {
                format!("takes {name} (czxid {czxid}) for its own")
            }
            NameSeen::Taken { name, czxid, .. } => {
                format!("takes {name} (czxid {czxid}) for somebody else's")
            }
            NameSeen::Resolved { name, address, mzxid } => {
                format!("takes {address} for the address of {name}, as of {mzxid}")
            }
        }
    }
}
