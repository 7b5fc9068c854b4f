//! A machine that a test drives step by step, with a transcript of its effects, and the names that scenes need.

use std::fmt::Write;
pub(crate) use std::sync::Arc;
pub(crate) use vivarium_model::client::{ClientEffect, ClientMachine};
pub(crate) use vivarium_model::config::ClientConfig;
pub(crate) use vivarium_model::error::Error;
pub(crate) use vivarium_model::event::Event;
pub(crate) use vivarium_model::host::{Input, Operation, Outcome};
pub(crate) use vivarium_model::id::{CallId, ClientConnection, ClientId, ServerId, SessionId, Xid};
pub(crate) use vivarium_model::op::{
    AddWatchMode, Data, EventType, Op, OpResult, Request, Response, Version, WatchedEvent,
    WatcherType,
};
pub(crate) use vivarium_model::packet::{ClientPacket, ServerPacket};
use vivarium_model::release::Bugs;
pub(crate) use vivarium_model::stat::Stat;
pub(crate) use vivarium_model::time::Duration;
pub(crate) use vivarium_model::timer::ClientTimer;
pub(crate) use vivarium_model::zxid::{Epoch, Zxid};

pub(crate) const SESSION: SessionId = SessionId(0xa);
const CONNECTION: ClientConnection = ClientConnection { client: ClientId(1), slot: 0 };

/// A machine with servers 1 to 3 and a timeout of 6 s, and the transcript of its life.
pub(crate) struct Scene {
    pub machine: ClientMachine,
    pub transcript: String,
}

impl Scene {
    /// Creates a scene in which nothing has happened yet.
    pub(crate) fn new() -> Scene {
        Scene::of(|_| {})
    }

    /// Creates a scene with a configuration of its own.
    pub(crate) fn of(configure: impl FnOnce(&mut ClientConfig)) -> Scene {
        let servers = [1, 2, 3].map(ServerId).to_vec();
        let mut config = ClientConfig::new(Duration::from_secs(6), servers);
        configure(&mut config);
        Scene {
            machine: ClientMachine::new(ClientId(1), &config, Bugs::NONE),
            transcript: String::new(),
        }
    }

    /// Creates a scene that is connected to server 1; the transcript does not show how.
    pub(crate) fn connected() -> Scene {
        Scene::connected_of(|_| {})
    }

    /// The same as `connected`, with a configuration of its own.
    pub(crate) fn connected_of(configure: impl FnOnce(&mut ClientConfig)) -> Scene {
        let mut scene = Scene::of(configure);
        scene.start();
        scene.accept(SESSION);
        scene.transcript.clear();
        scene
    }

    /// Lets the machine act, and adds its effects to the transcript.
    pub(crate) fn act(
        &mut self,
        what: &str,
        act: impl FnOnce(&mut ClientMachine, &mut Vec<ClientEffect>),
    ) {
        let mut effects = Vec::new();
        act(&mut self.machine, &mut effects);
        writeln!(self.transcript, "{what}").unwrap();
        for effect in effects {
            if let Some(line) = in_words(&effect) {
                writeln!(self.transcript, "  {line}").unwrap();
            }
            if matches!(effect, ClientEffect::Open { .. }) {
                self.machine.opened(CONNECTION);
            }
        }
    }

    pub(crate) fn start(&mut self) {
        self.act("start", |machine, out| machine.start(out));
    }

    pub(crate) fn call(&mut self, call: u32, operation: Operation) {
        let words = match &operation {
            Operation::Request { request, scope: None, .. } => format!("call {call}: {request}"),
            Operation::Request { request, scope: Some(scope), .. } => {
                format!("call {call}: {request}, on session {scope} only")
            }
            Operation::RemoveWatches { .. } | Operation::AddAuth { .. } => {
                format!("call {call}: {operation}")
            }
            other => format!("call {call}: {other:?}"),
        };
        self.act(&words, |machine, out| machine.call(CallId(call), operation, out));
    }

    pub(crate) fn request(&mut self, call: u32, request: Request) {
        self.call(
            call,
            Operation::Request { request: Arc::new(request), watch: None, scope: None },
        );
    }

    pub(crate) fn watch(&mut self, call: u32, watch: u32, request: Request) {
        let (request, watch) = (Arc::new(request), Some(CallId(watch)));
        self.call(call, Operation::Request { request, watch, scope: None });
    }

