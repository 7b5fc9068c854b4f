//! A downgrade from writing to reading, with no other holder in between (recipe rule 2.10.3).

use super::contender::{self, Contender, Kind, Node};
use super::guard::Phase;
use super::line::inheritance;
use super::{Guard, LockSeen, Loss};
use crate::helpers::{settle, until_known};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::op::{CreateMode, Op, OpResult, Version};
use vivarium_model::path;

/// The place of a reader that was a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadersPlace {
    /// The writer's own place, before all contenders that queued after it.
    Inherited,
    /// The end of the queue (mutant `DowngradeFreshSequence`).
    Last,
}

impl Guard {
    /// Holds for reading from now on. One transaction deletes the writer's znode and creates the reader's.
    ///
    /// Cancel-safe: dropping the future gives up both.
    ///
    /// # Errors
    /// Returns how the lock was lost.
    pub(crate) async fn downgrade(mut self, place: ReadersPlace) -> Result<Guard, Loss> {
        self.phase = Phase::Exchanging;
        self.observe_the_end();
        let exchanged = self.exchange(place).await;
        // After a loss, the server deletes the remaining znode, or another client has the lock.
        self.phase = Phase::Done;
        let Node { path: node, czxid } = exchanged?;
        let (lock, attempt) = (Arc::clone(&self.lock), Arc::clone(&self.id));
        let granted = LockSeen::Granted { lock, attempt, node: Arc::clone(&node), token: czxid };
        self.zookeeper.observe(granted);
        let names = (Arc::clone(&self.lock), Arc::clone(&self.id));
        let zookeeper = self.zookeeper.clone();
        Ok(Guard::of_node(zookeeper, self.session, names, Node { path: node, czxid }, self.mutants))
    }

    async fn exchange(&self, place: ReadersPlace) -> Result<Node, Loss> {
        loop {
            match self.zookeeper.multi(self.exchange_ops(place)).await {
                Ok(results) => {
                    let Some(OpResult::Created(node, stat)) = results.first() else {
                        unreachable!("a create is answered with {results:?}")
                    };
                    if let Some(czxid) = stat.known_czxid() {
                        return Ok(Node { path: Arc::clone(node), czxid });
                    }
                    // Older servers leave the Stat out of the answer to a multi.
                    return self.reader(Arc::clone(node)).await?.ok_or(Loss::NodeDeleted);
                }
                Err(failed) => match failed.error {
                    Error::ConnectionLoss => {
                        if let Some(exchanged) = self.settled(place).await? {
                            return Ok(exchanged);
                        }
                    }
                    Error::NoNode => return Err(Loss::NodeDeleted),
                    _ => return Err(Loss::SessionEnded),
                },
            }
        }
    }

    fn exchange_ops(&self, place: ReadersPlace) -> Vec<Op> {
        let create = match place {
            ReadersPlace::Inherited => {
                let place = inheritance(self.token.0);
                Op::create(self.readers_node().as_str(), place.as_bytes(), CreateMode::Ephemeral)
            }
            ReadersPlace::Last => {
                let prefix = contender::prefix(&self.lock, Some(&self.id), Kind::Read);
                Op::create(prefix.as_str(), &b""[..], CreateMode::EphemeralSequential)
            }
        };
        vec![create, Op::delete(&*self.node, Version::Any)]
    }

    /// Returns the path of a reader in the writer's place.
    fn readers_node(&self) -> String {
        let mine =
            Contender::parse(path::name(&self.node)).expect("a guard holds a contender's znode");
        mine.as_another(&self.lock, Kind::Read)
    }

    /// Returns the result of an exchange whose reply was lost; `None` if it had no effect and will have none.
    async fn settled(&self, place: ReadersPlace) -> Result<Option<Node>, Loss> {
        let ended = |_| Loss::SessionEnded;
        settle(&self.zookeeper).await.map_err(ended)?;
        let node = match place {
            ReadersPlace::Inherited => self.readers_node(),
            // The mutant breaks another rule, and finds its znode by the id.
            ReadersPlace::Last => {
                let list = || self.zookeeper.get_children(&self.lock);
                let names = until_known(&self.zookeeper, list).await.map_err(ended)?;
                let contenders = names.iter().filter_map(|name| Contender::parse(name));
                let mut own = contenders.filter(|other| {
                    other.attempt() == Some(&*self.id) && other.kind() == Kind::Read
                });
                match own.next() {
                    Some(reader) => contender::child(&self.lock, reader.name()),
                    None => return Ok(None),
                }
            }
        };
        self.reader(node.into()).await
    }

    /// Reads the reader's znode; `None` if it does not exist.
    async fn reader(&self, path: Arc<str>) -> Result<Option<Node>, Loss> {
        let exists = until_known(&self.zookeeper, || self.zookeeper.exists(&path)).await;
        let stat = exists.map_err(|_| Loss::SessionEnded)?;
        Ok(stat.map(|stat| Node { path, czxid: stat.czxid }))
    }
}
