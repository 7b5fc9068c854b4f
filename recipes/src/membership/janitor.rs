//! Deleting a member's znode: it, and no later one of the same name.
//!
//! The name is used again, by the same member's next membership. So after a lost reply the delete is not
//! simply repeated: its fate is settled, and what stands is looked at first. Nobody replaces a znode of
//! this session but its own delete ([`super::Group::join`] waits for that), so what was looked at is
//! what is deleted.

use crate::helpers::{reconnected, settle, until_known};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::op::Version;

/// How leaving ended. Whatever it is, the znode is gone, or goes with the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Leave {
    /// The znode stood until now.
    Left,
    /// It was gone before.
    AlreadyGone,
    /// A reply was lost, or the session ended meanwhile: one of the two.
    Unknown,
}

/// Deletes a znode that is known to be this membership's.
pub(super) async fn delete_own(zookeeper: &ZooKeeper, path: &str, nonce: &str) -> Leave {
    let mut lost_reply = false;
    // A membership that was taken away is somebody else's by now.
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
            // The session is over, and with it the znode.
            Err(_) => return Leave::Unknown,
        }
    }
    if lost_reply { Leave::Unknown } else { Leave::AlreadyGone }
}

/// Whether the znode of this name is the one with this content.
async fn stands(zookeeper: &ZooKeeper, path: &str, nonce: &str) -> Result<bool, Error> {
    match until_known(zookeeper, || zookeeper.get_data(path)).await {
        Ok((data, _)) => Ok(*data == *nonce.as_bytes()),
        Err(Error::NoNode) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Deletes a znode in the background, also one whose create is in flight.
pub(super) fn delete(zookeeper: &ZooKeeper, path: &Arc<str>, nonce: &Arc<str>) {
    let (background, path, nonce) = (zookeeper.clone(), Arc::clone(path), Arc::clone(nonce));
    zookeeper.spawn(async move {
        // It fails only when the session is over, and with it the duty.
        if settle(&background).await.is_ok() {
            delete_own(&background, &path, &nonce).await;
        }
    });
}
