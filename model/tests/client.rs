//! The client side of a session, scene by scene: a machine driven by hand, and what it wants done.

use std::fmt::Write;
use std::sync::Arc;
use vivarium_model::client::{ClientEffect, ClientMachine};
use vivarium_model::config::ClientConfig;
use vivarium_model::error::Error;
use vivarium_model::event::Event;
use vivarium_model::host::{Input, Operation, Outcome};
use vivarium_model::id::{CallId, ClientConnection, ClientId, ServerId, SessionId, Xid};
use vivarium_model::op::{EventType, Op, OpResult, Request, Response, Version, WatchedEvent};
use vivarium_model::packet::{ClientPacket, ServerPacket};
use vivarium_model::stat::Stat;
use vivarium_model::time::Duration;
use vivarium_model::timer::ClientTimer;
use vivarium_model::zxid::{Epoch, Zxid};

const SESSION: SessionId = SessionId(0xa);
const CONNECTION: ClientConnection = ClientConnection { client: ClientId(1), slot: 0 };

/// A machine with servers 1 to 3 and a timeout of 6 s, and the transcript of what happens to it.
struct Scene {
    machine: ClientMachine,
    transcript: String,
}

impl Scene {
    /// Nothing has happened yet.
    fn new() -> Scene {
        let servers = [1, 2, 3].map(ServerId).to_vec();
        let config = ClientConfig { session_timeout: Duration::from_secs(6), servers };
        Scene { machine: ClientMachine::new(ClientId(1), &config), transcript: String::new() }
    }

    /// Connected to server 1; how it came to that is not in the transcript.
    fn connected() -> Scene {
        let mut scene = Scene::new();
        scene.start();
        scene.accept(SESSION);
        scene.transcript.clear();
        scene
    }

    /// Does something to the machine and writes down its effects.
    fn act(&mut self, what: &str, act: impl FnOnce(&mut ClientMachine, &mut Vec<ClientEffect>)) {
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

    fn start(&mut self) {
        self.act("start", |machine, out| machine.start(out));
    }

    fn call(&mut self, call: u16, operation: Operation) {
        let words = match &operation {
            Operation::Request { request, scope: None, .. } => format!("call {call}: {request}"),
            Operation::Request { request, scope: Some(scope), .. } => {
                format!("call {call}: {request}, on session {scope} only")
            }
            other => format!("call {call}: {other:?}"),
        };
        self.act(&words, |machine, out| machine.call(CallId(call), operation, out));
    }

    fn request(&mut self, call: u16, request: Request) {
        self.call(
            call,
            Operation::Request { request: Arc::new(request), watch: None, scope: None },
        );
    }

    fn watch(&mut self, call: u16, watch: u16, request: Request) {
        let (request, watch) = (Arc::new(request), Some(CallId(watch)));
        self.call(call, Operation::Request { request, watch, scope: None });
    }

    fn read(&mut self, packet: ServerPacket) {
        let words = match &packet {
            ServerPacket::Connected { session, timeout } => {
                format!("read: Connected, session {session}, {timeout:?}")
            }
            ServerPacket::Reply { xid, zxid, result } => {
                format!("read: reply #{} at {zxid}: {}", xid.0, result_in_words(result))
            }
            ServerPacket::Notification(event) => format!("read: {}", event_in_words(event)),
            other => format!("read: {other:?}"),
        };
        self.act(&words, |machine, out| machine.packet(packet, out));
    }

    fn accept(&mut self, session: SessionId) {
        self.read(ServerPacket::Connected { session, timeout: Duration::from_secs(6) });
    }

    fn reply(&mut self, xid: u32, counter: u32, result: Result<Response, Error>) {
        self.read(ServerPacket::Reply { xid: Xid(xid), zxid: zxid(counter), result });
    }

    fn notify(&mut self, kind: EventType, path: &str, counter: u32) {
        let event = WatchedEvent { kind, path: path.into(), zxid: zxid(counter) };
        self.read(ServerPacket::Notification(event));
    }

    fn lost(&mut self) {
        self.act("the connection ends", |machine, out| machine.disconnected(out));
    }

    fn fires(&mut self, timer: ClientTimer) {
        self.act(&format!("timer {timer:?} fires"), |machine, out| machine.timer(timer, out));
    }

    /// Loses the connection and gets server 2 to take the session.
    fn moves(&mut self) {
        self.lost();
        self.fires(ClientTimer::Reconnect);
        self.accept(SESSION);
    }
}

fn zxid(counter: u32) -> Zxid {
    Zxid::new(Epoch(1), counter)
}

fn delete(path: &str) -> Request {
    Request::Write(Op::Delete { path: path.into(), version: Version::Any })
}

fn sync() -> Request {
    Request::Sync { path: "/".into() }
}

fn exists(path: &str) -> Request {
    Request::Exists { path: path.into(), watch: true }
}

fn get_data(path: &str) -> Request {
    Request::GetData { path: path.into(), watch: true }
}

fn get_children(path: &str) -> Request {
    Request::GetChildren { path: path.into(), watch: true }
}

fn deleted() -> Result<Response, Error> {
    Ok(Response::Written(OpResult::Deleted))
}

fn data() -> Result<Response, Error> {
    Ok(Response::Data(Arc::from(*b"x"), Stat::default()))
}

fn children() -> Result<Response, Error> {
    Ok(Response::Children(Vec::new(), Stat::default()))
}

/// An effect as a line; the monitors' Sent only repeats the line before it.
fn in_words(effect: &ClientEffect) -> Option<String> {
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
        ClientEffect::Input(Input::Session(state)) => format!("program: {state}"),
        ClientEffect::Input(other) => format!("program: {other:?}"),
        ClientEffect::Event(Event::Sent { .. }) => return None,
        ClientEffect::Event(event) => format!("monitors: {}", monitored(event)),
    })
}

