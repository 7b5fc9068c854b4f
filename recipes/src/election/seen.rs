//! The observations of an election, in addition to those of its candidates' queue.

use serde::Serialize;
use std::sync::Arc;
use vivarium_model::observation::Observation;
use vivarium_model::zxid::Zxid;

/// An observation of a program at an election.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum ElectionSeen {
    /// The program leads, and has taken office. Its leadership ends with the observation that it gives up what it holds
    /// ([`LockSeen::Releasing`](crate::contention::LockSeen::Releasing)), or that it lost it.
    Leads {
        /// The election's directory.
        election: Arc<str>,
        /// The fencing token.
        term: Zxid,
    },
    /// An observer received a leader.
    Follows {
        /// The election's directory.
        election: Arc<str>,
        /// The leader's term.
        term: Zxid,
    },
}

impl Observation for ElectionSeen {
    fn words(&self) -> String {
        match self {
            ElectionSeen::Leads { election, term } => {
                format!("believes that it LEADS {election} from now on, term {term}")
            }
            ElectionSeen::Follows { election, term } => {
                format!("follows the leader of {election} with term {term}")
            }
        }
    }
}
