//! The client side of a session: ZooKeeper's `ClientCnxn` as a pure machine (rule 2.8).
//!
//! A started machine looks for a server that takes its session, one after the other of its list. On
//! each connection it sends a `ConnectRequest`, waits for the answer, sets its watches again, sends
//! what was queued meanwhile, and from then on pairs replies with requests in order. When the
//! connection ends, *every* request in flight or queued fails with ConnectionLoss and none is sent
//! again: the outcome of those in flight is unknown, and finding out is the program's affair. Watches
//! survive the loss; the next server is told about them with the last zxid seen (rule 3.4.1).
//!
//! **Only a server can end a session.** A machine that is cut off from all servers tries for ever and
//! never declares its session expired. That is what clients up to 3.9.2 do. Since 3.9.3
//! (ZOOKEEPER-4508) they give up by themselves when they have read nothing for 4/3 of the timeout (rule
//! 2.8.3); so do those that are configured to
//! ([`expires_locally`](ClientConfig::expires_locally)).
//!
//! Order of what the program is told, as `ClientCnxn` queues it for its event thread (rule 2.8.8):
//!
//! | Happening | Inputs, in order |
//! |---|---|
//! | connected | SyncConnected or ConnectedReadOnly; answers to `Connect` |
//! | connection lost | ConnectionLoss for each request, oldest first; Disconnected, if it was connected |
//! | expired | Expired; SessionExpired for each request queued; then for each watch; answers to `Close` |
//! | given up | Expired; SessionExpired for each watch; answers to `Close` |
//! | an identity refused | AuthFailed; AuthFailed for each request, oldest first; then for each watch; answers to `Close` |
//! | closed | Closed; SessionExpired for each watch; answers to `Close` |
//! | reply | its watch is registered, then the reply |
//! | reply to removeWatches | the event of the removal for each watch, in the order of registration; then the reply |
//! | notification | the event for each call that watches the path, in the order of registration; then for recursive watches above it, the nearest first |
//!
//! What one packet or timer causes is in one list of effects, so a watch event reaches the program
//! before any reply that was read later (rules 3.2.1 and 3.2.2).
//!
//! Where this differs from `ClientCnxn`, and why:
//! * A request is numbered when it is made, there when it is written. The order is the same; only
//!   the numbers of requests that were never sent are skipped. So an observation can say exactly
//!   which requests came before it ([`ClientMachine::next_xid`]).
//! * `SetWatches` takes a number there and has a reply, whose zxid counts as seen. Here it has
//!   neither, so the last zxid seen can be older, never newer.
//! * Nobody keeps a watch whose call was abandoned: it is not set again after a reconnect.
//! * A new session begins at the head of the server list, which there would be shuffled anew.
//! * Identities go to a server after it has accepted the session, and before anything else; there
//!   they follow the ConnectRequest without waiting. An identity that is added without a connection
//!   is sent once there is one; there it is sent twice. They are sent in the order in which they
//!   were added; there in the reverse order.
//! * Where `ClientCnxn` is connected to a read-only server, it asks others beside that connection
//!   whether they are better, and leaves it when one is (rule 2.7.3). Here nobody can ask beside: the
//!   machine leaves the connection when it is time to ask, and tries the next server.
//! * There, a TCP connection counts as something read when the silence is measured after which a
//!   client gives up; here only packets do.

mod chroot;
mod connection;
mod requests;
mod state;
mod watches;

pub use state::ClientState;

use crate::program::host::{Input, Operation};
use crate::vocabulary::config::ClientConfig;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{CallId, ClientConnection, ClientId, ServerId, SessionId, Xid};
use crate::vocabulary::op::{Data, Request};
use crate::vocabulary::packet::{ClientPacket, ServerPacket};
use crate::vocabulary::time::Duration;
use crate::vocabulary::timer::ClientTimer;
use crate::vocabulary::zxid::Zxid;
use chroot::Chroot;
use requests::Pending;
use std::collections::VecDeque;
use std::sync::Arc;
pub(crate) use watches::Awaited;
use watches::WatchTable;

