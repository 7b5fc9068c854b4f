//! The life cycle of a connection and its session: attempt, handshake, loss, end (rules 2.1, 2.8.1, 2.8.2, 2.8.3,
//! 2.8.4, 2.8.7 and 2.8.9).

use super::watches::WatchKind;
use super::{ClientEffect, ClientMachine, ClientState, MAX_PROBE, MIN_PROBE, Session};
use crate::program::host::{Input, Outcome};
use crate::vocabulary::error::Error;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{CallId, ClientConnection, ServerId, SessionId};
use crate::vocabulary::op::{Data, EventType, SessionChange, SessionState, WatchedEvent};
use crate::vocabulary::packet::{ClientPacket, ServerPacket};
use crate::vocabulary::release::Bug;
use crate::vocabulary::time::Duration;
use crate::vocabulary::timer::ClientTimer;
use std::sync::Arc;

/// The longest random delay before an attempt to connect other than the first (rule 2.8.2).
const RECONNECT_SPREAD: Duration = Duration::from_secs(1);

/// The longest time without a packet to the server, whatever the timeout (rule 2.8.1).
const MAX_SEND_PING_INTERVAL: Duration = Duration::from_secs(10);

impl ClientMachine {
    /// Begins a new session, like a new `ZooKeeper` object: it keeps nothing of an old session, and the first attempt
    /// to connect has no delay (rule 2.8.2).
    pub(super) fn begin_session(&mut self, out: &mut Vec<ClientEffect>) {
        let seen = self.session.last_zxid;
        self.session = Session::new(self.session_timeout);
        if self.bugs.has(Bug::PlantedZxidOutlivesSession) {
            self.session.last_zxid = seen;
        }
        self.next_server = 0;
        self.attempt(out);
    }

    /// Tries to connect to the next server of the list.
    pub(super) fn attempt(&mut self, out: &mut Vec<ClientEffect>) {
        let Some(&server) = self.servers.get(self.next_server) else {
            // Without servers, every attempt fails.
            return self.lose(Some(ClientTimer::Reconnect), out);
        };
        self.next_server = (self.next_server + 1) % self.servers.len();
        self.state = ClientState::Connecting(server);
        out.push(ClientEffect::Open { server });
        out.push(ClientEffect::Send(ClientPacket::Connect {
            last_zxid_seen: self.session.last_zxid,
            timeout: self.session_timeout,
            session: self.session.id.filter(|_| self.session.seen_rw_server),
            read_only: self.can_be_read_only,
        }));
        let servers = u32::try_from(self.servers.len()).unwrap_or(u32::MAX);
        arm(ClientTimer::Connect, self.session.timeout / servers, out);
    }

    /// Handles a server's acceptance of the session: sends the identities, then the watches, then any requests (rule
    /// 2.8.7).
    pub(super) fn established(
        &mut self,
        state: ClientState,
        session: SessionId,
        timeout: Duration,
        out: &mut Vec<ClientEffect>,
    ) {
        self.disarm(None, out);
        self.state = state;
        self.session.id = Some(session);
        self.session.timeout = match self.bugs.has(Bug::PlantedLongerTimeout) {
            true => timeout + timeout / 2,
            false => timeout,
        };
        self.arm_read(out);
        self.arm_ping(out);
        match state {
            ClientState::ConnectedReadOnly(server) => {
                arm(ClientTimer::Probe, self.session.probe, out);
                self.announce(SessionState::ConnectedReadOnly, Some(server), out);
            }
            ClientState::Connected(server) => {
                self.session.seen_rw_server = true;
                self.session.probe = MIN_PROBE;
                self.announce(SessionState::SyncConnected, Some(server), out);
            }
            other => unreachable!("{other} is not connected"),
        }
        // A closing session does not answer `Connect`; the session after it does.
        if !self.session.closing {
            for call in std::mem::take(&mut self.connect_calls) {
                reply(call, Outcome::Connected(session), out);
            }
        }
        if !self.bugs.has(Bug::PlantedIdentitiesNotProvenAgain) {
            for (scheme, auth) in &self.session.auth {
                self.authenticate(session, scheme, auth, out);
            }
        }
        if !self.bugs.has(Bug::PlantedWatchesNotSetAgain) {
            self.rearm(session, out);
        }
        self.flush(out);
    }

    /// Sends a proof of an identity to the server.
    pub(super) fn authenticate(
        &self,
        session: SessionId,
        scheme: &Arc<str>,
        auth: &Data,
        out: &mut Vec<ClientEffect>,
    ) {
        let (client, scheme, auth) = (self.id, Arc::clone(scheme), auth.clone());
        out.push(ClientEffect::Event(Event::Authenticating {
            client,
            session,
            scheme: Arc::clone(&scheme),
            auth: auth.clone(),
        }));
        out.push(ClientEffect::Send(ClientPacket::Auth { scheme, auth }));
    }

