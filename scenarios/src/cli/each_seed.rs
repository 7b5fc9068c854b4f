//! Runs a check for many seeds on all threads, up to the first failure.

use super::progress::Meter;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Checks seed by seed on `jobs` threads. Returns the number of seeds checked, and the failure with the lowest seed, if
/// there is one. After a failure, no later seed is begun.
pub(super) fn each_seed<E: Send>(
    seeds: Range<u64>,
    jobs: usize,
    meter: &Meter,
    check: &(dyn Fn(u64) -> Result<(), E> + Sync),
) -> (u64, Option<(u64, E)>) {
    let (next, done) = (AtomicU64::new(seeds.start), AtomicU64::new(0));
    let found: Mutex<Option<(u64, E)>> = Mutex::new(None);
    let work = || {
        while found.lock().is_ok_and(|found| found.is_none()) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return;
            }
            if let Err(failure) = check(seed) {
                let mut found = found.lock().expect("no thread panics while it holds the lock");
                if found.as_ref().is_none_or(|(other, _)| seed < *other) {
                    *found = Some((seed, failure));
                }
            }
            meter.update(done.fetch_add(1, Ordering::Relaxed) + 1);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(work);
        }
    });
    meter.finish();
    (done.into_inner(), found.into_inner().expect("no thread panics while it holds the lock"))
}
