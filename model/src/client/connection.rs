//! The life of a connection, and of the session behind it: attempt, handshake, loss, end
//! (semantics 2.1, 2.8 rules 1 to 4, 7 and 9).

use super::{ClientEffect, ClientMachine, ClientState, Session};
use crate::error::Error;
use crate::event::Event;
use crate::host::{Input, Outcome};
use crate::id::{CallId, ClientConnection, ServerId, SessionId};
use crate::op::{SessionState, WatchedEvent};
use crate::packet::ClientPacket;
use crate::time::Duration;
use crate::timer::ClientTimer;

/// Longest random delay before an attempt to connect that is not the first (2.8 rule 2).
const RECONNECT_SPREAD: Duration = Duration::from_secs(1);

/// Longest silence on send, whatever the timeout (2.8 rule 1).
const MAX_SEND_PING_INTERVAL: Duration = Duration::from_secs(10);

impl ClientMachine {
    /// Begins a new session, as a new `ZooKeeper` object: nothing of an old one is left, and the
    /// first attempt has no delay (2.8 rule 2).
    pub(super) fn begin_session(&mut self, out: &mut Vec<ClientEffect>) {
        self.session = Session::new(self.session_timeout);
        self.next_server = 0;
        self.attempt(out);
    }

    /// Tries the next server of the list.
    pub(super) fn attempt(&mut self, out: &mut Vec<ClientEffect>) {
        let Some(&server) = self.servers.get(self.next_server) else {
            // A list without servers: every attempt fails.
            return self.lose(Some(ClientTimer::Reconnect), out);
        };
        self.next_server = (self.next_server + 1) % self.servers.len();
        self.state = ClientState::Connecting(server);
        out.push(ClientEffect::Open { server });
        out.push(ClientEffect::Send(ClientPacket::Connect {
            last_zxid_seen: self.session.last_zxid,
            timeout: self.session_timeout,
            session: self.session.id,
            read_only: false,
        }));
        let servers = u32::try_from(self.servers.len()).unwrap_or(u32::MAX);
        arm(ClientTimer::Connect, self.session.timeout / servers, out);
    }

    /// A server took the session. It gets the watches before any request (2.8 rule 7).
    pub(super) fn established(
        &mut self,
        server: ServerId,
        session: SessionId,
        timeout: Duration,
        out: &mut Vec<ClientEffect>,
    ) {
        self.disarm(None, out);
        self.state = ClientState::Connected(server);
        self.session.id = Some(session);
        self.session.timeout = timeout;
        self.arm_read(out);
        self.arm_ping(out);
        self.announce(SessionState::SyncConnected, Some(server), out);
        // Who asks for a session gets none that is about to be closed, but the one after it.
        if !self.session.closing {
            for call in std::mem::take(&mut self.connect_calls) {
                reply(call, Outcome::Connected(session), out);
            }
        }
        self.rearm(session, out);
        self.flush(out);
    }

    /// Sets all watches again at the server that took the session (3.4).
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

    /// The server says that the session is over.
    pub(super) fn expired(&mut self, out: &mut Vec<ClientEffect>) {
        self.leave(out);
        self.end(SessionState::Expired, out);
    }

    /// The reply to closeSession was read.
    pub(super) fn closed(&mut self, out: &mut Vec<ClientEffect>) {
        self.leave(out);
        self.end(SessionState::Closed, out);
    }

    /// Tears the connection down from this side: it is silent (`fired` tells the timer), or its
    /// server does not keep to the protocol.
    pub(super) fn hang_up(&mut self, fired: Option<ClientTimer>, out: &mut Vec<ClientEffect>) {
        out.push(ClientEffect::Close);
        self.lose(fired, out);
    }

