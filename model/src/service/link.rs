//! A client's connection and the server behind it, as much of that server as its client can tell.

use super::log::Log;
use crate::server::access;
use crate::server::read::Reader;
use crate::tree::DataTree;
use crate::vocabulary::acl::{AclList, Id, Permissions};
use crate::vocabulary::config::Config;
use crate::vocabulary::error::Error;
use crate::vocabulary::id::{ClientConnection, ClientId, SessionId, Xid};
use crate::vocabulary::op::{Request, Response};
use crate::vocabulary::packet::{ClientPacket, ServerPacket};
use crate::vocabulary::release::Bug;
use crate::vocabulary::txn::TxnBody;
use crate::vocabulary::zxid::Zxid;
use crate::watch::WatchTable;
use std::collections::VecDeque;
use std::sync::Arc;

/// A write under way.
pub(crate) type LateWrite = (Xid, Arc<Request>, Arc<[Id]>);

/// A client's one connection. A machine has at most one that its server would listen to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Link {
    /// Whether the client machine has it open.
    pub(crate) open: bool,
    /// The session that was accepted on it.
    pub(crate) session: Option<SessionId>,
    /// How much of the log the server has applied: at least this.
    pub(crate) view: Zxid,
    /// The watches that the server has for this connection.
    pub(crate) watches: WatchTable,
    /// Under way to the server, oldest first.
    pub(crate) to_server: VecDeque<ClientPacket>,
    /// Under way to the client, oldest first.
    pub(crate) to_client: VecDeque<ServerPacket>,
    /// The server has closed the connection; the end follows what is under way to the client.
    pub(crate) hung_up: bool,
    /// The connection before was closed by its server because the session was over.
    pub(crate) after_end: bool,
    /// The connection before was lost, and no server has answered since: the outage can go on, so a
    /// server can refuse the next attempt to connect.
    pub(crate) outage: bool,
    /// The identities of the connection (rule 1.9.6).
    pub(crate) auth: Arc<[Id]>,
}

impl Link {
    /// No connection; what the server of a client sees of it once there is one.
    pub(crate) fn closed(client: ClientId, config: &Config) -> Link {
        let address = config.clients.get(client.index()).map(|client| &*client.address);
        Link {
            open: false,
            session: None,
            view: Zxid::ZERO,
            watches: WatchTable::default(),
            to_server: VecDeque::new(),
            to_client: VecDeque::new(),
            hung_up: false,
            after_end: false,
            outage: false,
            auth: Arc::from([access::of_address(address.unwrap_or("127.0.0.1"))]),
        }
    }

    /// The name of a client's connection.
    pub(crate) fn name(client: ClientId) -> ClientConnection {
        ClientConnection { client, slot: 0 }
    }

    /// Ends the connection; what the server had not taken yet is lost, but for its writes, which may
    /// have been passed on to the leader. Not by a server that has hung up.
    pub(crate) fn end(
        &mut self,
        client: ClientId,
        config: &Config,
    ) -> Option<(SessionId, VecDeque<LateWrite>)> {
        let closed = Link { outage: self.outage, ..Link::closed(client, config) };
        let link = std::mem::replace(self, closed);
        let Link { session, to_server, hung_up, mut auth, .. } = link;
        if hung_up {
            self.after_end = session.is_some();
            return None;
        }
        let mut writes: VecDeque<LateWrite> = VecDeque::new();
        for packet in to_server {
            match packet {
                ClientPacket::Request { xid, request } if is_write(&request) => {
                    writes.push_back((xid, request, Arc::clone(&auth)));
                }
                ClientPacket::Auth { scheme, auth: proof } => {
                    auth = with_identity(&auth, client, &scheme, &proof, config);
                }
                _ => {}
            }
        }
        session.filter(|_| !writes.is_empty()).map(|session| (session, writes))
    }

    /// Whether the server listens.
    pub(crate) fn is_served(&self) -> bool {
        self.open && !self.hung_up
    }

