//! H17: a client does and sees exactly what ACLs grant it.
//!
//! The monitor derives each connection's identities from the proofs that its client sent, and ACLs from the committed
//! transactions. A connection has the identity of its address and those that it has proven; a request has the
//! identities that were proven before it was sent (rules 1.9.5 and 1.9.6). A write is judged when its transaction is
//! committed, even if it is never answered, by the ACLs of the history before it. A read is judged by the ACLs of the
//! history up to the zxid of its reply. The module [`who`] states independently what an ACL grants: the monitor does
//! not use the servers' checks, while [`Bridge`](super::Bridge) does. H15 judges whether a client machine proves its
//! identities again on each connection.
//!
//! Not judged: the replies of a read-only server whose tree holds transactions that are not committed (rule 2.7.1),
//! and events that a server withholds from a client that may read the znode.

mod account;
mod decisions;
mod who;

use super::read_only::ReadOnlySessions;
use super::{Declaration, Declared, LooksBack, View};
use crate::minds;
use crate::vocabulary::config::{Config, ServerOptions};
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{ClientId, SessionId, Xid};
use crate::vocabulary::op::{EventType, Request, SessionState, WatchedEvent};
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::vocabulary::zxid::Zxid;
use account::Account;
use std::collections::BTreeMap;
use std::sync::Arc;
use who::{Proof, Who};

/// The monitor of H17. It keeps the ACLs of the whole history, so only sweeps can use it.
#[derive(Clone, Debug, Default, Hash)]
pub struct AccessDecisions {
    account: Account,
    addresses: Vec<Arc<str>>,
    options: ServerOptions,
    /// Zxid of the last transaction in `account`.
    known: Zxid,
    connections: BTreeMap<ClientId, Connection>,
    /// Requests that have neither a reply nor a transaction yet.
    asked: BTreeMap<(SessionId, Xid), Question>,
    read_only: ReadOnlySessions,
}

/// A client's connection, or its last one if it is disconnected.
#[derive(Clone, Debug, Hash)]
struct Connection {
    session: SessionId,
    /// The proofs that the client sent on this connection.
    proofs: Vec<Proof>,
    who: Arc<Who>,
    /// Number of SetWatches requests without a reply.
    rearming: usize,
}

#[derive(Clone, Debug, Hash)]
struct Question {
    request: Arc<Request>,
    /// The connection's identities when the request was sent.
    who: Arc<Who>,
}

impl AccessDecisions {
    /// Returns a monitor that knows no znode and no connection.
    pub fn new() -> AccessDecisions {
        AccessDecisions::default()
    }

    fn who(&self, client: ClientId, proofs: &[Proof]) -> Arc<Who> {
        let localhost = || Arc::from("127.0.0.1");
        let address = self.addresses.get(client.index()).cloned().unwrap_or_else(localhost);
        Arc::new(Who::new(&address, proofs, &self.options))
    }

    /// Returns the client's connection for this session, and creates one if it has none.
    fn connection(&mut self, client: ClientId, session: SessionId) -> &mut Connection {
        if self.connections.get(&client).is_none_or(|it| it.session != session) {
            self.connected(client, session);
        }
        self.connections.get_mut(&client).expect("just connected")
    }

    fn connected(&mut self, client: ClientId, session: SessionId) {
        let who = self.who(client, &[]);
        let fresh = Connection { session, proofs: Vec::new(), who, rearming: 0 };
        self.connections.insert(client, fresh);
    }

    fn authenticating(&mut self, client: ClientId, session: SessionId, proof: Proof) {
        let connection = self.connection(client, session);
        connection.proofs.push(proof);
        let proofs = connection.proofs.clone();
        let who = self.who(client, &proofs);
        self.connection(client, session).who = who;
    }

    fn sent(&mut self, client: ClientId, session: SessionId, xid: Xid, request: &Arc<Request>) {
        let who = Arc::clone(&self.connection(client, session).who);
        self.asked.insert((session, xid), Question { request: Arc::clone(request), who });
    }

