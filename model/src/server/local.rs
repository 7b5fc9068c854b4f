//! Local sessions (`LocalSessionTracker`, `UpgradeableSessionTracker`; rule 2.6).
//!
//! With `localSessionsEnabled` a session begins without a transaction: the client's server tracks it, and only that
//! server knows it. It expires there, by that server's clock, and cannot move. It ends when the server's role ends,
//! because each role begins with a new tracker. Its writes are proposed like any others: the leader accepts a session
//! that it does not know if the id is another server's ([`Asker`](super::prep::Asker)).
//!
//! An ephemeral needs a session that is in the tree. So the first request that creates one makes the session global,
//! if `localSessionsUpgradingEnabled`: the server forgets the local session and sends createSession for the same id
//! before the request. Otherwise the request fails at the leader: with EphemeralOnLocalSession for its own clients,
//! but with SessionExpired for a learner's, which the learner translates to EphemeralOnLocalSession.

use super::clients::{Clients, Serving};
use super::context::Context;
use crate::vocabulary::id::{ClientConnection, SessionId, Xid};
use crate::vocabulary::note::Note;
use crate::vocabulary::op::{Op, Request, Response};
use crate::vocabulary::packet::ServerPacket;
use crate::vocabulary::time::Duration;
use crate::vocabulary::timer::ServerTimer;

impl Clients {
    /// Begins to track a local session.
    pub(super) fn track_local(
        &mut self,
        session: SessionId,
        timeout: Duration,
        context: &mut Context<'_>,
    ) {
        self.local.0.insert(session, timeout);
        context.arm(ServerTimer::SessionExpiry(session), timeout);
    }

    /// Restarts the timeout of a local session and returns it; `None` if the session is not local.
    pub(super) fn touch_local(
        &mut self,
        session: SessionId,
        context: &mut Context<'_>,
    ) -> Option<Duration> {
        let timeout = *self.local.0.get(&session)?;
        context.arm(ServerTimer::SessionExpiry(session), timeout);
        Some(timeout)
    }

    /// Forgets a local session and returns its timeout; `None` if the session is not local.
    pub(super) fn forget_local(
        &mut self,
        session: SessionId,
        context: &mut Context<'_>,
    ) -> Option<Duration> {
        let timeout = self.local.0.remove(&session)?;
        context.disarm(ServerTimer::SessionExpiry(session));
        Some(timeout)
    }

    /// Forgets all local sessions when the server's role ends.
    pub(super) fn forget_all_local(&mut self, context: &mut Context<'_>) {
        for (session, _) in std::mem::take(&mut self.local.0) {
            context.disarm(ServerTimer::SessionExpiry(session));
        }
    }

    /// Expires a local session: its connection is closed, and nothing is proposed.
    pub(super) fn expire_local(&mut self, session: SessionId, context: &mut Context<'_>) {
        self.forget_local(session, context).expect("it is a local session");
        let server = context.id;
        context.effects.note(|| Note::LocalSessionExpired { server, session });
        if let Some(connection) = self.sessions.get(&session).copied() {
            self.hang_up(connection, context);
        }
    }
}

impl Serving<'_> {
    /// Closes a local session, which only this server knows.
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

/// Returns true if a request, or an operation of a multi, creates an ephemeral.
pub(crate) fn creates_ephemeral(request: &Request) -> bool {
    let of_op = |op: &Op| matches!(op, Op::Create { mode, .. } if mode.is_ephemeral());
    match request {
        Request::Write(op) => of_op(op),
        Request::Multi(ops) => ops.iter().any(of_op),
        _ => false,
    }
}
