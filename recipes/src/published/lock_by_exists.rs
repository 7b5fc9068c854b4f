//! The first lock of a Chinese overview, and of other texts with the same idea: the client that creates the one znode
//! holds the lock.
//!
//! *Wrong:* the text does not say that the znode is ephemeral, so a holder that dies keeps all others out for ever.
//! *Breaks* progress after step 1, by the crash of one program. (`NodeExistsLockPersistent`)
//!
//! With an ephemeral znode the lock is still wrong: after a create whose reply was lost, the client takes its own znode
//! for another client's at step 2, and waits for it. *Breaks* M6 at step 3, by one lost reply. In addition, a repeated
//! delete at step 4 deletes the next holder's znode.

use super::lock::{Attempt, Locker, Own, locker};
use crate::helpers::until_known;
use vivarium_model::error::Error;
use vivarium_model::handle::Program;
use vivarium_model::op::CreateMode;

/// How long the znode lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lives {
    /// Until it is deleted: the text taken literally.
    Persistent,
    /// Until its session ends at the latest: what the text must have meant.
    Ephemeral,
}

/// A client that follows the text.
pub fn locker_by_exists(work: Locker, lives: Lives) -> Program {
    locker(work, move |attempt| async move { acquire(&attempt, lives).await })
}

async fn acquire(attempt: &Attempt, lives: Lives) -> Result<Own, Error> {
    let node = attempt.child("held");
    let mode = match lives {
        Lives::Persistent => CreateMode::Persistent,
        Lives::Ephemeral => CreateMode::Ephemeral,
    };
    loop {
        // 1. Create the znode: the lock is held.
        match until_known(&attempt.zookeeper, || attempt.zookeeper.create(&node, b"", mode)).await {
            Ok((path, stat)) => return Ok(Own { node: path.into(), token: stat.czxid }),
            // 2. It exists: another client holds the lock.
            Err(Error::NodeExists) => {}
            Err(error) => return Err(error),
        }
        // 3. The text has no step for that. Wait until the znode is deleted, and start again.
        attempt.wait_while_there(&node).await?;
    }
    // 4. Delete the znode when the work is done.
}
