//! Judges what a client reads on its connection: replies and notifications, in the one order in which its server can
//! have sent them.
//!
//! The zxid of a reply is the last one that its server had applied. So the client must have read before it every
//! event up to that zxid that fires a watch of this connection (rules 3.2.1 and 3.2.4), and whatever it reads later
//! on the connection has no lower zxid. A notification has the zxid of the transaction that fired it; an event that
//! SetWatches generates has the last zxid that its server had applied (rule 3.4.1), and so has the reply to
//! SetWatches.

use super::Bridge;
use super::account::{Account, Client, Connection};
use crate::server::local::creates_ephemeral;
use crate::service::link::{Link, is_refused, is_write, with_identity};
use crate::service::log::{Entry, Log};
use crate::tree::answers::same_answer;
use crate::vocabulary::config::Config;
use crate::vocabulary::error::Error;
use crate::vocabulary::id::{ClientId, SessionId, Xid};
use crate::vocabulary::op::{Data, Request, Response, WatchedEvent};
use crate::vocabulary::packet::{ClientPacket, ServerPacket};
use crate::vocabulary::txn::TxnBody;
use crate::vocabulary::words::Answer;
use crate::vocabulary::zxid::Zxid;
use crate::watch::Rearming;
use std::sync::Arc;

/// A reply that a client has read.
pub(super) struct Reply<'a> {
    pub(super) xid: Xid,
    pub(super) zxid: Zxid,
    pub(super) request: &'a Request,
    pub(super) result: &'a Result<Response, Error>,
}

impl Bridge {
    /// Returns a client's connection, and the log; `None` if replies on the connection cannot be judged.
    fn reading(
        &mut self,
        client: ClientId,
        session: SessionId,
    ) -> Result<Option<(&mut Connection, &Log)>, String> {
        self.connection(client, session)?;
        let Bridge { clients, log, .. } = self;
        let connection = match clients.get_mut(&client) {
            Some(Client { unknown: false, connection, .. }) => connection.as_mut(),
            _ => None,
        };
        Ok(connection.map(|connection| (connection, &*log)))
    }

    pub(super) fn replied(
        &mut self,
        client: ClientId,
        session: SessionId,
        reply: &Reply<'_>,
    ) -> Result<(), String> {
        let Reply { xid, zxid, request, result, .. } = *reply;
        let who = |saw: String| {
            format!("request {} of session {session} ({request}, {client}) {saw}.", xid.0)
        };
        if self.is_read_only(client, session) {
            self.saw(client, zxid);
            return Ok(());
        }
        let config = Arc::clone(&self.config);
        let options = &config.options;
        if !options.operations_of.knows(request) {
            let release = options.operations_of;
            return Err(who(format!(
                "was answered as if servers of {release} knew such a request"
            )));
        }
        let entry = self.place(zxid).cloned();
        let local = self.sessions.get(&session).is_some_and(Account::may_be_local);
        let closes_local = local && matches!((request, result), (Request::CloseSession, Ok(_)));
        let Some((connection, log)) = self.reading(client, session).map_err(who)? else {
            return Ok(());
        };
        connection.take_identities(client, &config);
        connection.is_due(xid, request).map_err(who)?;
        connection.is_not_behind(zxid).map_err(who)?;
        if zxid < log.first().zxid() {
            self.counts.unknown += 1;
            self.clients.get_mut(&client).expect("a client with a connection").unknown = true;
            return Ok(());
        }
        let Some(entry) = entry else {
            return Err(who(format!("was answered at {zxid}, which is no place in the log")));
        };
        connection.advance(client, log, zxid, None, &config);
        connection.nothing_is_due().map_err(who)?;
        let link = &mut connection.link;
        if closes_local {
            // A server closes a local session alone (rule 2.6.1): it answers and hangs up.
            link.hung_up = true;
        } else if is_write(request) {
            let refused = Err(Error::SessionExpired);
            let is_ephemeral_on_local = local
                && !options.local_sessions_upgrading
                && *result == Err(Error::EphemeralOnLocalSession)
                && matches!(&entry.txn, Some(txn) if txn.body == TxnBody::Error(Error::SessionExpired))
                && matches!(request, Request::Write(_))
                && creates_ephemeral(request);
            let result = if is_ephemeral_on_local { &refused } else { result };
            check_write(&entry, session, &Reply { result, ..*reply }).map_err(who)?;
        }
        // A server that applies the closeSession hangs up; its last reply answers that request.
        if link.view < entry.zxid() || (link.hung_up && !is_write(request)) {
            return Err(who(format!(
                "was answered at {zxid} by a server that had closed the session"
            )));
        }
        link.to_server.pop_front();
        link.view = zxid;
        if !is_write(request) {
            let expected = link.read(client, &entry.tree, request, &config);
            check_read(reply, &expected).map_err(who)?;
            self.counts.reads += 1;
            self.counts.stale += u64::from(entry.zxid() < self.log.last().zxid());
        }
        self.saw(client, zxid);
        Ok(())
    }

