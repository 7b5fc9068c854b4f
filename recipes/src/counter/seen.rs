//! The observations of a counter.

use serde::Serialize;
use std::sync::Arc;
use vivarium_model::observation::Observation;

/// An observation of a program at a counter. Its property ([`super::properties`]) uses no other observations.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum CounterSeen {
    /// From now on, `delta` may be added.
    Adding {
        /// The counter's znode.
        counter: Arc<str>,
        /// The unique id of this addition.
        op: Arc<str>,
        delta: i64,
    },
    /// It was added once.
    Added { counter: Arc<str>, op: Arc<str>, delta: i64 },
    /// It was not added and never will be.
    NotAdded { counter: Arc<str>, op: Arc<str>, delta: i64 },
    /// It was added once or not at all.
    Unknown { counter: Arc<str>, op: Arc<str> },
}

impl Observation for CounterSeen {
    fn words(&self) -> String {
        match self {
            CounterSeen::Adding { counter, op, delta } => {
                format!("adds {delta} to {counter} ({op})")
            }
            CounterSeen::Added { counter, op, delta } => {
                format!("has ADDED {delta} to {counter} ({op})")
            }
            CounterSeen::NotAdded { counter, op, delta } => {
                format!("has NOT added {delta} to {counter} ({op})")
            }
            CounterSeen::Unknown { counter, op } => {
                format!("does not know whether it has added to {counter} ({op})")
            }
        }
    }
}
