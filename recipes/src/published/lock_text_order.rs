//! The claim of a Chinese overview about sequence numbers: a fixed number of digits, from zero upwards. The overview
//! does not say what follows the last number.
//!
//! *Wrong:* the counter has 32 bits and a sign, and wraps (recipe rule 1.2.1). Names that are sorted as text, as the
//! overview recommends, then order the newcomer before the holder. *Breaks* M1 at step 3, when the counter wraps.
//! (`TextOrder`)

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
        let names = attempt.children().await?;
        // 3. The own one is the first: the lock is held.
        let Some(before) = before(names, path::name(&own.node)) else { return Ok(own) };
        // 4. Otherwise wait until the one before it has gone, and begin again.
        attempt.wait_while_there(&attempt.child(&before)).await?;
    }
}

/// The name before this one in text order.
fn before(mut names: Vec<String>, own: &str) -> Option<String> {
    names.sort_unstable();
    names.into_iter().rfind(|name| name.as_str() < own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behind_a_wrap_of_the_counter_the_newcomer_comes_before_the_holder() {
        let names = |numbers: [i32; 2]| numbers.map(|at| format!("lock-{at:010}")).to_vec();
        assert_eq!(before(names([8, 9]), "lock-0000000009"), Some("lock-0000000008".to_owned()));
        assert_eq!(before(names([i32::MAX, i32::MIN]), "lock--2147483648"), None);
    }
}
