//! The revocable lock of ZooKeeper's recipes page and of a translation. Both describe shared locks; here all clients
//! write, which makes the lock exclusive.
//!
//! Their steps, in our words:
//!
//! 1. Create an ephemeral sequential znode in the lock's directory. *Page:* immediately after that, read its data, with
//!    a watch. *Translation:* before that.
//! 2. List the children, without a watch.
//! 3. The own znode is the lowest: the lock is held.
//! 4. Otherwise watch the next lower one; go to 2 immediately if it is gone, otherwise when the watch fires.
//! 5. A client that wants the lock writes `unlock` into the znode.
//! 6. When the watch of step 1 fires, read the data once more, with a watch, and look for `unlock`: then the lock must
//!    be released.
//! 7. To release, delete the znode.
//!
//! *Wrong in the page:* the result of the read of step 1 is ignored. A request that is written between the create and
//! the read fires no watch. *Wrong in the translation:* the znode does not exist when it is read, so there is no watch.
//! *Breaks* RV1 at step 1, in both; no fault is needed. The lock itself is correct here, so that nothing else goes
//! wrong, and the requester is the recipe's.

use crate::contention::LockSeen;
use crate::contention::contender::{self, Contender, Kind};
use crate::helpers::{ensure_deleted, in_sessions, until_known};
use crate::revocable_lock::{RevocationSeen, is_request};
use std::future::pending;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Program, Watch, ZooKeeper, program, race};
use vivarium_model::op::CreateMode;
use vivarium_model::path;
use vivarium_model::time::Duration;
use vivarium_model::zxid::Zxid;

/// The text that an owner follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Text {
    /// ZooKeeper's recipes page.
    Page,
    /// A translation of it.
    Translation,
}

/// An owner that follows the text: it holds the lock once, for `hold`, or until a request asks it to release it.
pub fn published_owner(directory: &str, text: Text, hold: Duration) -> Program {
    let directory: Arc<str> = directory.into();
    program(move |zookeeper| {
        let directory = Arc::clone(&directory);
        async move {
            let own = in_sessions(&zookeeper, |zookeeper, _| {
                let directory = Arc::clone(&directory);
                async move { own(&zookeeper, &directory, text, hold).await }
            });
            own.await.map_err(|error| error.to_string())
        }
    })
}

/// The znode of one attempt.
struct Own<'a> {
    zookeeper: &'a ZooKeeper,
    lock: &'a Arc<str>,
    node: String,
    token: Zxid,
}

async fn own(
    zookeeper: &ZooKeeper,
    lock: &Arc<str>,
    text: Text,
    hold: Duration,
) -> Result<(), Error> {
    let attempt: Arc<str> = format!("{:016x}", zookeeper.random().await).into();
    let observe = |make: fn(Arc<str>, Arc<str>) -> LockSeen| {
        zookeeper.observe(make(Arc::clone(lock), Arc::clone(&attempt)));
    };
    observe(|lock, attempt| LockSeen::Attempt { lock, attempt });
    // 1.
    let prefix = contender::prefix(lock, Some(&attempt), Kind::Exclusive);
    let before = match text {
        Text::Page => None,
        Text::Translation => read(zookeeper, &prefix).await?,
    };
    let create = || zookeeper.create(&prefix, b"", CreateMode::EphemeralSequential);
    let (node, stat) = until_known(zookeeper, create).await?;
    let watch = match text {
        Text::Page => read(zookeeper, &node).await?,
        Text::Translation => before,
    };
    let own = Own { zookeeper, lock, node, token: stat.czxid };
    own.line_up().await?;
    let node = Arc::from(own.node.as_str());
    zookeeper.observe(LockSeen::Granted {
        lock: Arc::clone(lock),
        attempt,
        node,
        token: own.token,
    });
    race(own.told(watch), zookeeper.sleep(hold)).await;
    // 7.
    zookeeper.observe(LockSeen::Releasing { lock: Arc::clone(lock), token: own.token });
    ensure_deleted(zookeeper, &own.node).await
}

/// Reads a znode and returns only the watch; returns `None` if the znode does not exist, and so no watch.
async fn read(zookeeper: &ZooKeeper, node: &str) -> Result<Option<Watch>, Error> {
    match until_known(zookeeper, || zookeeper.get_data_watch(node)).await {
        Ok((_, _, watch)) => Ok(Some(watch)),
        Err(Error::NoNode) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Own<'_> {
    /// Waits until the own znode is the first.
    async fn line_up(&self) -> Result<(), Error> {
        loop {
            // 2.
            let list = || self.zookeeper.get_children(self.lock);
            let names = until_known(self.zookeeper, list).await?;
            let all: Vec<Contender<'_>> =
                names.iter().filter_map(|name| Contender::parse(name)).collect();
            let mine = all.iter().find(|other| other.name() == path::name(&self.node));
            // 3.
            let Some(lower) = mine.and_then(|mine| mine.predecessor(&all)) else { return Ok(()) };
            // 4.
            let lower = contender::child(self.lock, lower.name());
            let exists = || self.zookeeper.exists_watch(&lower);
            if let (Some(_), mut gone) = until_known(self.zookeeper, exists).await? {
                gone.changed().await?;
            }
        }
    }

    /// Returns when the lock must be released.
    async fn told(&self, watch: Option<Watch>) -> Result<(), Error> {
        let Some(mut watch) = watch else { return pending().await };
        loop {
            watch.changed().await?;
            // 6.
            let read = || self.zookeeper.get_data_watch(&self.node);
            let (data, _, next) = until_known(self.zookeeper, read).await?;
            if is_request(&data) {
                let lock = Arc::clone(self.lock);
                self.zookeeper.observe(RevocationSeen::Told { lock, token: self.token });
                return Ok(());
            }
            watch = next;
        }
    }
}
