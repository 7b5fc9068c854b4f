//! The client side of a session: ZooKeeper's `ClientCnxn` as a pure machine (rule 2.8).
//!
//! A started machine tries the servers of its list, one after the other, until one accepts its session. On each
//! connection it sends a `ConnectRequest`, waits for the answer, sets its watches again, sends the requests queued
//! meanwhile, and from then on matches replies with requests in order. When the connection ends, *every* request in
//! flight or queued fails with ConnectionLoss, and none is sent again: the outcome of those in flight is unknown, and
//! the program must find it out. Watches survive the loss; the client sends them to the next server with the last
//! zxid seen (rule 3.4.1).
//!
//! **Only a server can end a session.** A machine that is cut off from all servers retries for ever and never
//! declares its session expired. Clients up to 3.9.2 behave like this. Since 3.9.3 (ZOOKEEPER-4508) a client gives up
//! its session after it received nothing for 4/3 of the timeout (rule 2.8.3); so does a machine with
//! [`expires_locally`](ClientConfig::expires_locally).
//!
//! The program receives its inputs in the order in which `ClientCnxn` queues them for its event thread (rule 2.8.8):
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
//! The effects of one packet or timer form one list, so a watch event reaches the program before any reply that was
//! read later (rules 3.2.1 and 3.2.2).
//!
//! Differences from `ClientCnxn`, and their reasons:
//! * A request gets its number when it is made, in `ClientCnxn` when it is written. The order is the same; only
//!   requests that were never sent leave gaps. So an observation can state exactly which requests preceded it
//!   ([`ClientMachine::next_xid`]).
//! * In `ClientCnxn`, `SetWatches` takes a number and has a reply whose zxid counts as seen. Here it has neither, so
//!   the last zxid seen can be older, but never newer.
//! * The machine does not keep a watch whose call was abandoned: it does not set it again after a reconnect.
//! * A new session begins with the first server of the list, which `ClientCnxn` would shuffle again.
//! * The machine sends identities after a server has accepted the session and before anything else; `ClientCnxn`
//!   sends them right after the ConnectRequest. An identity added without a connection is sent once a connection
//!   exists; `ClientCnxn` sends it twice. They are sent in the order in which they were added; `ClientCnxn` sends
//!   them in reverse order.
//! * Connected to a read-only server, `ClientCnxn` probes the others beside that connection, and leaves it when it
//!   finds a better one (rule 2.7.3). A caller that can probe does the same
//!   ([`not_found`](ClientMachine::not_found)); in the simulator the machine leaves the connection when it is time to
//!   probe, and tries the next server.
//! * For giving up a session, `ClientCnxn` counts an established TCP connection as a sign of life; the machine counts
//!   only packets.

mod chroot;
mod connection;
mod input;
mod lines;
mod requests;
mod state;
mod watches;

pub use input::ClientInput;
pub use state::ClientState;

use crate::program::host::{Input, Operation};
use crate::vocabulary::config::ClientConfig;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{CallId, ClientConnection, ClientId, ServerId, SessionId, Xid};
use crate::vocabulary::note::Note;
use crate::vocabulary::op::{Data, Request};
use crate::vocabulary::packet::{ClientPacket, Delivered, ServerPacket};
use crate::vocabulary::release::Bugs;
use crate::vocabulary::time::Duration;
use crate::vocabulary::timer::ClientTimer;
use crate::vocabulary::zxid::Zxid;
use chroot::Chroot;
use requests::Pending;
use std::collections::VecDeque;
use std::sync::Arc;
pub(crate) use watches::Awaited;
use watches::WatchTable;

/// The time after which a client of a read-only server searches for another: the first time, and at most
/// (`minPingRwTimeout`, `maxPingRwTimeout`; rule 2.7.3).
const MIN_PROBE: Duration = Duration::from_millis(100);
const MAX_PROBE: Duration = Duration::from_secs(60);

