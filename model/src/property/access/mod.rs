//! H17: nobody does or sees what an ACL refuses, and nobody is refused what one grants.
//!
//! Identities and ACLs are followed by what is sent and committed. A connection has the identity of its address and
//! what it has sent proofs of, from then on; a request comes with those that were sent before it (rules 1.9.5
//! and 1.9.6). A write is judged, whether or not its client is answered, when its transaction is committed, by the ACLs
//! of the history before it; a read by those of the history up to the zxid of its reply. Who may do
//! what is stated here once more ([`who`]): nothing of the servers' own checks is used, which
//! [`Bridge`](super::Bridge) shares with them.
//!
//! A client machine proves all identities of its session again on each connection, before it asks anything there or
//! sets its watches (rule 2.8.7).
//!
//! Not judged: what a read-only server answers where nothing is committed (rule 2.7.1); events that a server keeps
//! from a client that may read.

mod account;
mod decisions;
mod who;

use super::read_only::ReadOnlySessions;
use super::{Asked, Monitor, Objection, View};
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

/// The monitor of H17. It keeps the ACLs of the whole past, so it is for the simulator only.
#[derive(Clone, Debug, Default, Hash)]
pub struct AccessDecisions {
    account: Account,
    addresses: Vec<Arc<str>>,
    options: ServerOptions,
    /// Up to where the ACLs are known.
    known: Zxid,
    connections: BTreeMap<ClientId, Connection>,
    /// Requests without an answer or a transaction, with whom their connection was for when they were sent.
    asked: BTreeMap<(SessionId, Xid), Question>,
    read_only: ReadOnlySessions,
}

/// A client's connection, or the one it had last.
#[derive(Clone, Debug, Hash)]
struct Connection {
    session: SessionId,
    /// What the session has ever proven.
    ever: Vec<Proof>,
    /// What it has sent a proof of on this connection.
    now: Vec<Proof>,
    who: Arc<Who>,
    /// It has told of its watches, and has no answer yet.
    is_rearming: bool,
}

#[derive(Clone, Debug, Hash)]
struct Question {
    request: Arc<Request>,
    who: Arc<Who>,
}

impl AccessDecisions {
    /// Knows an open tree and no connection, until it is told how the run is configured.
    pub fn new() -> AccessDecisions {
        AccessDecisions::default()
    }

    fn who(&self, client: ClientId, proofs: &[Proof]) -> Arc<Who> {
        let localhost = || Arc::from("127.0.0.1");
        let address = self.addresses.get(client.index()).cloned().unwrap_or_else(localhost);
        Arc::new(Who::new(&address, proofs, self.options.super_digest.as_deref()))
    }

    fn connected(&mut self, client: ClientId, session: SessionId) {
        let known = self.connections.remove(&client).filter(|it| it.session == session);
        let ever = known.map_or_else(Vec::new, |it| it.ever);
        let who = self.who(client, &[]);
        let fresh = Connection { session, ever, now: Vec::new(), who, is_rearming: false };
        self.connections.insert(client, fresh);
    }

    fn authenticating(&mut self, client: ClientId, session: SessionId, proof: Proof) {
        if self.connections.get(&client).is_none_or(|it| it.session != session) {
            self.connected(client, session);
        }
        let connection = self.connections.get_mut(&client).expect("just looked at");
        if !connection.ever.contains(&proof) {
            connection.ever.push(proof.clone());
        }
        connection.now.push(proof);
        let proofs = connection.now.clone();
        let who = self.who(client, &proofs);
        self.connections.get_mut(&client).expect("just looked at").who = who;
    }

    /// All that the session has proven was proven again on this connection.
    fn check_proven(&self, client: ClientId) -> Result<(), String> {
        let Some(connection) = self.connections.get(&client) else { return Ok(()) };
        match connection.ever.iter().find(|proof| !connection.now.contains(proof)) {
            Some((scheme, proof)) => Err(format!(
                "without having proven `{scheme}:{}` again on its connection, as its session had before",
                String::from_utf8_lossy(proof)
            )),
            None => Ok(()),
        }
    }

