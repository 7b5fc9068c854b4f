//! One attempt to acquire, in one session: create a znode and wait until it is the first (recipe rule 2.8).

use super::contender::{self, Contender, Kind, Node};
use super::line::Line;
use super::recovery::{Lost, Recovered};
use super::{AcquireError, Contest, Guard, LockSeen, Mutant, Mutants, Predecessor, janitor};
use crate::helpers::{ensure_path, next_session, reconnected, until_known};
use std::future::pending;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Either, SessionEvents, Watch, ZooKeeper, race};
use vivarium_model::id::SessionId;
use vivarium_model::op::{CreateMode, Data, SessionState};
use vivarium_model::path;

/// An attempt. Dropping it before its end gives up.
pub(super) struct Attempt {
    /// Pinned to the attempt's session.
    pub(super) zookeeper: ZooKeeper,
    pub(super) session: SessionId,
    pub(super) lock: Arc<str>,
    pub(super) id: Arc<str>,
    pub(super) kind: Kind,
    pub(super) mutants: Mutants,
    predecessor: Predecessor,
    data: Data,
    traces: Traces,
    granted: bool,
}

/// What an attempt that gives up leaves for the janitor.
enum Traces {
    /// Nothing: no create was sent, or it was refused, or it is settled that it had no effect, or the session is over.
    None,
    /// A create was sent, and its result is unknown.
    Unsettled,
    /// This znode and no other.
    Node(Arc<str>),
}

/// Why a waiter looks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woken {
    /// The predecessor was changed or deleted.
    Changed,
    /// The connection was lost meanwhile.
    Reconnected,
    /// The predecessor was deleted before it could be watched.
    Missing,
}

/// The result of one look.
enum Look {
    /// The attempt has the lock.
    First,
    /// The attempt waited for its predecessor.
    Waited(Woken),
    /// The attempt's znode does not exist any more.
    Gone,
}

/// A contender's place in the queue.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// It is the first.
    First,
    /// It is after this child.
    Behind(String),
    /// It does not exist any more.
    Gone,
}

impl Attempt {
    /// Begins an attempt.
    pub(super) fn begin(contest: &Contest, session: SessionId, id: Arc<str>) -> Attempt {
        let attempt = Attempt {
            zookeeper: contest.zookeeper.scope(session),
            session,
            lock: Arc::clone(&contest.directory),
            id,
            kind: contest.kind,
            mutants: contest.mutants,
            predecessor: contest.predecessor,
            data: contest.data.clone(),
            traces: Traces::None,
            granted: false,
        };
        attempt.observe(|lock, attempt| LockSeen::Attempt { lock, attempt });
        attempt
    }

    /// Runs the attempt. Returns `None` if the attempt has lost its znode, so that a new one must begin.
    pub(super) async fn run(mut self) -> Result<Option<Guard>, AcquireError> {
        let acquired = self.acquire().await;
        if let Err(AcquireError::SessionExpired) = acquired {
            // The servers delete what belongs to the session.
            self.traces = Traces::None;
        }
        Ok(acquired?.map(|node| self.grant(node)))
    }

    async fn acquire(&mut self) -> Result<Option<Node>, AcquireError> {
        let Some(mut node) = self.line_up().await? else { return Ok(None) };
        loop {
            let woken = match self.look(&node).await {
                Ok(Look::First) => return Ok(Some(node)),
                Ok(Look::Waited(woken)) => woken,
                Ok(Look::Gone) => {
                    self.traces = Traces::None;
                    return Ok(None);
                }
                // The mutant continues with what it knows of its znode from a session that is over (recipe rule 2.8.6).
                Err(AcquireError::SessionExpired)
                    if self.mutants.has(Mutant::NoOwnerCheckOnGrant) =>
                {
                    self.go_on_in_the_next_session().await;
                    continue;
                }
                Err(error) => return Err(error),
            };
            // Its znode outlives the connection, so it keeps its place (recipe rule 2.8.4).
            let again = match woken {
                Woken::Reconnected => self.mutants.has(Mutant::RecreateOnBlip),
                Woken::Missing if self.mutants.has(Mutant::ResetOnMissingPredecessor) => {
                    janitor::delete_until_gone(&self.zookeeper, &node.path).await;
                    true
                }
                Woken::Missing | Woken::Changed => false,
            };
            if again {
                let Some(second) = self.line_up().await? else { return Ok(None) };
                node = second;
            }
        }
    }

    /// Looks up its place, and waits if it is not the first.
    async fn look(&mut self, node: &Node) -> Result<Look, AcquireError> {
        match self.place(path::name(&node.path)).await? {
            Place::First => Ok(Look::First),
            Place::Behind(predecessor) => Ok(Look::Waited(self.wait_for(&predecessor).await?)),
            Place::Gone => Ok(Look::Gone),
        }
    }

    /// Pins the attempt to the next session (for a mutant).
    async fn go_on_in_the_next_session(&mut self) {
        self.session = next_session(&self.zookeeper, self.session).await;
        self.zookeeper = self.zookeeper.scope(self.session);
    }