    /// Judges the refusal of a request that the servers do not know: it is the last answer of its connection (rule 4.2.2).
    pub(super) fn refused(
        &mut self,
        client: ClientId,
        session: SessionId,
        xid: Xid,
        request: &Request,
    ) -> Result<(), String> {
        let who = |saw: String| {
            format!("request {} of session {session} ({request}, {client}) {saw}.", xid.0)
        };
        let release = self.config.options.operations_of;
        if release.knows(request) {
            return Err(who(format!(
                "was refused, although servers of {release} know such a request"
            )));
        }
        let Some((connection, _)) = self.reading(client, session).map_err(who)? else {
            return Ok(());
        };
        // The server refuses it as soon as it is read, so a SetWatches sent earlier may still wait.
        let is_request = |packet: &&ClientPacket| matches!(packet, ClientPacket::Request { .. });
        let oldest = connection.link.to_server.iter().find(is_request);
        if !matches!(oldest, Some(ClientPacket::Request { xid: its, .. }) if *its == xid) {
            return Err(who("was refused, although it is not the oldest in flight".to_string()));
        }
        connection.link.to_server.clear();
        connection.link.hung_up = true;
        self.forget_write(session, xid);
        Ok(())
    }

    fn saw(&mut self, client: ClientId, zxid: Zxid) {
        let its = self.clients.get_mut(&client).expect("a client with a connection");
        its.last_zxid = its.last_zxid.max(zxid);
    }

    /// Judges a SetWatches that a client machine sends.
    pub(super) fn rearming(
        &mut self,
        client: ClientId,
        session: SessionId,
        relative_zxid: Zxid,
        packet: ClientPacket,
    ) -> Result<(), String> {
        let Some(connection) = self.connection(client, session)? else { return Ok(()) };
        connection.link.to_server.push_back(packet);
        let seen = self.clients[&client].last_zxid;
        if seen != relative_zxid {
            return Err(format!(
                "{client} sent SetWatches with relativeZxid {relative_zxid}, but the last zxid \
                 that it has seen is {seen}."
            ));
        }
        Ok(())
    }

    /// Records a proof of an identity that a client machine sends. Its server checks the proof before any packet that
    /// the client sends later.
    pub(super) fn authenticating(
        &mut self,
        client: ClientId,
        session: SessionId,
        scheme: &Arc<str>,
        auth: &Data,
    ) -> Result<(), String> {
        let config = Arc::clone(&self.config);
        if self.is_read_only(client, session) {
            return Ok(());
        }
        let is_known = self.connection(client, session)?.is_some();
        let connection = self.open_connection(client);
        let (scheme, auth) = (Arc::clone(scheme), auth.clone());
        connection.proven = with_identity(&connection.proven, client, &scheme, &auth, &config);
        if !is_known {
            return Ok(());
        }
        connection.unanswered.push_back((Arc::clone(&scheme), auth.clone()));
        connection.link.to_server.push_back(ClientPacket::Auth { scheme, auth });
        Ok(())
    }

    /// Records that a client machine has read the acceptance of its oldest unanswered proof, and fails if a server
    /// must refuse that proof. A server answers a proof at once, even before queued requests that were sent earlier;
    /// those keep the identities that the connection had when they were sent.
    pub(super) fn authenticated(
        &mut self,
        client: ClientId,
        session: SessionId,
    ) -> Result<(), String> {
        let config = Arc::clone(&self.config);
        let Some(connection) = self.connection(client, session)? else { return Ok(()) };
        match connection.unanswered.pop_front() {
            Some((scheme, auth)) if !is_refused(client, &scheme, &auth, &config) => {
                let before = Arc::clone(&connection.known);
                connection.known = with_identity(&before, client, &scheme, &auth, &config);
                connection.doubt.get_or_insert(before);
                connection.take_identities(client, &config);
                Ok(())
            }
            _ => Err(format!(
                "{client} received a successful addAuth reply, but it has sent no identity that a \
                 server accepts."
            )),
        }
    }