/// How long a client stays with a read-only server before it looks for another one: at first, and at
/// most (`minPingRwTimeout`, `maxPingRwTimeout`; rule 2.7.3).
const MIN_PROBE: Duration = Duration::from_millis(100);
const MAX_PROBE: Duration = Duration::from_secs(60);

/// What a client machine wants done, in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum ClientEffect {
    /// Opens a connection to this server, which becomes *the* connection. Whoever numbers it answers
    /// with [`ClientMachine::opened`] before anything is read from it.
    Open { server: ServerId },
    /// Sends a packet on the connection in use.
    Send(ClientPacket),
    /// Closes the connection in use. Never emitted for a connection that ended by itself.
    Close,
    /// Arms a timer, replacing its deadline if it is armed.
    Arm {
        timer: ClientTimer,
        /// When it fires, from now.
        after: Duration,
        /// Up to this much later, as the engine draws it.
        spread: Duration,
    },
    /// Disarms a timer that is armed.
    Disarm(ClientTimer),
    /// For the program.
    Input(Input),
    /// For the monitors: Sent, Replied, Lost, Session, Notified, Authenticating, Authenticated,
    /// Rearming or Rearmed.
    Event(Event),
}

/// The client side of a session. Two equal machines do the same from now on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClientMachine {
    id: ClientId,
    /// What it asks for in every `ConnectRequest`.
    session_timeout: Duration,
    /// The list, already shuffled.
    servers: Arc<[ServerId]>,
    /// Whether a read-only server will do.
    can_be_read_only: bool,
    /// Whether it gives its session up when it has heard nothing for long.
    expires_locally: bool,
    drops_watches: bool,
    chroot: Chroot,
    /// Position in the list of the server that is tried next.
    next_server: usize,
    state: ClientState,
    /// The number of the connection in use, once the ensemble has told it.
    connection: Option<ClientConnection>,
    session: Session,
    /// `Connect`s that wait for an established session.
    connect_calls: Vec<CallId>,
    /// `Close`s that wait for the session's end.
    close_calls: Vec<CallId>,
}

/// What begins anew with a new session, as a new `ZooKeeper` object would.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Session {
    /// Unknown until a server has answered.
    id: Option<SessionId>,
    /// The timeout: negotiated, or asked for as long as no server has answered.
    timeout: Duration,
    /// Whether a server with a quorum has accepted it: one without can only make an id up, which is
    /// forgotten with the connection (`seenRwServerBefore`; rule 2.7.3).
    seen_rw_server: bool,
    /// How long it stays with a read-only server before it looks for a better one.
    probe: Duration,
    /// The identities that every server is told of: scheme and proof.
    auth: Vec<(Arc<str>, Data)>,
    /// The zxid of the last reply that had one (rule 2.8.6).
    last_zxid: Zxid,
    next_xid: Xid,
    /// Made, not sent: there is no established connection.
    queued: VecDeque<Pending>,
    /// Sent, not answered, in the order in which they must be answered.
    in_flight: VecDeque<Pending>,
    watches: WatchTable,
    /// closeSession is queued or in flight: nothing more is taken.
    closing: bool,
}

impl Session {
    fn new(timeout: Duration) -> Session {
        Session {
            id: None,
            timeout,
            seen_rw_server: false,
            probe: MIN_PROBE,
            auth: Vec::new(),
            last_zxid: Zxid::ZERO,
            next_xid: Xid(1),
            queued: VecDeque::new(),
            in_flight: VecDeque::new(),
            watches: WatchTable::default(),
            closing: false,
        }
    }
}