/// An action that a client machine requests; the order matters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum ClientEffect {
    /// Opens a connection to this server, which becomes *the* connection. The caller assigns its number and must pass
    /// it to [`ClientMachine::opened`] before anything is read from it.
    Open { server: ServerId },
    /// Sends a packet on the connection in use.
    Send(ClientPacket),
    /// Closes the connection in use. Not emitted for a connection that has already ended.
    Close,
    /// Arms a timer, replacing its deadline if it is armed.
    Arm {
        timer: ClientTimer,
        /// The time until it fires.
        after: Duration,
        /// The engine draws an additional delay up to this.
        spread: Duration,
    },
    /// Disarms a timer that is armed.
    Disarm(ClientTimer),
    /// For the program.
    Input(Input),
    /// For the monitors: Sent, Replied, Lost, Session, Notified, Authenticating, Authenticated, Rearming or Rearmed.
    Event(Event),
}

/// The client side of a session. Equal machines react equally to all further inputs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClientMachine {
    id: ClientId,
    /// The planted bugs of this client.
    bugs: Bugs,
    /// The timeout requested in every `ConnectRequest`.
    session_timeout: Duration,
    /// The list of servers, already shuffled.
    servers: Arc<[ServerId]>,
    /// Whether the client accepts a read-only server.
    can_be_read_only: bool,
    /// Whether the client gives up its session after a long silence.
    expires_locally: bool,
    drops_watches: bool,
    chroot: Chroot,
    /// Index in the list of the next server to try.
    next_server: usize,
    state: ClientState,
    /// The number of the connection in use, once the ensemble has assigned it.
    connection: Option<ClientConnection>,
    session: Session,
    /// `Connect`s that wait for an established session.
    connect_calls: Vec<CallId>,
    /// `Close`s that wait for the session's end.
    close_calls: Vec<CallId>,
}