    /// A read's answer from a tree; the server sets the watch that it asks for (rule 1.8.1).
    pub(crate) fn read(
        &mut self,
        client: ClientId,
        tree: &DataTree,
        request: &Request,
        config: &Config,
    ) -> Result<Response, Error> {
        let session = self.session.expect("a request comes by a connection with a session");
        let reader = Reader { session, auth: &self.auth, config };
        reader.read(tree, &mut self.watches, Link::name(client), request)
    }

    /// Whether the connection may see an event of a znode with this ACL (rule 3.1.4).
    fn may_see(auth: &[Id], acl: &AclList, config: &Config) -> bool {
        config.bugs.has(Bug::EventsAskNoAcl)
            || access::permits(acl, Permissions::READ, auth, &config.options)
    }

    /// The next transaction that this client hears of: one that fires its watch or ends its session
    /// (rules 2.5.3 and 3.1). What lies before it is silent.
    pub(crate) fn next_heard(&self, log: &Log) -> Option<Zxid> {
        self.next_heard_by(&self.watches, self.view, log)
    }

    /// The same for a connection with these watches whose server is at `view`.
    pub(crate) fn next_heard_by(
        &self,
        watches: &WatchTable,
        view: Zxid,
        log: &Log,
    ) -> Option<Zxid> {
        let session = self.session?;
        let heard = log.after(view).iter().find(|entry| {
            let (Some(txn), Some(applied)) = (&entry.txn, &entry.applied) else { return false };
            (txn.session == session && matches!(txn.body, TxnBody::CloseSession { .. }))
                || applied.changes.iter().any(|change| watches.fires(change))
        });
        heard.map(|entry| entry.zxid())
    }

    /// The server applies the log up to `to`: watches fire, in order (rules 3.2.1 and 3.2.3). It
    /// hangs up where the session ends, and is then no further.
    pub(crate) fn advance(&mut self, client: ClientId, log: &Log, to: Zxid, config: &Config) {
        for entry in log.after(self.view) {
            if entry.zxid() > to || self.hung_up {
                return;
            }
            let (Some(txn), Some(applied)) = (&entry.txn, &entry.applied) else { continue };
            if !self.watches.is_empty() {
                let mut fired = Vec::new();
                let auth = &self.auth;
                let may_read = |_, acl: &AclList| Link::may_see(auth, acl, config);
                for change in &applied.changes {
                    self.watches.trigger(change, txn.zxid, &may_read, config.bugs, &mut fired);
                }
                debug_assert!(fired.iter().all(|(connection, _)| connection.client == client));
                let events = fired.into_iter().map(|(_, event)| ServerPacket::Notification(event));
                self.to_client.extend(events);
            }
            self.view = txn.zxid;
            self.hung_up = Some(txn.session) == self.session
                && matches!(txn.body, TxnBody::CloseSession { .. });
        }
    }
}

/// A connection's identities, and what this proof adds to them. A refusal ends the connection.
pub(crate) fn with_identity(
    auth: &Arc<[Id]>,
    client: ClientId,
    scheme: &str,
    proof: &[u8],
    config: &Config,
) -> Arc<[Id]> {
    match proven(client, scheme, proof, config) {
        Ok(proven) => access::with(auth, proven),
        Err(_) => Arc::clone(auth),
    }
}

/// Whether a server refuses this proof, and ends the connection.
pub(crate) fn is_refused(client: ClientId, scheme: &str, proof: &[u8], config: &Config) -> bool {
    proven(client, scheme, proof, config).is_err()
}

fn proven(client: ClientId, scheme: &str, proof: &[u8], config: &Config) -> Result<Vec<Id>, Error> {
    let address = config.clients.get(client.index()).map_or("127.0.0.1", |client| &*client.address);
    access::authenticate(scheme, proof, address, &config.options)
}

/// Whether a request is decided by the leader. A sync is too, but settles nothing (rule 4.6.4).
pub(crate) fn is_write(request: &Request) -> bool {
    !request.is_read() && !matches!(request, Request::Sync { .. })
}
