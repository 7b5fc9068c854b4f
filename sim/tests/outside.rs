//! Clients outside of a run may send anything: no input panics, violates a property of correct servers, or makes a
//! run that its case does not repeat.

use proptest::prelude::*;
use std::sync::Arc;
use vivarium_model::config::ServerOptions;
use vivarium_model::id::{ClientConnection, ClientId, ServerId, SessionId, Xid};
use vivarium_model::network::Delivered;
use vivarium_model::op::{CreateMode, Op, Request, Version};
use vivarium_model::packet::{ClientPacket, ServerPacket};
use vivarium_model::release::Release;
use vivarium_model::time::Duration;
use vivarium_model::zxid::Zxid;
use vivarium_sim::replica::{Replica, replay};

/// One action of a hostile or faulty client, or a fault. A connection is identified by its index among those that
/// were opened; there may be none.
#[derive(Clone, Debug)]
enum Does {
    /// Connects to a server, which may not exist.
    Opens(u8),
    /// Sends on a connection in any state.
    Sends(usize, Packet),
    /// Sends on a connection that was never opened.
    SendsNowhere(u16, u8),
    Reads(usize),
    HangsUp(usize),
    Crashes(u8),
    Restarts(u8),
    Expires(usize),
}

#[derive(Clone, Debug)]
enum Packet {
    /// Requests a new session, or that of another connection, with a zxid that it has seen.
    Connect(Option<usize>, u64),
    Ask(u32, Request),
    Ping,
    Auth(&'static str, &'static str),
    SetWatches,
}

fn path() -> impl Strategy<Value = Arc<str>> {
    prop_oneof![
        Just("/"),
        Just("/a"),
        Just("/b"),
        Just("/a/c"),
        Just("no path"),
        Just(""),
        Just("/zookeeper/quota"),
    ]
    .prop_map(Arc::from)
}

fn request() -> impl Strategy<Value = Request> {
    let mode = prop_oneof![
        Just(CreateMode::Persistent),
        Just(CreateMode::Ephemeral),
        Just(CreateMode::Container)
    ];
    let op = prop_oneof![
        3 => (path(), mode).prop_map(|(path, mode)| Op::create(path, *b"x", mode)),
        1 => path().prop_map(|path| Op::delete(path, Version::Any)),
        1 => path().prop_map(|path| Op::set_data(path, *b"y", Version::Is(0))),
    ];
    prop_oneof![
        4 => op.clone().prop_map(Request::Write),
        1 => prop::collection::vec(op, 0..3).prop_map(Request::Multi),
        1 => path().prop_map(|path| Request::GetData { path, watch: true }),
        1 => path().prop_map(|path| Request::GetChildren { path, watch: true }),
        1 => path().prop_map(|path| Request::Sync { path }),
        1 => Just(Request::CloseSession),
    ]
}

fn does() -> impl Strategy<Value = Does> {
    let packet = prop_oneof![
        3 => (prop::option::of(0..4usize), 0..40u64)
            .prop_map(|(session, seen)| Packet::Connect(session, if seen < 36 { 0 } else { seen << 30 })),
        6 => (0..5u32, request()).prop_map(|(xid, request)| Packet::Ask(xid, request)),
        1 => Just(Packet::Ping),
        1 => prop_oneof![Just(("digest", "user:password")), Just(("no scheme", ""))]
            .prop_map(|(scheme, proof)| Packet::Auth(scheme, proof)),
        1 => Just(Packet::SetWatches),
    ];
    prop_oneof![
        3 => (0..5u8).prop_map(Does::Opens),
        12 => (0..6usize, packet).prop_map(|(at, packet)| Does::Sends(at, packet)),
        1 => (0..9u16, 0..3u8).prop_map(|(client, slot)| Does::SendsNowhere(client, slot)),
        4 => (0..6usize).prop_map(Does::Reads),
        2 => (0..6usize).prop_map(Does::HangsUp),
        1 => (1..4u8).prop_map(Does::Crashes),
        2 => (1..4u8).prop_map(Does::Restarts),
        1 => (0..4usize).prop_map(Does::Expires),
    ]
}

/// A replica, and the connections and sessions of its clients.
struct Run {
    replica: Replica,
    connections: Vec<ClientConnection>,
    sessions: Vec<SessionId>,
}

impl Run {
    fn packet(&self, packet: Packet) -> ClientPacket {
        match packet {
            Packet::Connect(session, seen) => ClientPacket::Connect {
                last_zxid_seen: Zxid(seen),
                timeout: Duration::from_secs(6),
                session: session.and_then(|at| self.sessions.get(at).copied()),
                read_only: false,
            },
            Packet::Ask(xid, request) => {
                ClientPacket::Request { xid: Xid(xid), request: Arc::new(request) }
            }
            Packet::Ping => ClientPacket::Ping,
            Packet::Auth(scheme, proof) => {
                ClientPacket::Auth { scheme: scheme.into(), auth: proof.as_bytes().into() }
            }
            Packet::SetWatches => ClientPacket::SetWatches {
                relative_zxid: Zxid(1),
                data: vec!["/a".into(), "/gone".into()],
                exist: vec!["/b".into()],
                child: Vec::new(),
                persistent: Vec::new(),
                recursive: vec!["/".into()],
            },
        }
    }

    fn read(&mut self, connection: ClientConnection) {
        let read = self.replica.receive(connection);
        if let Some(Delivered::Packet(ServerPacket::Connected { session, .. })) = read {
            self.sessions.push(session);
        }
    }

    fn take(&mut self, does: Does) {
        let connection = |run: &Run, at: usize| run.connections.get(at).copied();
        match does {
            Does::Opens(server) => {
                let opened = self.replica.open(ServerId(server));
                self.connections.push(opened);
            }
            Does::Sends(at, packet) => {
                let packet = self.packet(packet);
                if let Some(connection) = connection(self, at) {
                    self.replica.send(connection, packet);
                }
            }
            Does::SendsNowhere(client, slot) => {
                let connection = ClientConnection { client: ClientId(client + 1), slot };
                self.replica.send(connection, ClientPacket::Ping);
            }
            Does::Reads(at) => {
                if let Some(connection) = connection(self, at) {
                    self.read(connection);
                }
            }
            Does::HangsUp(at) => {
                if let Some(connection) = connection(self, at) {
                    self.replica.close(connection);
                }
            }
            Does::Crashes(server) => self.replica.crash(ServerId(server)),
            Does::Restarts(server) => self.replica.restart(ServerId(server)),
            Does::Expires(at) => {
                if let Some(session) = self.sessions.get(at) {
                    self.replica.expire(*session);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn anything_that_clients_send_is_taken_or_refused_and_repeated(script in prop::collection::vec(does(), 1..60)) {
        let bugs = Release::Repaired.bugs();
        let replica = Replica::new(3, bugs, ServerOptions::default());
        let mut run = Run { replica, connections: Vec::new(), sessions: Vec::new() };
        script.into_iter().for_each(|does| run.take(does));
        prop_assert_eq!(run.replica.violation(), None);
        let case = run.replica.case();
        let replayed = replay(&case).expect("it is a case of a replica");
        prop_assert!(replayed.is_run_of(&case), "skipped: {:?}", replayed.skipped);
        prop_assert_eq!(replayed.objection, None);
    }
}
