//! The observations of users of a name service.

use serde::Serialize;
use std::sync::Arc;
use vivarium_model::observation::Observation;
use vivarium_model::op::Data;
use vivarium_model::zxid::Zxid;

/// An observation of a user of names. Its properties ([`super::properties`]) use no other observations.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum NameSeen {
    /// The program believes that it has bound the name.
    Bound {
        /// Full path of the name.
        name: Arc<str>,
        /// The czxid of the znode.
        czxid: Zxid,
        /// The unique content that it has given the name.
        content: Data,
    },
    /// The program believes that another client has bound the name.
    Taken {
        name: Arc<str>,
        /// The czxid of the znode.
        czxid: Zxid,
        /// The content that it wanted to give the name.
        own: Data,
    },
    /// The program uses this as the name's address.
    Resolved {
        name: Arc<str>,
        address: Arc<str>,
        /// The mzxid of the znode.
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
                format!("takes {name} (czxid {czxid}) for another client's")
            }
            NameSeen::Resolved { name, address, mzxid } => {
                format!("takes {address} for the address of {name}, as of {mzxid}")
            }
        }
    }
}
