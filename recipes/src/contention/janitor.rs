//! Duties that outlast their caller: tasks beside the program that delete what nobody waits for any
//! more.
//!
//! A single best-effort delete is how znodes leak (`BestEffortCleanup`, `NoBackgroundCleanup`). A
//! duty repeats until it is done, and ends with its session: the handle that it gets is pinned to
//! one. While the client is disconnected, it waits.

use super::{LockSeen, recovery};
use crate::helpers::{reconnected, until_known};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::id::SessionId;
use vivarium_model::op::{Op, Version};
use vivarium_model::zxid::Zxid;

/// What a holder has to delete.
pub(super) struct Holding {
    pub(super) session: SessionId,
    /// Its znode: full path.
    pub(super) node: Arc<str>,
    /// The znode that stands for it.
    pub(super) office: Option<Arc<str>>,
}

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

/// Deletes a holder's znode and with it, in one transaction, the one that stands for the holder: while its own
/// is there, that is nobody else's.
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
            // Its own is gone: by this transaction, whose reply was lost, or by somebody's hand.
            Err((Some(0), Error::NoNode)) => return delete_own(zookeeper, *session, office).await,
            // The other was not there.
            Err((Some(1), Error::NoNode)) => return delete_until_gone(zookeeper, path).await,
            Err(_) => return Deletion::Unknown,
        }
    }
}

/// Deletes a znode if it is of this session; in which case nobody else can put another one in its place.
async fn delete_own(zookeeper: &ZooKeeper, session: SessionId, path: &str) -> Deletion {
    match until_known(zookeeper, || zookeeper.exists(path)).await {
        Ok(Some(stat)) if stat.ephemeral_owner == Some(session) => {
            delete_until_gone(zookeeper, path).await;
        }
        // Somebody else's, or nobody's. Or the session is over, and with it the duty.
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

/// Ends the session in the background, and all of its znodes with it (`LateDeleteReusedName`).
pub(super) fn end_session(zookeeper: &ZooKeeper) {
    let background = zookeeper.clone();
    zookeeper.spawn(async move { background.close().await });
}

/// Tries to delete a znode in the background, and does not ask what came of it (`BestEffortCleanup`).
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

/// Deletes every znode of an attempt in the background, also one whose create is still in flight.
pub(super) fn sweep(zookeeper: &ZooKeeper, lock: &Arc<str>, id: &Arc<str>) {
    let (background, lock, id) = (zookeeper.clone(), Arc::clone(lock), Arc::clone(id));
    zookeeper.spawn(async move {
        // It fails only when the session is over, and with it the duty.
        let _ = recovery::sweep(&background, &lock, &id).await;
    });
}