    /// Judges the reply to SetWatches that a client machine reads.
    pub(super) fn rearmed(
        &mut self,
        client: ClientId,
        session: SessionId,
        zxid: Zxid,
    ) -> Result<(), String> {
        let who = |saw: String| format!("SetWatches of session {session} ({client}) {saw}.");
        if self.is_read_only(client, session) {
            self.saw(client, zxid);
            return Ok(());
        }
        let entry = self.place(zxid).cloned();
        let config = Arc::clone(&self.config);
        let Some((connection, log)) = self.reading(client, session).map_err(who)? else {
            return Ok(());
        };
        connection.take_identities(client, &config);
        if !connection.sets_watches() {
            return Err(who("was answered, though it was not the oldest request".to_string()));
        }
        connection.is_not_behind(zxid).map_err(who)?;
        let Some(entry) = entry else {
            return Err(who(format!("was answered at {zxid}, which is no place in the log")));
        };
        match connection.set_at {
            Some(served) if served != zxid => {
                return Err(who(format!("made up events at {served} and was answered at {zxid}")));
            }
            Some(_) => {}
            None => {
                connection.advance(client, log, zxid, None, &config);
                connection.nothing_is_due().map_err(who)?;
                connection.set_watches(client, &entry, zxid, &config);
            }
        }
        connection.nothing_is_due().map_err(who)?;
        if connection.link.hung_up {
            return Err(who("was answered by a server that had closed the session".to_string()));
        }
        connection.link.to_server.pop_front();
        connection.link.view = zxid;
        connection.set_at = None;
        self.saw(client, zxid);
        Ok(())
    }

    /// Judges a notification that a client machine reads.
    pub(super) fn notified(
        &mut self,
        client: ClientId,
        session: SessionId,
        event: &WatchedEvent,
    ) -> Result<(), String> {
        let who = |saw: String| format!("the notification {event} to {client} {saw}.");
        let entry = self.place(event.zxid).cloned();
        let config = Arc::clone(&self.config);
        let Some((connection, log)) = self.reading(client, session).map_err(who)? else {
            return Ok(());
        };
        let mut made_up = connection.set_at.is_some();
        if connection.link.to_client.is_empty() && !made_up {
            if connection.sets_watches() {
                let Some(entry) = entry else {
                    return Err(who("names no place in the log".to_string()));
                };
                connection.is_not_behind(event.zxid).map_err(who)?;
                connection.advance(client, log, event.zxid, Some(event), &config);
                if connection.link.to_client.is_empty() {
                    connection.set_watches(client, &entry, event.zxid, &config);
                    made_up = true;
                }
            } else {
                // ACLs hide some of the events from this connection, so the next visible one may be further on.
                while connection.link.to_client.is_empty()
                    && !connection.link.hung_up
                    && let Some(heard) = connection.link.next_heard(log)
                {
                    connection.advance(client, log, heard, Some(event), &config);
                }
            }
        }
        match connection.link.to_client.pop_front() {
            Some(ServerPacket::Notification(expected)) if expected == *event => {
                connection.doubt = None;
            }
            Some(due) => {
                return Err(who(format!("was read before an earlier packet: {due}")));
            }
            None => return Err(who("belongs to no watch of its connection".to_string())),
        }
        let counts = &mut self.counts;
        *if made_up { &mut counts.made_up } else { &mut counts.fired } += 1;
        Ok(())
    }
}

impl Connection {
    /// Takes the identities that the client has proven before its oldest unanswered request. A server that refuses a
    /// proof answers nothing after it.
    fn take_identities(&mut self, client: ClientId, config: &Config) {
        while let Some(ClientPacket::Auth { scheme, auth }) = self.link.to_server.front() {
            if is_refused(client, scheme, auth, config) {
                return;
            }
            self.link.auth = with_identity(&self.link.auth, client, scheme, auth, config);
            self.link.to_server.pop_front();
        }
    }

    /// Moves the server up to `to`; it fires watches by the identities that it knows. The packet that is `read` next
    /// shows when the server learnt the newest identity: earlier, it withheld the events that only this identity may
    /// see. Before a reply, all such events are dropped; before a notification, those that precede it.
    fn advance(
        &mut self,
        client: ClientId,
        log: &Log,
        to: Zxid,
        read: Option<&WatchedEvent>,
        config: &Config,
    ) {
        let of_requests = Arc::clone(&self.link.auth);
        let sure = self.doubt.as_ref().map(|before| {
            let mut link = Link { auth: Arc::clone(before), ..self.link.clone() };
            link.advance(client, log, to, config);
            link.to_client
        });
        self.link.auth = Arc::clone(&self.known);
        self.link.advance(client, log, to, config);
        self.link.auth = of_requests;
        let Some(sure) = sure else { return };
        let kept_back = |packet: &ServerPacket| {
            let is_read = matches!(packet, ServerPacket::Notification(due) if Some(due) == read);
            !is_read && !sure.contains(packet)
        };
        let to_client = &mut self.link.to_client;
        match read {
            None => {
                to_client.retain(|packet| !kept_back(packet));
                self.doubt = None;
            }
            Some(_) => {
                while to_client.front().is_some_and(kept_back) {
                    to_client.pop_front();
                }
            }
        }
    }

