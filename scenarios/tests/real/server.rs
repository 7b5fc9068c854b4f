//! Real servers start, speak the protocol, and end. Skipped with a message if ZooKeeper or Java is not installed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use vivarium::conform::{
    ConformError, Connection, Installation, Options, RealEnsemble, RealServer, Received,
};
use vivarium_model::error::Error;
use vivarium_model::id::{SessionId, Xid};
use vivarium_model::op::{
    AddWatchMode, CreateMode, EventType, Op, OpResult, Request, Response, Version,
};
use vivarium_model::packet::{ClientPacket, ServerPacket};
use vivarium_model::wire::{Opcodes, Password};
use vivarium_model::zxid::Zxid;

/// Far longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// Returns the ZooKeeper of this machine, if it is installed.
pub(crate) fn installation() -> Option<Installation> {
    match Installation::find() {
        Ok(installation) => Some(installation),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

/// A session and its connection.
struct Client {
    connection: Connection,
    session: SessionId,
    last: Xid,
    last_zxid: Zxid,
}

impl Client {
    /// Opens a session, or moves one to another server.
    fn connect(address: SocketAddr, old: Option<&Client>) -> Client {
        let connect = ClientPacket::Connect {
            last_zxid_seen: old.map_or(Zxid::ZERO, |old| old.last_zxid),
            timeout: PATIENCE,
            session: old.map(|old| old.session),
            read_only: false,
        };
        let password = old.map_or(Password::default(), |old| old.connection.password());
        let (connection, answer) =
            Connection::connect(address, &connect, &password, PATIENCE).expect("a handshake");
        let Received::Packet(ServerPacket::Connected { session, timeout, .. }) = answer else {
            panic!("{answer:?} is no session");
        };
        assert_eq!(timeout, PATIENCE);
        let last_zxid = old.map_or(Zxid::ZERO, |old| old.last_zxid);
        Client { connection, session, last: old.map_or(Xid(0), |old| old.last), last_zxid }
    }

    fn receive(&mut self) -> Received {
        self.connection.receive(PATIENCE).expect("packets that can be understood")
    }

    fn send(&mut self, request: Request) {
        self.last = self.last.next();
        let packet = ClientPacket::Request { xid: self.last, request: Arc::new(request) };
        self.connection.send(&packet, Opcodes::Newest).expect("a connection");
    }

    /// Sends a request, and takes the next packet as the answer.
    fn ask(&mut self, request: Request) -> Result<Response, Error> {
        self.send(request);
        let received = self.receive();
        let Received::Packet(ServerPacket::Reply { xid, zxid, result }) = received else {
            panic!("{received:?} is no reply");
        };
        assert_eq!(xid, self.last);
        self.last_zxid = zxid;
        result
    }

    /// Asserts that the next packet is this event.
    fn expect_event(&mut self, kind: EventType, path: &str) {
        let received = self.receive();
        let Received::Packet(ServerPacket::Notification(event)) = received else {
            panic!("{received:?} is no event");
        };
        assert_eq!((event.kind, &*event.path), (kind, path));
    }
}

fn create(path: &str, mode: CreateMode) -> Request {
    Request::Write(Op::create(path, *b"one", mode))
}

fn set(path: &str, version: Version) -> Op {
    Op::SetData { path: path.into(), data: (*b"two").into(), version }
}

#[test]
fn one_server_serves_a_session_from_the_handshake_to_the_goodbye() {
    let Some(installation) = installation() else { return };
    let server = RealServer::start_with(&installation, &Options::default()).expect("a server");
    let mut client = Client::connect(server.address(), None);

    let created = client.ask(create("/a", CreateMode::Ephemeral));
    let Ok(Response::Written(OpResult::Created(path, stat))) = created else {
        panic!("{created:?} is no created znode");
    };
    assert_eq!((&*path, stat.ephemeral_owner), ("/a", Some(client.session)));
    assert_eq!(stat.czxid, client.last_zxid);
    let again = client.ask(create("/a", CreateMode::Persistent));
    assert_eq!(again, Err(Error::NodeExists));

    let data = client.ask(Request::GetData { path: "/a".into(), watch: true });
    assert_eq!(data, Ok(Response::Data((*b"one").into(), stat)));

    client.send(Request::Multi(vec![
        Op::Check { path: "/a".into(), version: Version::Is(0) },
        set("/a", Version::Any),
    ]));
    client.expect_event(EventType::NodeDataChanged, "/a");
    let received = client.receive();
    let Received::Packet(ServerPacket::Reply { result: Ok(Response::Multi(results)), .. }) =
        &received
    else {
        panic!("{received:?} is no answer to a multi");
    };
    assert!(matches!(results[..], [OpResult::Checked, OpResult::Set(stat)] if stat.version == 1));

    let failed = client.ask(Request::Multi(vec![set("/a", Version::Any), set("/b", Version::Any)]));
    let codes = vec![OpResult::Failed(None), OpResult::Failed(Some(Error::NoNode))];
    assert_eq!(failed, Ok(Response::Multi(codes)));

    assert_eq!(client.ask(Request::CloseSession), Ok(Response::Closed));
    assert_eq!(client.receive(), Received::End);
}

#[test]
fn three_servers_let_a_session_move() {
    let Some(installation) = installation() else { return };
    let mut ensemble =
        RealEnsemble::start_with(&installation, 3, &Options::default()).expect("an ensemble");
    let mut first = Client::connect(ensemble.address(0), None);
    first.ask(create("/a", CreateMode::Ephemeral)).expect("a znode");
    ensemble.kill(0);
    assert_eq!(first.receive(), Received::End);

    ensemble.wait(1).expect("two of three elect a leader");
    let mut second = Client::connect(ensemble.address(1), Some(&first));
    assert_eq!(second.session, first.session);
    let Ok(Response::Exists(stat)) =
        second.ask(Request::Exists { path: "/a".into(), watch: false })
    else {
        panic!("the znode is gone with its session alive");
    };
    assert_eq!(stat.ephemeral_owner, Some(first.session));
    let add = Request::AddWatch { path: "/a".into(), mode: AddWatchMode::Persistent };
    assert_eq!(second.ask(add), Ok(Response::Watches));

    ensemble.restart(0).expect("the same server again");
    ensemble.wait(0).expect("it follows the others");
    let mut other = Client::connect(ensemble.address(0), None);
    other.ask(Request::Write(set("/a", Version::Is(0)))).expect("the same znode");
    second.expect_event(EventType::NodeDataChanged, "/a");
}

#[test]
fn a_server_that_does_not_come_up_shows_its_log() {
    let Some(installation) = installation() else { return };
    let options = Options { settings: vec!["tickTime=never".to_owned()], ..Options::default() };
    let error = RealServer::start_with(&installation, &options).expect_err("no number");
    assert!(matches!(error, ConformError::Ended { .. }), "{error}");
    assert!(error.to_string().contains("never"), "{error}");
}
