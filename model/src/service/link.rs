//! A client's connection, and the state of its server as far as the client can observe it.

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

/// A write in flight, with the identities of its connection.
pub(crate) type LateWrite = (Xid, Arc<Request>, Arc<[Id]>);

/// A client's connection. A machine has at most one that its server reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Link {
    /// True if the client machine has it open.
    pub(crate) open: bool,
    /// The session accepted on it.
    pub(crate) session: Option<SessionId>,
    /// The server has applied the log at least up to here.
    pub(crate) view: Zxid,
    /// The server's watches for this connection.
    pub(crate) watches: WatchTable,
    /// Packets in flight to the server, oldest first.
    pub(crate) to_server: VecDeque<ClientPacket>,
    /// Packets in flight to the client, oldest first.
    pub(crate) to_client: VecDeque<ServerPacket>,
    /// True if the server has closed the connection; the end of the stream follows the packets in flight to the
    /// client.
    pub(crate) hung_up: bool,
    /// True if the server closed the previous connection because its session was over.
    pub(crate) after_end: bool,
    /// The identities of the connection (rule 1.9.6).
    pub(crate) auth: Arc<[Id]>,
}

impl Link {
    /// Returns a connection that is not open, with the identity of the client's address.
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
            auth: Arc::from([access::of_address(address.unwrap_or("127.0.0.1"))]),
        }
    }

    /// Returns the name of a client's connection.
    pub(crate) fn name(client: ClientId) -> ClientConnection {
        ClientConnection { client, slot: 0 }
    }

    /// Ends the connection. Packets that the server has not read are lost, except for writes: the server may have
    /// forwarded them to the leader, so this returns them. There are none if the server has closed the connection.
    pub(crate) fn end(
        &mut self,
        client: ClientId,
        config: &Config,
    ) -> Option<(SessionId, VecDeque<LateWrite>)> {
        let link = std::mem::replace(self, Link::closed(client, config));
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

    /// Returns true if the server reads from the connection.
    pub(crate) fn is_served(&self) -> bool {
        self.open && !self.hung_up
    }

    /// Executes a read on a tree and sets the requested watch (rule 1.8.1).
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

    /// Returns true if the connection may observe an event of a znode with this ACL (rule 3.1.4).
    fn may_see(auth: &[Id], acl: &AclList, config: &Config) -> bool {
        config.bugs.has(Bug::EventsAskNoAcl)
            || access::permits(acl, Permissions::READ, auth, &config.options)
    }

    /// Returns the first transaction after the server's view that fires one of the client's watches or ends its session
    /// (rules 2.5.3 and 3.1). The client observes no transaction before it, and not even this one if the ACL of the
    /// znode denies it the event.
    pub(crate) fn next_heard(&self, log: &Log) -> Option<Zxid> {
        self.next_heard_by(&self.watches, self.view, log)
    }

    /// Like [`Link::next_heard`], for a connection with these watches whose server is at `view`.
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

    /// Applies the log at the server up to `to`: watches fire in order (rules 3.2.1 and 3.2.3). The server closes the
    /// connection where the session ends, and stops there.
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

/// Returns a connection's identities together with those of this proof. A refused proof adds none.
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

/// Returns true if a server refuses this proof, which ends the connection.
pub(crate) fn is_refused(client: ClientId, scheme: &str, proof: &[u8], config: &Config) -> bool {
    proven(client, scheme, proof, config).is_err()
}

fn proven(client: ClientId, scheme: &str, proof: &[u8], config: &Config) -> Result<Vec<Id>, Error> {
    let address = config.clients.get(client.index()).map_or("127.0.0.1", |client| &*client.address);
    access::authenticate(scheme, proof, address, &config.options)
}

/// Returns true if the leader decides the request. A sync goes to the leader too, but does not count (rule 4.6.4).
pub(crate) fn is_write(request: &Request) -> bool {
    !request.is_read() && !matches!(request, Request::Sync { .. })
}