    fn sent(&mut self, client: ClientId, session: SessionId, xid: Xid, request: &Arc<Request>) {
        if self.connections.get(&client).is_none_or(|it| it.session != session) {
            self.connected(client, session);
        }
        let who = Arc::clone(&self.connections[&client].who);
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
                // What was asked by then may still be refused, but no more be done.
                self.asked.remove(&key);
            }
        }
        judged
    }

    /// No event is told of a znode (for child events: of a parent) whose ACL lets the connection read neither before
    /// nor after the transaction (rule 3.1.4). Events that SetWatches makes up ask for nothing.
    fn notified(&self, client: ClientId, event: &WatchedEvent) -> Result<(), String> {
        let Some(connection) = self.connections.get(&client) else { return Ok(()) };
        let is_removal = !matches!(
            event.kind,
            EventType::NodeCreated
                | EventType::NodeDeleted
                | EventType::NodeDataChanged
                | EventType::NodeChildrenChanged
        );
        if connection.is_rearming || is_removal || self.options.skip_acl {
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
                "was told {:?} of {} at {}, which it may not read: {acl}",
                event.kind, event.path, event.zxid
            )),
            _ => Ok(()),
        }
    }
}

impl Monitor for AccessDecisions {
    fn name(&self) -> &'static str {
        "H17 access is as ACLs grant it"
    }

    fn asked(&self) -> Asked {
        Asked::InSweeps
    }

    fn begin(&mut self, config: &Arc<Config>) {
        self.account = Account::beginning_with(&config.setup.tree());
        self.addresses = config.clients.iter().map(|it| Arc::clone(&it.address)).collect();
        self.options = config.options.clone();
    }

    fn concerns(&self, event: &Event) -> bool {
        matches!(
            event,
            Event::Committed { .. }
                | Event::Session { .. }
                | Event::Killed { .. }
                | Event::Authenticating { .. }
                | Event::Sent { .. }
                | Event::Replied { .. }
                | Event::Notified { .. }
                | Event::Rearming { .. }
                | Event::Rearmed { .. }
        )
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        self.read_only.see(event);
        let judged = match event {
            Event::Session { client, session: Some(session), state, .. } => {
                match state {
                    SessionState::SyncConnected | SessionState::ConnectedReadOnly => {
                        self.connected(*client, *session);
                    }
                    SessionState::Disconnected => {}
                    _ended => drop(self.connections.remove(client)),
                }
                Ok(())
            }
            Event::Killed { client } => {
                self.connections.remove(client);
                Ok(())
            }
            Event::Authenticating { client, session, scheme, auth } => {
                let proof = (Arc::clone(scheme), Arc::clone(auth));
                self.authenticating(*client, *session, proof);
                Ok(())
            }
            Event::Sent { client, session, xid, request, .. } => {
                self.sent(*client, *session, *xid, request);
                let said = |saw| format!("{client} asked for {request} {saw}.");
                self.check_proven(*client).map_err(said)
            }
            Event::Rearming { client, .. } => {
                if let Some(connection) = self.connections.get_mut(client) {
                    connection.is_rearming = true;
                }
                let said = |saw| format!("{client} told of its watches {saw}.");
                self.check_proven(*client).map_err(said)
            }
            Event::Rearmed { client, .. } => {
                if let Some(connection) = self.connections.get_mut(client) {
                    connection.is_rearming = false;
                }
                Ok(())
            }
            Event::Committed { txn, .. } if txn.zxid > self.known => {
                let said = |saw| format!("{txn}: {saw}.");
                self.committed(view, txn).map_err(said)
            }
            Event::Replied { client, session, xid, zxid, request, result, .. } => {
                let question = self.asked.remove(&(*session, *xid));
                let in_doubt = *zxid > self.known
                    || (self.read_only.contains(*client, *session)
                        && view.history.get(*zxid).is_none());
                match question.filter(|_| !in_doubt && !self.options.skip_acl) {
                    Some(Question { who, .. }) => {
                        decisions::read(&who, request, *zxid, result, &self.account)
                    }
                    None => Ok(()),
                }
                .map_err(|saw| {
                    let number = xid.0;
                    format!("request {number} of session {session} ({request}, {client}): {saw}.")
                })
            }
            Event::Notified { client, event, .. } => {
                self.notified(*client, event).map_err(|saw| format!("{client} {saw}."))
            }
            _ => Ok(()),
        };
        judged.map_err(|saw| Objection::new(self.name(), saw))
    }
}

#[cfg(test)]
mod tests;