    pub(crate) fn read(&mut self, packet: ServerPacket) {
        let words = match &packet {
            ServerPacket::Connected { session, timeout, read_only } => {
                let read_only = if *read_only { ", read-only" } else { "" };
                format!("read: Connected, session {session}, {timeout:?}{read_only}")
            }
            ServerPacket::Reply { xid, zxid, result } => {
                format!("read: reply #{} at {zxid}: {}", xid.0, result_in_words(result))
            }
            ServerPacket::Notification(event) => format!("read: {}", event_in_words(event)),
            other => format!("read: {other:?}"),
        };
        self.act(&words, |machine, out| machine.packet(packet, out));
    }

    pub(crate) fn accept(&mut self, session: SessionId) {
        self.accept_by(session, false);
    }

    /// Accepts the session by a server that may be read-only.
    pub(crate) fn accept_by(&mut self, session: SessionId, read_only: bool) {
        let timeout = Duration::from_secs(6);
        self.read(ServerPacket::Connected { session, timeout, read_only });
    }

    /// Adds a persistent watch, with slots `call` and `watch`, and registers it.
    pub(crate) fn add_watch(&mut self, call: u32, watch: u32, path: &str, mode: AddWatchMode) {
        let xid = self.machine.next_xid().0;
        self.watch(call, watch, Request::AddWatch { path: path.into(), mode });
        self.reply(xid, 4, Ok(Response::Watches));
    }

    /// Removes watches.
    pub(crate) fn remove(&mut self, call: u32, path: &str, kind: WatcherType, local: bool) {
        let path = path.into();
        self.call(call, Operation::RemoveWatches { path, kind, local, scope: None });
    }

    /// Adds an identity.
    pub(crate) fn add_auth(&mut self, call: u32, auth: &str) {
        let auth = Data::from(auth.as_bytes());
        self.call(call, Operation::AddAuth { scheme: "digest".into(), auth, scope: None });
    }

    pub(crate) fn reply(&mut self, xid: u32, counter: u32, result: Result<Response, Error>) {
        self.read(ServerPacket::Reply { xid: Xid(xid), zxid: zxid(counter), result });
    }

    pub(crate) fn notify(&mut self, kind: EventType, path: &str, counter: u32) {
        let event = WatchedEvent { kind, path: path.into(), zxid: zxid(counter) };
        self.read(ServerPacket::Notification(event));
    }

    pub(crate) fn lost(&mut self) {
        self.act("the connection ends", |machine, out| machine.disconnected(out));
    }

    pub(crate) fn fires(&mut self, timer: ClientTimer) {
        self.act(&format!("timer {timer:?} fires"), |machine, out| machine.timer(timer, out));
    }

    /// Loses the connection, and lets server 2 accept the session.
    pub(crate) fn moves(&mut self) {
        self.lost();
        self.fires(ClientTimer::Reconnect);
        self.accept(SESSION);
    }
}

pub(crate) fn zxid(counter: u32) -> Zxid {
    Zxid::new(Epoch(1), counter)
}

pub(crate) fn delete(path: &str) -> Request {
    Request::Write(Op::Delete { path: path.into(), version: Version::Any })
}

pub(crate) fn sync() -> Request {
    Request::Sync { path: "/".into() }
}

pub(crate) fn exists(path: &str) -> Request {
    Request::Exists { path: path.into(), watch: true }
}

pub(crate) fn get_data(path: &str) -> Request {
    Request::GetData { path: path.into(), watch: true }
}

pub(crate) fn get_children(path: &str) -> Request {
    Request::GetChildren { path: path.into(), watch: true }
}

pub(crate) fn deleted() -> Result<Response, Error> {
    Ok(Response::Written(OpResult::Deleted))
}

pub(crate) fn data() -> Result<Response, Error> {
    Ok(Response::Data(Data::from(*b"x"), Stat::default()))
}

pub(crate) fn children() -> Result<Response, Error> {
    Ok(Response::Children(Vec::new(), Stat::default()))
}

