//! `prep`: the leader decides the effect of each request, once for all servers (rules 1.4, 1.5, 1.6, 1.7, 2.5 and
//! 4.3).
//!
//! Requests arrive one at a time, and their order here is the total order. Each takes the next zxid *before* it is
//! checked, so a request that fails is also proposed, logged and committed, as an error (rule 1.6.4). The checks use
//! the state of the tree after everything proposed is applied ([`OutstandingChanges`]), so servers that apply the
//! transactions in order need not check anything again: sequence numbers, new versions and the ephemerals of a
//! closing session are all written into the transaction.
//!
//! Deliberate differences from HEAD: the deletions of a closeSession in flight are subtracted from the parent's
//! children immediately, and a failed multi restores every path that it changed. HEAD subtracts them only when they
//! are applied, so deleting the parent can fail with NotEmpty although it is empty; and it forgets an outstanding
//! delete of a path that a failed multi's sequential create has reached.

mod change;

use crate::server::disk::Configurations;
use crate::server::outstanding::OutstandingChanges;
use crate::server::tracker::{Owner, SessionTracker};
use crate::tree::DataTree;
use crate::vocabulary::acl::{AclList, Id};
use crate::vocabulary::config::Config;
use crate::vocabulary::id::{ServerSet, SessionId, Xid};
use crate::vocabulary::op::{CreateMode, Data, Request};
use crate::vocabulary::packet::ServerRequest;
use crate::vocabulary::reconfiguration::Reconfiguration;
use crate::vocabulary::release::Bug;
use crate::vocabulary::time::Time;
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::vocabulary::zxid::{Epoch, Zxid};
use change::Change;
use std::sync::Arc;

/// The origin of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Asker {
    /// The session.
    pub session: SessionId,
    /// The way in which the session's requests reach the leader.
    pub owner: Owner,
    /// The identities of the connection (rule 1.9.6).
    pub auth: Arc<[Id]>,
    /// Whether the leader treats the session as local if it does not track it: because it is a local session of its
    /// own, or because the id is another server's, whose local sessions the leader does not know (rule 2.6.3).
    pub local: bool,
}

impl Asker {
    /// Returns the origin of a request of this session, which is not a local one.
    pub fn new(session: SessionId, owner: Owner, auth: Arc<[Id]>) -> Asker {
        Asker { session, owner, auth, local: false }
    }

    /// Returns the leader itself: session 0.
    pub fn nobody() -> Asker {
        Asker::new(SessionId(0), Owner::Leader, Arc::from([]))
    }
}

/// What a request's effect depends on besides the database.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The settings of the run.
    pub config: &'a Config,
    /// What the leader knows of its ensemble; `None` where that cannot be reconfigured, as at a standalone server.
    pub view: Option<LeaderView>,
    /// The time of the transaction.
    pub at: Time,
}

/// What a reconfiguration depends on.
#[derive(Clone, Copy, Debug)]
pub struct LeaderView {
    /// The leader's configurations.
    pub configurations: Configurations,
    /// The leader, and the followers from whom a packet has arrived recently.
    pub synced: ServerSet,
}

/// The first stage of a leader's pipeline. It is dropped when the leadership ends, with everything outstanding.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Prep {
    last_zxid: Zxid,
    outstanding: OutstandingChanges,
    sessions: SessionTracker,
}

/// The result of a session's expiry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// The session is now closing; this is its closeSession.
    Proposed(Arc<Txn>),
    /// The session is unknown or closing already: nothing to propose.
    Nothing,
    /// No zxid is left in this epoch: the leader must step down (ZOOKEEPER-1277).
    Exhausted,
}

impl Prep {
    /// Returns the `prep` of a leader that begins `epoch` with this tree. Its first zxid has counter 1.
    pub fn new(epoch: Epoch, tree: &DataTree) -> Prep {
        Prep {
            last_zxid: epoch.opening(),
            outstanding: OutstandingChanges::default(),
            sessions: SessionTracker::new(tree),
        }
    }

    /// Converts a request to a transaction; one that fails its checks becomes an error transaction.
    ///
    /// Returns `None` if no zxid is left in this epoch; the leader must then step down (ZOOKEEPER-1277).
    ///
    /// # Panics
    /// For a read or a sync, which need no transaction.
    pub fn request(
        &mut self,
        tree: &DataTree,
        asker: &Asker,
        xid: Xid,
        request: &ServerRequest,
        run: &Run<'_>,
    ) -> Option<Arc<Txn>> {
        let zxid = self.next_zxid(run.config)?;
        let session = asker.session;
        let body = match request {
            ServerRequest::CreateSession { timeout } => {
                self.sessions.add(session, *timeout);
                match self.sessions.set_owner(session, asker.owner) {
                    Ok(()) => TxnBody::CreateSession { timeout: *timeout },
                    Err(error) => TxnBody::Error(error),
                }
            }
            // Neither the session nor its owner is checked: this is the session's last request.
            ServerRequest::Client(request) if **request == Request::CloseSession => {
                self.close_session(tree, zxid, session)
            }
            ServerRequest::Client(request) => {
                let Prep { outstanding, sessions, .. } = self;
                let Run { config, view, .. } = *run;
                let mut change = Change { tree, outstanding, sessions, zxid, asker, config, view };
                let body = change.request(request).unwrap_or_else(TxnBody::Error);
                change.refuse_if_too_long(body)
            }
        };
        Some(self.transaction(zxid, session, xid, body, run.at))
    }

