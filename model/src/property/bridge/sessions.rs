//! Judges sessions and connections: which client has which, and whether it may.
//!
//! * The leader that a session's server follows accepts the session. Its log is complete except for what newer
//!   leaders committed. So a session is not accepted once its closeSession is in the log, unless the connection began
//!   before, or a deposed leader without that closeSession still runs.
//! * A session is refused only if its closeSession is in the log, if a leader has proposed its closeSession (rules
//!   2.3 and 2.4), or if a deposed leader does not know the session.
//! * After a refusal, a client's next session begins after the closeSession of the refused one, unless the leader
//!   that refused it has fallen.
//!
//! A session may outlive its client: the client may be killed, close the session without a reply, give it up on its
//! own (rule 2.8.3), or leave it after a refused identity. Such a session ends when it expires.
//!
//! A local session (rule 2.6.1) is not in the log. It begins at its server's zxid, even if the server lags. Only the
//! server at which it began accepts it, until a leader has proposed a createSession for it; it can end at any time. A
//! read-only connection (rule 2.7.1) shows no prefix of the log, so what it shows is not compared, but the client's
//! last seen zxid includes it. The session on a read-only connection is the client's own one, or another one that is
//! not tracked.

use super::Bridge;
use super::account::{Account, Client, Connection, Home};
use crate::service::link::{Link, is_refused};
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{ClientId, ServerId, SessionId, Xid};
use crate::vocabulary::op::{Request, SessionState};
use crate::vocabulary::packet::ClientPacket;
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::vocabulary::zxid::{Epoch, Zxid};
use std::collections::VecDeque;
use std::sync::Arc;

impl Bridge {
    /// Records an event among the servers.
    pub(super) fn server(&mut self, event: &Event) {
        match event {
            Event::Proposed { txn, .. } if matches!(txn.body, TxnBody::CloseSession { .. }) => {
                let closing = match self.sessions.get_mut(&txn.session) {
                    Some(account) => &mut account.closing,
                    None => self.leaders.closing.entry(txn.session).or_default(),
                };
                closing.insert(txn.zxid.epoch());
            }
            Event::Proposed { txn, .. } if matches!(txn.body, TxnBody::CreateSession { .. }) => {
                if let Some(account) = self.sessions.get_mut(&txn.session)
                    && account.may_be_local()
                {
                    account.home = Home::Upgrading;
                }
            }
            Event::Established { leader, epoch, .. } => {
                self.leaders.left(*leader);
                self.leaders.leading.insert(*leader, *epoch);
            }
            Event::LeftRole { server, .. }
            | Event::Crashed { server, .. }
            | Event::Exited { server, .. } => self.leaders.left(*server),
            _ => {}
        }
    }

    pub(super) fn created(&mut self, txn: &Txn) {
        let account = self.sessions.entry(txn.session);
        let account = account.or_insert_with(|| Account::new(Home::Log, txn.zxid));
        account.closing.extend(self.leaders.closing.remove(&txn.session).unwrap_or_default());
        if account.home != Home::Log {
            // The session's client may have been refused before the leader knew the session.
            self.counts.upgraded += 1;
            account.refused_before = account.disconnected.is_some();
            (account.home, account.created) = (Home::Log, txn.zxid);
        }
    }

    pub(super) fn closed(&mut self, txn: &Txn) {
        let now = self.leaders.now;
        if let Some(account) = self.sessions.get_mut(&txn.session) {
            account.closed.get_or_insert((txn.zxid, now));
        }
    }

