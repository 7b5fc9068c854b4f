//! The record of a random life: pending calls, outcomes, and what must be true of them.

use super::Happening;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use vivarium_model::client::{ClientEffect, ClientMachine, ClientState};
use vivarium_model::config::ClientConfig;
use vivarium_model::error::Error;
use vivarium_model::event::Event;
use vivarium_model::host::{Input, Operation, Outcome};
use vivarium_model::id::{CallId, ClientConnection, ClientId, ServerId, SessionId, Xid};
use vivarium_model::op::{
    AddWatchMode, Data, EventType, Request, Response, SessionState, WatchedEvent, WatcherType,
};
use vivarium_model::packet::{ClientPacket, ServerPacket};
use vivarium_model::release::Bugs;
use vivarium_model::stat::Stat;
use vivarium_model::time::Duration;
use vivarium_model::timer::ClientTimer;
use vivarium_model::zxid::Zxid;

const TIMERS: [ClientTimer; 6] = [
    ClientTimer::Reconnect,
    ClientTimer::Connect,
    ClientTimer::Read,
    ClientTimer::Ping,
    ClientTimer::Expiry,
    ClientTimer::Probe,
];
const EVENTS: [EventType; 4] = [
    EventType::NodeCreated,
    EventType::NodeDeleted,
    EventType::NodeDataChanged,
    EventType::NodeChildrenChanged,
];

const TYPES: [WatcherType; 5] = [
    WatcherType::Children,
    WatcherType::Data,
    WatcherType::Any,
    WatcherType::Persistent,
    WatcherType::PersistentRecursive,
];

/// The outcome that a pending slot must get.
#[derive(Clone, Debug)]
enum Awaited {
    /// A result; if it registers a watch, this slot then awaits the event.
    Response { request: Arc<Request>, watch: Option<CallId> },
    /// A session.
    Connected,
    /// The end of the session.
    Closed,
    /// A watch's reply is still to come: this slot must not get an outcome yet.
    Nothing,
    /// An event of this path.
    Event(Arc<str>),
    /// Events of this path (and of its descendants if the watch is recursive), and an end.
    Events(Arc<str>, AddWatchMode),
    /// The outcome of a removal of watches.
    Removed,
    /// The outcome of adding an identity.
    AuthAdded,
}

/// The machine's configuration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Configuration {
    pub can_be_read_only: bool,
    pub expires_locally: bool,
}

/// The surroundings of a machine, with a record of what must be true.
pub(super) struct Surroundings {
    machine: ClientMachine,
    slots: BTreeMap<CallId, Awaited>,
    /// The number of packets on the open connection; `None` if no connection is open.
    connection: Option<usize>,
    /// True if the handshake on the connection is done.
    established: bool,
    /// The session that the machine requested on the connection.
    asked_for: Option<SessionId>,
    /// The identities that the connection's server has received, and those that it must receive.
    told: BTreeSet<Data>,
    identities: BTreeSet<Data>,
    armed: BTreeSet<ClientTimer>,
    in_flight: VecDeque<(Xid, Arc<Request>)>,
    last_sent: Option<(SessionId, Xid)>,
    last_state: Option<SessionState>,
    /// True if the program has asked for the session's end.
    closing: bool,
    /// The number of sessions that the server has begun.
    sessions: u64,
    zxid: u64,
}

impl Surroundings {
    /// Creates a machine that never ran, with the plain configuration.
    pub(super) fn plain() -> Surroundings {
        Surroundings::new(Configuration { can_be_read_only: false, expires_locally: false })
    }

