//! The second lock of a Chinese overview: by sequential znodes, each watching "the node smaller than mine".
//!
//! *Wrong:* the text does not cover a smaller node that is already deleted. `exists` leaves a watch for its creation,
//! which never fires, because the number is not used again. *Breaks* progress at step 3; no fault is needed.
//! (`ExistsNullSleeps`)

use super::lock::{Attempt, Locker, Own, locker};
use crate::contention::Kind;
use vivarium_model::error::Error;
use vivarium_model::handle::Program;

/// A client that follows the overview.
pub fn node_smaller_locker(work: Locker) -> Program {
    locker(work, |attempt| async move { acquire(&attempt).await })
}

async fn acquire(attempt: &Attempt) -> Result<Own, Error> {
    // 1. Create an ephemeral, sequential znode.
    let own = attempt.line_up(&attempt.plain(Kind::Exclusive)).await?;
    loop {
        // 2. List the children. If the own znode is the smallest, the lock is held.
        let names = attempt.children().await?;
        let Some(smaller) = own.before(&names) else { return Ok(own) };
        // 3. Otherwise watch the one smaller than it, and begin again when that goes.
        attempt.wait_anyway(&attempt.child(&smaller)).await?;
    }
}