    /// Makes a write without a client: the creation of a znode named after its zxid, by session 0, which is not
    /// checked. Returns `None` if no zxid is left in this epoch.
    pub fn write(&mut self, tree: &DataTree, config: &Config, at: Time) -> Option<Arc<Txn>> {
        let zxid = self.next_zxid(config)?;
        let path: Arc<str> = Arc::from(format!("/{}-{}", zxid.epoch(), zxid.counter()));
        let asker = Asker::nobody();
        let Prep { outstanding, sessions, .. } = self;
        let view = None;
        let mut change = Change { tree, outstanding, sessions, zxid, asker: &asker, config, view };
        let mode = CreateMode::Persistent;
        let body = change.create(&path, &Data::from([]), mode, &AclList::OPEN);
        let body = body.unwrap_or_else(TxnBody::Error);
        Some(self.transaction(zxid, SessionId(0), Xid(0), body, at))
    }

    /// Makes a reconfiguration without a client, by the leader itself, which needs no permission. One that fails its checks
    /// becomes an error transaction. Returns `None` if no zxid is left in this epoch.
    pub fn reconfigure(
        &mut self,
        tree: &DataTree,
        asked: &Reconfiguration,
        run: &Run<'_>,
    ) -> Option<Arc<Txn>> {
        let zxid = self.next_zxid(run.config)?;
        let asker = Asker::nobody();
        let Prep { outstanding, sessions, .. } = self;
        let Run { config, view, at } = *run;
        let mut change = Change { tree, outstanding, sessions, zxid, asker: &asker, config, view };
        let body = change.next_configuration(asked).and_then(|next| change.replace(next));
        let body = body.unwrap_or_else(TxnBody::Error);
        Some(self.transaction(zxid, SessionId(0), Xid(0), body, at))
    }

    /// Expires a session: marks it as closing and closes it (rule 2.3.2).
    pub fn expire(
        &mut self,
        tree: &DataTree,
        session: SessionId,
        config: &Config,
        at: Time,
    ) -> Expiry {
        if self.sessions.touch(session).is_none() {
            return Expiry::Nothing;
        }
        let Some(zxid) = self.next_zxid(config) else {
            return Expiry::Exhausted;
        };
        let body = self.close_session(tree, zxid, session);
        Expiry::Proposed(self.transaction(zxid, session, Xid(0), body, at))
    }

    /// Makes the closeSession of a session that is closing already. For the service grain, where marking and closing
    /// are two steps. Returns `None` if no zxid is left.
    pub(crate) fn close(&mut self, tree: &DataTree, session: SessionId) -> Option<Arc<Txn>> {
        let zxid = self.last_zxid.next()?;
        let body = self.close_session(tree, zxid, session);
        Some(self.transaction(zxid, session, Xid(0), body, Time::ZERO))
    }

    /// Sets the zxid after which the next one follows. For the service grain, which has its own numbering.
    pub(crate) fn go_on_from(&mut self, zxid: Zxid) {
        self.last_zxid = zxid;
    }

    /// Returns true if a change of this znode is outstanding.
    pub(crate) fn is_changing(&self, path: &str) -> bool {
        self.outstanding.changes(path)
    }

    /// Handles the application of a transaction to the leader's tree: its changes are no longer outstanding, and a
    /// session that it closes is forgotten.
    pub fn applied(&mut self, txn: &Txn) {
        self.outstanding.applied(txn.zxid);
        if let TxnBody::CloseSession { .. } = txn.body {
            self.sessions.remove(txn.session);
        }
    }

    /// Returns the zxid of the last transaction made; initially the one that opens the epoch.
    pub fn last_zxid(&self) -> Zxid {
        self.last_zxid
    }

    /// Returns the sessions that are alive or closing.
    pub fn sessions(&self) -> &SessionTracker {
        &self.sessions
    }

    /// Returns the sessions that are alive or closing, for changes.
    pub fn sessions_mut(&mut self) -> &mut SessionTracker {
        &mut self.sessions
    }

    /// Returns the next zxid. The largest counter belongs to no transaction: a leader that reaches it proposes no
    /// more (rule 4.1.2).
    fn next_zxid(&self, config: &Config) -> Option<Zxid> {
        let (last, largest) = (self.last_zxid, config.options.largest_counter);
        match config.bugs.has(Bug::CounterWraps) {
            true if last.counter() >= largest => Some(last.epoch().next().opening()),
            true => last.next(),
            false => last.next().filter(|zxid| zxid.counter() < largest),
        }
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

    /// Makes a closeSession (rule 2.5.1). Closing twice is harmless: the second time there are no ephemerals.
    fn close_session(&mut self, tree: &DataTree, zxid: Zxid, session: SessionId) -> TxnBody {
        let ephemerals = self.outstanding.ephemerals(tree, session);
        for path in &ephemerals {
            // A diverged tree (of a server with bugs) can contain a znode without its parent.
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
