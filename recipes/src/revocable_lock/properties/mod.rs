//! The properties of a revocable lock, as monitors (recipe rule 2.11).
//!
//! | | property | class |
//! |---|---|---|
//! | RV1 | an owner is notified of each request that was written while its znode existed, before it deletes the znode | event |
//! | RV1 | and as soon as possible: within a time; at rest. The same for the notification that the lock was taken away | run; event |
//! | RV2 | a contender's znode is deleted by its own session, or by force if a request was written to it | event |
//! | RV3 | a request is written to the znode of the first in line | event |
//! | RV4 | a lock is taken away only after the grace time since the request is over | run |
//! | RV5 | if a client believes that it has asked an owner, a request was written to the owner's znode | event |
//! | M1 to M3, M5, M6, M9 | as of the exclusive lock; with force, M2 and M3 know one more kind of zombie | |

mod asked_truly;
mod consent;
mod grace;
mod line;
mod notified;
mod owed;
mod right_owner;

pub use asked_truly::AskedTruly;
pub use consent::Consent;
pub use grace::Grace;
pub use notified::Notified;
pub use owed::Informed;
pub use right_owner::RightOwner;

use crate::contention::properties::{
    Belief, Exclusion, Fencing, NamesOnce, NoLeak, NoLeakAtRest, NoSelfWait,
};
use crate::obligations::{AtRest, WithinATime};
use vivarium_model::property::Monitor;
use vivarium_model::time::Duration;

/// Tells whether owners can lose a lock without their consent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Force {
    /// No client takes the lock away.
    None,
    /// A client that has asked may take the lock away after this time.
    After(Duration),
}

/// Returns all monitors of the revocable lock in this directory. `bound` is how long a client must have been
/// connected, undisturbed, before RV1 and M5 must hold. Where no time passes, both are checked at rest.
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
        Box::new(Notified::new(directory)),
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