    /// Waits for the next connection after a create whose reply was lost.
    async fn reattached(&mut self, events: &mut SessionEvents) -> Result<(), AcquireError> {
        match reconnected(events).await {
            Err(_) if self.mutants.has(Mutant::AdoptDeadSessionNode) => {
                self.go_on_in_the_next_session().await;
                Ok(())
            }
            reconnected => Ok(reconnected?),
        }
    }

    /// Creates the attempt's znode, and reports it.
    async fn line_up(&mut self) -> Result<Option<Node>, AcquireError> {
        let Some(node) = self.create().await? else { return Ok(None) };
        self.traces = Traces::Node(Arc::clone(&node.path));
        let known = Arc::clone(&node.path);
        self.observe(|lock, attempt| LockSeen::NodeKnown { lock, attempt, node: known });
        Ok(Some(node))
    }

    /// Creates the znode, even if replies are lost (recipe rules 2.8.1 and 2.8.6).
    async fn create(&mut self) -> Result<Option<Node>, AcquireError> {
        let nameless =
            self.mutants.has(Mutant::NoGuid) || self.mutants.has(Mutant::LateDeleteReusedName);
        let id = (!nameless).then(|| Arc::clone(&self.id));
        let prefix = contender::prefix(&self.lock, id.as_deref(), self.kind);
        loop {
            self.traces = Traces::Unsettled;
            let mut events = self.zookeeper.session_events();
            let mode = CreateMode::EphemeralSequential;
            match self.zookeeper.create(&prefix, &self.data, mode).await {
                Ok((path, stat)) => {
                    return Ok(Some(Node { path: path.into(), czxid: stat.czxid }));
                }
                Err(Error::ConnectionLoss) if self.mutants.has(Mutant::NoBackgroundCleanup) => {
                    self.traces = Traces::None;
                    return Err(AcquireError::TimedOut);
                }
                // The mutant knows no other way to delete what it may have created.
                Err(Error::ConnectionLoss) if self.mutants.has(Mutant::LateDeleteReusedName) => {
                    self.zookeeper.close().await;
                    return Err(AcquireError::SessionExpired);
                }
                Err(Error::ConnectionLoss) => {
                    self.reattached(&mut events).await?;
                    // Without an id, there is nothing to look for (`NoGuid`).
                    if id.is_none() {
                        continue;
                    }
                    return match self.lost().recover().await? {
                        Recovered::Adopted(node) => Ok(Some(node)),
                        Recovered::Unseen => continue,
                        // Begin a new attempt: a znode of this one may have existed, which others have deleted, and its
                        // name could be reused (recipe rules 1.2.2 and 2.8.6).
                        Recovered::Nothing | Recovered::NotOurs => {
                            self.traces = Traces::None;
                            Ok(None)
                        }
                    };
                }
                Err(error) => {
                    self.traces = Traces::None;
                    if error != Error::NoNode {
                        return Err(error.into());
                    }
                    if self.mutants.has(Mutant::ParentGoneGivesUp) {
                        return pending().await;
                    }
                    // The directory is missing; it may also be deleted again at any time.
                    ensure_path(&self.zookeeper, &self.lock).await?;
                }
            }
        }
    }

