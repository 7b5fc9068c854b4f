//! All monitors of an exclusive lock: those of [`contention`](crate::contention::properties).

use crate::contention::properties::{
    Belief, Exclusion, Fencing, GuardedWrite, KeepsItsPlace, NamesOnce, NoLeak, NoLeakAtRest,
    NoSelfWait, OwnBelief,
};
use crate::herd::Herd;
use vivarium_model::property::Monitor;
use vivarium_model::time::Duration;

/// All monitors of the lock in `lock_directory`. `bound` is M5's: how long a session must have been
/// connected after an attempt's end before a znode left over is a leak (see [`NoLeak`]); where time
/// stands still, [`NoLeakAtRest`] asks instead.
pub fn monitors(lock_directory: &str, bound: Duration) -> Vec<Box<dyn Monitor>> {
    vec![
        Box::new(Exclusion::new(lock_directory)),
        Box::new(Belief::new(lock_directory)),
        Box::new(Fencing::new(lock_directory)),
        Box::new(GuardedWrite::new(lock_directory)),
        Box::new(NoLeak::new(lock_directory, bound)),
        Box::new(NoLeakAtRest::new(lock_directory)),
        Box::new(NoSelfWait::new(lock_directory)),
        Box::new(Herd::of_contenders(lock_directory, 1)),
        Box::new(KeepsItsPlace::new(lock_directory)),
        Box::new(NamesOnce::new(lock_directory)),
    ]
}

/// The monitors of the lock in `lock_directory` that a service can attach to its own clients, without the servers' part:
/// no belief outlives its session. They judge an election and a read-write lock in this directory as well.
pub fn monitors_of_a_service(lock_directory: &str) -> Vec<Box<dyn Monitor>> {
    vec![Box::new(OwnBelief::new(lock_directory))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use vivarium_model::property::{LooksBack, Monitors};

    #[test]
    fn a_search_for_the_lock_need_not_tell_pasts_apart() {
        assert_eq!(Monitors::new(monitors("/lock", Duration::ZERO)).look_back(), LooksBack::Tip);
    }
}
