//! Random lives of a client machine. Whatever happens to it, in whatever order:
//!
//! * every call is answered exactly once, and with an answer of its kind, unless it is abandoned or
//!   its process dies; a watch that was registered fires or fails exactly once;
//! * the numbers of requests strictly increase within a session, and replies pair with the oldest;
//! * only what was sent is ever reported as lost;
//! * packets go by an open connection, ConnectRequest first, requests after its answer;
//! * exactly the timers are armed that its state names.

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use vivarium_model::client::{ClientEffect, ClientMachine, ClientState};
use vivarium_model::config::ClientConfig;
use vivarium_model::error::Error;
use vivarium_model::event::Event;
use vivarium_model::host::{Input, Operation, Outcome};
use vivarium_model::id::{CallId, ClientConnection, ClientId, ServerId, SessionId, Xid};
use vivarium_model::op::{EventType, Request, Response, SessionState, WatchedEvent};
use vivarium_model::packet::{ClientPacket, ServerPacket};
use vivarium_model::stat::Stat;
use vivarium_model::time::Duration;
use vivarium_model::timer::ClientTimer;
use vivarium_model::zxid::Zxid;

const TIMERS: [ClientTimer; 4] =
    [ClientTimer::Reconnect, ClientTimer::Connect, ClientTimer::Read, ClientTimer::Ping];
const EVENTS: [EventType; 4] = [
    EventType::NodeCreated,
    EventType::NodeDeleted,
    EventType::NodeDataChanged,
    EventType::NodeChildrenChanged,
];

/// Something that happens to the machine.
#[derive(Clone, Debug)]
enum Happening {
    /// The process starts.
    Start,
    /// The process dies.
    Kill,
    /// A request on one of three paths: sync, or a read that watches.
    Request { kind: u8, path: u8, scope: Option<u8> },
    /// `Connect`.
    Connect,
    /// `Close`.
    Close,
    /// One of the calls or watches that are pending is dropped.
    Abandon(usize),
    /// The server takes the session, or begins one.
    Accept,
    /// The server says that it is over.
    Expire,
    /// The server answers the oldest request, well or with NoNode.
    Reply { ok: bool },
    /// A reply with a number that may be wrong.
    StrayReply(u32),
    /// A notification, asked for or not.
    Notify { event: usize, path: u8 },
    /// The answer to a ping.
    Pong,
    /// The connection ends.
    Disconnect,
    /// A timer fires, armed or not.
    Timer(usize),
}

fn happening() -> impl Strategy<Value = Happening> {
    let request = (0..4u8, 0..3u8, proptest::option::weighted(0.2, 1..4u8));
    prop_oneof![
        1 => Just(Happening::Start),
        1 => Just(Happening::Kill),
        16 => request.prop_map(|(kind, path, scope)| Happening::Request { kind, path, scope }),
        4 => Just(Happening::Connect),
        1 => Just(Happening::Close),
        6 => (0..8usize).prop_map(Happening::Abandon),
        12 => Just(Happening::Accept),
        1 => Just(Happening::Expire),
        14 => any::<bool>().prop_map(|ok| Happening::Reply { ok }),
        1 => (0..6u32).prop_map(Happening::StrayReply),
        8 => (0..4usize, 0..3u8).prop_map(|(event, path)| Happening::Notify { event, path }),
        2 => Just(Happening::Pong),
        4 => Just(Happening::Disconnect),
        10 => (0..4usize).prop_map(Happening::Timer),
    ]
}

/// What a pending slot must be answered with.
#[derive(Clone, Debug)]
enum Awaited {
    /// A result; if it registers a watch, this slot then awaits the event.
    Response { request: Arc<Request>, watch: Option<CallId> },
    /// A session.
    Connected,
    /// The end of the session.
    Closed,
    /// A watch's reply is still to come: nothing may be said to this slot yet.
    Nothing,
    /// An event of this path.
    Event(Arc<str>),
}

