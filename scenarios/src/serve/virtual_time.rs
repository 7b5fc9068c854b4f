//! Virtual time: it stands still while clients ask, and passes at once while they are all idle.
//!
//! A client of another process pings by its own clock, for which virtual time is far too fast. So an open connection counts as
//! a sign of life of its session: the ensemble gets the pings that the client would send.

use super::core::Shared;
use std::time::Duration;

/// How long clients must have been idle, in real time, before virtual time passes.
const IDLE: Duration = Duration::from_millis(10);

/// The most virtual time that passes then at once.
const AT_ONCE: Duration = Duration::from_secs(1);

/// Lets time pass while clients are idle, until the ensemble's thread ends.
pub(super) async fn pass_virtual_time(core: Shared) {
    let changed = core.borrow().changed();
    loop {
        tokio::select! {
            () = changed.notified() => {}
            () = tokio::time::sleep(IDLE) => core.borrow_mut().pass_idle_time(AT_ONCE),
        }
    }
}