    /// Creates a machine that never ran.
    pub(super) fn new(configuration: Configuration) -> Surroundings {
        let servers = [1, 2, 3].map(ServerId).to_vec();
        let mut config = ClientConfig::new(Duration::from_secs(6), servers);
        config.can_be_read_only = configuration.can_be_read_only;
        config.expires_locally = configuration.expires_locally;
        Surroundings {
            machine: ClientMachine::new(ClientId(1), &config, Bugs::NONE),
            slots: BTreeMap::new(),
            connection: None,
            established: false,
            asked_for: None,
            told: BTreeSet::new(),
            identities: BTreeSet::new(),
            armed: BTreeSet::new(),
            in_flight: VecDeque::new(),
            last_sent: None,
            last_state: None,
            closing: false,
            sessions: 0,
            zxid: 0,
        }
    }

    /// Lets something happen, and compares the machine's effects with the record.
    pub(super) fn happens(&mut self, happening: &Happening) {
        let mut out = Vec::new();
        match *happening {
            Happening::Start => self.machine.start(&mut out),
            Happening::Kill => return self.kill(),
            Happening::Request { kind, path, scope } => {
                let operation = self.request(kind, path, scope.map(|at| SessionId(at.into())));
                let Operation::Request { request, watch, .. } = &operation else { unreachable!() };
                let awaited = Awaited::Response { request: Arc::clone(request), watch: *watch };
                self.call(awaited, operation, &mut out);
            }
            Happening::Connect => self.call(Awaited::Connected, Operation::Connect, &mut out),
            Happening::Close => {
                self.closing |= self.machine.state().is_alive();
                self.call(Awaited::Closed, Operation::Close, &mut out);
            }
            Happening::Abandon(at) => {
                if let Some(call) = self.slots.keys().nth(at).copied() {
                    self.machine.abandon(call);
                    self.abandoned(call);
                }
            }
            Happening::Timer(at) => {
                self.armed.remove(&TIMERS[at]);
                self.machine.timer(TIMERS[at], &mut out);
            }
            Happening::Disconnect => {
                self.connection = None;
                self.machine.disconnected(&mut out);
            }
            Happening::Accept { read_only } => return self.accept(read_only),
            Happening::Remove { kind, path, local } => {
                let (path, kind) = (path_of(path), TYPES[kind]);
                let operation = Operation::RemoveWatches { path, kind, local, scope: None };
                self.call(Awaited::Removed, operation, &mut out);
            }
            Happening::AddAuth(user) => {
                let (scheme, auth) = ("digest".into(), Data::from([user]));
                if self.machine.state().is_alive() && !self.closing {
                    self.identities.insert(auth.clone());
                }
                let operation = Operation::AddAuth { scheme, auth, scope: None };
                self.call(Awaited::AuthAdded, operation, &mut out);
            }
            Happening::Judge { ok } => {
                let result = if ok { Ok(()) } else { Err(Error::AuthFailed) };
                self.machine.packet(ServerPacket::Authenticated { result }, &mut out);
            }
            Happening::Expire => self.machine.packet(ServerPacket::Expired, &mut out),
            Happening::Reply { ok } => {
                if let Some((xid, request)) = self.in_flight.front() {
                    let result = answer(request, ok);
                    let reply = ServerPacket::Reply { xid: *xid, zxid: Zxid(self.zxid), result };
                    self.zxid += 1;
                    self.machine.packet(reply, &mut out);
                }
            }
            Happening::StrayReply(xid) => {
                let result = Err(Error::NoNode);
                let reply = ServerPacket::Reply { xid: Xid(xid), zxid: Zxid(0), result };
                self.machine.packet(reply, &mut out);
            }
            Happening::Notify { event, path } => {
                let (kind, zxid) = (EVENTS[event], Zxid(self.zxid));
                let event = WatchedEvent { kind, path: path_of(path), zxid };
                self.machine.packet(ServerPacket::Notification(event), &mut out);
            }
            Happening::Pong => self.machine.packet(ServerPacket::Pong, &mut out),
        }
        self.judge(out);
    }

    /// Returns the lowest free slot other than `but`.
    fn free_slot(&self, but: Option<CallId>) -> CallId {
        let free = |slot: &CallId| !self.slots.contains_key(slot) && Some(*slot) != but;
        (0..).map(CallId).find(free).expect("there is always a free slot")
    }

