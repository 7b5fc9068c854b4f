//! The properties of a partitioner, as monitors (recipe rule 2.19).
//!
//! | | property | class |
//! |---|---|---|
//! | PT1 | two clients use an item at the same time only if the session of one of them is closed | event |
//! | PT2 | each member uses its share of the items, and no others: within a time; at rest | run; event |
//! | PT3 | a client that uses an item holds its lock | event |
//! | M1, M2, M3, M5, M6 | of each item's lock, as of the exclusive lock | |

mod one_user;
mod shares;
mod under_lock;

pub use one_user::OneUser;
pub use shares::Shares;
pub use under_lock::UnderLock;

use super::lock_of;
use crate::contention::properties::{Belief, Exclusion, Fencing, NoLeak, NoLeakAtRest, NoSelfWait};
use crate::obligations::{AtRest, WithinATime};
use vivarium_model::property::Monitor;
use vivarium_model::time::Duration;

/// Returns all monitors of the partition in this directory, which divides no other items than these. `bound` is how
/// long a client must have been connected, undisturbed, before PT2 and M5 must hold. Where no time passes, both are
/// checked at rest.
pub fn monitors(directory: &str, items: &[&str], bound: Duration) -> Vec<Box<dyn Monitor>> {
    let mut monitors: Vec<Box<dyn Monitor>> = vec![
        Box::new(OneUser::new(directory)),
        Box::new(UnderLock::new(directory)),
        Box::new(WithinATime::new(Shares::new(directory), bound)),
        Box::new(AtRest::new(Shares::new(directory))),
    ];
    for item in items {
        let lock = lock_of(directory, item);
        monitors.push(Box::new(Exclusion::new(&lock)));
        monitors.push(Box::new(Belief::new(&lock)));
        monitors.push(Box::new(Fencing::of_resource(&lock, item)));
        monitors.push(Box::new(NoLeak::new(&lock, bound)));
        monitors.push(Box::new(NoLeakAtRest::new(&lock)));
        monitors.push(Box::new(NoSelfWait::new(&lock)));
    }
    monitors
}