fn packet_in_words(packet: &ClientPacket) -> String {
    match packet {
        ClientPacket::Connect { last_zxid_seen, timeout, session } => {
            let session = session.map_or("a new session".to_owned(), |id| format!("session {id}"));
            format!("Connect: {session}, {timeout:?}, seen {last_zxid_seen}")
        }
        ClientPacket::Request { xid, request } => format!("#{} {request}", xid.0),
        ClientPacket::Ping => "Ping".to_owned(),
        ClientPacket::SetWatches { relative_zxid, data, exist, child } => format!(
            "SetWatches since {relative_zxid}: data {data:?}, exist {exist:?}, child {child:?}"
        ),
    }
}

fn monitored(event: &Event) -> String {
    match event {
        Event::Replied { xid, request, .. } => format!("Replied #{} {request}", xid.0),
        Event::Lost { xid, request, .. } => format!("Lost #{} {request}", xid.0),
        Event::Notified { event, .. } => format!("Notified {}", event_in_words(event)),
        Event::Session { session, server, state, .. } => {
            let session = session.map_or("no id".to_owned(), |id| id.to_string());
            let server = server.map_or(String::new(), |server| format!(" at {server}"));
            format!("session {session} {state}{server}")
        }
        other => panic!("a client machine does not emit {other:?}"),
    }
}

fn event_in_words(event: &WatchedEvent) -> String {
    format!("{:?} {} at {}", event.kind, event.path, event.zxid)
}

fn outcome_in_words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Response(result) => result_in_words(result),
        Outcome::Watch(Ok(event)) => event_in_words(event),
        Outcome::Watch(Err(error)) => format!("{error:?} for its watch"),
        Outcome::Connected(session) => format!("session {session}"),
        other => format!("{other:?}"),
    }
}

fn result_in_words(result: &Result<Response, Error>) -> String {
    match result {
        Ok(Response::Written(OpResult::Deleted)) => "Deleted".to_owned(),
        Ok(Response::Exists(_)) => "a Stat".to_owned(),
        Ok(Response::Data(..)) => "the data".to_owned(),
        Ok(Response::Children(..)) => "the children".to_owned(),
        Ok(other) => format!("{other:?}"),
        Err(error) => format!("{error:?}"),
    }
}

