//! A real server whose sequence counter is at its end (rules 1.3.2 and 1.4.3). No test creates 2^31 znodes: the
//! record of one create in the server's own log is changed to say that this number of creates preceded it. Skipped
//! with a message if ZooKeeper or Java is not installed.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use vivarium::conform::{Connection, Installation, Options, RealServer, Received};
use vivarium_model::error::Error;
use vivarium_model::id::Xid;
use vivarium_model::op::{CreateMode, Op, OpResult, Request, Response, Version};
use vivarium_model::packet::{ClientPacket, ServerPacket};
use vivarium_model::wire::{Opcodes, Password};
use vivarium_model::zxid::Zxid;

const PATIENCE: Duration = Duration::from_secs(30);

struct Client {
    connection: Connection,
    last: Xid,
}

impl Client {
    fn connect(server: &RealServer) -> Client {
        let connect = ClientPacket::Connect {
            last_zxid_seen: Zxid::ZERO,
            timeout: PATIENCE,
            session: None,
            read_only: false,
        };
        let (connection, _) =
            Connection::connect(server.address(), &connect, &Password::default(), PATIENCE)
                .expect("a handshake");
        Client { connection, last: Xid(0) }
    }

    fn send(&mut self, request: Request) {
        self.last = self.last.next();
        let packet = ClientPacket::Request { xid: self.last, request: Arc::new(request) };
        self.connection.send(&packet, Opcodes::Newest).expect("a connection");
    }

    fn answer(&mut self) -> Result<Response, Error> {
        let received = self.connection.receive(PATIENCE).expect("a packet");
        let Received::Packet(ServerPacket::Reply { result, .. }) = received else {
            panic!("{received:?} is no reply");
        };
        result
    }

    fn ask(&mut self, request: Request) -> Result<Response, Error> {
        self.send(request);
        self.answer()
    }

    /// Returns the number that the next sequential znode below `/q` gets.
    fn number(&mut self, prefix: &str) -> Result<i32, Error> {
        self.send(create(prefix));
        self.number_told(prefix)
    }

    fn number_told(&mut self, prefix: &str) -> Result<i32, Error> {
        match self.answer()? {
            Response::Written(OpResult::Created(path, _)) => {
                Ok(path.strip_prefix(prefix).and_then(|it| it.parse().ok()).expect("a number"))
            }
            other => panic!("{other:?} is no created znode"),
        }
    }

    fn pzxid(&mut self, path: &str) -> Zxid {
        match self.ask(Request::Exists { path: path.into(), watch: false }) {
            Ok(Response::Exists(stat)) => stat.pzxid,
            other => panic!("{other:?} is no Stat"),
        }
    }

    /// Returns how many events a server sends for a child watch to a client that reconnects with this zxid.
    fn told_of(mut self, path: &str, relative_zxid: Zxid) -> usize {
        let packet = ClientPacket::SetWatches {
            relative_zxid,
            data: Vec::new(),
            exist: Vec::new(),
            child: vec![path.into()],
            persistent: Vec::new(),
            recursive: Vec::new(),
        };
        self.connection.send(&packet, Opcodes::Newest).expect("a connection");
        let mut events = 0;
        loop {
            match self.connection.receive(PATIENCE).expect("a packet") {
                Received::Packet(ServerPacket::Notification(_)) => events += 1,
                _ => return events,
            }
        }
    }
}

fn create(prefix: &str) -> Request {
    Request::Write(Op::create(prefix, *b"", CreateMode::PersistentSequential))
}

/// Starts a server whose `/q` has had this number of creates.
fn server(installation: &Installation, creates: i32) -> RealServer {
    let options = Options::default();
    let mut server = RealServer::start_with(installation, &options).expect("a server");
    let mut client = Client::connect(&server);
    for path in ["/q", "/q/first"] {
        let made = client.ask(Request::Write(Op::create(path, *b"", CreateMode::Persistent)));
        assert!(made.is_ok(), "{made:?}");
    }
    server.kill();
    rewrite_counter(&server.data(), "/q/first", creates);
    server.restart(installation, &options).expect("a server");
    let deleted =
        Client::connect(&server).ask(Request::Write(Op::delete("/q/first", Version::Any)));
    assert!(deleted.is_ok(), "{deleted:?}");
    server
}

