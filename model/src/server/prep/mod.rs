//! `prep`: the leader decides what each request does, once and for everyone (rules
//! 1.4, 1.5, 1.6, 1.7, 2.5 and 4.3).
//!
//! Requests come one at a time, and their order here is the order of the world. Each takes the next
//! zxid *before* it is checked, so one that fails is proposed, logged and committed too, as an error
//! (rule 1.6.4). The checks look at the tree as it will be when everything proposed is applied
//! ([`OutstandingChanges`]), so that every server, applying the transactions in order, need not check
//! anything again: sequence numbers, new versions and the ephemerals of a closing session are all
//! written into the transaction.
//!
//! Where this departs from HEAD, on purpose: the deletions of a closeSession in flight are counted
//! off the parent's children at once, and a failed multi gives back every path it touched. HEAD
//! counts only when they are applied, so that deleting the parent can fail with NotEmpty though it
//! is empty; and forgets an outstanding delete of a path whose name a failed multi's sequential
//! create came to.

mod change;

use crate::server::outstanding::OutstandingChanges;
use crate::server::tracker::{Owner, SessionTracker};
use crate::tree::DataTree;
use crate::vocabulary::acl::{AclList, Id};
use crate::vocabulary::config::Config;
use crate::vocabulary::id::{SessionId, Xid};
use crate::vocabulary::op::{CreateMode, Request};
use crate::vocabulary::packet::ServerRequest;
use crate::vocabulary::time::Time;
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::vocabulary::zxid::{Epoch, Zxid};
use change::Change;
use std::sync::Arc;

/// Who asks, and by which way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Asker {
    /// The session.
    pub session: SessionId,
    /// The way by which its request came.
    pub owner: Owner,
    /// The identities of the connection (rule 1.9.6).
    pub auth: Arc<[Id]>,
    /// Whether the leader takes the session for a local one if it tracks none of that id: because it
    /// is a local one of its own, or because the id is of another server, of whose local sessions it
    /// knows nothing (rule 2.6.3).
    pub local: bool,
}

impl Asker {
    /// A client of the leader itself that has proven nothing.
    pub fn new(session: SessionId, owner: Owner, auth: Arc<[Id]>) -> Asker {
        Asker { session, owner, auth, local: false }
    }

    /// The leader itself: session 0.
    pub fn nobody() -> Asker {
        Asker::new(SessionId(0), Owner::Leader, Arc::from([]))
    }
}

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

    /// Makes one request a transaction, an error transaction if it fails its checks.
    ///
    /// `None`: no zxid is left in this epoch, and the leader must step down (ZOOKEEPER-1277).
    ///
    /// # Panics
    /// For a read or a sync: they need no transaction and must not come here.
    pub fn request(
        &mut self,
        tree: &DataTree,
        asker: &Asker,
        xid: Xid,
        request: &ServerRequest,
        config: &Config,
        at: Time,
    ) -> Option<Arc<Txn>> {
        let zxid = self.next_zxid()?;
        let session = asker.session;
        let body = match request {
            ServerRequest::CreateSession { timeout } => {
                self.sessions.add(session, *timeout);
                match self.sessions.set_owner(session, asker.owner) {
                    Ok(()) => TxnBody::CreateSession { timeout: *timeout },
                    Err(error) => TxnBody::Error(error),
                }
            }
            // Neither session nor owner is checked: this request is the session's last.
            ServerRequest::Client(request) if **request == Request::CloseSession => {
                self.close_session(tree, zxid, session)
            }
            ServerRequest::Client(request) => {
                let Prep { outstanding, sessions, .. } = self;
                let mut change = Change { tree, outstanding, sessions, zxid, asker, config };
                let body = change.request(request).unwrap_or_else(TxnBody::Error);
                change.refuse_if_too_long(body)
            }
        };
        Some(self.transaction(zxid, session, xid, body, at))
    }

    /// A write that no client asked for: creates a znode named after its zxid, for session 0, which
    /// is nobody's and is not checked. `None`: no zxid is left in this epoch.
    pub fn write(&mut self, tree: &DataTree, config: &Config, at: Time) -> Option<Arc<Txn>> {
        let zxid = self.next_zxid()?;
        let path: Arc<str> = Arc::from(format!("/{}-{}", zxid.epoch(), zxid.counter()));
        let asker = Asker::nobody();
        let Prep { outstanding, sessions, .. } = self;
        let mut change = Change { tree, outstanding, sessions, zxid, asker: &asker, config };
        let mode = CreateMode::Persistent;
        let body = change.create(&path, &Arc::from([]), mode, &AclList::OPEN);
        let body = body.unwrap_or_else(TxnBody::Error);
        Some(self.transaction(zxid, SessionId(0), Xid(0), body, at))
    }

    /// A session's time is up: marks it closing and closes it (rule 2.3.2).
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

    /// Whether a change of this znode is under way.
    pub fn is_changing(&self, path: &str) -> bool {
        self.outstanding.changes(path)
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
    /// (rule 4.1.2).
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

    /// Rule 2.5.1. Closing twice is harmless: the second time nothing is left.
    fn close_session(&mut self, tree: &DataTree, zxid: Zxid, session: SessionId) -> TxnBody {
        let ephemerals = self.outstanding.ephemerals(tree, session);
        for path in &ephemerals {
            // A tree that has diverged (a server with bugs) can hold a znode without its parent.
            let parent = path.parent().and_then(|parent| self.outstanding.find(tree, parent));
            let parent = parent.map(|(path, record)| (path.clone(), record));
            change::delete(&mut self.outstanding, zxid, parent, path.clone());
        }
        self.sessions.set_closing(session);
        TxnBody::CloseSession { ephemerals: ephemerals.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests;
