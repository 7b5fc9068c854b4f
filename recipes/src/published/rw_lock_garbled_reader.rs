//! The read-write lock of a Chinese translation of an older recipes page, whose reader lacks a negation.
//!
//! *Wrong:* a reader continues at step 3 if there is no writer *and* a znode has a lower number. A reader that is the
//! first in line never continues, and has nothing to watch at step 4. *Breaks* progress at step 3 of reading; no fault
//! is needed. (`RwGarbledReader`)

use super::lock::{Attempt, Locker, Own, locker};
use super::rw_lock_by_prefix::write;
use crate::contention::Kind;
use crate::contention::contender::Contender;
use std::future::pending;
use vivarium_model::error::Error;
use vivarium_model::handle::Program;

/// A reader that follows the translation.
pub fn garbled_reader(work: Locker) -> Program {
    locker(work, |attempt| async move { read(&attempt).await })
}

/// A writer that follows the translation, whose steps for writers are correct.
pub fn plain_writer(work: Locker) -> Program {
    locker(work, |attempt| async move {
        let prefix = attempt.plain(Kind::Write);
        write(&attempt, &prefix).await
    })
}

async fn read(attempt: &Attempt) -> Result<Own, Error> {
    // 1. Create an ephemeral, sequential znode `read-`.
    let own = attempt.line_up(&attempt.plain(Kind::Read)).await?;
    let is_writer = |other: &Contender<'_>| other.kind() == Kind::Write;
    loop {
        // 2. List the children, without a watch.
        let names = attempt.children().await?;
        // 3. There is no writer, and there is a lower number: the lock is held.
        let has_writer = names.iter().any(|name| name.starts_with("write-"));
        if !has_writer && own.before(&names).is_some() {
            return Ok(own);
        }
        // 4. Otherwise look whether the next lower writer exists, with a watch.
        match own.next_lower(&names, is_writer) {
            // 5. It does: wait for the watch. Either way begin again at step 2.
            Some(writer) => attempt.wait_while_there(&attempt.child(&writer)).await?,
            // There is none, so nothing will ever wake the reader.
            None => return pending().await,
        }
    }
}