/// The world around a machine, with its own account of what must be true.
struct Surroundings {
    machine: ClientMachine,
    slots: BTreeMap<CallId, Awaited>,
    /// Whether a connection is open, and how many packets went by it.
    connection: Option<usize>,
    /// Whether the handshake on it is done.
    established: bool,
    armed: BTreeSet<ClientTimer>,
    in_flight: VecDeque<(Xid, Arc<Request>)>,
    last_sent: Option<(SessionId, Xid)>,
    last_state: Option<SessionState>,
    /// How many sessions the server has begun.
    sessions: u64,
    zxid: u64,
}

impl Surroundings {
    fn new() -> Surroundings {
        let servers = [1, 2, 3].map(ServerId).to_vec();
        let config = ClientConfig { session_timeout: Duration::from_secs(6), servers };
        Surroundings {
            machine: ClientMachine::new(ClientId(1), &config),
            slots: BTreeMap::new(),
            connection: None,
            established: false,
            armed: BTreeSet::new(),
            in_flight: VecDeque::new(),
            last_sent: None,
            last_state: None,
            sessions: 0,
            zxid: 0,
        }
    }

    fn happens(&mut self, happening: &Happening) {
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
            Happening::Close => self.call(Awaited::Closed, Operation::Close, &mut out),
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
            Happening::Accept => return self.accept(),
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

    /// The lowest free slot that is not `but`.
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
            _ => Request::GetChildren { path, watch: true },
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

    /// Forgets a slot; with a request goes the watch that it would have registered.
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

    /// The server behind the connection takes the session, or begins one.
    fn accept(&mut self) {
        let mut out = Vec::new();
        let connecting = matches!(self.machine.state(), ClientState::Connecting(_));
        self.sessions += u64::from(connecting);
        let begun = SessionId(self.sessions);
        let session = self.machine.session().unwrap_or(begun);
        let timeout = Duration::from_secs(9);
        self.established |= connecting;
        self.machine.packet(ServerPacket::Connected { session, timeout }, &mut out);
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
        self.judge(out);
    }

    /// Takes the machine's effects and holds them against the account.
    fn judge(&mut self, effects: Vec<ClientEffect>) {
        for effect in effects {
            match effect {
                ClientEffect::Open { .. } => {
                    assert_eq!(self.connection, None, "one connection at a time");
                    (self.connection, self.established) = (Some(0), false);
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
                ClientEffect::Input(_) => {}
                ClientEffect::Event(event) => self.reported(event),
            }
        }
        let state = self.machine.state();
        let timers: BTreeSet<ClientTimer> = state.timers().iter().copied().collect();
        assert_eq!(self.armed, timers, "timers of a machine that is {state}");
        assert_eq!(self.connection.is_some(), state.has_connection(), "{state}");
        assert!(self.machine.pending().eq(self.in_flight.iter().map(|(xid, r)| (*xid, r))));
    }

    fn sent(&mut self, packet: &ClientPacket) {
        let count = self.connection.as_mut().expect("sends without a connection");
        let is_connect = matches!(packet, ClientPacket::Connect { .. });
        assert_eq!(*count == 0, is_connect, "ConnectRequest comes first and once: {packet:?}");
        assert!(is_connect || self.established, "sends {packet:?} before the handshake");
        if let ClientPacket::SetWatches { .. } = packet {
            assert_eq!(*count, 1, "SetWatches comes right after the handshake");
        }
        *count += 1;
    }

    fn reported(&mut self, event: Event) {
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
                let connected = self.last_state == Some(SessionState::SyncConnected);
                match state {
                    SessionState::Disconnected => assert!(connected),
                    SessionState::SyncConnected | SessionState::Expired => assert!(!connected),
                    SessionState::Closed => {}
                }
                self.last_state = Some(state);
            }
            _ => {}
        }
    }

