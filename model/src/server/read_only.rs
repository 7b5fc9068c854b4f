//! Read-only mode (`ReadOnlyZooKeeperServer`; rule 2.7).
//!
//! With `readonlymode.enabled` a server that has been LOOKING for max(2 s, tick) serves its tree as
//! it is to clients that said that a read-only server will do. It answers reads and takes watches
//! and pings; whatever needs a leader is answered NotReadOnly. As soon as the election ends, all of
//! its connections do.
//!
//! Its tree holds everything that it has logged (rule 6.8.2). So a read can show what was
//! never committed and what the next leader will not have.
//!
//! Such a server creates *local* sessions only (ZOOKEEPER-3863). Without `localSessionsEnabled` it
//! refuses createSession as it refuses a write: with the header of a reply, where the client waits
//! for a ConnectResponse, so the client hangs up. A session that its tree has is a global one, and
//! the connection is closed without an answer. What is left of sessions that it does not know:
//! with local sessions they are expired, without them they are taken for alive.

use super::clients::{Clients, Serving};
use super::context::Context;
use crate::vocabulary::error::Error;
use crate::vocabulary::id::{ClientConnection, SessionId, Xid};
use crate::vocabulary::op::Request;
use crate::vocabulary::packet::ServerPacket;
use crate::vocabulary::time::Duration;
use crate::vocabulary::timer::ServerTimer;
use crate::vocabulary::zxid::Zxid;

/// How long a server is LOOKING at least before it takes itself for cut off.
const GRACE: Duration = Duration::from_secs(2);

/// The server is LOOKING from now on.
pub(super) fn begin_grace(context: &mut Context<'_>) {
    if context.config.options.read_only_mode {
        context.arm(ServerTimer::ReadOnly, GRACE.max(context.config.tick));
    }
}

impl Clients {
    /// It was LOOKING for long enough, with a tree at this zxid.
    pub(super) fn begin_read_only(&mut self, zxid: Zxid, context: &mut Context<'_>) {
        assert!(!self.read_only, "{}: it serves read-only already", context.id);
        self.read_only = true;
        context.effects.note(|| format!("{} serves read-only, at {zxid}", context.id));
    }

    /// It is not LOOKING any more: its clients must look for a server that serves.
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
    /// validateSession: a global session cannot be renewed here.
    pub(super) fn refuses_session(&self, session: Option<SessionId>) -> bool {
        let is_global = |session| self.tree.sessions().contains_key(&session);
        self.clients.read_only && session.is_some_and(is_global)
    }

    /// The answer to what needs a leader.
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

/// Whether a request needs a leader: every write, and sync. closeSession of a local session is no
/// write.
pub(super) fn needs_leader(request: &Request) -> bool {
    matches!(request, Request::Sync { .. }) || !request.is_read()
}
