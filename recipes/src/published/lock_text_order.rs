//! What a Chinese overview says of sequence numbers: so many digits, from zero upwards; and nothing of their end.
//!
//! *Wrong:* the counter has 32 bits and a sign, and wraps (recipe rule 1.2.1). Names that are sorted as text, as
//! they are said to be made for, then have the newcomer before the holder. *Breaks* M1 at step 3, where the
//! counter wraps. (`TextOrder`)

use super::lock::{Attempt, Locker, Own, locker};
use crate::contention::Kind;
use vivarium_model::error::Error;
use vivarium_model::handle::Program;
use vivarium_model::path;

/// A client that sorts names as text.
pub fn text_order_locker(work: Locker) -> Program {
    locker(work, |attempt| async move { acquire(&attempt).await })
}

async fn acquire(attempt: &Attempt) -> Result<Own, Error> {
    // 1. Create an ephemeral, sequential znode.
    let own = attempt.line_up(&attempt.plain(Kind::Exclusive)).await?;
    loop {
        // 2. List the children, and sort their names.
        let mut names = attempt.children().await?;
        names.sort_unstable();
        // 3. The own one is the first: the lock is held.
        let before = names.iter().rfind(|name| name.as_str() < path::name(&own.node));
        let Some(before) = before else { return Ok(own) };
        // 4. Otherwise wait until the one before it has gone, and begin again.
        attempt.wait_while_there(&attempt.child(before)).await?;
    }
}
