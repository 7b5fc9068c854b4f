//! The election of a Chinese translation of the recipes page, which watches "the next node".
//!
//! *Wrong:* the page says the next *lower* one. The candidate after this one does not affect its turn, and the last one
//! has none after it. *Breaks* progress at step 3; no fault is needed. (`WatchSuccessor`)
//!
//! The translation's candidate also never checks at the start whether it is the smallest; this is corrected here, so
//! that the other mistake shows.

use super::lock::{Attempt, Locker, Own, locker};
use crate::contention::Kind;
use std::future::pending;
use vivarium_model::error::Error;
use vivarium_model::handle::Program;

/// A candidate that follows the translation. A leader is a holder of the lock.
pub fn next_node_candidate(work: Locker) -> Program {
    locker(work, |attempt| async move { volunteer(&attempt).await })
}

async fn volunteer(attempt: &Attempt) -> Result<Own, Error> {
    // 1. Create an ephemeral, sequential znode.
    let own = attempt.line_up(&attempt.plain(Kind::Exclusive)).await?;
    loop {
        // 2. List the children. The own one is the smallest: it leads.
        let names = attempt.children().await?;
        if own.before(&names).is_none() {
            return Ok(own);
        }
        // 3. Watch the next one, and begin again when it has gone.
        match own.behind(&names) {
            Some(next) => attempt.wait_while_there(&attempt.child(&next)).await?,
            None => return pending().await,
        }
    }
}