    fn committed(&mut self, view: View<'_>, txn: &Txn) -> Result<(), String> {
        let question = self.asked.remove(&(txn.session, txn.cxid));
        let judged = match &question {
            Some(question) if !self.options.skip_acl => {
                decisions::write(&question.who, &question.request, &txn.body, &self.account)
            }
            _ => Ok(()),
        };
        self.known = txn.zxid;
        self.account.commit(txn.zxid, &txn.body);
        if matches!(txn.body, TxnBody::CloseSession { .. }) {
            let applied = view.history.applied(txn.zxid).expect("the last of the history");
            for change in applied.changes.iter().filter(|it| it.kind == EventType::NodeDeleted) {
                self.account.set(&change.path, txn.zxid, None);
            }
            let of_session = (txn.session, Xid(0))..=(txn.session, Xid(u32::MAX));
            let ended: Vec<_> = self.asked.range(of_session).map(|(key, _)| *key).collect();
            for key in ended {
                self.asked.remove(&key);
            }
        }
        judged
    }

    /// Judges an event by the ACLs of its znode before and after the transaction: one of them must let the connection
    /// read (rule 3.1.4). Events that answer SetWatches are subject to no ACL.
    fn notified(&self, client: ClientId, event: &WatchedEvent) -> Result<(), String> {
        let Some(connection) = self.connections.get(&client) else { return Ok(()) };
        let is_removal = !matches!(
            event.kind,
            EventType::NodeCreated
                | EventType::NodeDeleted
                | EventType::NodeDataChanged
                | EventType::NodeChildrenChanged
        );
        if connection.rearming > 0 || is_removal || self.options.skip_acl {
            return Ok(());
        }
        let lists = [
            self.account.before(&event.path, event.zxid),
            self.account.at(&event.path, event.zxid),
        ];
        let mut lists = lists.into_iter().flatten().peekable();
        let who = &connection.who;
        match lists.peek().copied() {
            Some(acl) if lists.all(|acl| !decisions::may_read(who, acl)) => Err(format!(
                "was notified of {:?} of {} at {}, which it may not read: {acl}",
                event.kind, event.path, event.zxid
            )),
            _ => Ok(()),
        }
    }
}

impl Declared for AccessDecisions {
    const DECLARATION: Declaration<Self> =
        Declaration::in_sweeps("H17 access is as ACLs grant it", LooksBack::Whole, minds! { |this, view, event|
            Event::Session { .. } | Event::Killed { .. } => this.read_only.see(event),
            Event::Session { client, session: Some(session), state, .. } => match state {
                SessionState::SyncConnected | SessionState::ConnectedReadOnly => {
                    this.connected(*client, *session);
                }
                SessionState::Disconnected => {}
                _ended => drop(this.connections.remove(client)),
            },
            Event::Killed { client } => drop(this.connections.remove(client)),
            Event::Authenticating { client, session, scheme, auth } => {
                let proof = (Arc::clone(scheme), auth.clone());
                this.authenticating(*client, *session, proof);
            },
            Event::Sent { client, session, xid, request, .. } => this.sent(*client, *session, *xid, request),
            Event::Rearming { client, session, .. } => this.connection(*client, *session).rearming += 1,
            Event::Rearmed { client, session, .. } => {
                let rearming = &mut this.connection(*client, *session).rearming;
                *rearming = rearming.saturating_sub(1);
            },
            Event::Committed { txn, .. } if txn.zxid > this.known => {
                this.committed(view, txn).map_err(|saw| this.objection(format!("{txn}: {saw}.")))
            },
            Event::Replied { client, session, xid, zxid, request, result, .. } => {
                let question = this.asked.remove(&(*session, *xid));
                let in_doubt = *zxid > this.known
                    || (this.read_only.contains(*client, *session) && view.history.get(*zxid).is_none());
                let judged = match question.filter(|_| !in_doubt && !this.options.skip_acl) {
                    Some(Question { who, .. }) => decisions::read(&who, request, *zxid, result, &this.account),
                    None => Ok(()),
                };
                judged.map_err(|saw| {
                    let number = xid.0;
                    this.objection(format!("request {number} of session {session} ({request}, {client}): {saw}."))
                })
            },
            Event::Notified { client, event, .. } => {
                let judged = this.notified(*client, event);
                judged.map_err(|saw| this.objection(format!("{client} {saw}.")))
            },
        })
        .begin(Self::begin);
}

impl AccessDecisions {
    fn begin(&mut self, config: &Arc<Config>) {
        self.account = Account::beginning_with(&config.first_tree());
        self.addresses = config.clients.iter().map(|it| Arc::clone(&it.address)).collect();
        self.options = config.options.clone();
    }
}

#[cfg(test)]
mod tests;
