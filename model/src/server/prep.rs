//! `prep`: the leader decides what each request does, once and for everyone (semantics 1.4–1.7,
//! 2.5, 4.3).
//!
//! Requests come one at a time, and their order here is the order of the world. Each takes the next
//! zxid *before* it is checked, so one that fails is proposed, logged and committed too, as an error
//! (semantics 1.6). The checks look at the tree as it will be when everything proposed is applied
//! ([`OutstandingChanges`]), so that every server, applying the transactions in order, need not check
//! anything again: sequence numbers, new versions and the ephemerals of a closing session are all
//! written into the transaction.
//!
//! Where this departs from HEAD, on purpose: the deletions of a closeSession in flight are counted
//! off the parent's children at once, and a failed multi gives back every path it touched. HEAD
//! counts only when they are applied, so that deleting the parent can fail with NotEmpty though it
//! is empty; and forgets an outstanding delete of a path whose name a failed multi's sequential
//! create came to.

use crate::error::Error;
use crate::id::{SessionId, Xid};
use crate::op::{CreateMode, Data, Op, Request, Version};
use crate::packet::ServerRequest;
use crate::path::ZnodePath;
use crate::server::outstanding::{OutstandingChanges, Record};
use crate::server::tracker::{Owner, SessionTracker};
use crate::time::Time;
use crate::tree::DataTree;
use crate::txn::{Txn, TxnBody};
use crate::zxid::{Epoch, Zxid};
use std::sync::Arc;

/// Paths that cannot be deleted (semantics 1.1).
const SPECIAL_PATHS: [&str; 4] = ["/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config"];

/// The first stage of a leader's pipeline. Dropped, with everything outstanding, when its
/// leadership ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Prep {
    last_zxid: Zxid,
    outstanding: OutstandingChanges,
    sessions: SessionTracker,
}

/// What became of a session's expiry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// The session is closing; this is its closeSession.
    Proposed(Arc<Txn>),
    /// The session is unknown or closing already: nothing to propose.
    Nothing,
    /// No zxid is left in this epoch: the leader must step down (ZOOKEEPER-1277).
    Exhausted,
}

impl Prep {
    /// The `prep` of a leader that begins `epoch` with this tree. Its first zxid has counter 1.
    pub fn new(epoch: Epoch, tree: &DataTree) -> Prep {
        Prep {
            last_zxid: epoch.opening(),
            outstanding: OutstandingChanges::default(),
            sessions: SessionTracker::new(tree),
        }
    }

    /// Makes one request a transaction, an error transaction if it fails its checks. `owner` is the
    /// way by which it came.
    ///
    /// `None`: no zxid is left in this epoch, and the leader must step down (ZOOKEEPER-1277).
    ///
    /// # Panics
    /// For a read or a sync: they need no transaction and must not come here.
    pub fn request(
        &mut self,
        tree: &DataTree,
        session: SessionId,
        owner: Owner,
        xid: Xid,
        request: &ServerRequest,
        at: Time,
    ) -> Option<Arc<Txn>> {
        let zxid = self.next_zxid()?;
        let body = match request {
            ServerRequest::CreateSession { timeout } => {
                self.sessions.add(session, *timeout);
                match self.sessions.set_owner(session, owner) {
                    Ok(()) => TxnBody::CreateSession { timeout: *timeout },
                    Err(error) => TxnBody::Error(error),
                }
            }
            ServerRequest::Client(request) => match &**request {
                // Only a multi can hold a check; alone it has an opcode that servers refuse.
                Request::Write(Op::Check { .. }) => TxnBody::Error(Error::Unimplemented),
                Request::Write(op) => {
                    self.change(tree, zxid, session, owner).op(op).unwrap_or_else(TxnBody::Error)
                }
                Request::Multi(ops) => self.change(tree, zxid, session, owner).multi(ops),
                // Neither session nor owner is checked: this request is the session's last.
                Request::CloseSession => self.close_session(tree, zxid, session),
                Request::Exists { .. }
                | Request::GetData { .. }
                | Request::GetChildren { .. }
                | Request::Sync { .. } => unreachable!("{request} needs no transaction"),
            },
        };
        Some(self.transaction(zxid, session, xid, body, at))
    }

    /// A write that no client asked for: creates a znode named after its zxid, for session 0, which
    /// is nobody's and is not checked. `None`: no zxid is left in this epoch.
    pub fn write(&mut self, tree: &DataTree, at: Time) -> Option<Arc<Txn>> {
        let zxid = self.next_zxid()?;
        let path: Arc<str> = Arc::from(format!("/{}-{}", zxid.epoch(), zxid.counter()));
        let body = self.change(tree, zxid, SessionId(0), Owner::Leader).create(
            &path,
            &Arc::from([]),
            CreateMode::Persistent,
        );
        let body = body.unwrap_or_else(TxnBody::Error);
        Some(self.transaction(zxid, SessionId(0), Xid(0), body, at))
    }

