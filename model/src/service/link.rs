//! A client's connection and the server behind it, as much of that server as its client can tell.

use super::log::Log;
use crate::id::{ClientConnection, ClientId, SessionId, Xid};
use crate::op::Request;
use crate::packet::{ClientPacket, ServerPacket};
use crate::txn::TxnBody;
use crate::watch::WatchTable;
use crate::zxid::Zxid;
use std::collections::VecDeque;
use std::sync::Arc;

/// A write under way.
pub(super) type LateWrite = (Xid, Arc<Request>);

/// A client's one connection. A machine has at most one that its server would listen to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Link {
    /// Whether the client machine has it open.
    pub(super) open: bool,
    /// The session that was accepted on it.
    pub(super) session: Option<SessionId>,
    /// How much of the log the server has applied: at least this.
    pub(super) view: Zxid,
    /// The watches that the server has for this connection.
    pub(super) watches: WatchTable,
    /// Under way to the server, oldest first.
    pub(super) to_server: VecDeque<ClientPacket>,
    /// Under way to the client, oldest first.
    pub(super) to_client: VecDeque<ServerPacket>,
    /// The server has closed the connection; the end follows what is under way to the client.
    pub(super) hung_up: bool,
}

impl Link {
    /// The name of a client's connection.
    pub(super) fn name(client: ClientId) -> ClientConnection {
        ClientConnection { client, slot: 0 }
    }

    /// Ends the connection; what the server had not taken yet is lost, but for its writes, which may
    /// have been passed on to the leader. Not by a server that has hung up.
    pub(super) fn end(&mut self) -> Option<(SessionId, VecDeque<LateWrite>)> {
        let Link { session, to_server, hung_up, .. } = std::mem::take(self);
        if hung_up {
            return None;
        }
        let writes = to_server.into_iter().filter_map(|packet| match packet {
            ClientPacket::Request { xid, request } if is_write(&request) => Some((xid, request)),
            _ => None,
        });
        let writes: VecDeque<LateWrite> = writes.collect();
        session.filter(|_| !writes.is_empty()).map(|session| (session, writes))
    }

    /// Whether the server listens.
    pub(super) fn is_served(&self) -> bool {
        self.open && !self.hung_up
    }

    /// A read was answered: the server sets the watch that it asks for (semantics 1.8).
    pub(super) fn watch(&mut self, client: ClientId, request: &Request, found: bool) {
        let name = Link::name(client);
        match request {
            // Also where the znode is absent.
            Request::Exists { path, watch: true } => self.watches.add_data(Arc::clone(path), name),
            Request::GetData { path, watch: true } if found => {
                self.watches.add_data(Arc::clone(path), name);
            }
            Request::GetChildren { path, watch: true } if found => {
                self.watches.add_child(Arc::clone(path), name);
            }
            _ => {}
        }
    }

    /// The next transaction that this client hears of: one that fires its watch or ends its session
    /// (semantics 2.5 rule 3, 3.1). What lies before it is silent.
    pub(super) fn next_heard(&self, log: &Log) -> Option<Zxid> {
        let session = self.session?;
        let heard = log.after(self.view).iter().find(|entry| {
            let (Some(txn), Some(applied)) = (&entry.txn, &entry.applied) else { return false };
            (txn.session == session && matches!(txn.body, TxnBody::CloseSession { .. }))
                || applied.changes.iter().any(|change| self.watches.fires(change))
        });
        heard.map(|entry| entry.zxid())
    }

    /// The server applies the log up to `to`: watches fire, in order (W1, W3). It hangs up where the
    /// session ends, and is then no further.
    pub(super) fn advance(&mut self, client: ClientId, log: &Log, to: Zxid) {
        for entry in log.after(self.view) {
            if entry.zxid() > to || self.hung_up {
                return;
            }
            let (Some(txn), Some(applied)) = (&entry.txn, &entry.applied) else { continue };
            if !self.watches.is_empty() {
                let mut fired = Vec::new();
                for change in &applied.changes {
                    self.watches.trigger(change, txn.zxid, &mut fired);
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

/// Whether a request is decided by the leader. A sync is too, but settles nothing (semantics 4.6).
pub(super) fn is_write(request: &Request) -> bool {
    !request.is_read() && !matches!(request, Request::Sync { .. })
}