    /// The program is told something on a slot.
    fn told(&mut self, call: CallId, outcome: &Outcome) {
        let awaited = self.slots.remove(&call);
        match (awaited, outcome) {
            (Some(Awaited::Response { request, watch }), Outcome::Response(result)) => {
                let Some(watch) = watch else { return };
                match watched_path(&request, result) {
                    Some(path) => self.slots.insert(watch, Awaited::Event(path)),
                    None => self.slots.remove(&watch),
                };
            }
            (Some(Awaited::Event(path)), Outcome::Watch(Ok(event))) => assert_eq!(path, event.path),
            (Some(Awaited::Event(_)), Outcome::Watch(Err(Error::SessionExpired))) => {}
            (Some(Awaited::Connected), Outcome::Connected(_)) => {}
            (Some(Awaited::Closed), Outcome::Closed) => {}
            (awaited, outcome) => panic!("call {} awaits {awaited:?}, gets {outcome:?}", call.0),
        }
    }

    /// Brings the life to an end at which nothing can be pending: the last session expires.
    fn settle(&mut self) {
        for _ in 0..6 {
            let last = match self.machine.state() {
                ClientState::NotStarted | ClientState::Expired | ClientState::Closed => break,
                ClientState::Waiting => Happening::Timer(0),
                // A session that has not begun cannot expire.
                ClientState::Connecting(_) if self.last_state.is_none() => Happening::Accept,
                ClientState::Connecting(_) if self.awaits_session() => Happening::Accept,
                ClientState::Connecting(_) => Happening::Expire,
                ClientState::Connected(_) => Happening::Disconnect,
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
    format!("/{path}").into()
}

/// The server's answer to a request.
fn answer(request: &Request, ok: bool) -> Result<Response, Error> {
    match request {
        Request::CloseSession => Ok(Response::Closed),
        Request::Sync { .. } => Ok(Response::Synced),
        _ if !ok => Err(Error::NoNode),
        Request::Exists { .. } => Ok(Response::Exists(Stat::default())),
        Request::GetData { .. } => Ok(Response::Data(Arc::from([]), Stat::default())),
        _ => Ok(Response::Children(Vec::new(), Stat::default())),
    }
}

/// The path that a reply leaves watched.
fn watched_path(request: &Request, result: &Result<Response, Error>) -> Option<Arc<str>> {
    let path = match request {
        Request::Exists { path, .. } if matches!(result, Ok(_) | Err(Error::NoNode)) => path,
        Request::GetData { path, .. } | Request::GetChildren { path, .. } if result.is_ok() => path,
        _ => return None,
    };
    Some(Arc::clone(path))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_random_life_keeps_every_promise(
        happenings in proptest::collection::vec(happening(), 0..80),
    ) {
        let mut life = Surroundings::new();
        life.happens(&Happening::Start);
        for happening in &happenings {
            life.happens(happening);
        }
        life.settle();
    }
}

/// The account objects to an answer that comes twice.
#[test]
#[should_panic(expected = "call 0 awaits None")]
fn a_second_answer_is_noticed() {
    let mut life = Surroundings::new();
    for happening in [Happening::Start, Happening::Accept, Happening::Connect] {
        life.happens(&happening);
    }
    let outcome = Outcome::Connected(SessionId(1));
    life.judge(vec![ClientEffect::Input(Input::Reply { call: CallId(0), outcome })]);
}

/// The account objects to a call that is never answered.
#[test]
#[should_panic(expected = "never answered")]
fn a_missing_answer_is_noticed() {
    let mut life = Surroundings::new();
    for happening in [Happening::Start, Happening::Accept] {
        life.happens(&happening);
    }
    life.slots.insert(CallId(0), Awaited::Closed);
    life.settle();
}

/// The account objects to a number that does not increase.
#[test]
#[should_panic(expected = "Xid(1) after Xid(1)")]
fn a_repeated_number_is_noticed() {
    let mut life = Surroundings::new();
    for happening in [Happening::Start, Happening::Accept] {
        life.happens(&happening);
    }
    let sync = Happening::Request { kind: 0, path: 0, scope: None };
    life.happens(&sync);
    let (xid, request) = life.in_flight.pop_front().expect("the sync was sent");
    life.reported(Event::Sent {
        client: ClientId(1),
        session: SessionId(1),
        connection: ClientConnection { client: ClientId(1), slot: 0 },
        xid,
        request,
    });
}