    /// Judges a change of a session's state that its client observes.
    pub(super) fn session(
        &mut self,
        client: ClientId,
        session: Option<SessionId>,
        server: Option<ServerId>,
        state: SessionState,
    ) -> Result<(), String> {
        let Some(session) = session else {
            // A program can close a session before any server has accepted it.
            return match state {
                SessionState::Closed => Ok(()),
                _ => Err(format!("{client} was notified of {state}, although it has no session.")),
            };
        };
        if self.is_read_only(client, session) && state != SessionState::ConnectedReadOnly {
            let its = self.clients.get_mut(&client).expect("it has a connection");
            let was_its_own = its.session == Some(session);
            if state == SessionState::Disconnected || was_its_own {
                its.read_only = None;
            }
            if !was_its_own {
                return self.without_account(client, session, state);
            }
        }
        match state {
            SessionState::SyncConnected => self.accepted(client, session, server),
            SessionState::ConnectedReadOnly => self.accepted_read_only(client, session),
            SessionState::Disconnected => {
                self.connection(client, session)?;
                self.end_connection(client, session);
                Ok(())
            }
            SessionState::Expired if server.is_none() && self.gives_up(client) => {
                self.given_up(client, session)
            }
            SessionState::Expired => self.expired(client, session),
            SessionState::AuthFailed => self.refused_identity(client, session),
            SessionState::Closed => self.closed_by_client(client, session),
        }
    }

    /// Returns the client's connection with this session; `None` if its replies cannot be judged.
    pub(super) fn connection(
        &mut self,
        client: ClientId,
        session: SessionId,
    ) -> Result<Option<&mut Connection>, String> {
        if self.is_read_only(client, session) {
            return Ok(None);
        }
        let its = self.clients.get_mut(&client).filter(|its| its.session == Some(session));
        match its {
            Some(Client { unknown: true, .. }) => Ok(None),
            Some(Client { connection: Some(connection), .. }) => Ok(Some(connection)),
            _ => Err(format!("{client} has no connection with session {session}.")),
        }
    }

    /// Returns the client's connection, even if its replies cannot be judged.
    pub(super) fn open_connection(&mut self, client: ClientId) -> &mut Connection {
        let connection = self.clients.get_mut(&client).and_then(|its| its.connection.as_mut());
        connection.expect("somebody asked whether there is one")
    }

    fn end_connection(&mut self, client: ClientId, session: SessionId) {
        let now = self.leaders.now;
        if let Some(its) = self.clients.get_mut(&client) {
            (its.connection, its.unknown) = (None, false);
        }
        if let Some(account) = self.sessions.get_mut(&session) {
            account.disconnected = Some(now);
        }
    }

    /// Returns true if the client has this session on a read-only connection.
    pub(super) fn is_read_only(&self, client: ClientId, session: SessionId) -> bool {
        self.clients.get(&client).is_some_and(|its| its.read_only == Some(session))
    }

    fn accepted_read_only(&mut self, client: ClientId, session: SessionId) -> Result<(), String> {
        let its = self.clients.entry(client).or_default();
        if its.connection.is_some() || its.session.is_some_and(|other| other != session) {
            return Err(format!(
                "{client} was connected with session {session} while it still had \
                 another session or connection."
            ));
        }
        its.read_only = Some(session);
        its.unknown = false;
        self.counts.read_only += 1;
        Ok(())
    }

    /// Judges a change of state of a session that only a read-only server has known.
    fn without_account(
        &mut self,
        client: ClientId,
        session: SessionId,
        state: SessionState,
    ) -> Result<(), String> {
        match state {
            SessionState::SyncConnected | SessionState::ConnectedReadOnly => {
                Err(format!("{client} was connected with session {session} of a read-only server."))
            }
            SessionState::Disconnected => Ok(()),
            SessionState::Expired | SessionState::Closed | SessionState::AuthFailed => {
                self.clients.remove(&client);
                Ok(())
            }
        }
    }