    fn request(&self, kind: u8, path: u8, scope: Option<SessionId>) -> Operation {
        let path = path_of(path);
        let request = match kind {
            0 => Request::Sync { path },
            1 => Request::Exists { path, watch: true },
            2 => Request::GetData { path, watch: true },
            3 => Request::GetChildren { path, watch: true },
            4 => Request::AddWatch { path, mode: AddWatchMode::Persistent },
            _ => Request::AddWatch { path, mode: AddWatchMode::PersistentRecursive },
        };
        let watch = request.is_read().then(|| self.free_slot(Some(self.free_slot(None))));
        Operation::Request { request: Arc::new(request), watch, scope }
    }

    fn call(&mut self, awaited: Awaited, operation: Operation, out: &mut Vec<ClientEffect>) {
        if self.machine.state() == ClientState::NotStarted {
            return;
        }
        let call = self.free_slot(None);
        if let Awaited::Response { watch: Some(watch), .. } = &awaited {
            self.slots.insert(*watch, Awaited::Nothing);
        }
        self.slots.insert(call, awaited);
        self.machine.call(call, operation, out);
    }

    /// Forgets a slot, and with a request the slot of the watch that it would have registered.
    fn abandoned(&mut self, call: CallId) {
        if let Some(Awaited::Response { watch: Some(watch), .. }) = self.slots.remove(&call) {
            self.slots.remove(&watch);
        }
        for awaited in self.slots.values_mut() {
            if let Awaited::Response { watch, .. } = awaited {
                *watch = watch.filter(|watch| *watch != call);
            }
        }
    }

    /// The connected server accepts the session, or begins one.
    fn accept(&mut self, read_only: bool) {
        let mut out = Vec::new();
        let connecting = matches!(self.machine.state(), ClientState::Connecting(_));
        self.sessions += u64::from(connecting);
        let session = self.asked_for.unwrap_or(SessionId(self.sessions));
        let timeout = Duration::from_secs(9);
        self.established |= connecting;
        self.machine.packet(ServerPacket::Connected { session, timeout, read_only }, &mut out);
        self.judge(out);
    }

    fn kill(&mut self) {
        let mut out = Vec::new();
        self.slots.clear();
        self.machine.kill(&mut out);
        let words = |effect: &ClientEffect| {
            matches!(effect, ClientEffect::Input(_) | ClientEffect::Event(_))
        };
        assert!(!out.iter().any(words), "a dead process speaks: {out:?}");
        self.in_flight.clear();
        self.last_sent = None;
        self.last_state = None;
        self.closing = false;
        self.identities.clear();
        self.judge(out);
    }

    /// Compares the machine's effects with the record.
    pub(super) fn judge(&mut self, effects: Vec<ClientEffect>) {
        for effect in effects {
            match effect {
                ClientEffect::Open { .. } => {
                    assert_eq!(self.connection, None, "one connection at a time");
                    (self.connection, self.established) = (Some(0), false);
                    self.told.clear();
                    let client = ClientId(1);
                    self.machine.opened(ClientConnection { client, slot: 0 });
                }
                ClientEffect::Close => {
                    assert!(self.connection.take().is_some(), "closes what is not open");
                }
                ClientEffect::Send(packet) => self.sent(&packet),
                ClientEffect::Arm { timer, .. } => {
                    self.armed.insert(timer);
                }
                ClientEffect::Disarm(timer) => {
                    assert!(self.armed.remove(&timer), "disarms {timer:?}, which is not armed");
                }
                ClientEffect::Input(Input::Reply { call, outcome }) => self.told(call, &outcome),
                ClientEffect::Input(Input::Event { call, event }) => self.fired(call, &event),
                ClientEffect::Input(_) => {}
                ClientEffect::Event(event) => self.reported(event),
            }
        }
        let state = self.machine.state();
        let timers: BTreeSet<ClientTimer> =
            TIMERS.into_iter().filter(|timer| self.machine.is_armed(*timer)).collect();
        assert_eq!(self.armed, timers, "timers of a machine that is {state}");
        assert_eq!(self.connection.is_some(), state.has_connection(), "{state}");
        assert!(self.machine.pending().eq(self.in_flight.iter().map(|(xid, r)| (*xid, r))));
    }