    /// A session's time is up: marks it closing and closes it (semantics 2.3).
    pub fn expire(&mut self, tree: &DataTree, session: SessionId, at: Time) -> Expiry {
        if self.sessions.touch(session).is_none() {
            return Expiry::Nothing;
        }
        let Some(zxid) = self.next_zxid() else {
            return Expiry::Exhausted;
        };
        let body = self.close_session(tree, zxid, session);
        Expiry::Proposed(self.transaction(zxid, session, Xid(0), body, at))
    }

    /// The closeSession of a session that is closing already. For the service grain, where to mark
    /// a session and to close it are two steps; `None` where no zxid is left.
    pub(crate) fn close(&mut self, tree: &DataTree, session: SessionId) -> Option<Arc<Txn>> {
        let zxid = self.next_zxid()?;
        let body = self.close_session(tree, zxid, session);
        Some(self.transaction(zxid, session, Xid(0), body, Time::ZERO))
    }

    /// The next zxid is the one after this. For the service grain, which numbers in its own way.
    pub(crate) fn go_on_from(&mut self, zxid: Zxid) {
        self.last_zxid = zxid;
    }

    /// The leader's tree has applied this transaction: its changes are no longer outstanding, and a
    /// session that it closes is forgotten.
    pub fn applied(&mut self, txn: &Txn) {
        self.outstanding.applied(txn.zxid);
        if let TxnBody::CloseSession { .. } = txn.body {
            self.sessions.remove(txn.session);
        }
    }

    /// The zxid of the last transaction made; at first the one that opens the epoch.
    pub fn last_zxid(&self) -> Zxid {
        self.last_zxid
    }

    /// The live and closing sessions.
    pub fn sessions(&self) -> &SessionTracker {
        &self.sessions
    }

    /// The live and closing sessions, to revalidate them.
    pub fn sessions_mut(&mut self) -> &mut SessionTracker {
        &mut self.sessions
    }

    /// The largest counter names no transaction: on reaching it the leader refuses to propose
    /// (semantics 4.1).
    fn next_zxid(&self) -> Option<Zxid> {
        self.last_zxid.next().filter(|zxid| zxid.counter() != u32::MAX)
    }

    fn transaction(
        &mut self,
        zxid: Zxid,
        session: SessionId,
        cxid: Xid,
        body: TxnBody,
        at: Time,
    ) -> Arc<Txn> {
        self.last_zxid = zxid;
        Arc::new(Txn { zxid, session, cxid, time: at.milliseconds(), body })
    }

    fn change<'a>(
        &'a mut self,
        tree: &'a DataTree,
        zxid: Zxid,
        session: SessionId,
        owner: Owner,
    ) -> Change<'a> {
        let Prep { outstanding, sessions, .. } = self;
        Change { tree, outstanding, sessions, zxid, session, owner }
    }

    /// Semantics 2.5 rule 1. Closing twice is harmless: the second time nothing is left.
    fn close_session(&mut self, tree: &DataTree, zxid: Zxid, session: SessionId) -> TxnBody {
        let ephemerals = self.outstanding.ephemerals(tree, session);
        for path in &ephemerals {
            // A tree that has diverged (a server with bugs) can hold a znode without its parent.
            let parent = path.parent().and_then(|parent| self.outstanding.find(tree, parent));
            let parent = parent.map(|(path, record)| (path.clone(), record));
            delete(&mut self.outstanding, zxid, parent, path.clone());
        }
        self.sessions.set_closing(session);
        TxnBody::CloseSession { ephemerals: ephemerals.into_iter().collect() }
    }
}

/// Records a deletion. The parent's stored cversion counts creations only and stays.
fn delete(
    outstanding: &mut OutstandingChanges,
    zxid: Zxid,
    parent: Option<(ZnodePath, Record)>,
    path: ZnodePath,
) {
    if let Some((parent, record)) = parent {
        let children = record.children.saturating_sub(1);
        outstanding.add(zxid, parent, Some(Record { children, ..record }));
    }
    outstanding.add(zxid, path, None);
}

/// The change that one request asks for: its checks, in the order of semantics 1.6, and its records.
struct Change<'a> {
    tree: &'a DataTree,
    outstanding: &'a mut OutstandingChanges,
    sessions: &'a mut SessionTracker,
    zxid: Zxid,
    session: SessionId,
    owner: Owner,
}