    fn accepted(
        &mut self,
        client: ClientId,
        session: SessionId,
        server: Option<ServerId>,
    ) -> Result<(), String> {
        if self.config.options.local_sessions && !self.sessions.contains_key(&session) {
            let seen = self.clients.get(&client).map_or(Zxid::ZERO, |its| its.last_zxid);
            self.sessions.insert(session, Account::new(Home::Server(server), seen));
            self.counts.local += 1;
        }
        let Some(account) = self.sessions.get(&session) else {
            return Err(format!(
                "{client} was connected with session {session}, which was never created."
            ));
        };
        let its = self.clients.entry(client).or_default();
        if its.connection.is_some() || its.session.is_some_and(|other| other != session) {
            return Err(format!(
                "{client} was connected with session {session} while it still had \
                 another session or connection."
            ));
        }
        if let Home::Server(home) = account.home
            && home != server
        {
            return Err(format!(
                "{client}'s local session {session} was accepted by a server other than the one that created it."
            ));
        }
        let view = match account.client {
            None if account.may_be_local() => {
                its.refused = None;
                its.last_zxid
            }
            None => {
                self.begun(client, session)?;
                self.sessions[&session].created
            }
            Some(other) if other != client || its.session.is_none() => {
                return Err(format!(
                    "{client} was connected with session {session}, which belongs to {other}."
                ));
            }
            Some(_) => {
                let seen = its.last_zxid;
                self.accepted_again(client, session, seen)?;
                seen
            }
        };
        let account = self.sessions.get_mut(&session).expect("it was just looked at");
        account.connections += 1;
        account.client = Some(client);
        self.counts.accepted += 1;
        let closed = Link::closed(client, &self.config);
        let link = Link { open: true, session: Some(session), view, ..closed };
        let (proven, known) = (Arc::clone(&link.auth), Arc::clone(&link.auth));
        let its = self.clients.get_mut(&client).expect("it was just put there");
        its.session = Some(session);
        its.unknown = false;
        let unanswered = VecDeque::new();
        its.connection =
            Some(Connection { link, set_at: None, proven, known, unanswered, doubt: None });
        Ok(())
    }

    /// Fails if a new session begins before the client's refused one was closed, and no fallen leader explains that.
    fn begun(&mut self, client: ClientId, session: SessionId) -> Result<(), String> {
        let created = self.sessions[&session].created;
        let its = self.clients.get_mut(&client).expect("a client with a session");
        if !self.config.options.read_only_mode {
            its.last_zxid = Zxid::ZERO;
        }
        let Some((old, refusers)) = its.refused.take() else { return Ok(()) };
        let closed = self.sessions.get(&old).and_then(|account| account.closed);
        if closed.is_some_and(|(closed, _)| closed < created) {
            return Ok(());
        }
        if refusers.iter().any(|epoch| *epoch < created.epoch()) {
            self.counts.begun_before_close += 1;
            return Ok(());
        }
        Err(format!(
            "{client}'s session {session} was created at {created}, before its expired session \
             {old} was closed."
        ))
    }

    /// Fails if a session is accepted again after its closeSession, and no older leader or connection explains that.
    fn accepted_again(
        &mut self,
        client: ClientId,
        session: SessionId,
        seen: Zxid,
    ) -> Result<(), String> {
        let account = &self.sessions[&session];
        let Some((closed, when)) = account.closed else { return Ok(()) };
        let began_before = account.disconnected.is_none_or(|lost| lost < when);
        let since = account.disconnected.unwrap_or_default();
        let unaware = self.leaders.since(since).any(|epoch| epoch < closed.epoch());
        if closed > seen && (began_before || unaware) {
            self.counts.accepted_after_close += 1;
            return Ok(());
        }
        Err(format!(
            "{client}'s session {session} was accepted again, although it was closed at {closed} \
             and no leader could still track it."
        ))
    }

    fn expired(&mut self, client: ClientId, session: SessionId) -> Result<(), String> {
        let its = self.clients.get_mut(&client).filter(|its| its.session == Some(session));
        let (Some(its), Some(account)) = (its, self.sessions.get(&session)) else {
            return Err(format!(
                "{client} learned that session {session} has expired, but this session is not its own."
            ));
        };
        let since = account.disconnected.unwrap_or_default();
        let refuses =
            |epoch: &Epoch| account.closing.contains(epoch) || *epoch < account.created.epoch();
        let refusers: Vec<Epoch> = self.leaders.since(since).filter(refuses).collect();
        // Any server but its own may refuse a local session, and its own may after the session's end. A global
        // session that was local may be refused by a leader, or a read-only server, that has not learnt of its
        // upgrade.
        let options = &self.config.options;
        let behind = options.local_sessions && options.read_only_mode;
        let unheard = account.may_be_local() || account.refused_before || behind;
        if account.closed.is_none() && refusers.is_empty() && !unheard {
            return Err(format!(
                "{client} learned that session {session} has expired, but no leader has closed it."
            ));
        }
        *its = Client { refused: Some((session, refusers)), ..Client::default() };
        Ok(())
    }