    fn sent(&mut self, packet: &ClientPacket) {
        let count = self.connection.as_mut().expect("sends without a connection");
        let is_connect = matches!(packet, ClientPacket::Connect { .. });
        assert_eq!(*count == 0, is_connect, "ConnectRequest comes first and once: {packet:?}");
        assert!(is_connect || self.established, "sends {packet:?} before the handshake");
        match packet {
            ClientPacket::Connect { session, .. } => self.asked_for = *session,
            ClientPacket::Auth { auth, .. } => {
                self.told.insert(auth.clone());
            }
            ClientPacket::SetWatches { .. } => {
                assert_eq!(*count, 1 + self.told.len(), "SetWatches comes behind the identities");
            }
            ClientPacket::Request { .. } | ClientPacket::Ping => {}
        }
        assert!(
            is_connect
                || matches!(packet, ClientPacket::Auth { .. })
                || self.told == self.identities,
            "a server gets {packet:?} before it is told of all identities"
        );
        *count += 1;
    }

    pub(super) fn reported(&mut self, event: Event) {
        match event {
            Event::Sent { session, xid, request, .. } => {
                if let Some((before, last)) =
                    self.last_sent.filter(|(before, _)| *before == session)
                {
                    assert!(last < xid, "{before}: {xid:?} after {last:?}");
                }
                self.last_sent = Some((session, xid));
                self.in_flight.push_back((xid, request));
            }
            Event::Replied { xid, request, .. } | Event::Lost { xid, request, .. } => {
                assert_eq!(self.in_flight.pop_front(), Some((xid, request)));
            }
            Event::Session { state, .. } => {
                let connected = matches!(
                    self.last_state,
                    Some(SessionState::SyncConnected | SessionState::ConnectedReadOnly)
                );
                match state {
                    SessionState::Disconnected | SessionState::AuthFailed => assert!(connected),
                    SessionState::SyncConnected
                    | SessionState::ConnectedReadOnly
                    | SessionState::Expired => assert!(!connected),
                    SessionState::Closed => {}
                }
                self.last_state = Some(state);
                let ends = [SessionState::Expired, SessionState::Closed, SessionState::AuthFailed];
                if ends.contains(&state) {
                    self.closing = false;
                    self.identities.clear();
                }
            }
            _ => {}
        }
    }

    /// A call's outcome reaches the program.
    fn told(&mut self, call: CallId, outcome: &Outcome) {
        let awaited = self.slots.remove(&call);
        match (awaited, outcome) {
            (Some(Awaited::Response { request, watch }), Outcome::Response(result)) => {
                let Some(watch) = watch else { return };
                match left_behind(&request, result) {
                    Some(awaited) => self.slots.insert(watch, awaited),
                    None => self.slots.remove(&watch),
                };
            }
            (Some(Awaited::Event(path)), Outcome::Watch(Ok(event))) => assert_eq!(path, event.path),
            (Some(Awaited::Events(path, _)), Outcome::Watch(Ok(event))) => {
                assert_eq!(
                    (path, EventType::PersistentWatchRemoved),
                    (event.path.clone(), event.kind)
                );
            }
            (
                Some(Awaited::Event(_) | Awaited::Events(..)),
                Outcome::Watch(Err(Error::SessionExpired | Error::AuthFailed)),
            ) => {}
            (Some(Awaited::Removed), Outcome::Response(Ok(Response::Watches) | Err(_))) => {}
            (Some(Awaited::AuthAdded), Outcome::AuthAdded(_)) => {}
            (Some(Awaited::Connected), Outcome::Connected(_)) => {}
            (Some(Awaited::Closed), Outcome::Closed) => {}
            (awaited, outcome) => panic!("call {} awaits {awaited:?}, gets {outcome:?}", call.0),
        }
    }

