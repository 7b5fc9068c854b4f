//! The lock of a Japanese translation of the recipes page: names have an id, but the paragraph that explains its
//! purpose is empty.
//!
//! *Wrong:* the id identifies a znode's owner, but no step uses it: a create at step 1 whose reply was lost is
//! repeated. *Breaks* M6 at step 4, by one lost reply, like the text without ids.

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