    /// Sets all watches again at the server that accepted the session (rule 3.4.1).
    fn rearm(&self, session: SessionId, out: &mut Vec<ClientEffect>) {
        for packet in self.session.watches.set_watches(self.session.last_zxid) {
            if let ClientPacket::SetWatches {
                relative_zxid,
                data,
                exist,
                child,
                persistent,
                recursive,
            } = &packet
            {
                out.push(ClientEffect::Event(Event::Rearming {
                    client: self.id,
                    session,
                    relative_zxid: *relative_zxid,
                    data: data.clone(),
                    exist: exist.clone(),
                    child: child.clone(),
                    persistent: persistent.clone(),
                    recursive: recursive.clone(),
                }));
            }
            out.push(ClientEffect::Send(packet));
        }
    }

    /// Handles a server's message that the session is over.
    pub(super) fn expired(&mut self, server: ServerId, out: &mut Vec<ClientEffect>) {
        self.disarm_expiry(out);
        self.leave(out);
        self.end(SessionState::Expired, Some(server), out);
    }

    /// Returns the time until the probe after the present one.
    pub(super) fn next_probe(&self) -> Duration {
        (self.session.probe * 2).min(MAX_PROBE)
    }

    /// Arms the timer for the next probe.
    pub(super) fn probe_later(&mut self, out: &mut Vec<ClientEffect>) {
        self.session.probe = self.next_probe();
        arm(ClientTimer::Probe, self.session.probe, out);
    }

    /// Gives up the session: nothing was received for four thirds of its timeout (rule 2.8.3), or nothing will be,
    /// because the process ends. No effect without a session to give up.
    pub fn give_up(&mut self, out: &mut Vec<ClientEffect>) {
        if !self.state.is_alive() {
            return;
        }
        if self.state.is_connected() {
            // The read timer would close the connection first; it is only late.
            out.push(ClientEffect::Close);
            self.drop_connection(None, out);
        } else if self.state.has_connection() {
            self.leave(out);
        } else {
            self.disarm(None, out);
        }
        let closing = self.session.closing;
        let how = if closing { SessionState::Closed } else { SessionState::Expired };
        self.end(how, None, out);
    }

    /// Handles a server's refusal of an identity.
    pub(super) fn refused(&mut self, out: &mut Vec<ClientEffect>) {
        self.disarm_expiry(out);
        self.leave(out);
        self.end(SessionState::AuthFailed, None, out);
    }

    /// Handles the reply to closeSession.
    pub(super) fn closed(&mut self, out: &mut Vec<ClientEffect>) {
        self.disarm_expiry(out);
        self.leave(out);
        self.end(SessionState::Closed, None, out);
    }

    /// Handles a packet that answers nothing this client has sent: reports it and closes the connection.
    pub(super) fn mismatched(&mut self, packet: ServerPacket, out: &mut Vec<ClientEffect>) {
        let connection = self.connection.expect("something was read from it");
        out.push(ClientEffect::Event(Event::Mismatched {
            client: self.id,
            session: self.session.id,
            connection,
            packet,
            awaited: self.session.in_flight.front().map(|oldest| oldest.xid),
        }));
        self.hang_up(None, out);
    }

    /// Closes the connection from the client's side, because it was silent (`fired` is then the timer) or because the
    /// server violated the protocol.
    pub(super) fn hang_up(&mut self, fired: Option<ClientTimer>, out: &mut Vec<ClientEffect>) {
        out.push(ClientEffect::Close);
        self.lose(fired, out);
    }

    /// Handles the end of the connection, or of an attempt to connect. First every request fails, then the program
    /// gets Disconnected, if it was connected (rule 2.8.4). A session that was closing counts as closed, although its
    /// server may keep it until it expires (rule 2.8.9).
    pub(super) fn lose(&mut self, fired: Option<ClientTimer>, out: &mut Vec<ClientEffect>) {
        self.drop_connection(fired, out);
        if self.session.closing {
            self.disarm_expiry(out);
            return self.end(SessionState::Closed, None, out);
        }
        out.push(ClientEffect::Arm {
            timer: ClientTimer::Reconnect,
            after: Duration::ZERO,
            spread: RECONNECT_SPREAD,
        });
    }

    fn drop_connection(&mut self, fired: Option<ClientTimer>, out: &mut Vec<ClientEffect>) {
        let was_connected = self.state.is_connected();
        self.disarm(fired, out);
        self.state = ClientState::Waiting;
        self.connection = None;
        self.report_losses(out);
        self.fail_requests(Error::ConnectionLoss, out);
        if was_connected {
            self.announce(SessionState::Disconnected, None, out);
            // Each watcher is notified of the loss and removed (rule 3.4.3).
            if self.drops_watches {
                for call in self.session.watches.take_all() {
                    reply(call, Outcome::Watch(Err(Error::ConnectionLoss)), out);
                }
            }
        }
    }

    /// Closes the connection in use without a further attempt.
    fn leave(&mut self, out: &mut Vec<ClientEffect>) {
        out.push(ClientEffect::Close);
        self.disarm(None, out);
        self.connection = None;
    }

