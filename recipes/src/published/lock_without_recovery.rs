//! The lock of a Japanese translation of the recipes page: names have an id, and the paragraph that says what it
//! is for is empty.
//!
//! *Wrong:* the id says whose a znode is, but nobody looks: a create at step 1 whose reply was lost is made once
//! more. *Breaks* M6 at step 4, by one lost reply, as the text without ids does.

use super::lock::{Locker, locker};
use super::lock_older_text::acquire;
use crate::contention::Kind;
use vivarium_model::handle::Program;

/// A client that follows the translation.
pub fn locker_without_recovery(work: Locker) -> Program {
    locker(work, |attempt| async move {
        // 1. The name begins with an id. The other steps are those of the older text.
        let prefix = attempt.with_id(Kind::Exclusive);
        acquire(&attempt, &prefix).await
    })
}
