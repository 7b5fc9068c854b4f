//! The lock of the recipes page before ids were added to the names, and of all texts derived from it.
//!
//! *Wrong:* a create at step 1 whose reply was lost may have made a znode that the client cannot identify. So the
//! client creates another one, and waits at step 4 for the first, which is never deleted. *Breaks* M6 at step 4, or
//! progress if another client waits in between, by one lost reply. (`NoGuid`)

use super::lock::{Attempt, Locker, Own, locker};
use crate::contention::Kind;
use vivarium_model::error::Error;
use vivarium_model::handle::Program;

/// A client that follows the older text.
pub fn older_text_locker(work: Locker) -> Program {
    locker(work, |attempt| async move {
        let prefix = attempt.plain(Kind::Exclusive);
        acquire(&attempt, &prefix).await
    })
}

/// Acquires by a znode with this name prefix.
pub(super) async fn acquire(attempt: &Attempt, prefix: &str) -> Result<Own, Error> {
    // 1. Create an ephemeral, sequential znode.
    let own = attempt.line_up(prefix).await?;
    loop {
        // 2. List the children, without a watch.
        let names = attempt.children().await?;
        // 3. The own one is the lowest: the lock is held.
        let Some(lower) = own.before(&names) else { return Ok(own) };
        // 4. Look whether the next lower one exists, with a watch.
        // 5. It does: wait for the watch. Either way begin again at step 2.
        attempt.wait_while_there(&attempt.child(&lower)).await?;
    }
}
