//! The read-write lock of ZooKeeper's recipes page.
//!
//! *Wrong:* names begin with an id, but at step 3 a reader looks for names that begin with `write-`, of which there are
//! none. *Breaks* RW1 at step 3 of reading; no fault is needed. (`ReaderSeesNoWriter`)
//!
//! In the page the id is a directory of its own, which does not exist; here it is a part of the name.

use super::lock::{Attempt, Locker, Own, locker};
use crate::contention::Kind;
use crate::contention::contender::Contender;
use vivarium_model::error::Error;
use vivarium_model::handle::Program;

/// A reader that follows the page.
pub fn reader_by_prefix(work: Locker) -> Program {
    locker(work, |attempt| async move { read(&attempt).await })
}

/// A writer that follows the page.
pub fn writer_by_prefix(work: Locker) -> Program {
    locker(work, |attempt| async move {
        let prefix = attempt.with_id(Kind::Write);
        write(&attempt, &prefix).await
    })
}

async fn read(attempt: &Attempt) -> Result<Own, Error> {
    // 1. Create an ephemeral, sequential znode, whose name is an id and `read-`.
    let own = attempt.line_up(&attempt.with_id(Kind::Read)).await?;
    let is_writer = |other: &Contender<'_>| other.name().starts_with("write-");
    loop {
        // 2. List the children, without a watch.
        let names = attempt.children().await?;
        // 3. None that begins with `write-` has a lower number: the lock is held.
        let Some(writer) = own.next_lower(&names, is_writer) else { return Ok(own) };
        // 4. Look whether that one exists, with a watch.
        // 5. It does: wait for the watch. Either way begin again at step 2.
        attempt.wait_while_there(&attempt.child(&writer)).await?;
    }
}

/// Acquires for writing, by a znode with this name prefix.
pub(super) async fn write(attempt: &Attempt, prefix: &str) -> Result<Own, Error> {
    // 1. Create an ephemeral, sequential znode, whose name says `write-`.
    let own = attempt.line_up(prefix).await?;
    loop {
        // 2. List the children, without a watch.
        let names = attempt.children().await?;
        // 3. None has a lower number: the lock is held.
        let Some(lower) = own.before(&names) else { return Ok(own) };
        // 4. Look whether the next lower one exists, with a watch.
        // 5. It does: wait for the watch. Either way begin again at step 2.
        attempt.wait_while_there(&attempt.child(&lower)).await?;
    }
}
