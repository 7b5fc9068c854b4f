//! What the double barrier tells the monitors.

use serde::Serialize;
use std::sync::Arc;
use vivarium_model::observation::Observation;

/// What can be seen of a program at a double barrier. Its properties ([`super::properties`]) read nothing else of
/// programs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum DoubleBarrierSeen {
    /// An attempt to enter began: what its session makes in `members` from now on is a registration.
    Entering {
        /// The double barrier's directory.
        barrier: Arc<str>,
        generation: u64,
        /// Where members register.
        members: Arc<str>,
        /// Who enters: the same whenever its process is started.
        party: Arc<str>,
    },
    /// The program believes from now on that it is inside.
    Entered { barrier: Arc<str>, generation: u64 },
    /// Somebody else has aborted the generation.
    Aborted { barrier: Arc<str>, generation: u64 },
    /// The program has given up waiting.
    TimedOut { barrier: Arc<str>, generation: u64 },
    /// The attempt ended otherwise: by a failure, or by being dropped.
    Withdrew { barrier: Arc<str>, generation: u64 },
    /// Leaving was called: others need not wait for it any more.
    Leaving { barrier: Arc<str>, generation: u64 },
    /// The program believes that all have left.
    Left { barrier: Arc<str>, generation: u64 },
    /// The program waits no longer for the others to leave.
    OutOfPatience { barrier: Arc<str>, generation: u64 },
}

impl DoubleBarrierSeen {
    /// At which double barrier, and of which generation.
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
            DoubleBarrierSeen::Aborted { .. } => format!("is told that {of} is aborted"),
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