impl ClientMachine {
    /// A machine without a process; [`ClientMachine::start`] gives it one.
    pub fn new(id: ClientId, config: &ClientConfig) -> ClientMachine {
        ClientMachine {
            id,
            session_timeout: config.session_timeout,
            servers: config.servers.as_slice().into(),
            can_be_read_only: config.can_be_read_only,
            expires_locally: config.expires_locally,
            drops_watches: config.disable_auto_watch_reset,
            chroot: Chroot::new(&config.chroot),
            next_server: 0,
            state: ClientState::NotStarted,
            connection: None,
            session: Session::new(config.session_timeout),
            connect_calls: Vec::new(),
            close_calls: Vec::new(),
        }
    }

    /// The program's process starts: begins to connect a new session. Does nothing if it runs.
    pub fn start(&mut self, out: &mut Vec<ClientEffect>) {
        if self.state == ClientState::NotStarted {
            self.begin_session(out);
        }
    }

    /// The program's process died: its connection is reset, its timers are gone, all is forgotten.
    /// Nobody is left to be told anything, so there are no inputs and no events.
    pub fn kill(&mut self, out: &mut Vec<ClientEffect>) {
        if self.state.has_connection() {
            out.push(ClientEffect::Close);
        }
        self.disarm(None, out);
        self.disarm_expiry(out);
        self.next_server = 0;
        self.state = ClientState::NotStarted;
        self.connection = None;
        self.session = Session::new(self.session_timeout);
        self.connect_calls.clear();
        self.close_calls.clear();
    }

    /// Begins a call of the program. What can be answered at once is: the answer is among the
    /// effects.
    ///
    /// # Panics
    /// For an operation that is no affair of a session (sleep, now, random, ...).
    pub fn call(&mut self, call: CallId, operation: Operation, out: &mut Vec<ClientEffect>) {
        match operation {
            Operation::Request { request, watch, scope } => {
                self.request(Pending { watch, ..Pending::new(request, Some(call)) }, scope, out);
            }
            Operation::RemoveWatches { path, kind, local, scope } => {
                let request = Arc::new(Request::RemoveWatches { path, kind });
                self.request(Pending { local, ..Pending::new(request, Some(call)) }, scope, out);
            }
            Operation::AddAuth { scheme, auth, scope } => {
                self.add_auth(call, (scheme, auth), scope, out);
            }
            Operation::Connect => self.connect(call, out),
            Operation::Close => self.close(call, out),
            other => unreachable!("a client machine was asked for {other:?}"),
        }
    }

    /// The program dropped the call: neither its reply nor its watch event is an input any more,
    /// and the slot may be used again at once. A request stays queued or in flight; the slot that
    /// its watch would have had is free as well.
    pub fn abandon(&mut self, call: CallId) {
        for pending in self.session.queued.iter_mut().chain(&mut self.session.in_flight) {
            pending.forget(call);
        }
        self.session.watches.forget(call);
        self.connect_calls.retain(|waiting| *waiting != call);
        self.close_calls.retain(|waiting| *waiting != call);
    }

    /// The answer to [`ClientEffect::Open`]: the connection's number.
    pub fn opened(&mut self, connection: ClientConnection) {
        if self.state.has_connection() {
            self.connection = Some(connection);
        }
    }

    /// Reads a packet from the connection in use.
    pub fn packet(&mut self, packet: ServerPacket, out: &mut Vec<ClientEffect>) {
        // Nothing can be read from a connection that was never opened.
        if self.connection.is_none() {
            return;
        }
        match (self.state, packet) {
            (
                ClientState::Connecting(server),
                ServerPacket::Connected { session, timeout, read_only },
            ) => {
                let state = if read_only {
                    ClientState::ConnectedReadOnly(server)
                } else {
                    ClientState::Connected(server)
                };
                self.established(state, session, timeout, out);
            }
            (ClientState::Connecting(server), ServerPacket::Expired) => {
                self.expired(server, out);
            }
            (state, packet) if state.is_connected() => self.read(packet, out),
            // Whatever else answers a ConnectRequest is no ZooKeeper.
            (_, packet) => self.mismatched(packet, out),
        }
    }

