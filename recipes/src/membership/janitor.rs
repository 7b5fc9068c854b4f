//! Deletes a member's znode, and no later one of the same name.
//!
//! The same member's next membership uses the name again. So after a lost reply, the delete is not simply repeated: it
//! is settled, and the existing znode is read first. Only its own delete replaces a znode of this session
//! ([`super::Group::join`] waits for that), so the znode that was read is the one that is deleted.

use crate::helpers::{reconnected, settle, until_known};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::op::Version;

/// The result of leaving. In each case, the znode is gone, or will be deleted with the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Leave {
    /// The znode existed until now.
    Left,
    /// The znode was gone before.
    AlreadyGone,
    /// A reply was lost or the session ended meanwhile, so either may be true.
    Unknown,
}

/// Deletes the znode of this membership.
pub(super) async fn delete_own(zookeeper: &ZooKeeper, path: &str, nonce: &str) -> Leave {
    let mut lost_reply = false;
    // A membership that was deleted may belong to another process by now.
    while stands(zookeeper, path, nonce).await == Ok(true) {
        let mut events = zookeeper.session_events();
        match zookeeper.delete(path, Version::Any).await {
            Ok(()) => return Leave::Left,
            Err(Error::ConnectionLoss) => {
                lost_reply = true;
                let back = reconnected(&mut events).await;
                if back.is_err() || settle(zookeeper).await.is_err() {
                    return Leave::Unknown;
                }
            }
            Err(Error::NoNode) => break,
            // The session is over, and the servers delete the znode.
            Err(_) => return Leave::Unknown,
        }
    }
    if lost_reply { Leave::Unknown } else { Leave::AlreadyGone }
}

/// Returns true if the znode of this name has this content.
async fn stands(zookeeper: &ZooKeeper, path: &str, nonce: &str) -> Result<bool, Error> {
    match until_known(zookeeper, || zookeeper.get_data(path)).await {
        Ok((data, _)) => Ok(*data == *nonce.as_bytes()),
        Err(Error::NoNode) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Deletes a znode in the background, even one whose create is in flight.
pub(super) fn delete(zookeeper: &ZooKeeper, path: &Arc<str>, nonce: &Arc<str>) {
    let (background, path, nonce) = (zookeeper.clone(), Arc::clone(path), Arc::clone(nonce));
    zookeeper.spawn(async move {
        // Fails only when the session is over, and then the servers delete the znode.
        if settle(&background).await.is_ok() {
            delete_own(&background, &path, &nonce).await;
        }
    });
}