    /// Returns true if the oldest request is a SetWatches.
    fn sets_watches(&self) -> bool {
        matches!(self.link.to_server.front(), Some(ClientPacket::SetWatches { .. }))
    }

    /// Fails unless this is the oldest unanswered request.
    fn is_due(&self, xid: Xid, request: &Request) -> Result<(), String> {
        match self.link.to_server.front() {
            Some(ClientPacket::Request { xid: oldest, request: asked })
                if *oldest == xid && **asked == *request =>
            {
                Ok(())
            }
            Some(oldest) => Err(format!("was answered before {oldest}, which was sent earlier")),
            None => {
                Err("was answered, although no request is in flight on this connection".to_string())
            }
        }
    }

    /// Fails if the zxid is lower than one that the session has seen: a server's zxid never decreases, and a server
    /// refuses a client that has seen a higher zxid than its own.
    fn is_not_behind(&self, zxid: Zxid) -> Result<(), String> {
        let view = self.link.view;
        if zxid < view {
            return Err(format!("has zxid {zxid}, although the session had seen {view} before"));
        }
        Ok(())
    }

    /// Fails if the server must have sent an event that the client has not read before this packet.
    fn nothing_is_due(&self) -> Result<(), String> {
        match self.link.to_client.front() {
            None => Ok(()),
            Some(due) => Err(format!("was answered before an earlier packet was read: {due}")),
        }
    }

    /// Sets the watches of the oldest request at the server, and generates the events that the client has missed.
    /// Each has the last zxid that the server has applied.
    fn set_watches(&mut self, client: ClientId, entry: &Entry, zxid: Zxid, config: &Config) {
        let Link { to_server, to_client, watches, .. } = &mut self.link;
        let rearming = to_server.front().and_then(Rearming::of);
        let rearming = rearming.expect("the oldest request is a SetWatches");
        let (name, tree) = (Link::name(client), &entry.tree);
        let missed = watches.set_watches(tree, name, rearming, config.bugs);
        let at_zxid = |event| ServerPacket::Notification(WatchedEvent { zxid, ..event });
        to_client.extend(missed.into_iter().map(at_zxid));
        self.link.view = zxid;
        self.set_at = Some(zxid);
    }
}

/// Fails unless the reply to a write is the result of the transaction at its zxid.
fn check_write(entry: &Entry, session: SessionId, reply: &Reply<'_>) -> Result<(), String> {
    let Reply { xid, zxid, request, result } = *reply;
    let (Some(txn), Some(applied)) = (&entry.txn, &entry.applied) else {
        return Err(format!("was answered at {zxid}, where nothing is committed"));
    };
    if txn.zxid != zxid || txn.session != session || txn.cxid != xid {
        return Err(format!(
            "was answered at {zxid}, but the transaction committed there is {txn}"
        ));
    }
    if *result == Err(Error::SessionMoved) {
        return Err("was answered with SessionMoved, although a server closes the connection \
                    instead of answering"
            .to_string());
    }
    if same_answer(request, result, &applied.result) {
        return Ok(());
    }
    let (said, should) = told_apart(result, &applied.result);
    Err(format!("was answered with {said}, but the result of {txn} is {should}"))
}

/// Fails unless a read shows the tree at the reply's zxid.
fn check_read(reply: &Reply<'_>, expected: &Result<Response, Error>) -> Result<(), String> {
    let Reply { zxid, request, result, .. } = *reply;
    if same_answer(request, result, expected) {
        return Ok(());
    }
    let (said, should) = told_apart(result, expected);
    Err(format!("was answered with {said}, but the tree at {zxid} gives {should}"))
}

/// Formats two different results, in debug form if their display forms are equal.
fn told_apart(one: &Result<Response, Error>, other: &Result<Response, Error>) -> (String, String) {
    match (Answer(one).to_string(), Answer(other).to_string()) {
        (one_said, other_said) if one_said == other_said => {
            (format!("{one:?}"), format!("{other:?}"))
        }
        said => said,
    }
}