    /// Returns the create whose reply was lost.
    fn lost(&self) -> Lost<'_> {
        let Attempt { zookeeper, session, lock, id, mutants, .. } = self;
        Lost { zookeeper, session: *session, lock, id, mutants }
    }

    /// Lists the children without a watch: only the predecessor matters (recipe rule 2.8.2).
    async fn place(&mut self, own: &str) -> Result<Place, AcquireError> {
        if self.mutants.has(Mutant::LeakOnErrorAfterCreate)
            && self.zookeeper.get_children(&self.lock).await == Err(Error::ConnectionLoss)
        {
            self.traces = Traces::None;
            return Err(AcquireError::TimedOut);
        }
        let line = Line::read(&self.zookeeper, &self.lock).await?;
        if self.mutants.has(Mutant::FailOnVanishedPeer) {
            self.read_all(line.names()).await?;
        }
        Ok(place(&line.contenders(), own, self.predecessor))
    }

    /// Reads the data of all znodes (`FailOnVanishedPeer`).
    async fn read_all(&mut self, names: &[String]) -> Result<(), AcquireError> {
        for name in names {
            let path = contender::child(&self.lock, name);
            match until_known(&self.zookeeper, || self.zookeeper.get_data(&path)).await {
                Ok(_) => {}
                Err(Error::NoNode) => {
                    self.traces = Traces::None;
                    return Err(AcquireError::TimedOut);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Returns when it is time to list again (recipe rules 2.8.3 and 2.8.4).
    async fn wait_for(&self, predecessor: &str) -> Result<Woken, AcquireError> {
        let on = contender::child(&self.lock, predecessor);
        let watched = match self.mutants.has(Mutant::WatchDirectory) {
            true => self.watch_directory(predecessor).await,
            false => self.zookeeper.watch_data(&on).await,
        };
        let waiting = || {
            let on = on.as_str().into();
            self.observe(|lock, attempt| LockSeen::Waiting { lock, attempt, on });
        };
        let mut watch = match watched {
            Ok(watch) => watch,
            // The predecessor was deleted between list and watch, so nothing would ever wake this waiter (recipe rule
            // 2.8.3).
            Err(Error::NoNode) if self.mutants.has(Mutant::ExistsNullSleeps) => {
                waiting();
                return pending().await;
            }
            Err(Error::NoNode) => return Ok(Woken::Missing),
            // The next list waits until the client is connected again.
            Err(Error::ConnectionLoss) => return Ok(Woken::Reconnected),
            Err(error) => return Err(error.into()),
        };
        waiting();
        let mut events = self.zookeeper.session_events();
        loop {
            match race(watch.changed(), events.next()).await {
                Either::Left(event) => return Ok(event.map(|_| Woken::Changed)?),
                // The client sets the watch again, but a missed change may concern this waiter.
                Either::Right(SessionState::SyncConnected) => return Ok(Woken::Reconnected),
                Either::Right(state) if state.is_final() => {
                    return Err(AcquireError::SessionExpired);
                }
                // A read-only server cannot tell which client holds a lock.
                Either::Right(_) => {}
            }
        }
    }

    /// Watches the directory like `WatchDirectory`, if `predecessor` still exists.
    async fn watch_directory(&self, predecessor: &str) -> Result<Watch, Error> {
        let (names, watch) = self.zookeeper.get_children_watch(&self.lock).await?;
        let is_there = names.iter().any(|name| name == predecessor);
        is_there.then_some(watch).ok_or(Error::NoNode)
    }

    /// Grants the lock without a further check: a session that has ended meanwhile makes the holder a zombie, which no
    /// check could exclude.
    fn grant(mut self, node: Node) -> Guard {
        self.granted = true;
        let (path, token) = (Arc::clone(&node.path), node.czxid);
        self.observe(|lock, attempt| LockSeen::Granted { lock, attempt, node: path, token });
        let names = (Arc::clone(&self.lock), Arc::clone(&self.id));
        Guard::of_node(self.zookeeper.clone(), self.session, names, node, self.mutants)
    }

    fn observe(&self, make: impl FnOnce(Arc<str>, Arc<str>) -> LockSeen) {
        self.zookeeper.observe(make(Arc::clone(&self.lock), Arc::clone(&self.id)));
    }
}

/// Recipe rule 2.8.6, last row: if an attempt ends without a grant, also by being dropped at an await point, its znode
/// is deleted.
impl Drop for Attempt {
    fn drop(&mut self) {
        if self.granted {
            return;
        }
        self.observe(|lock, attempt| LockSeen::GaveUp { lock, attempt });
        if self.mutants.has(Mutant::LeakOnCancel) {
            return;
        }
        match std::mem::replace(&mut self.traces, Traces::None) {
            Traces::None => {}
            Traces::Unsettled if self.mutants.has(Mutant::LateDeleteReusedName) => {
                janitor::end_session(&self.zookeeper);
            }
            Traces::Unsettled => janitor::sweep(&self.zookeeper, &self.lock, &self.id),
            Traces::Node(path) if self.mutants.has(Mutant::CleanupWrongPath) => {
                janitor::delete(&self.zookeeper, path::name(&path).into());
            }
            Traces::Node(path) if self.mutants.has(Mutant::BestEffortCleanup) => {
                janitor::delete_once(&self.zookeeper, path);
            }
            Traces::Node(path) => janitor::delete(&self.zookeeper, path),
        }
    }
}

/// Returns the place of the child `own` in the queue.
fn place(contenders: &[Contender<'_>], own: &str, predecessor: Predecessor) -> Place {
    let Some(mine) = contenders.iter().find(|contender| contender.name() == own) else {
        return Place::Gone;
    };
    match predecessor(mine, contenders) {
        None => Place::First,
        Some(predecessor) => Place::Behind(predecessor.name().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_the_line() {
        let names = ["0b-lock-0000000007", "other", "0a-lock-0000000005", "0c-lock-0000000009"];
        let place = |names: &[&str], own| {
            let line: Vec<_> = names.iter().filter_map(|name| Contender::parse(name)).collect();
            super::place(&line, own, contender::predecessor)
        };
        let behind = |name: &str| Place::Behind(name.to_owned());
        assert_eq!(place(&names, "0a-lock-0000000005"), Place::First);
        assert_eq!(place(&names, "0b-lock-0000000007"), behind("0a-lock-0000000005"));
        assert_eq!(place(&names, "0c-lock-0000000009"), behind("0b-lock-0000000007"));
        assert_eq!(place(&names, "0d-lock-0000000010"), Place::Gone);
        assert_eq!(place(&[], "0d-lock-0000000010"), Place::Gone);
    }
}