/// Returns an effect as a line; leaves out the monitors' Sent, which repeats the line before it.
pub(crate) fn in_words(effect: &ClientEffect) -> Option<String> {
    Some(match effect {
        ClientEffect::Open { server } => format!("open a connection to {server}"),
        ClientEffect::Send(packet) => format!("send {}", packet_in_words(packet)),
        ClientEffect::Close => "close".to_owned(),
        ClientEffect::Arm { timer, after, spread } if spread.is_zero() => {
            format!("arm {timer:?}: {after:?}")
        }
        ClientEffect::Arm { timer, after, spread } => {
            format!("arm {timer:?}: {after:?} and up to {spread:?}")
        }
        ClientEffect::Disarm(timer) => format!("disarm {timer:?}"),
        ClientEffect::Input(Input::Reply { call, outcome }) => {
            format!("program: call {} gets {}", call.0, outcome_in_words(outcome))
        }
        ClientEffect::Input(Input::Session(change)) => format!("program: {}", change.state),
        ClientEffect::Input(Input::Event { call, event }) => {
            format!("program: watch {} gets {}", call.0, event_in_words(event))
        }
        ClientEffect::Input(other) => format!("program: {other:?}"),
        ClientEffect::Event(Event::Sent { .. }) => return None,
        ClientEffect::Event(event) => format!("monitors: {}", monitored(event)),
    })
}

pub(crate) fn packet_in_words(packet: &ClientPacket) -> String {
    match packet {
        ClientPacket::Connect { last_zxid_seen, timeout, session, read_only } => {
            let session = session.map_or("a new session".to_owned(), |id| format!("session {id}"));
            let read_only = if *read_only { ", read-only will do" } else { "" };
            format!("Connect: {session}, {timeout:?}, seen {last_zxid_seen}{read_only}")
        }
        ClientPacket::Auth { scheme, auth } => {
            format!("Auth {scheme} {}", String::from_utf8_lossy(auth))
        }
        ClientPacket::Request { xid, request } => format!("#{} {request}", xid.0),
        ClientPacket::Ping => "Ping".to_owned(),
        ClientPacket::SetWatches { relative_zxid, data, exist, child, persistent, recursive } => {
            let mut words = format!(
                "SetWatches since {relative_zxid}: data {data:?}, exist {exist:?}, child {child:?}"
            );
            if !(persistent.is_empty() && recursive.is_empty()) {
                words += &format!(", persistent {persistent:?}, recursive {recursive:?}");
            }
            words
        }
    }
}

pub(crate) fn monitored(event: &Event) -> String {
    match event {
        Event::Replied { xid, request, .. } => format!("Replied #{} {request}", xid.0),
        Event::Lost { xid, request, .. } => format!("Lost #{} {request}", xid.0),
        Event::Notified { event, .. } => format!("Notified {}", event_in_words(event)),
        Event::Rearming { relative_zxid, .. } => format!("Rearming since {relative_zxid}"),
        Event::Authenticated { .. } => "Authenticated".to_owned(),
        Event::Authenticating { scheme, .. } => format!("Authenticating by {scheme}"),
        Event::Rearmed { zxid, .. } => format!("Rearmed at {zxid}"),
        Event::Mismatched { awaited, .. } => {
            let awaited = awaited.map_or("nothing".to_owned(), |xid| format!("#{}", xid.0));
            format!("Mismatched, awaited {awaited}")
        }
        Event::Session { session, server, state, .. } => {
            let session = session.map_or("no id".to_owned(), |id| id.to_string());
            let server = server.map_or(String::new(), |server| format!(" at {server}"));
            format!("session {session} {state}{server}")
        }
        other => panic!("a client machine does not emit {other:?}"),
    }
}

pub(crate) fn event_in_words(event: &WatchedEvent) -> String {
    format!("{:?} {} at {}", event.kind, event.path, event.zxid)
}

pub(crate) fn outcome_in_words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Response(result) => result_in_words(result),
        Outcome::Watch(Ok(event)) => event_in_words(event),
        Outcome::Watch(Err(error)) => format!("{error:?} for its watch"),
        Outcome::Connected(session) => format!("session {session}"),
        other => format!("{other:?}"),
    }
}

pub(crate) fn result_in_words(result: &Result<Response, Error>) -> String {
    match result {
        Ok(Response::Written(OpResult::Deleted)) => "Deleted".to_owned(),
        Ok(Response::Exists(_)) => "a Stat".to_owned(),
        Ok(Response::Data(..)) => "the data".to_owned(),
        Ok(Response::Children(..)) => "the children".to_owned(),
        Ok(other) => format!("{other:?}"),
        Err(error) => format!("{error:?}"),
    }
}