    fn gives_up(&self, client: ClientId) -> bool {
        self.config.clients.get(client.index()).is_some_and(|client| client.expires_locally)
    }

    /// Records that a client has given up its session after a long silence (rule 2.8.3). The servers do not learn of
    /// it.
    fn given_up(&mut self, client: ClientId, session: SessionId) -> Result<(), String> {
        let its = self.clients.get_mut(&client).filter(|its| its.session == Some(session));
        let Some(its) = its else {
            return Err(format!("{client} gave up session {session}, which is not its own."));
        };
        if its.connection.is_some() || its.unknown {
            return Err(format!("{client} gave up session {session} while it was connected."));
        }
        *its = Client::default();
        Ok(())
    }

    /// Records that a server refused an identity and the client left its session (rule 1.9.5). Fails unless the
    /// client has sent a proof that a server must refuse; the server answers nothing after that proof.
    fn refused_identity(&mut self, client: ClientId, session: SessionId) -> Result<(), String> {
        let config = Arc::clone(&self.config);
        if let Some(connection) = self.connection(client, session)? {
            let refused = |packet: &ClientPacket| match packet {
                ClientPacket::Auth { scheme, auth } => is_refused(client, scheme, auth, &config),
                _ => false,
            };
            if !connection.link.to_server.iter().any(refused) {
                return Err(format!(
                    "{client} received AuthFailed, but it has sent no identity that a server \
                     refuses."
                ));
            }
        }
        self.end_connection(client, session);
        self.clients.insert(client, Client::default());
        Ok(())
    }

    /// Records that a client closed its session; fails if the connection is open and the server has not answered.
    fn closed_by_client(&mut self, client: ClientId, session: SessionId) -> Result<(), String> {
        let its = self.clients.get_mut(&client).filter(|its| its.session == Some(session));
        let Some(its) = its else {
            return Err(format!("{client} closed session {session}, which is not its own."));
        };
        let open = its.connection.as_ref().filter(|_| !its.unknown);
        if open.is_some_and(|connection| !connection.link.hung_up) {
            return Err(format!(
                "{client} considered session {session} closed before the server had \
                 answered its closeSession."
            ));
        }
        *its = Client::default();
        Ok(())
    }

    /// Forgets a write that no transaction follows from.
    pub(super) fn forget_write(&mut self, session: SessionId, xid: Xid) {
        let account = self.sessions.get_mut(&session).expect("a connection has a session");
        if let Some(at) = account.position(xid) {
            account.writes.remove(at);
        }
    }

    /// Records that a request failed because its connection broke; fails if the request was not in flight.
    pub(super) fn lost(
        &mut self,
        client: ClientId,
        session: SessionId,
        xid: Xid,
        request: &Request,
    ) -> Result<(), String> {
        if self.is_read_only(client, session) {
            return Ok(());
        }
        let lost = |packet: &ClientPacket| matches!(packet, ClientPacket::Request { xid: sent, .. } if *sent == xid);
        let connection = self.connection(client, session)?;
        if connection.is_some_and(|known| !known.link.to_server.iter().any(lost)) {
            return Err(format!(
                "{client} lost request {} ({request}), which was not in flight.",
                xid.0
            ));
        }
        let account = self.sessions.get_mut(&session).expect("a connection has a session");
        if let Some(at) = account.position(xid) {
            account.writes[at].lost = true;
        }
        Ok(())
    }
}
