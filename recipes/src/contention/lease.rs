//! A permit of a semaphore: a znode in a directory in which each znode counts (recipe rule 2.14.1).

use super::contender::{self, Contender, Kind, Node};
use super::recovery::{Lost, Recovered};
use super::{AcquireError, FencedError, Guard, LockSeen, Loss, Mutants, janitor};
use crate::helpers::until_known;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Watch, ZooKeeper};
use vivarium_model::id::SessionId;
use vivarium_model::op::{CreateMode, Op, OpResult};
use vivarium_model::zxid::Zxid;

/// An attempt to get a permit. Dropping it before its end gives up.
pub(crate) struct LeaseAttempt {
    /// Pinned to the session of the turn.
    zookeeper: ZooKeeper,
    session: SessionId,
    leases: Arc<str>,
    id: Arc<str>,
    /// Whether a create was sent.
    is_sent: bool,
    granted: bool,
    /// Whether a dropped attempt leaves its lease behind (for a mutant).
    leaks: bool,
}

/// The existing leases.
pub(crate) struct Leases {
    /// The number of leases.
    pub(crate) count: usize,
    /// Whether the attempt's own lease is among them.
    pub(crate) has_own: bool,
    /// Fires when the leases change.
    pub(crate) watch: Watch,
}

impl LeaseAttempt {
    /// Begins an attempt of the client that has the turn.
    pub(crate) fn begin(turn: &Guard, leases: Arc<str>, leaks: bool) -> LeaseAttempt {
        let (zookeeper, session) = (turn.zookeeper.clone(), turn.session);
        LeaseAttempt::of(zookeeper, session, leases, Arc::clone(&turn.id), leaks)
    }

    /// Begins an attempt after the turn, in the present session (for a mutant).
    pub(crate) async fn in_present_session(
        turn: &Guard,
        leases: Arc<str>,
        leaks: bool,
    ) -> LeaseAttempt {
        let session = turn.zookeeper.connect().await;
        let zookeeper = turn.zookeeper.scope(session);
        LeaseAttempt::of(zookeeper, session, leases, Arc::clone(&turn.id), leaks)
    }

    /// Begins an attempt in this session, to which the handle is pinned.
    pub(crate) fn of(
        zookeeper: ZooKeeper,
        session: SessionId,
        leases: Arc<str>,
        id: Arc<str>,
        leaks: bool,
    ) -> LeaseAttempt {
        let seen = LockSeen::Attempt { lock: Arc::clone(&leases), attempt: Arc::clone(&id) };
        zookeeper.observe(seen);
        LeaseAttempt { zookeeper, session, leases, id, is_sent: false, granted: false, leaks }
    }

    /// Creates the lease, even if replies are lost.
    ///
    /// # Errors
    /// Fails if the session ended or if another client deleted the znode of the turn; or returns the server's refusal.
    pub(crate) async fn create(&mut self, turn: Option<&Guard>) -> Result<Node, FencedError> {
        let prefix = contender::prefix(&self.leases, Some(&self.id), Kind::Lease);
        loop {
            self.is_sent = true;
            let create = Op::create(prefix.as_str(), &b""[..], CreateMode::EphemeralSequential);
            let created = match turn {
                Some(turn) => turn.fenced(vec![create]).await,
                None => {
                    self.zookeeper.multi(vec![create]).await.map_err(|failed| match failed.error {
                        Error::SessionExpired => FencedError::Lost(Loss::SessionEnded),
                        error => FencedError::Failed(error),
                    })
                }
            };
            match created {
                Ok(results) => {
                    let Some(OpResult::Created(path, stat)) = results.first() else {
                        unreachable!("a create is answered with {results:?}")
                    };
                    let czxid = match stat.known_czxid() {
                        Some(czxid) => czxid,
                        None => self.read_czxid(path).await?,
                    };
                    return Ok(Node { path: Arc::clone(path), czxid });
                }
                Err(FencedError::Failed(Error::ConnectionLoss)) => match self.recovered().await {
                    Ok(Recovered::Adopted(node)) => return Ok(node),
                    Ok(Recovered::Nothing | Recovered::Unseen) => {}
                    Ok(Recovered::NotOurs) | Err(_) => {
                        return Err(FencedError::Lost(Loss::SessionEnded));
                    }
                },
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads the czxid of the lease, which older servers leave out of the answer to a multi.
    async fn read_czxid(&self, path: &str) -> Result<Zxid, FencedError> {
        match until_known(&self.zookeeper, || self.zookeeper.exists(path)).await {
            Ok(Some(stat)) => Ok(stat.czxid),
            Ok(None) => Err(FencedError::Lost(Loss::NodeDeleted)),
            Err(Error::SessionExpired) => Err(FencedError::Lost(Loss::SessionEnded)),
            Err(error) => Err(FencedError::Failed(error)),
        }
    }

    async fn recovered(&self) -> Result<Recovered, AcquireError> {
        let LeaseAttempt { zookeeper, session, leases, id, .. } = self;
        let mutants = &Mutants::NONE;
        Lost { zookeeper, session: *session, lock: leases, id, mutants }.recover().await
    }

    /// Counts the leases, and watches them.
    ///
    /// # Errors
    /// Returns `SessionExpired` or the server's refusal.
    pub(crate) async fn count(&self) -> Result<Leases, Error> {
        let list = || self.zookeeper.get_children_watch(&self.leases);
        let (names, watch) = until_known(&self.zookeeper, list).await?;
        let leases = names.iter().filter_map(|name| Contender::parse(name));
        let leases: Vec<_> = leases.filter(|it| it.kind() == Kind::Lease).collect();
        let has_own = leases.iter().any(|lease| lease.attempt() == Some(&*self.id));
        Ok(Leases { count: leases.len(), has_own, watch })
    }

    /// Grants the permit to the program.
    pub(crate) fn grant(mut self, node: Node) -> Guard {
        self.granted = true;
        let (lock, attempt) = (Arc::clone(&self.leases), Arc::clone(&self.id));
        let names = (Arc::clone(&lock), Arc::clone(&attempt));
        let path = Arc::clone(&node.path);
        let granted = LockSeen::Granted { lock, attempt, node: path, token: node.czxid };
        self.zookeeper.observe(granted);
        Guard::of_node(self.zookeeper.clone(), self.session, names, node, Mutants::NONE)
    }
}

impl Drop for LeaseAttempt {
    fn drop(&mut self) {
        if self.granted {
            return;
        }
        let (lock, attempt) = (Arc::clone(&self.leases), Arc::clone(&self.id));
        self.zookeeper.observe(LockSeen::GaveUp { lock, attempt });
        if self.is_sent && !self.leaks {
            janitor::sweep(&self.zookeeper, &self.leases, &self.id);
        }
    }
}