/// A connection attempt may take a third of the timeout, for there are three servers. Silence ends
/// the connection after two thirds; after one third of sending nothing a ping is due.
#[test]
fn it_connects_asks_and_pings() {
    let mut scene = Scene::new();
    scene.start();
    scene.accept(SESSION);
    scene.request(0, delete("/a"));
    scene.request(1, sync());
    scene.reply(1, 5, deleted());
    scene.reply(2, 5, Ok(Response::Synced));
    scene.fires(ClientTimer::Ping);
    scene.read(ServerPacket::Pong);
    assert_eq!(scene.machine.last_zxid(), zxid(5));
    assert_eq!(scene.machine.next_xid(), Xid(3));
    insta::assert_snapshot!(scene.transcript, @r#"
    start
      open a connection to server 1
      send Connect: a new session, 6s, seen 0:0
      arm Connect: 2s
    read: Connected, session 0xa, 6s
      disarm Connect
      arm Read: 4s
      arm Ping: 2s
      monitors: session 0xa SyncConnected at server 1
      program: SyncConnected
    call 0: delete /a
      send #1 delete /a
      arm Ping: 2s
    call 1: sync /
      send #2 sync /
      arm Ping: 2s
    read: reply #1 at 1:5: Deleted
      monitors: Replied #1 delete /a
      program: call 0 gets Deleted
      arm Read: 4s
    read: reply #2 at 1:5: Synced
      monitors: Replied #2 sync /
      program: call 1 gets Synced
      arm Read: 4s
    timer Ping fires
      send Ping
      arm Ping: 2s
    read: Pong
      arm Read: 4s
    "#);
}

/// The delete was sent and its reply never came: it may have been applied or not, nobody sends it
/// again, and the next server is asked for the same session. The program hears of the failures
/// first and of the disconnection then.
#[test]
fn a_lost_reply() {
    let mut scene = Scene::connected();
    scene.request(0, delete("/a"));
    scene.request(1, sync());
    scene.reply(1, 5, deleted());
    scene.request(0, delete("/b"));
    assert_eq!(scene.machine.pending().map(|(xid, _)| xid.0).collect::<Vec<_>>(), [2, 3]);
    scene.moves();
    insta::assert_snapshot!(scene.transcript, @r#"
    call 0: delete /a
      send #1 delete /a
      arm Ping: 2s
    call 1: sync /
      send #2 sync /
      arm Ping: 2s
    read: reply #1 at 1:5: Deleted
      monitors: Replied #1 delete /a
      program: call 0 gets Deleted
      arm Read: 4s
    call 0: delete /b
      send #3 delete /b
      arm Ping: 2s
    the connection ends
      disarm Read
      disarm Ping
      monitors: Lost #2 sync /
      program: call 1 gets ConnectionLoss
      monitors: Lost #3 delete /b
      program: call 0 gets ConnectionLoss
      monitors: session 0xa Disconnected
      program: Disconnected
      arm Reconnect: 0ns and up to 1s
    timer Reconnect fires
      open a connection to server 2
      send Connect: session 0xa, 6s, seen 1:5
      arm Connect: 2s
    read: Connected, session 0xa, 6s
      disarm Connect
      arm Read: 4s
      arm Ping: 2s
      monitors: session 0xa SyncConnected at server 2
      program: SyncConnected
    "#);
}

/// What is asked while there is no connection waits for the next attempt. Its success sends it, its
/// failure fails it; nothing was sent, so the monitors have lost nothing.
#[test]
fn requests_queue_while_connecting() {
    let mut scene = Scene::new();
    scene.start();
    scene.request(0, delete("/a"));
    scene.call(1, Operation::Connect);
    scene.lost();
    scene.request(0, delete("/b"));
    scene.fires(ClientTimer::Reconnect);
    scene.request(2, sync());
    scene.accept(SESSION);
    insta::assert_snapshot!(scene.transcript, @r#"
    start
      open a connection to server 1
      send Connect: a new session, 6s, seen 0:0
      arm Connect: 2s
    call 0: delete /a
    call 1: Connect
    the connection ends
      disarm Connect
      program: call 0 gets ConnectionLoss
      arm Reconnect: 0ns and up to 1s
    call 0: delete /b
    timer Reconnect fires
      open a connection to server 2
      send Connect: a new session, 6s, seen 0:0
      arm Connect: 2s
    call 2: sync /
    read: Connected, session 0xa, 6s
      disarm Connect
      arm Read: 4s
      arm Ping: 2s
      monitors: session 0xa SyncConnected at server 2
      program: SyncConnected
      program: call 1 gets session 0xa
      send #2 delete /b
      send #3 sync /
    "#);
}

/// Refused, silent and refused again: round robin over the list, with a random delay from the
/// second attempt on, and no word to a program that never was connected.
#[test]
fn refused_connections_go_round_the_list() {
    let mut scene = Scene::new();
    scene.start();
    scene.lost();
    scene.fires(ClientTimer::Reconnect);
    scene.fires(ClientTimer::Connect);
    scene.fires(ClientTimer::Reconnect);
    scene.lost();
    scene.fires(ClientTimer::Reconnect);
    insta::assert_snapshot!(scene.transcript, @r#"
    start
      open a connection to server 1
      send Connect: a new session, 6s, seen 0:0
      arm Connect: 2s
    the connection ends
      disarm Connect
      arm Reconnect: 0ns and up to 1s
    timer Reconnect fires
      open a connection to server 2
      send Connect: a new session, 6s, seen 0:0
      arm Connect: 2s
    timer Connect fires
      close
      arm Reconnect: 0ns and up to 1s
    timer Reconnect fires
      open a connection to server 3
      send Connect: a new session, 6s, seen 0:0
      arm Connect: 2s
    the connection ends
      disarm Connect
      arm Reconnect: 0ns and up to 1s
    timer Reconnect fires
      open a connection to server 1
      send Connect: a new session, 6s, seen 0:0
      arm Connect: 2s
    "#);
}

/// A connection on which nothing is heard is closed from this side.
#[test]
fn a_silent_server_is_left() {
    let mut scene = Scene::connected();
    scene.request(0, sync());
    scene.fires(ClientTimer::Read);
    insta::assert_snapshot!(scene.transcript, @r#"
    call 0: sync /
      send #1 sync /
      arm Ping: 2s
    timer Read fires
      close
      disarm Ping
      monitors: Lost #1 sync /
      program: call 0 gets ConnectionLoss
      monitors: session 0xa Disconnected
      program: Disconnected
      arm Reconnect: 0ns and up to 1s
    "#);
}

/// A moved session takes its watches along: before anything else the new server is told which there
/// are and what has been seen. The notification did not move the last zxid (1:7), so what it
/// announced will be announced again if it is watched again.
#[test]
fn a_moved_session_sets_its_watches_again() {
    let mut scene = Scene::connected();
    scene.watch(0, 1, get_data("/data"));
    scene.reply(1, 4, data());
    scene.watch(0, 2, exists("/absent"));
    scene.reply(2, 5, Err(Error::NoNode));
    scene.watch(0, 3, exists("/present"));
    scene.reply(3, 6, Ok(Response::Exists(Stat::default())));
    scene.watch(0, 4, get_children("/parent"));
    scene.reply(4, 7, children());
    scene.notify(EventType::NodeDataChanged, "/present", 9);
    scene.lost();
    scene.request(0, sync());
    scene.fires(ClientTimer::Reconnect);
    scene.transcript.clear();
    scene.accept(SESSION);
    insta::assert_snapshot!(scene.transcript, @r#"
    read: Connected, session 0xa, 6s
      disarm Connect
      arm Read: 4s
      arm Ping: 2s
      monitors: session 0xa SyncConnected at server 2
      program: SyncConnected
      send SetWatches since 1:7: data ["/data"], exist ["/absent"], child ["/parent"]
      send #5 sync /
    "#);
}

/// A watch whose request failed is none: nothing is set again.
#[test]
fn failed_requests_register_no_watch() {
    let mut scene = Scene::connected();
    scene.watch(0, 1, get_data("/a"));
    scene.watch(2, 3, get_children("/a"));
    scene.watch(4, 5, exists("/b"));
    scene.reply(1, 4, Err(Error::NoNode));
    scene.reply(2, 4, Err(Error::NoNode));
    scene.lost();
    scene.fires(ClientTimer::Reconnect);
    scene.transcript.clear();
    scene.accept(SESSION);
    insta::assert_snapshot!(scene.transcript, @r#"
    read: Connected, session 0xa, 6s
      disarm Connect
      arm Read: 4s
      arm Ping: 2s
      monitors: session 0xa SyncConnected at server 2
      program: SyncConnected
    "#);
}

/// Several calls watch one path: the server sends one notification, each call gets it, in the order
/// in which the watches were registered. A change of the children is none of the data.
#[test]
fn one_notification_for_all_who_watch() {
    let mut scene = Scene::connected();
    for (at, request) in [get_data("/a"), get_children("/a"), exists("/a")].into_iter().enumerate()
    {
        scene.watch(0, 9 - at as u16, request);
    }
    scene.reply(1, 4, data());
    scene.reply(2, 4, children());
    scene.reply(3, 4, Ok(Response::Exists(Stat::default())));
    scene.transcript.clear();
    scene.notify(EventType::NodeChildrenChanged, "/a", 5);
    scene.notify(EventType::NodeDeleted, "/a", 6);
    scene.notify(EventType::NodeCreated, "/a", 7);
    insta::assert_snapshot!(scene.transcript, @r#"
    read: NodeChildrenChanged /a at 1:5
      monitors: Notified NodeChildrenChanged /a at 1:5
      program: call 8 gets NodeChildrenChanged /a at 1:5
      arm Read: 4s
    read: NodeDeleted /a at 1:6
      monitors: Notified NodeDeleted /a at 1:6
      program: call 9 gets NodeDeleted /a at 1:6
      program: call 7 gets NodeDeleted /a at 1:6
      arm Read: 4s
    read: NodeCreated /a at 1:7
      monitors: Notified NodeCreated /a at 1:7
      arm Read: 4s
    "#);
}

/// Expired is the last word on a session. The state comes first, then everything that hung on it
/// fails. The program begins a new session itself, and that one knows nothing of the old: no watch,
/// no zxid, requests from 1.
#[test]
fn expiry_and_a_new_session() {
    let mut scene = Scene::connected();
    scene.watch(0, 1, get_data("/a"));
    scene.reply(1, 4, data());
    scene.lost();
    scene.request(2, sync());
    scene.fires(ClientTimer::Reconnect);
    scene.transcript.clear();
    scene.read(ServerPacket::Expired);
    scene.request(0, sync());
    scene.call(3, Operation::Connect);
    scene.request(0, sync());
    scene.accept(SessionId(0xb));
    insta::assert_snapshot!(scene.transcript, @r#"
    read: Expired
      close
      disarm Connect
      monitors: session 0xa Expired
      program: Expired
      program: call 2 gets SessionExpired
      program: call 1 gets SessionExpired for its watch
    call 0: sync /
      program: call 0 gets SessionExpired
    call 3: Connect
      open a connection to server 1
      send Connect: a new session, 6s, seen 0:0
      arm Connect: 2s
    call 0: sync /
    read: Connected, session 0xb, 6s
      disarm Connect
      arm Read: 4s
      arm Ping: 2s
      monitors: session 0xb SyncConnected at server 1
      program: SyncConnected
      program: call 3 gets session 0xb
      send #1 sync /
    "#);
}

/// A program that waits to be connected when its session expires gets what it waits for: a new one.
#[test]
fn connect_outlasts_the_session() {
    let mut scene = Scene::connected();
    scene.lost();
    scene.call(0, Operation::Connect);
    scene.fires(ClientTimer::Reconnect);
    scene.transcript.clear();
    scene.read(ServerPacket::Expired);
    scene.accept(SessionId(0xb));
    scene.call(1, Operation::Connect);
    insta::assert_snapshot!(scene.transcript, @r#"
    read: Expired
      close
      disarm Connect
      monitors: session 0xa Expired
      program: Expired
      open a connection to server 1
      send Connect: a new session, 6s, seen 0:0
      arm Connect: 2s
    read: Connected, session 0xb, 6s
      disarm Connect
      arm Read: 4s
      arm Ping: 2s
      monitors: session 0xb SyncConnected at server 1
      program: SyncConnected
      program: call 0 gets session 0xb
    call 1: Connect
      program: call 1 gets session 0xb
    "#);
}

/// A scope is for one session: on another, or before there is one, its requests fail at once.
#[test]
fn a_scoped_request_on_another_session() {
    let scoped = |session: u64| Operation::Request {
        request: Arc::new(sync()),
        watch: None,
        scope: Some(SessionId(session)),
    };
    let mut scene = Scene::new();
    scene.start();
    scene.call(0, scoped(0xa));
    scene.accept(SESSION);
    scene.transcript.clear();
    scene.call(0, scoped(0xb));
    scene.call(0, scoped(0xa));
    insta::assert_snapshot!(scene.transcript, @r#"
    call 0: sync /, on session 0xb only
      program: call 0 gets SessionExpired
    call 0: sync /, on session 0xa only
      send #1 sync /
      arm Ping: 2s
    "#);
}

/// Close goes behind what was asked before and waits for its reply. What is asked meanwhile fails
/// with ConnectionLoss, what is asked later with SessionExpired; watches end with the session.
#[test]
fn close_waits_for_its_reply() {
    let mut scene = Scene::connected();
    scene.watch(0, 1, get_data("/a"));
    scene.reply(1, 4, data());
    scene.transcript.clear();
    scene.request(0, delete("/a"));
    scene.call(2, Operation::Close);
    scene.request(3, sync());
    scene.reply(2, 5, deleted());
    scene.reply(3, 6, Ok(Response::Closed));
    scene.request(0, sync());
    scene.call(0, Operation::Close);
    insta::assert_snapshot!(scene.transcript, @r#"
    call 0: delete /a
      send #2 delete /a
      arm Ping: 2s
    call 2: Close
      send #3 closeSession
      arm Ping: 2s
    call 3: sync /
      program: call 3 gets ConnectionLoss
    read: reply #2 at 1:5: Deleted
      monitors: Replied #2 delete /a
      program: call 0 gets Deleted
      arm Read: 4s
    read: reply #3 at 1:6: Closed
      monitors: Replied #3 closeSession
      close
      disarm Read
      disarm Ping
      monitors: session 0xa Closed
      program: Closed
      program: call 1 gets SessionExpired for its watch
      program: call 2 gets Closed
    call 0: sync /
      program: call 0 gets SessionExpired
    call 0: Close
      program: call 0 gets Closed
    "#);
}

/// The connection breaks before closeSession is answered: the client does not come back for it. It
/// counts as closed here, and lives at the servers until it expires if the request was lost.
#[test]
fn close_without_a_reply() {
    let mut scene = Scene::connected();
    scene.call(0, Operation::Close);
    scene.call(1, Operation::Close);
    scene.lost();
    insta::assert_snapshot!(scene.transcript, @r#"
    call 0: Close
      send #1 closeSession
      arm Ping: 2s
    call 1: Close
    the connection ends
      disarm Read
      disarm Ping
      monitors: Lost #1 closeSession
      monitors: session 0xa Disconnected
      program: Disconnected
      monitors: session 0xa Closed
      program: Closed
      program: call 0 gets Closed
      program: call 1 gets Closed
    "#);
}

/// A session that is closed before it began is given up with the attempt, or begun for the purpose.
/// A `Connect` that waits is for the session after it.
#[test]
fn close_while_connecting() {
    let mut scene = Scene::new();
    scene.start();
    scene.call(0, Operation::Close);
    scene.call(1, Operation::Connect);
    scene.lost();
    scene.call(0, Operation::Close);
    scene.accept(SESSION);
    scene.reply(1, 1, Ok(Response::Closed));
    insta::assert_snapshot!(scene.transcript, @r#"
    start
      open a connection to server 1
      send Connect: a new session, 6s, seen 0:0
      arm Connect: 2s
    call 0: Close
    call 1: Connect
    the connection ends
      disarm Connect
      monitors: session no id Closed
      program: Closed
      program: call 0 gets Closed
      open a connection to server 1
      send Connect: a new session, 6s, seen 0:0
      arm Connect: 2s
    call 0: Close
    read: Connected, session 0xa, 6s
      disarm Connect
      arm Read: 4s
      arm Ping: 2s
      monitors: session 0xa SyncConnected at server 1
      program: SyncConnected
      send #1 closeSession
    read: reply #1 at 1:1: Closed
      monitors: Replied #1 closeSession
      close
      disarm Read
      disarm Ping
      monitors: session 0xa Closed
      program: Closed
      program: call 0 gets Closed
      open a connection to server 1
      send Connect: a new session, 6s, seen 0:0
      arm Connect: 2s
    "#);
}

/// The expiry came before the close: there was nothing left to close.
#[test]
fn close_of_an_expired_session() {
    let mut scene = Scene::connected();
    scene.lost();
    scene.call(0, Operation::Close);
    scene.fires(ClientTimer::Reconnect);
    scene.transcript.clear();
    scene.read(ServerPacket::Expired);
    insta::assert_snapshot!(scene.transcript, @r#"
    read: Expired
      close
      disarm Connect
      monitors: session 0xa Expired
      program: Expired
      program: call 0 gets Closed
    "#);
}

/// An abandoned call is answered by nobody, but its request goes its way, and its slot serves the
/// next call. Of two that watch /b one is left to hear of it.
#[test]
fn abandoned_calls_hear_nothing() {
    let mut scene = Scene::connected();
    scene.request(0, delete("/a"));
    scene.machine.abandon(CallId(0));
    scene.watch(0, 1, get_data("/b"));
    scene.watch(2, 3, get_data("/b"));
    scene.reply(1, 4, deleted());
    scene.reply(2, 4, data());
    scene.reply(3, 4, data());
    scene.machine.abandon(CallId(1));
    scene.transcript.clear();
    scene.notify(EventType::NodeDataChanged, "/b", 5);
    scene.request(1, delete("/c"));
    scene.machine.abandon(CallId(1));
    scene.reply(4, 6, deleted());
    insta::assert_snapshot!(scene.transcript, @r#"
    read: NodeDataChanged /b at 1:5
      monitors: Notified NodeDataChanged /b at 1:5
      program: call 3 gets NodeDataChanged /b at 1:5
      arm Read: 4s
    call 1: delete /c
      send #4 delete /c
      arm Ping: 2s
    read: reply #4 at 1:6: Deleted
      monitors: Replied #4 delete /c
      arm Read: 4s
    "#);
}

/// A watch that was abandoned with its request in flight is never registered, and one that was
/// abandoned later is not set again.
#[test]
fn abandoned_watches_are_not_set_again() {
    let mut scene = Scene::connected();
    scene.watch(0, 1, get_data("/a"));
    scene.reply(1, 4, data());
    scene.machine.abandon(CallId(1));
    scene.watch(0, 1, get_data("/b"));
    scene.machine.abandon(CallId(1));
    scene.reply(2, 4, data());
    scene.lost();
    scene.fires(ClientTimer::Reconnect);
    scene.transcript.clear();
    scene.accept(SESSION);
    insta::assert_snapshot!(scene.transcript, @r#"
    read: Connected, session 0xa, 6s
      disarm Connect
      arm Read: 4s
      arm Ping: 2s
      monitors: session 0xa SyncConnected at server 2
      program: SyncConnected
    "#);
}

/// A reply that is not for the oldest request: one side has lost count. The connection is torn down.
#[test]
fn replies_out_of_order_end_the_connection() {
    let mut scene = Scene::connected();
    scene.request(0, delete("/a"));
    scene.request(1, sync());
    scene.reply(2, 5, Ok(Response::Synced));
    assert_eq!(scene.machine.last_zxid(), Zxid::ZERO);
    insta::assert_snapshot!(scene.transcript, @r#"
    call 0: delete /a
      send #1 delete /a
      arm Ping: 2s
    call 1: sync /
      send #2 sync /
      arm Ping: 2s
    read: reply #2 at 1:5: Synced
      close
      disarm Read
      disarm Ping
      monitors: Lost #1 delete /a
      program: call 0 gets ConnectionLoss
      monitors: Lost #2 sync /
      program: call 1 gets ConnectionLoss
      monitors: session 0xa Disconnected
      program: Disconnected
      arm Reconnect: 0ns and up to 1s
    "#);
}

/// A killed process says nothing. Started again, it is as new.
#[test]
fn a_killed_process_is_silent() {
    let mut scene = Scene::connected();
    scene.watch(0, 1, get_data("/a"));
    scene.reply(1, 4, data());
    scene.request(0, delete("/a"));
    scene.transcript.clear();
    scene.act("kill", |machine, out| machine.kill(out));
    assert_eq!(scene.machine, Scene::new().machine);
    scene.start();
    scene.act("kill", |machine, out| machine.kill(out));
    insta::assert_snapshot!(scene.transcript, @r#"
    kill
      close
      disarm Read
      disarm Ping
    start
      open a connection to server 1
      send Connect: a new session, 6s, seen 0:0
      arm Connect: 2s
    kill
      close
      disarm Connect
    "#);
}

/// Two thirds of the *negotiated* timeout count, and a ping is due after ten seconds at the latest.
#[test]
fn timers_follow_the_negotiated_timeout() {
    let mut scene = Scene::new();
    scene.start();
    scene.transcript.clear();
    scene.read(ServerPacket::Connected { session: SESSION, timeout: Duration::from_secs(60) });
    scene.lost();
    scene.fires(ClientTimer::Reconnect);
    insta::assert_snapshot!(scene.transcript, @r#"
    read: Connected, session 0xa, 60s
      disarm Connect
      arm Read: 40s
      arm Ping: 10s
      monitors: session 0xa SyncConnected at server 1
      program: SyncConnected
    the connection ends
      disarm Read
      disarm Ping
      monitors: session 0xa Disconnected
      program: Disconnected
      arm Reconnect: 0ns and up to 1s
    timer Reconnect fires
      open a connection to server 2
      send Connect: session 0xa, 6s, seen 0:0
      arm Connect: 20s
    "#);
}

/// Who is stuck must be able to say on what.
#[test]
fn it_says_what_it_waits_for() {
    let mut scene = Scene::new();
    let mut said = vec![scene.machine.waits_for()];
    scene.start();
    said.push(scene.machine.waits_for());
    scene.lost();
    said.push(scene.machine.waits_for());
    scene.fires(ClientTimer::Reconnect);
    scene.accept(SESSION);
    said.push(scene.machine.waits_for());
    scene.watch(0, 1, get_data("/a"));
    said.push(scene.machine.waits_for());
    scene.reply(1, 4, data());
    said.push(scene.machine.waits_for());
    scene.watch(0, 2, get_children("/b"));
    scene.reply(2, 4, children());
    said.push(scene.machine.waits_for());
    scene.call(0, Operation::Close);
    scene.reply(3, 5, Ok(Response::Closed));
    said.push(scene.machine.waits_for());
    insta::assert_snapshot!(said.join("\n"), @r#"
    nothing: it is not running
    server 1 to accept its session
    its next attempt to connect
    nothing: it is connected to server 2
    server 2 to answer getData /a (watch) (xid 1)
    the watch on /a to fire
    one of the watches on /a, /b to fire
    nothing: its session is closed
    "#);
}
