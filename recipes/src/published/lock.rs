//! The common part of published locks: a program that acquires, works and releases, round after round, and reports it
//! by [`LockSeen`].

use crate::contention::contender::{self, Contender};
use crate::contention::{Kind, LockSeen};
use crate::helpers::{ensure_path, in_sessions, until_known};
use std::future::Future;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Program, Round, ZooKeeper, rounds};
use vivarium_model::op::{CreateMode, Version};
use vivarium_model::path;
use vivarium_model::time::Duration;
use vivarium_model::zxid::Zxid;

/// A client of a published lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locker {
    /// The lock's znode, the parent of its clients' znodes.
    pub directory: Arc<str>,
    /// How many times to acquire the lock.
    pub rounds: u32,
    /// How long to hold the lock.
    pub hold: Duration,
    /// Whether to create the lock's znode first.
    pub prepare: bool,
}

/// One attempt to acquire, in one session.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The handle, pinned to the session.
    pub zookeeper: ZooKeeper,
    /// The lock's znode.
    pub lock: Arc<str>,
    /// Unique to the attempt.
    pub id: Arc<str>,
}

/// A client's own znode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Own {
    /// Its full path.
    pub node: Arc<str>,
    /// Its czxid.
    pub token: Zxid,
}

/// A program that runs its rounds, each by `acquire`, which returns when the lock is held. A round whose session ends
/// earlier is repeated in the next session.
pub fn locker<AcquireFuture>(
    work: Locker,
    acquire: impl Fn(Attempt) -> AcquireFuture + Clone + Send + Sync + 'static,
) -> Program
where
    AcquireFuture: Future<Output = Result<Own, Error>> + Send + 'static,
{
    rounds(0, move |zookeeper, round| {
        let (work, acquire) = (work.clone(), acquire.clone());
        async move {
            if round == work.rounds {
                return Ok(Round::Done);
            }
            let held = in_sessions(&zookeeper, |zookeeper, _| hold(zookeeper, &work, &acquire));
            held.await.map_err(|error| error.to_string())?;
            Ok(Round::Again(round + 1))
        }
    })
}

async fn hold<AcquireFuture>(
    zookeeper: ZooKeeper,
    work: &Locker,
    acquire: &impl Fn(Attempt) -> AcquireFuture,
) -> Result<(), Error>
where
    AcquireFuture: Future<Output = Result<Own, Error>>,
{
    if work.prepare {
        ensure_path(&zookeeper, &work.directory).await?;
    }
    let id: Arc<str> = format!("{:016x}", zookeeper.random().await).into();
    let attempt = Attempt { zookeeper, lock: Arc::clone(&work.directory), id };
    attempt.observe(|lock, attempt| LockSeen::Attempt { lock, attempt });
    let Own { node, token } = match acquire(attempt.clone()).await {
        Ok(own) => own,
        Err(error) => {
            attempt.observe(|lock, attempt| LockSeen::GaveUp { lock, attempt });
            return Err(error);
        }
    };
    let path = Arc::clone(&node);
    attempt.observe(|lock, attempt| LockSeen::Granted { lock, attempt, node: path, token });
    if !work.hold.is_zero() {
        attempt.zookeeper.sleep(work.hold).await;
    }
    attempt.observe(|lock, _| LockSeen::Releasing { lock, token });
    match until_known(&attempt.zookeeper, || attempt.zookeeper.delete(&node, Version::Any)).await {
        // The servers have deleted the znode.
        Ok(()) | Err(Error::NoNode | Error::SessionExpired) => {}
        Err(error) => return Err(error),
    }
    attempt.observe(|lock, _| LockSeen::Released { lock, token });
    Ok(())
}

impl Attempt {
    /// The name prefix of a znode of this kind, without the attempt's id, as a full path.
    pub(super) fn plain(&self, kind: Kind) -> String {
        contender::prefix(&self.lock, None, kind)
    }

    /// The name prefix of a znode of this kind, starting with the attempt's id, as a full path.
    pub(super) fn with_id(&self, kind: Kind) -> String {
        contender::prefix(&self.lock, Some(&self.id), kind)
    }

    /// The full path of a child.
    pub(super) fn child(&self, name: &str) -> String {
        contender::child(&self.lock, name)
    }

    /// Creates an ephemeral, sequential znode. If the reply is lost, creates another one.
    pub(super) async fn line_up(&self, prefix: &str) -> Result<Own, Error> {
        let mode = CreateMode::EphemeralSequential;
        let create = || self.zookeeper.create(prefix, b"", mode);
        let (path, stat) = until_known(&self.zookeeper, create).await?;
        let own = Own { node: path.into(), token: stat.czxid };
        let node = Arc::clone(&own.node);
        self.observe(|lock, attempt| LockSeen::NodeKnown { lock, attempt, node });
        Ok(own)
    }

    /// The children's names.
    pub(super) async fn children(&self) -> Result<Vec<String>, Error> {
        until_known(&self.zookeeper, || self.zookeeper.get_children(&self.lock)).await
    }

    /// Sets a watch by `exists`, and waits for it if the znode exists.
    pub(super) async fn wait_while_there(&self, path: &str) -> Result<(), Error> {
        let exists = || self.zookeeper.exists_watch(path);
        let (stat, mut watch) = until_known(&self.zookeeper, exists).await?;
        if stat.is_some() {
            self.waits(path);
            watch.changed().await?;
        }
        Ok(())
    }

    /// Sets a watch by `exists`, and waits for it whatever the reply is: if the znode does not exist, the watch is for
    /// its creation.
    pub(super) async fn wait_anyway(&self, path: &str) -> Result<(), Error> {
        let exists = || self.zookeeper.exists_watch(path);
        let (_, mut watch) = until_known(&self.zookeeper, exists).await?;
        self.waits(path);
        watch.changed().await.map(drop)
    }

    fn waits(&self, path: &str) {
        let on = path.into();
        self.observe(|lock, attempt| LockSeen::Waiting { lock, attempt, on });
    }

    fn observe(&self, make: impl FnOnce(Arc<str>, Arc<str>) -> LockSeen) {
        self.zookeeper.observe(make(Arc::clone(&self.lock), Arc::clone(&self.id)));
    }
}

impl Own {
    /// The nearest child with a lower number, among those for which `counts` returns true.
    pub(super) fn next_lower(
        &self,
        names: &[String],
        counts: impl Fn(&Contender<'_>) -> bool,
    ) -> Option<String> {
        let own = Contender::parse(path::name(&self.node))?;
        let others = names.iter().filter_map(|name| Contender::parse(name));
        let lower = others.filter(|it| counts(it) && it.is_ahead_of(&own));
        Contender::last(lower).map(|it| it.name().to_owned())
    }

    /// The nearest child with a lower number.
    pub(super) fn before(&self, names: &[String]) -> Option<String> {
        self.next_lower(names, |_| true)
    }

    /// The nearest child with a higher number.
    pub(super) fn behind(&self, names: &[String]) -> Option<String> {
        let own = Contender::parse(path::name(&self.node))?;
        let others = names.iter().filter_map(|name| Contender::parse(name));
        let higher = others.filter(|it| own.is_ahead_of(it));
        Contender::first(higher).map(|it| it.name().to_owned())
    }
}
