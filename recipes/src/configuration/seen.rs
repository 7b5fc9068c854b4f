//! The observations of subscribers of a configuration.

use serde::Serialize;
use std::sync::Arc;
use vivarium_model::observation::Observation;
use vivarium_model::op::Data;
use vivarium_model::zxid::Zxid;

/// The configuration at some zxid.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Setting {
    /// There is no value.
    Absent,
    /// There is a value.
    Value {
        /// The zxid of the write that made it.
        mzxid: Zxid,
        /// The value.
        data: Data,
    },
}

/// An observation of a subscriber. Its properties ([`super::properties`]) use no other observations.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum ConfigurationSeen {
    /// A setting was delivered, and the subscriber uses it from now on.
    Delivered {
        /// The configuration's path.
        path: Arc<str>,
        setting: Setting,
    },
    /// The subscriber stopped following.
    Unsubscribed { path: Arc<str> },
}

impl Observation for ConfigurationSeen {
    fn words(&self) -> String {
        match self {
            ConfigurationSeen::Delivered { path, setting: Setting::Absent } => {
                format!("learns that {path} has no value")
            }
            ConfigurationSeen::Delivered { path, setting: Setting::Value { mzxid, data } } => {
                format!("learns that {path} is `{}`, as of {mzxid}", String::from_utf8_lossy(data))
            }
            ConfigurationSeen::Unsubscribed { path } => format!("follows {path} no more"),
        }
    }
}
