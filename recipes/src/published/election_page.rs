//! The election of ZooKeeper's recipes page, and of the texts that translate it.
//!
//! *Wrong:* a candidate only checks at step 4, after a deletion, whether it is the smallest. A candidate that is the
//! first from the start watches no znode at step 3, and never leads. *Breaks* progress at step 3; no fault is needed.
//! (`ElectOnlyOnDeletion`)
//!
//! With that corrected, the text is still wrong: if the predecessor is deleted between the list of step 2 or 4 and the
//! watch of step 3, the candidate waits for ever. *Breaks* progress at step 3 as well.

use super::lock::{Attempt, Locker, Own, locker};
use crate::contention::Kind;
use std::future::pending;
use vivarium_model::error::Error;
use vivarium_model::handle::Program;

/// Tells whether a candidate checks at the start that it is the smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtTheStart {
    /// It does not: the page taken literally.
    Unchecked,
    /// It does: what the page must have meant.
    Checked,
}

/// A candidate that follows the page. A leader is a holder of the lock.
pub fn page_candidate(work: Locker, at_the_start: AtTheStart) -> Program {
    locker(work, move |attempt| async move { volunteer(&attempt, at_the_start).await })
}

async fn volunteer(attempt: &Attempt, at_the_start: AtTheStart) -> Result<Own, Error> {
    // 1. Create an ephemeral, sequential znode, whose name begins with an id.
    let own = attempt.line_up(&attempt.with_id(Kind::Exclusive)).await?;
    // 2. List the children.
    let mut names = attempt.children().await?;
    if at_the_start == AtTheStart::Checked && own.before(&names).is_none() {
        return Ok(own);
    }
    loop {
        // 3. Watch for changes of the one with the largest number below its own.
        match own.before(&names) {
            Some(lower) => attempt.wait_anyway(&attempt.child(&lower)).await?,
            None => return pending().await,
        }
        // 4. When it is deleted, list the children. If the candidate's own znode is the smallest, it leads. Otherwise
        //    continue at step 3.
        names = attempt.children().await?;
        if own.before(&names).is_none() {
            return Ok(own);
        }
    }
}
