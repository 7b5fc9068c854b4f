//! A real ensemble whose zxid counter is exhausted goes on as the model's does (rule 4.1.2). Its leaders begin near the end of
//! the counter (`zookeeper.testingonly.initialZxid`). Skipped with a message if ZooKeeper or Java is not installed.

use super::server::installation;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use vivarium::conform::{Connection, Options, RealEnsemble, Received};
use vivarium_model::config::ServerOptions;
use vivarium_model::id::{ClientConnection, ServerId, SessionId, Xid};
use vivarium_model::network::Delivered;
use vivarium_model::op::{CreateMode, Op, OpResult, Request, Response};
use vivarium_model::packet::{ClientPacket, ServerPacket};
use vivarium_model::release::Bugs;
use vivarium_model::wire::{Opcodes, Password};
use vivarium_model::zxid::Zxid;
use vivarium_sim::replica::Replica;

/// Far longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// The transactions of an epoch are fewer by one than this.
const LARGEST_COUNTER: u32 = 12;

/// How often the counter is exhausted.
const TIMES: usize = 3;

/// What a client of either ensemble meets.
#[derive(Debug, PartialEq, Eq)]
struct Course {
    /// The answered creates in each epoch: the counter of each zxid, and the path of the new znode.
    answered: Vec<Vec<(u32, String)>>,
    /// The children in the end.
    children: Vec<String>,
}

/// A connection to either ensemble.
trait Line {
    /// Sends a packet and returns the answer, or `None` if the connection has ended.
    fn ask(&mut self, packet: ClientPacket) -> Option<ServerPacket>;

    /// Connects again, and returns the answer to the connect request.
    fn again(&mut self, packet: ClientPacket) -> ServerPacket;
}

struct Real<'a> {
    ensemble: &'a mut RealEnsemble,
    connection: Option<Connection>,
    password: Password,
}

impl Line for Real<'_> {
    fn ask(&mut self, packet: ClientPacket) -> Option<ServerPacket> {
        let connection = self.connection.as_mut().expect("it is connected");
        // A server that closes the connection may do so before the request.
        connection.send(&packet, Opcodes::Newest).ok()?;
        match connection.receive(PATIENCE).expect("packets that can be understood") {
            Received::Packet(packet) => Some(packet),
            Received::End => None,
            odd => panic!("{odd:?} is no packet"),
        }
    }

    fn again(&mut self, packet: ClientPacket) -> ServerPacket {
        self.connection = None;
        for server in 0..self.ensemble.len() {
            self.ensemble.wait(server).expect("they elect a leader");
        }
        let address: SocketAddr = self.ensemble.address(0);
        let (connection, answer) =
            Connection::connect(address, &packet, &self.password, PATIENCE).expect("a handshake");
        self.password = connection.password();
        self.connection = Some(connection);
        let Received::Packet(answer) = answer else { panic!("{answer:?} is no session") };
        answer
    }
}

struct Model {
    replica: Replica,
    connection: Option<ClientConnection>,
}

impl Line for Model {
    fn ask(&mut self, packet: ClientPacket) -> Option<ServerPacket> {
        let connection = self.connection.expect("it is connected");
        self.replica.send(connection, packet);
        match self.replica.receive(connection).expect("an answer or the end") {
            Delivered::Packet(packet) => Some(packet),
            Delivered::End { .. } => None,
        }
    }

    fn again(&mut self, packet: ClientPacket) -> ServerPacket {
        let connection = self.replica.open(ServerId(1));
        self.connection = Some(connection);
        self.ask(packet).expect("a session")
    }
}

fn connect(session: Option<SessionId>, last_zxid_seen: Zxid) -> ClientPacket {
    ClientPacket::Connect { last_zxid_seen, timeout: PATIENCE, session, read_only: false }
}

/// Creates sequential znodes until the counter has been exhausted [`TIMES`] times. `begin` is the counter of a leader's first
/// zxid, less one.
fn course(line: &mut dyn Line, begin: u32) -> Course {
    let ServerPacket::Connected { session, .. } = line.again(connect(None, Zxid::ZERO)) else {
        panic!("no session");
    };
    let (mut answered, mut xid, mut seen) = (vec![Vec::new()], Xid(0), Zxid::ZERO);
    let mut request = |line: &mut dyn Line, request| {
        xid = xid.next();
        line.ask(ClientPacket::Request { xid, request: Arc::new(request) })
    };
    while answered.len() <= TIMES {
        let op = Op::create("/s-", [], CreateMode::PersistentSequential);
        match request(line, Request::Write(op)) {
            Some(ServerPacket::Reply {
                zxid,
                result: Ok(Response::Written(OpResult::Created(path, _))),
                ..
            }) => {
                seen = zxid;
                let epoch = answered.last_mut().expect("there is one");
                epoch.push((zxid.counter() - begin, path.to_string()));
            }
            Some(odd) => panic!("{odd:?}"),
            None => {
                let ServerPacket::Connected { session: same, .. } =
                    line.again(connect(Some(session), seen))
                else {
                    panic!("no session");
                };
                assert_eq!(same, session, "the session lives on");
                answered.push(Vec::new());
            }
        }
    }
    let children = request(line, Request::GetChildren { path: "/".into(), watch: false });
    let Some(ServerPacket::Reply { result: Ok(Response::Children(mut children, _)), .. }) =
        children
    else {
        panic!("{children:?}");
    };
    children.sort();
    Course { answered, children: children.iter().map(ToString::to_string).collect() }
}

#[test]
fn a_counter_that_is_exhausted_forces_an_election_and_loses_no_answered_write() {
    let options = ServerOptions { largest_counter: LARGEST_COUNTER, ..ServerOptions::default() };
    let replica = Replica::new(3, Bugs::NONE, options);
    let of_model = course(&mut Model { replica, connection: None }, 0);
    // The creation of the session is a transaction, too; the request with the largest counter is lost.
    let counts: Vec<usize> = of_model.answered.iter().map(Vec::len).collect();
    let most = LARGEST_COUNTER as usize - 1;
    assert_eq!(counts, [most - 1, most, most, 0]);

    let Some(installation) = installation() else { return };
    let begin = u32::MAX - LARGEST_COUNTER;
    let argument = format!("-Dzookeeper.testingonly.initialZxid={begin}");
    let options = Options { java_arguments: vec![argument], ..Options::default() };
    let mut ensemble = RealEnsemble::start_with(&installation, 3, &options).expect("an ensemble");
    let password = Password::default();
    let of_real = course(&mut Real { ensemble: &mut ensemble, connection: None, password }, begin);
    assert_eq!(of_model, of_real);
}
