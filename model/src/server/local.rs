//! Local sessions (`LocalSessionTracker`, `UpgradeableSessionTracker`; rule 2.6).
//!
//! With `localSessionsEnabled` a session begins without a transaction: the server that the client
//! came to tracks it, and only that server knows of it. It expires there, by that server's clock; it
//! cannot move; it is over for good when the server's role ends, because each role begins with a
//! tracker of its own. Its writes are proposed like any other's: the leader lets pass what it does
//! not know if the id is another server's ([`Asker`](super::prep::Asker)).
//!
//! An ephemeral needs a session that is in the tree. So the first request that creates one makes the
//! session a global one, if `localSessionsUpgradingEnabled`: the server forgets it and sends
//! createSession for the same id ahead of the request. If not, the request fails: at the leader, with
//! EphemeralOnLocalSession for its own clients, but for a learner's with SessionExpired, which the
//! learner's client is told as EphemeralOnLocalSession.

use super::clients::{Clients, Serving};
use super::context::Context;
use crate::vocabulary::id::{ClientConnection, SessionId, Xid};
use crate::vocabulary::op::{Op, Request, Response};
use crate::vocabulary::packet::ServerPacket;
use crate::vocabulary::time::Duration;
use crate::vocabulary::timer::ServerTimer;

impl Clients {
    /// A session begins here.
    pub(super) fn track_local(
        &mut self,
        session: SessionId,
        timeout: Duration,
        context: &mut Context<'_>,
    ) {
        self.local.0.insert(session, timeout);
        context.arm(ServerTimer::SessionExpiry(session), timeout);
    }

    /// A sign of life; the timeout of a session that is a local one here.
    pub(super) fn touch_local(
        &mut self,
        session: SessionId,
        context: &mut Context<'_>,
    ) -> Option<Duration> {
        let timeout = *self.local.0.get(&session)?;
        context.arm(ServerTimer::SessionExpiry(session), timeout);
        Some(timeout)
    }

    /// It is no local session any more; its timeout, if it was one.
    pub(super) fn forget_local(
        &mut self,
        session: SessionId,
        context: &mut Context<'_>,
    ) -> Option<Duration> {
        let timeout = self.local.0.remove(&session)?;
        context.disarm(ServerTimer::SessionExpiry(session));
        Some(timeout)
    }

    /// The server's role ends, and its local sessions with it.
    pub(super) fn forget_all_local(&mut self, context: &mut Context<'_>) {
        for (session, _) in std::mem::take(&mut self.local.0) {
            context.disarm(ServerTimer::SessionExpiry(session));
        }
    }

    /// A local session's time is up: its connection ends. Nothing is proposed.
    pub(super) fn expire_local(&mut self, session: SessionId, context: &mut Context<'_>) {
        self.forget_local(session, context).expect("it is a local session");
        context.effects.note(|| format!("{} expires the local session {session}", context.id));
        if let Some(connection) = self.sessions.get(&session).copied() {
            self.hang_up(connection, context);
        }
    }
}

impl Serving<'_> {
    /// closeSession of a local session is this server's affair alone.
    pub(super) fn close_local(
        &mut self,
        connection: ClientConnection,
        session: SessionId,
        xid: Xid,
        context: &mut Context<'_>,
    ) {
        self.clients.forget_local(session, context);
        let zxid = self.tree.last_processed();
        context
            .to_client(connection, ServerPacket::Reply { xid, zxid, result: Ok(Response::Closed) });
        self.clients.hang_up(connection, context);
    }
}

/// Whether a request, or a part of a multi, creates an ephemeral.
pub(crate) fn creates_ephemeral(request: &Request) -> bool {
    let of_op = |op: &Op| matches!(op, Op::Create { mode, .. } if mode.is_ephemeral());
    match request {
        Request::Write(op) => of_op(op),
        Request::Multi(ops) => ops.iter().any(of_op),
        _ => false,
    }
}
