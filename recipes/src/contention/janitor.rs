//! Background tasks that delete znodes which their caller no longer waits for.
//!
//! A single best-effort delete leaks znodes (`BestEffortCleanup`, `NoBackgroundCleanup`). A task repeats the delete
//! until it is done, and ends with its session: its handle is pinned to one. It waits while the client is disconnected.

use super::{LockSeen, recovery};
use crate::helpers::{reconnected, until_known};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::id::SessionId;
use vivarium_model::op::{Op, Version};
use vivarium_model::zxid::Zxid;

/// The znodes that a holder has to delete.
pub(super) struct Holding {
    pub(super) session: SessionId,
    /// Its znode: full path.
    pub(super) node: Arc<str>,
    /// The znode that represents the holder.
    pub(super) office: Option<Arc<str>>,
}

/// The result of a delete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deletion {
    /// This delete removed the znode.
    Deleted,
    /// The znode was gone before.
    Missing,
    /// The znode is gone, or will be deleted with its session, but a reply was lost: it is unknown which request
    /// deleted it.
    Unknown,
}

/// Deletes a znode by its full path, however often the connection is lost.
///
/// A version would prove nothing, because another client's new znode has version 0 as well (recipe rule 1.2.3); the
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
            // The session is over, and the server deletes the znode. Any other refusal (there is none for an ephemeral
            // of this session) would be repeated for ever.
            Err(_) => return Deletion::Unknown,
        }
    }
}

/// Deletes a holder's znode together with the one that represents the holder, in one transaction: while the holder's
/// own znode exists, the other one belongs to it.
pub(super) async fn delete_together(zookeeper: &ZooKeeper, held: &Holding) -> Deletion {
    let Holding { session, node: path, office } = held;
    let Some(office) = office.as_deref() else { return delete_until_gone(zookeeper, path).await };
    loop {
        let mut events = zookeeper.session_events();
        let both = vec![Op::delete(&**path, Version::Any), Op::delete(office, Version::Any)];
        match zookeeper.multi(both).await.map_err(|failed| (failed.index, failed.error)) {
            Ok(_) => return Deletion::Deleted,
            Err((_, Error::ConnectionLoss)) => {
                if reconnected(&mut events).await.is_err() {
                    return Deletion::Unknown;
                }
            }
            // The holder's own znode is gone: this transaction deleted it and its reply was lost, or another client
            // did.
            Err((Some(0), Error::NoNode)) => return delete_own(zookeeper, *session, office).await,
            // The other znode did not exist.
            Err((Some(1), Error::NoNode)) => return delete_until_gone(zookeeper, path).await,
            Err(_) => return Deletion::Unknown,
        }
    }
}

/// Deletes a znode if it belongs to this session. In that case, no other client can replace it.
async fn delete_own(zookeeper: &ZooKeeper, session: SessionId, path: &str) -> Deletion {
    match until_known(zookeeper, || zookeeper.exists(path)).await {
        Ok(Some(stat)) if stat.ephemeral_owner == Some(session) => {
            delete_until_gone(zookeeper, path).await;
        }
        // It belongs to another client or does not exist, or the session is over and the server deletes it.
        _ => {}
    }
    Deletion::Unknown
}

/// Deletes a znode in the background.
pub(super) fn delete(zookeeper: &ZooKeeper, path: Arc<str>) {
    let background = zookeeper.clone();
    zookeeper.spawn(async move {
        delete_until_gone(&background, &path).await;
    });
}

/// Closes the session in the background, which deletes all of its znodes (`LateDeleteReusedName`).
pub(super) fn end_session(zookeeper: &ZooKeeper) {
    let background = zookeeper.clone();
    zookeeper.spawn(async move { background.close().await });
}

/// Tries once to delete a znode in the background, and ignores the result (`BestEffortCleanup`).
pub(super) fn delete_once(zookeeper: &ZooKeeper, path: Arc<str>) {
    let background = zookeeper.clone();
    zookeeper.spawn(async move {
        let _ = background.delete(&path, Version::Any).await;
    });
}

/// Releases a lock in the background.
pub(super) fn release(zookeeper: &ZooKeeper, lock: Arc<str>, held: Holding, token: Zxid) {
    let background = zookeeper.clone();
    zookeeper.spawn(async move {
        let deletion = delete_together(&background, &held).await;
        if deletion != Deletion::Unknown {
            background.observe(LockSeen::Released { lock, token });
        }
    });
}

/// Deletes every znode of an attempt in the background, even one whose create is still in flight.
pub(super) fn sweep(zookeeper: &ZooKeeper, lock: &Arc<str>, id: &Arc<str>) {
    let (background, lock, id) = (zookeeper.clone(), Arc::clone(lock), Arc::clone(id));
    zookeeper.spawn(async move {
        // Fails only when the session is over, and then the servers delete the znodes.
        let _ = recovery::sweep(&background, &lock, &id).await;
    });
}
