//! The observations of the double barrier.

use serde::Serialize;
use std::sync::Arc;
use vivarium_model::observation::Observation;

/// An observation of a program at a double barrier. Its properties ([`super::properties`]) use no other observations.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum DoubleBarrierSeen {
    /// An attempt to enter began: what its session creates in `members` from now on is a registration.
    Entering {
        /// The double barrier's directory.
        barrier: Arc<str>,
        generation: u64,
        /// The directory in which members register.
        members: Arc<str>,
        /// The party's name, the same after each restart of its process.
        party: Arc<str>,
    },
    /// The program believes from now on that it is inside.
    Entered { barrier: Arc<str>, generation: u64 },
    /// Another member has aborted the generation.
    Aborted { barrier: Arc<str>, generation: u64 },
    /// The program has given up waiting.
    TimedOut { barrier: Arc<str>, generation: u64 },
    /// The attempt ended otherwise: by a failure, or by being dropped.
    Withdrew { barrier: Arc<str>, generation: u64 },
    /// Leave was called: others need not wait for this member any more.
    Leaving { barrier: Arc<str>, generation: u64 },
    /// The program believes that all have left.
    Left { barrier: Arc<str>, generation: u64 },
    /// The program no longer waits for the others to leave.
    OutOfPatience { barrier: Arc<str>, generation: u64 },
}

impl DoubleBarrierSeen {
    /// Returns the double barrier and the generation.
    pub fn place(&self) -> (&Arc<str>, u64) {
        match self {
            DoubleBarrierSeen::Entering { barrier, generation, .. }
            | DoubleBarrierSeen::Entered { barrier, generation }
            | DoubleBarrierSeen::Aborted { barrier, generation }
            | DoubleBarrierSeen::TimedOut { barrier, generation }
            | DoubleBarrierSeen::Withdrew { barrier, generation }
            | DoubleBarrierSeen::Leaving { barrier, generation }
            | DoubleBarrierSeen::Left { barrier, generation }
            | DoubleBarrierSeen::OutOfPatience { barrier, generation } => (barrier, *generation),
        }
    }
}

impl Observation for DoubleBarrierSeen {
    fn words(&self) -> String {
        let (barrier, generation) = self.place();
        let of = format!("generation {generation} of {barrier}");
        match self {
            DoubleBarrierSeen::Entering { party, .. } => format!("begins to enter {of} as {party}"),
            DoubleBarrierSeen::Entered { .. } => format!("is INSIDE {of} from now on"),
            DoubleBarrierSeen::Aborted { .. } => format!("learns that {of} is aborted"),
            DoubleBarrierSeen::TimedOut { .. } => format!("has given up waiting for {of}"),
            DoubleBarrierSeen::Withdrew { .. } => format!("withdraws from {of}"),
            DoubleBarrierSeen::Leaving { .. } => format!("begins to leave {of}"),
            DoubleBarrierSeen::Left { .. } => {
                format!("is OUT of {of}, as it believes with all others")
            }
            DoubleBarrierSeen::OutOfPatience { .. } => {
                format!("waits no longer for the others to leave {of}")
            }
        }
    }
}