/// The state that a new session resets, as a new `ZooKeeper` object would.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Session {
    /// `None` until a server has accepted the session.
    id: Option<SessionId>,
    /// The negotiated timeout, or the requested one until a server has answered.
    timeout: Duration,
    /// Whether a server with a quorum has accepted the session. The id from a read-only server is made up and is
    /// forgotten with the connection (`seenRwServerBefore`; rule 2.7.3).
    seen_rw_server: bool,
    /// The time that the client stays with a read-only server before it searches for another.
    probe: Duration,
    /// The identities to prove to every server: scheme and proof.
    auth: Vec<(Arc<str>, Data)>,
    /// The zxid of the last reply that carried one (rule 2.8.6).
    last_zxid: Zxid,
    next_xid: Xid,
    /// Requests waiting for an established connection.
    queued: VecDeque<Pending>,
    /// Requests sent and not answered, in the order in which the replies must arrive.
    in_flight: VecDeque<Pending>,
    watches: WatchTable,
    /// True once closeSession is queued or in flight: the session accepts no more requests.
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
    /// Returns a machine without a process; [`ClientMachine::start`] starts it.
    pub fn new(id: ClientId, config: &ClientConfig, bugs: Bugs) -> ClientMachine {
        ClientMachine {
            id,
            bugs,
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

    /// Starts the program's process: the machine begins to connect a new session. No effect if it is running.
    pub fn start(&mut self, out: &mut Vec<ClientEffect>) {
        if self.state == ClientState::NotStarted {
            self.begin_session(out);
        }
    }

    /// Ends the program's process: the machine resets its connection, disarms its timers and forgets everything.
    /// There are no inputs and no events, because the program is gone.
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

    /// Begins a call of the program. If the answer is known already, it is among the effects.
    ///
    /// # Panics
    /// For an operation that does not concern a session (sleep, now, random, ...).
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

    /// Abandons a call that the program has dropped: its reply and its watch event are no longer inputs, and its slot
    /// can be reused immediately. A request stays queued or in flight; the slot reserved for its watch is free as
    /// well.
    pub fn abandon(&mut self, call: CallId) {
        for pending in self.session.queued.iter_mut().chain(&mut self.session.in_flight) {
            pending.forget(call);
        }
        self.session.watches.forget(call);
        self.connect_calls.retain(|waiting| *waiting != call);
        self.close_calls.retain(|waiting| *waiting != call);
    }

    /// Sets the number of the connection, in answer to [`ClientEffect::Open`].
    pub fn opened(&mut self, connection: ClientConnection) {
        if self.state.has_connection() {
            self.connection = Some(connection);
        }
    }

    /// Handles a packet read from the connection in use.
    pub fn packet(&mut self, packet: ServerPacket, out: &mut Vec<ClientEffect>) {
        // A connection that was never opened delivers nothing.
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
            // Only a server that is not ZooKeeper answers a ConnectRequest with any other packet.
            (_, packet) => self.mismatched(packet, out),
        }
    }

    /// Handles the end of the connection in use: it was refused, reset, or closed by the server.
    pub fn disconnected(&mut self, out: &mut Vec<ClientEffect>) {
        if self.state.has_connection() {
            self.lose(None, out);
        }
    }

    /// Handles a timer. No effect if it is not armed in the present state.
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
                self.session.probe = self.next_probe();
                self.hang_up(Some(timer), out);
            }
            ClientTimer::Expiry => self.give_up(out),
        }
    }

    /// Returns true if a timer is armed: those of the present state, and the one that gives up the session after a
    /// long silence.
    pub fn is_armed(&self, timer: ClientTimer) -> bool {
        match timer {
            ClientTimer::Expiry => {
                self.expires_locally && self.session.id.is_some() && self.state.is_alive()
            }
            _ => self.state.timers().contains(&timer),
        }
    }

    /// Returns the session's timeout: the negotiated one, or the requested one until a server has answered.
    pub fn timeout(&self) -> Duration {
        self.session.timeout
    }

    /// Returns the session's id, once a server has accepted the session. After the session has ended, its id remains
    /// until a new session has one.
    pub fn session(&self) -> Option<SessionId> {
        self.session.id
    }

    /// Returns the znodes whose watches the program waits for, if the client is connected and has no request in
    /// flight. The program may wait for other inputs as well.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = (&Arc<str>, Awaited)> {
        let waits =
            matches!(self.state, ClientState::Connected(_) | ClientState::ConnectedReadOnly(_))
                && self.session.in_flight.is_empty();
        waits.then(|| self.session.watches.awaited()).into_iter().flatten()
    }

    /// Returns the number of the session's next request; all earlier requests have smaller numbers.
    pub fn next_xid(&self) -> Xid {
        self.session.next_xid
    }

    /// Returns true if the program has asked to close the session.
    pub fn is_closing(&self) -> bool {
        self.session.closing
    }

    /// Returns true if the client has an identity to prove, which a server can refuse.
    pub fn has_identities(&self) -> bool {
        !self.session.auth.is_empty()
    }

    /// Returns the zxid of the last reply that carried one. A server whose last zxid is smaller refuses this session.
    pub fn last_zxid(&self) -> Zxid {
        self.session.last_zxid
    }

    /// Returns the machine's state.
    pub fn state(&self) -> ClientState {
        self.state
    }

    /// Returns the number of the connection in use.
    pub fn connection(&self) -> Option<ClientConnection> {
        self.connection
    }

    /// Returns the requests in flight, oldest first.
    pub fn pending(&self) -> impl Iterator<Item = (Xid, &Arc<Request>)> {
        self.session.in_flight.iter().map(|pending| (pending.xid, &pending.request))
    }

    /// Returns the note of what this machine reads; a reply is followed by the request that it answers.
    pub(crate) fn note(
        &self,
        client: ClientId,
        server: Option<ServerId>,
        delivered: &Delivered<ServerPacket>,
    ) -> Note {
        let is_reply = matches!(delivered, Delivered::Packet(ServerPacket::Reply { .. }));
        let oldest = self.pending().next().filter(|_| is_reply);
        let answers = oldest.map(|(_, request)| Arc::clone(request));
        Note::FromServer { client, server, delivered: delivered.clone(), answers }
    }

    /// Describes the oldest thing that the machine waits for.
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