/// Changes the log's record of this create, so that the counter of its parent stands at `creates` after it.
///
/// A record is a checksum (8 bytes), a length (4), the transaction's header (session, cxid, zxid, time, type: 32
/// bytes), its body and an end mark (1). The body of a create ends with the counter, before the digest.
fn rewrite_counter(data: &Path, path: &str, creates: i32) {
    let version = data.join("version-2");
    let logs = fs::read_dir(&version).expect("a directory").filter_map(Result::ok);
    let file = logs
        .map(|entry| entry.path())
        .find(|file| {
            file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("log."))
        })
        .expect("a log");
    let mut log = fs::read(&file).expect("it can be read");
    let named = [&(path.len() as u32).to_be_bytes()[..], path.as_bytes()].concat();
    let at = (0..log.len()).find(|at| log[*at..].starts_with(&named)).expect("a create");
    let record = at - 32 - 12;
    // No data; one identity `world:anyone` with its permissions; whether the znode is ephemeral.
    let acl = 4 + 4 + (4 + "world".len()) + (4 + "anyone".len());
    let counter = at + named.len() + 4 + acl + 1;
    assert_eq!(log[counter..counter + 4], 1_i32.to_be_bytes(), "the first child");
    log[counter..counter + 4].copy_from_slice(&creates.to_be_bytes());
    let length: [u8; 4] = log[record + 8..record + 12].try_into().expect("four bytes");
    let length = u32::from_be_bytes(length) as usize;
    let sum = adler32(&log[record + 12..record + 12 + length]);
    log[record..record + 8].copy_from_slice(&u64::from(sum).to_be_bytes());
    fs::write(&file, log).expect("it can be written");
}

/// RFC 1950.
fn adler32(bytes: &[u8]) -> u32 {
    let (low, high) = bytes.iter().fold((1_u32, 0_u32), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % 65_521;
        (low, (high + low) % 65_521)
    });
    high << 16 | low
}

/// The model does the same (`model`, `a_counter_past_its_end_goes_on_or_stays`).
#[test]
fn past_the_end_of_a_counter_a_real_server_gives_the_same_number_again() {
    let installation = match Installation::find() {
        Ok(installation) => installation,
        Err(error) => return println!("skipped: {error}"),
    };
    let server = server(&installation, i32::MAX - 2);
    let mut client = Client::connect(&server);
    let numbers: Vec<_> = (0..6).map(|at| client.number(&format!("/q/{at}-"))).collect();
    let expected = [i32::MAX - 2, i32::MAX - 1, i32::MAX, i32::MAX, i32::MAX, i32::MAX];
    assert_eq!(numbers, expected.map(Ok));
    // The same name is used twice.
    assert_eq!(client.number("/q/same-"), Ok(i32::MAX));
    assert_eq!(client.number("/q/same-"), Err(Error::NodeExists));

    // Creates that are outstanding at the same time continue below zero.
    let prefixes: Vec<String> = (0..20).map(|at| format!("/q/at-once-{at}-")).collect();
    prefixes.iter().for_each(|prefix| client.send(create(prefix)));
    let at_once: Vec<i32> =
        prefixes.iter().filter_map(|prefix| client.number_told(prefix).ok()).collect();
    assert_eq!((at_once.len(), at_once[0]), (20, i32::MAX));
    assert!(at_once.windows(2).all(|two| two[1] == i32::MAX || two[1] == two[0].wrapping_add(1)));
    println!("outstanding at one time: {at_once:?}");

    // A child watch that is set again reports no create.
    let before = client.pzxid("/q");
    assert_eq!(client.number("/q/missed-"), Ok(i32::MAX));
    assert_eq!(client.pzxid("/q"), before);
    assert_eq!(Client::connect(&server).told_of("/q", before), 0);
    // For a znode whose counter is not at its end it does.
    let made = client.ask(Request::Write(Op::create("/r", *b"", CreateMode::Persistent)));
    assert!(made.is_ok(), "{made:?}");
    let before = client.pzxid("/r");
    assert!(client.ask(create("/r/seen-")).is_ok());
    assert_eq!(Client::connect(&server).told_of("/r", before), 1);
}