    /// The connection, or the attempt at one, is over. Every request fails first, then the program
    /// hears that it is disconnected, if it was connected (2.8 rule 4). A session that was about to
    /// be closed is taken for closed, though its server may keep it until it expires (rule 9).
    pub(super) fn lose(&mut self, fired: Option<ClientTimer>, out: &mut Vec<ClientEffect>) {
        let was_connected = matches!(self.state, ClientState::Connected(_));
        self.disarm(fired, out);
        self.state = ClientState::Waiting;
        self.connection = None;
        self.fail_requests(Error::ConnectionLoss, out);
        if was_connected {
            self.announce(SessionState::Disconnected, None, out);
        }
        if self.session.closing {
            return self.end(SessionState::Closed, out);
        }
        out.push(ClientEffect::Arm {
            timer: ClientTimer::Reconnect,
            after: Duration::ZERO,
            spread: RECONNECT_SPREAD,
        });
    }

    /// Closes the connection in use for good.
    fn leave(&mut self, out: &mut Vec<ClientEffect>) {
        out.push(ClientEffect::Close);
        self.disarm(None, out);
        self.connection = None;
    }

    /// The session is over. All that was pending on it fails; a `Connect` that waits begins a new
    /// one.
    fn end(&mut self, how: SessionState, out: &mut Vec<ClientEffect>) {
        let expired = how == SessionState::Expired;
        self.state = if expired { ClientState::Expired } else { ClientState::Closed };
        self.announce(how, None, out);
        self.fail_requests(Error::SessionExpired, out);
        for call in self.session.watches.take_all() {
            reply(call, Outcome::Watch(Err(Error::SessionExpired)), out);
        }
        for call in std::mem::take(&mut self.close_calls) {
            reply(call, Outcome::Closed, out);
        }
        self.session.closing = false;
        if !self.connect_calls.is_empty() {
            self.begin_session(out);
        }
    }

    /// The session and the connection that requests go by, while there is one.
    pub(super) fn link(&self) -> Option<(SessionId, ClientConnection)> {
        match self.state {
            ClientState::Connected(_) => self.session.id.zip(self.connection),
            _ => None,
        }
    }

    /// Two thirds of the timeout: silence longer than this ends the connection (2.8 rule 1).
    fn read_timeout(&self) -> Duration {
        self.session.timeout * 2 / 3
    }

    /// Something was read.
    pub(super) fn arm_read(&self, out: &mut Vec<ClientEffect>) {
        arm(ClientTimer::Read, self.read_timeout(), out);
    }

    /// Something was sent.
    pub(super) fn arm_ping(&self, out: &mut Vec<ClientEffect>) {
        arm(ClientTimer::Ping, (self.read_timeout() / 2).min(MAX_SEND_PING_INTERVAL), out);
    }

    /// Disarms the timers of the present state, except the one that has just `fired`.
    pub(super) fn disarm(&self, fired: Option<ClientTimer>, out: &mut Vec<ClientEffect>) {
        let armed = self.state.timers().iter().filter(|timer| Some(**timer) != fired);
        out.extend(armed.map(|timer| ClientEffect::Disarm(*timer)));
    }

    /// Tells monitors and program of a new state of the session.
    fn announce(&self, state: SessionState, server: Option<ServerId>, out: &mut Vec<ClientEffect>) {
        let (client, session) = (self.id, self.session.id);
        out.push(ClientEffect::Event(Event::Session { client, session, server, state }));
        out.push(ClientEffect::Input(Input::Session(state)));
    }

    /// A watch fired: one notification for all calls that wait for it. It does not move the last
    /// zxid (2.8 rule 6): an event that is lost with the connection is then made up again (3.4).
    pub(super) fn notified(&mut self, event: WatchedEvent, out: &mut Vec<ClientEffect>) {
        if let Some((session, _)) = self.link() {
            let event = event.clone();
            out.push(ClientEffect::Event(Event::Notified { client: self.id, session, event }));
        }
        for call in self.session.watches.fire(&event) {
            reply(call, Outcome::Watch(Ok(event.clone())), out);
        }
    }
}

/// Arms a timer without spread.
fn arm(timer: ClientTimer, after: Duration, out: &mut Vec<ClientEffect>) {
    out.push(ClientEffect::Arm { timer, after, spread: Duration::ZERO });
}

/// Answers a call.
pub(super) fn reply(call: CallId, outcome: Outcome, out: &mut Vec<ClientEffect>) {
    out.push(ClientEffect::Input(Input::Reply { call, outcome }));
}