    /// Ends the session; `server` is the one that reported the end, if any. Everything pending on the session fails;
    /// a waiting `Connect` begins a new session.
    fn end(&mut self, how: SessionState, server: Option<ServerId>, out: &mut Vec<ClientEffect>) {
        let (state, error) = match how {
            SessionState::AuthFailed => (ClientState::AuthFailed, Error::AuthFailed),
            SessionState::Closed => (ClientState::Closed, Error::SessionExpired),
            SessionState::Expired => (ClientState::Expired, Error::SessionExpired),
            other => unreachable!("no session ends with {other}"),
        };
        self.state = state;
        self.report_losses(out);
        self.announce(how, server, out);
        self.fail_requests(error, out);
        for call in self.session.watches.take_all() {
            reply(call, Outcome::Watch(Err(error)), out);
        }
        for call in std::mem::take(&mut self.close_calls) {
            reply(call, Outcome::Closed, out);
        }
        self.session.closing = false;
        if !self.connect_calls.is_empty() {
            self.begin_session(out);
        }
    }

    /// Returns the session and its established connection, on which requests are sent, if there is one.
    pub(super) fn link(&self) -> Option<(SessionId, ClientConnection)> {
        self.session.id.zip(self.connection).filter(|_| self.state.is_connected())
    }

    /// Returns two thirds of the timeout; a longer silence ends the connection (rule 2.8.1).
    fn read_timeout(&self) -> Duration {
        self.session.timeout * 2 / 3
    }

    /// Restarts the read timeout after a packet has arrived.
    pub(super) fn arm_read(&self, out: &mut Vec<ClientEffect>) {
        arm(ClientTimer::Read, self.read_timeout(), out);
        if self.is_armed(ClientTimer::Expiry) {
            arm(ClientTimer::Expiry, self.session.timeout * 4 / 3, out);
        }
    }

    /// Restarts the ping interval after a packet was sent.
    pub(super) fn arm_ping(&self, out: &mut Vec<ClientEffect>) {
        let interval = match self.bugs.has(Bug::PlantedLatePings) {
            true => self.read_timeout(),
            false => self.read_timeout() / 2,
        };
        arm(ClientTimer::Ping, interval.min(MAX_SEND_PING_INTERVAL), out);
    }

    /// Disarms the timers of the present state, except the one that has just `fired`.
    pub(super) fn disarm(&self, fired: Option<ClientTimer>, out: &mut Vec<ClientEffect>) {
        let armed = self.state.timers().iter().filter(|timer| Some(**timer) != fired);
        out.extend(armed.map(|timer| ClientEffect::Disarm(*timer)));
    }

    /// Disarms the expiry timer when the session ends for another reason.
    pub(super) fn disarm_expiry(&self, out: &mut Vec<ClientEffect>) {
        if self.is_armed(ClientTimer::Expiry) {
            out.push(ClientEffect::Disarm(ClientTimer::Expiry));
        }
    }

    /// Reports a new state of the session to the monitors and the program.
    fn announce(&self, state: SessionState, server: Option<ServerId>, out: &mut Vec<ClientEffect>) {
        let (client, session) = (self.id, self.session.id);
        out.push(ClientEffect::Event(Event::Session { client, session, server, state }));
        out.push(ClientEffect::Input(Input::Session(SessionChange { state, session })));
    }

    /// Handles a watch notification: all calls that wait for it get the event. It does not change the last zxid (rule
    /// 2.8.6), so if a notification is lost with the connection, the next server sends it again (rule 3.4.2).
    pub(super) fn notified(&mut self, event: WatchedEvent, out: &mut Vec<ClientEffect>) {
        if let Some((session, _)) = self.link() {
            let event = event.clone();
            out.push(ClientEffect::Event(Event::Notified { client: self.id, session, event }));
        }
        let mut fired = self.session.watches.fire(&event);
        let is_deletion = event.kind == EventType::NodeDeleted;
        if is_deletion && self.bugs.has(Bug::PlantedDeletionMissesChildWatch) {
            fired.retain(|(kind, _)| *kind != WatchKind::Child);
        }
        let event = match self.bugs.has(Bug::PlantedWholePathsTold) {
            true => event,
            false => self.chroot.event(event),
        };
        for (kind, call) in fired {
            let event = event.clone();
            if kind.stays() {
                out.push(ClientEffect::Input(Input::Event { call, event }));
            } else {
                reply(call, Outcome::Watch(Ok(event)), out);
            }
        }
    }
}

/// Arms a timer without spread.
fn arm(timer: ClientTimer, after: Duration, out: &mut Vec<ClientEffect>) {
    out.push(ClientEffect::Arm { timer, after, spread: Duration::ZERO });
}

pub(super) fn reply(call: CallId, outcome: Outcome, out: &mut Vec<ClientEffect>) {
    out.push(ClientEffect::Input(Input::Reply { call, outcome }));
}