    /// An event of a persistent watch reaches the program.
    fn fired(&self, call: CallId, event: &WatchedEvent) {
        let Some(Awaited::Events(path, mode)) = self.slots.get(&call) else {
            panic!("call {} is no watch that stays, gets {event:?}", call.0);
        };
        let below = event.path.strip_prefix(&**path);
        let hears = match mode {
            AddWatchMode::Persistent => below == Some(""),
            AddWatchMode::PersistentRecursive => {
                event.kind != EventType::NodeChildrenChanged
                    && below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
            }
        };
        assert!(hears, "a watch on {path} ({mode:?}) is told of {event}", event = event.path);
    }

    /// Falsifies the record: adds a call that waits for the session's end.
    pub(super) fn expect_close(&mut self, call: CallId) {
        self.slots.insert(call, Awaited::Closed);
    }

    /// Falsifies the record: removes the oldest request in flight.
    pub(super) fn take_oldest(&mut self) -> Option<(Xid, Arc<Request>)> {
        self.in_flight.pop_front()
    }

    /// Falsifies the record: the server seems to have received no identity.
    pub(super) fn forget_what_was_told(&mut self) {
        self.told.clear();
    }

    /// Ends the life so that nothing can be pending: the last session expires.
    pub(super) fn settle(&mut self) {
        for _ in 0..6 {
            let last = match self.machine.state() {
                ClientState::NotStarted
                | ClientState::Expired
                | ClientState::Closed
                | ClientState::AuthFailed => break,
                ClientState::Waiting => Happening::Timer(0),
                // A session that has not begun cannot expire.
                ClientState::Connecting(_) if self.last_state.is_none() => {
                    Happening::Accept { read_only: false }
                }
                ClientState::Connecting(_) if self.awaits_session() => {
                    Happening::Accept { read_only: false }
                }
                ClientState::Connecting(_) => Happening::Expire,
                ClientState::Connected(_) | ClientState::ConnectedReadOnly(_) => {
                    Happening::Disconnect
                }
            };
            self.happens(&last);
        }
        assert!(self.slots.is_empty(), "never answered: {:?}", self.slots);
    }

    fn awaits_session(&self) -> bool {
        self.slots.values().any(|awaited| matches!(awaited, Awaited::Connected))
    }
}

fn path_of(path: u8) -> Arc<str> {
    ["/0", "/0/1", "/2"][usize::from(path)].into()
}

/// Returns the server's answer to a request.
fn answer(request: &Request, ok: bool) -> Result<Response, Error> {
    match request {
        Request::CloseSession => Ok(Response::Closed),
        Request::Sync { .. } => Ok(Response::Synced),
        Request::RemoveWatches { .. } if !ok => Err(Error::NoWatcher),
        _ if !ok => Err(Error::NoNode),
        Request::Exists { .. } => Ok(Response::Exists(Stat::default())),
        Request::GetData { .. } => Ok(Response::Data(Data::from([]), Stat::default())),
        Request::GetChildren { .. } => Ok(Response::Children(Vec::new(), Stat::default())),
        _ => Ok(Response::Watches),
    }
}

/// Returns what the slot of a watch awaits after the reply.
fn left_behind(request: &Request, result: &Result<Response, Error>) -> Option<Awaited> {
    let registered = matches!(result, Ok(_) | Err(Error::NoNode));
    match request {
        Request::AddWatch { path, mode } if registered => {
            Some(Awaited::Events(Arc::clone(path), *mode))
        }
        Request::Exists { path, .. } if registered => Some(Awaited::Event(Arc::clone(path))),
        Request::GetData { path, .. } | Request::GetChildren { path, .. } if result.is_ok() => {
            Some(Awaited::Event(Arc::clone(path)))
        }
        _ => None,
    }
}
