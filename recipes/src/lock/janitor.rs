//! Duties that outlast their caller: tasks beside the program that delete what nobody waits for any
//! more.
//!
//! A single best-effort delete is how znodes leak (`BestEffortCleanup`, `NoBackgroundCleanup`). A
//! duty repeats until it is done, and ends with its session: the handle that it gets is pinned to
//! one. While the client is disconnected, it waits.

use super::{LockSeen, recovery};
use crate::helpers::reconnected;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::op::Version;
use vivarium_model::zxid::Zxid;

/// How a delete ended, once it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deletion {
    /// This delete did it.
    Deleted,
    /// It was gone before.
    Missing,
    /// It is gone, or goes with its session, but a reply was lost: who did it is not known.
    Unknown,
}

/// Deletes a znode by its full path, however often the connection is lost.
///
/// A version would prove nothing, a stranger's fresh znode has version 0 as well (recipe rule 1.2.3); the
/// attempt's id in the name does.
pub(super) async fn delete_until_gone(zookeeper: &ZooKeeper, path: &str) -> Deletion {
    let mut lost_reply = false;
    loop {
        let mut events = zookeeper.session_events();
        match zookeeper.delete(path, Version::Any).await {
            Ok(()) => return Deletion::Deleted,
            Err(Error::NoNode) if !lost_reply => return Deletion::Missing,
            Err(Error::ConnectionLoss) => {
                lost_reply = true;
                if reconnected(&mut events).await.is_err() {
                    return Deletion::Unknown;
                }
            }
            // The session is over: the server deletes the znode. Any other refusal (there is none
            // for an ephemeral of this session) would be repeated for ever.
            Err(_) => return Deletion::Unknown,
        }
    }
}

/// Deletes a znode in the background.
pub(super) fn delete(zookeeper: &ZooKeeper, path: Arc<str>) {
    let background = zookeeper.clone();
    zookeeper.spawn(async move {
        delete_until_gone(&background, &path).await;
    });
}

/// Releases a lock in the background.
pub(super) fn release(zookeeper: &ZooKeeper, lock: Arc<str>, path: Arc<str>, token: Zxid) {
    let background = zookeeper.clone();
    zookeeper.spawn(async move {
        if delete_until_gone(&background, &path).await != Deletion::Unknown {
            background.observe(LockSeen::Released { lock, token });
        }
    });
}

/// Deletes every znode of an attempt in the background, also one whose create is still in flight.
pub(super) fn sweep(zookeeper: &ZooKeeper, lock: &Arc<str>, id: &Arc<str>) {
    let (background, lock, id) = (zookeeper.clone(), Arc::clone(lock), Arc::clone(id));
    zookeeper.spawn(async move {
        // It fails only when the session is over, and with it the duty.
        let _ = recovery::sweep(&background, &lock, &id).await;
    });
}
