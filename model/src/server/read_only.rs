//! Read-only mode (`ReadOnlyZooKeeperServer`; rule 2.7).
//!
//! With `readonlymode.enabled`, a server that has been LOOKING for max(2 s, tick) serves its present tree to clients
//! that accept a read-only server. It answers reads, and accepts watches and pings; requests that need a leader fail
//! with NotReadOnly. When the election ends, all its connections are closed.
//!
//! Its tree contains everything that it has logged (rule 6.8.2). So a read can show what was never committed and what
//! the next leader will not have.
//!
//! Such a server creates only *local* sessions (ZOOKEEPER-3863). Without `localSessionsEnabled` it refuses
//! createSession like a write: with the header of a reply, where the client waits for a ConnectResponse, so the
//! client closes the connection. A session that its tree has is global, and its connection is closed without an
//! answer. Sessions that it does not know count as expired with local sessions enabled, and as alive otherwise.

use super::clients::{Clients, Serving};
use super::context::Context;
use crate::vocabulary::error::Error;
use crate::vocabulary::id::{ClientConnection, SessionId, Xid};
use crate::vocabulary::note::Note;
use crate::vocabulary::op::Request;
use crate::vocabulary::packet::ServerPacket;
use crate::vocabulary::time::Duration;
use crate::vocabulary::timer::ServerTimer;
use crate::vocabulary::zxid::Zxid;

/// The least time that a server is LOOKING before it considers itself cut off.
const GRACE: Duration = Duration::from_secs(2);

/// Arms the timer when the server begins to be LOOKING.
pub(super) fn begin_grace(context: &mut Context<'_>) {
    if context.config.options.read_only_mode {
        context.arm(ServerTimer::ReadOnly, GRACE.max(context.config.tick));
    }
}

impl Clients {
    /// Begins to serve reads from a tree at this zxid, after the server was LOOKING for long enough.
    pub(super) fn begin_read_only(&mut self, zxid: Zxid, context: &mut Context<'_>) {
        assert!(!self.read_only, "{}: it serves read-only already", context.id);
        self.read_only = true;
        context.effects.note(|| Note::ServesReadOnly { server: context.id, zxid });
    }

    /// Ends read-only mode when the server has a role: its clients must connect again.
    pub(super) fn end_read_only(&mut self, context: &mut Context<'_>) {
        if context.config.options.read_only_mode {
            context.disarm(ServerTimer::ReadOnly);
        }
        if std::mem::take(&mut self.read_only) {
            self.detach_all_clients(context);
        }
    }
}

impl Serving<'_> {
    /// Returns true if the session is a global one, which cannot be renewed here (validateSession).
    pub(super) fn refuses_session(&self, session: Option<SessionId>) -> bool {
        let is_global = |session| self.tree.sessions().contains_key(&session);
        self.clients.read_only && session.is_some_and(is_global)
    }

    /// Answers a request that needs a leader.
    pub(super) fn not_read_only(
        &self,
        connection: ClientConnection,
        xid: Xid,
        context: &mut Context<'_>,
    ) {
        let (zxid, result) = (self.tree.last_processed(), Err(Error::NotReadOnly));
        context.to_client(connection, ServerPacket::Reply { xid, zxid, result });
    }
}

/// Returns true if a request needs a leader: every write, and sync. The closeSession of a local session is not a
/// write.
pub(super) fn needs_leader(request: &Request) -> bool {
    matches!(request, Request::Sync { .. }) || !request.is_read()
}