    /// The connection in use ended: it was refused, reset, or closed by the server.
    pub fn disconnected(&mut self, out: &mut Vec<ClientEffect>) {
        if self.state.has_connection() {
            self.lose(None, out);
        }
    }

    /// A timer fired. One that is not armed in the present state does nothing.
    pub fn timer(&mut self, timer: ClientTimer, out: &mut Vec<ClientEffect>) {
        if !self.is_armed(timer) {
            return;
        }
        match timer {
            ClientTimer::Reconnect => self.attempt(out),
            ClientTimer::Ping => {
                out.push(ClientEffect::Send(ClientPacket::Ping));
                self.arm_ping(out);
            }
            ClientTimer::Connect | ClientTimer::Read => self.hang_up(Some(timer), out),
            ClientTimer::Probe => {
                self.session.probe = (self.session.probe * 2).min(MAX_PROBE);
                self.hang_up(Some(timer), out);
            }
            ClientTimer::Expiry => self.give_up(out),
        }
    }

    /// Whether a timer is armed: those of its state, and the one that ends a session of which
    /// nothing is heard any more.
    pub fn is_armed(&self, timer: ClientTimer) -> bool {
        match timer {
            ClientTimer::Expiry => {
                self.expires_locally && self.session.id.is_some() && self.state.is_alive()
            }
            _ => self.state.timers().contains(&timer),
        }
    }

    /// The session, once a server has answered; after its end still that one, until a new session
    /// has its id.
    pub fn session(&self) -> Option<SessionId> {
        self.session.id
    }

    /// The znodes whose watches the program waits for, if it is connected and waits for no answer; whatever
    /// else it may wait for.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = (&Arc<str>, Awaited)> {
        let waits =
            matches!(self.state, ClientState::Connected(_) | ClientState::ConnectedReadOnly(_))
                && self.session.in_flight.is_empty();
        waits.then(|| self.session.watches.awaited()).into_iter().flatten()
    }

    /// The number of the session's next request: every request that was made before has a smaller
    /// one.
    pub fn next_xid(&self) -> Xid {
        self.session.next_xid
    }

    /// Whether the program has asked for the session's end.
    pub fn is_closing(&self) -> bool {
        self.session.closing
    }

    /// Whether it has an identity to prove, which a server can refuse.
    pub fn has_identities(&self) -> bool {
        !self.session.auth.is_empty()
    }

    /// The zxid of the last reply that had one: a server behind it is of no use to this session.
    pub fn last_zxid(&self) -> Zxid {
        self.session.last_zxid
    }

    /// Where the machine stands.
    pub fn state(&self) -> ClientState {
        self.state
    }

    /// The number of the connection in use.
    pub fn connection(&self) -> Option<ClientConnection> {
        self.connection
    }

    /// The requests in flight, oldest first.
    pub fn pending(&self) -> impl Iterator<Item = (Xid, &Arc<Request>)> {
        self.session.in_flight.iter().map(|pending| (pending.xid, &pending.request))
    }

    /// The oldest thing it waits for, in words.
    pub fn waits_for(&self) -> String {
        match self.state {
            ClientState::NotStarted => "nothing: it is not running".to_owned(),
            ClientState::Expired => "nothing: its session has expired".to_owned(),
            ClientState::Closed => "nothing: its session is closed".to_owned(),
            ClientState::AuthFailed => "nothing: a server refused its identity".to_owned(),
            ClientState::Waiting => "its next attempt to connect".to_owned(),
            ClientState::Connecting(server) => format!("{server} to accept its session"),
            ClientState::Connected(server) | ClientState::ConnectedReadOnly(server) => {
                match self.session.in_flight.front() {
                    Some(Pending { xid, request, .. }) => {
                        format!("{server} to answer {request} (xid {})", xid.0)
                    }
                    None => match self.session.watches.in_words() {
                        Some(watches) => watches,
                        None => format!("nothing: it is connected to {server}"),
                    },
                }
            }
        }
    }
}
