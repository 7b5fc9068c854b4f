//! What a revocable lock promises, as monitors (recipe rule 2.11).
//!
//! | | property | class |
//! |---|---|---|
//! | RV1 | a request that was written while the owner's znode stood is told before the owner deletes it | event |
//! | RV1 | and as soon as can be: within a time; at rest. So is that the lock was taken away | run; event |
//! | RV2 | a contender's znode is deleted by its own session, or by force where a request stands in it | event |
//! | RV3 | a request is written into the znode of whoever is the first in line | event |
//! | RV4 | a lock is taken away when the grace time since the request is over | run |
//! | RV5 | whoever believes to have asked an owner: a request was written into its znode | event |
//! | M1 to M3, M5, M6, M9 | as of the exclusive lock; with force, M2 and M3 know one more kind of zombie | |

mod asked_truly;
mod consent;
mod grace;
mod line;
mod owed;
mod right_owner;
mod told;

pub use asked_truly::AskedTruly;
pub use consent::Consent;
pub use grace::Grace;
pub use owed::Informed;
pub use right_owner::RightOwner;
pub use told::Told;

use crate::calm::{AtRest, WithinATime};
use crate::contention::properties::{
    Belief, Exclusion, Fencing, NamesOnce, NoLeak, NoLeakAtRest, NoSelfWait,
};
use vivarium_model::property::Monitor;
use vivarium_model::time::Duration;

/// Whether owners can lose a lock without their consent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Force {
    /// Nobody takes it away.
    None,
    /// Whoever has asked may take it away when this time is over.
    After(Duration),
}

/// All monitors of the revocable lock in this directory. `bound` is how long a client must have been connected,
/// undisturbed, before what it owes must be there (RV1, M5); where time stands still, the same is asked at rest.
pub fn monitors(directory: &str, force: Force, bound: Duration) -> Vec<Box<dyn Monitor>> {
    let (belief, fencing) = match force {
        Force::None => (Belief::new(directory), Fencing::new(directory)),
        Force::After(_) => (Belief::with_force(directory), Fencing::with_force(directory)),
    };
    let mut monitors: Vec<Box<dyn Monitor>> = vec![
        Box::new(Exclusion::new(directory)),
        Box::new(belief),
        Box::new(fencing),
        Box::new(NoLeak::new(directory, bound)),
        Box::new(NoLeakAtRest::new(directory)),
        Box::new(NoSelfWait::new(directory)),
        Box::new(NamesOnce::new(directory)),
        Box::new(Told::new(directory)),
        Box::new(WithinATime::new(Informed::new(directory), bound)),
        Box::new(AtRest::new(Informed::new(directory))),
        Box::new(Consent::new(directory, force)),
        Box::new(RightOwner::new(directory)),
        Box::new(AskedTruly::new(directory)),
    ];
    if let Force::After(grace) = force {
        monitors.push(Box::new(Grace::new(directory, grace)));
    }
    monitors
}