impl Change<'_> {
    /// All operations or none (semantics 1.7).
    fn multi(&mut self, ops: &[Op]) -> TxnBody {
        let mut parts = Vec::with_capacity(ops.len());
        for op in ops {
            match self.op(op) {
                Ok(part) => parts.push(part),
                Err(error) => {
                    self.outstanding.roll_back(self.zxid);
                    return failed_multi(parts.len(), error, ops.len());
                }
            }
        }
        TxnBody::Multi(parts)
    }

    fn op(&mut self, op: &Op) -> Result<TxnBody, Error> {
        self.sessions.check(self.session, self.owner)?;
        match op {
            Op::Create { path, data, mode } => self.create(path, data, *mode),
            Op::Delete { path, version } => self.delete(path, *version),
            Op::SetData { path, data, version } => self.set_data(path, data, *version),
            Op::Check { path, version } => self.check(path, *version),
        }
    }

    fn create(&mut self, path: &Arc<str>, data: &Data, mode: CreateMode) -> Result<TxnBody, Error> {
        let (parent, record) = self.find(parent_of(path)?)?;
        // Validated only with its suffix: `/p/` is a good prefix of a sequential name.
        let path = match mode.is_sequential() {
            true => ZnodePath::new(format!("{path}{:010}", record.cversion))?,
            false => ZnodePath::new(Arc::clone(path))?,
        };
        if self.find(&path).is_ok() {
            return Err(Error::NodeExists);
        }
        if record.ephemeral_owner.is_some() {
            return Err(Error::NoChildrenForEphemerals);
        }
        let parent_cversion = record.cversion.wrapping_add(1);
        let children = record.children + 1;
        let parent_record = Record { cversion: parent_cversion, children, ..record };
        let ephemeral = mode.is_ephemeral();
        let owner = ephemeral.then_some(self.session);
        self.outstanding.add(self.zxid, parent, Some(parent_record));
        self.outstanding.add(self.zxid, path.clone(), Some(Record::created(owner)));
        Ok(TxnBody::Create { path, data: Arc::clone(data), ephemeral, parent_cversion })
    }

    fn delete(&mut self, path: &str, version: Version) -> Result<TxnBody, Error> {
        let parent = parent_of(path)?;
        if SPECIAL_PATHS.contains(&path) {
            return Err(Error::BadArguments);
        }
        let parent = self.find(parent)?;
        let (path, record) = self.find(path)?;
        next_version(record.version, version)?;
        if record.children > 0 {
            return Err(Error::NotEmpty);
        }
        delete(self.outstanding, self.zxid, Some(parent), path.clone());
        Ok(TxnBody::Delete { path })
    }

    fn set_data(
        &mut self,
        path: &Arc<str>,
        data: &Data,
        version: Version,
    ) -> Result<TxnBody, Error> {
        ZnodePath::new(Arc::clone(path))?;
        let (path, record) = self.find(path)?;
        let version = next_version(record.version, version)?;
        self.outstanding.add(self.zxid, path.clone(), Some(Record { version, ..record }));
        Ok(TxnBody::SetData { path, data: Arc::clone(data), version })
    }

    fn check(&mut self, path: &Arc<str>, version: Version) -> Result<TxnBody, Error> {
        ZnodePath::new(Arc::clone(path))?;
        let (path, record) = self.find(path)?;
        next_version(record.version, version)?;
        Ok(TxnBody::Check { path })
    }

    fn find(&self, path: &str) -> Result<(ZnodePath, Record), Error> {
        let (path, record) = self.outstanding.find(self.tree, path).ok_or(Error::NoNode)?;
        Ok((path.clone(), record))
    }
}

/// The text before the last slash, where the parent is looked up. Nothing else of a path is checked
/// at this point, so what is no path at all mostly ends as NoNode (semantics 1.1).
fn parent_of(path: &str) -> Result<&str, Error> {
    match path.rfind('/') {
        Some(_) if path.contains('\0') => Err(Error::BadArguments),
        Some(0) => Ok("/"),
        Some(at) => Ok(&path[..at]),
        None => Err(Error::BadArguments),
    }
}

/// The version after a change of a znode that has version `current`. It is never -1, which in a
/// request would mean that no version is expected (ZOOKEEPER-4743).
fn next_version(current: i32, expected: Version) -> Result<i32, Error> {
    if !expected.accepts(current) {
        return Err(Error::BadVersion);
    }
    match current.wrapping_add(1) {
        -1 => Ok(0),
        next => Ok(next),
    }
}

/// The codes of a multi whose operation number `at` failed. SessionMoved is not put inside: for it
/// the origin server hangs up, whatever the request was, and so need look in one place only.
fn failed_multi(at: usize, error: Error, operations: usize) -> TxnBody {
    if error == Error::SessionMoved {
        return TxnBody::Error(error);
    }
    let mut codes = vec![None; at];
    codes.push(Some(error));
    codes.resize(operations, Some(Error::RuntimeInconsistency));
    TxnBody::FailedMulti(codes)
}

#[cfg(test)]
mod tests;
