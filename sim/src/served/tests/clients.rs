//! What monitors find by what clients of any language send and read: each planted defect that only a client can see, and
//! nothing where there is none.

use super::*;
use crate::random::Random;
use std::collections::BTreeSet;
use vivarium_model::acl::AclList;
use vivarium_model::op::{AddWatchMode, Version, WatcherType};
use vivarium_model::zxid::Zxid;

/// A client that keeps to the protocol: it re-attaches with the largest zxid that it has read, and sets its watches again.
#[derive(Default)]
struct Client {
    connection: Option<ClientConnection>,
    /// True if the ConnectRequest is answered: nothing else is sent before.
    is_connected: bool,
    session: Option<SessionId>,
    read: Zxid,
    asked: Vec<(Xid, Arc<Request>)>,
    data: BTreeSet<Arc<str>>,
    exist: BTreeSet<Arc<str>>,
    child: BTreeSet<Arc<str>>,
    identity: Option<u64>,
}

impl Client {
    fn connects(&mut self, scene: &mut Scene, server: ServerId) {
        let number = scene.served.ensemble().next_outside();
        let Some(connection) = scene.served.open(number, server) else { return };
        let (last_zxid_seen, session) = (self.read, self.session);
        let timeout = 6 * SECOND;
        let connect = ClientPacket::Connect { last_zxid_seen, timeout, session, read_only: false };
        scene.served.send(connection, connect);
        self.asked.clear();
        (self.connection, self.is_connected) = (Some(connection), false);
    }

    /// Reads what has arrived.
    fn reads(&mut self, scene: &mut Scene) {
        let Some(connection) = self.connection else { return };
        for delivered in scene.take(connection) {
            match delivered {
                Delivered::End { .. } => self.connection = None,
                Delivered::Packet(packet) => self.takes(scene, connection, packet),
            }
        }
    }

    fn takes(&mut self, scene: &mut Scene, connection: ClientConnection, packet: ServerPacket) {
        match packet {
            ServerPacket::Connected { session, .. } => {
                (self.session, self.is_connected) = (Some(session), true);
                self.rearms(scene, connection);
            }
            ServerPacket::Expired => *self = Client::default(),
            ServerPacket::Reply { xid, zxid, result } => {
                self.read = self.read.max(zxid);
                if let Some(at) = self.asked.iter().position(|(asked, _)| *asked == xid) {
                    let (_, request) = self.asked.remove(at);
                    self.watches(&request, result.is_ok());
                }
            }
            ServerPacket::Notification(event) => {
                for set in [&mut self.data, &mut self.exist, &mut self.child] {
                    set.remove(&event.path);
                }
            }
            ServerPacket::WatchesSet { zxid } => self.read = self.read.max(zxid),
            ServerPacket::Pong | ServerPacket::Authenticated { .. } => {}
        }
    }

    fn rearms(&self, scene: &mut Scene, connection: ClientConnection) {
        if let Some(identity) = self.identity {
            scene.served.send(connection, proof(identity));
        }
        let list = |set: &BTreeSet<Arc<str>>| set.iter().cloned().collect();
        let watches = ClientPacket::SetWatches {
            relative_zxid: self.read,
            data: list(&self.data),
            exist: list(&self.exist),
            child: list(&self.child),
            persistent: Vec::new(),
            recursive: Vec::new(),
        };
        scene.served.send(connection, watches);
    }

    fn watches(&mut self, request: &Request, is_done: bool) {
        match request {
            Request::GetData { path, watch: true } if is_done => self.data.insert(path.clone()),
            Request::Exists { path, watch: true } if is_done => self.data.insert(path.clone()),
            Request::Exists { path, watch: true } => self.exist.insert(path.clone()),
            Request::GetChildren { path, watch: true } if is_done => {
                self.child.insert(path.clone())
            }
            _ => false,
        };
    }

    fn asks(&mut self, scene: &mut Scene, request: Request) {
        let Some(connection) = self.connection.filter(|_| self.is_connected) else { return };
        scene.xid += 1;
        let (xid, request) = (Xid(scene.xid), Arc::new(request));
        self.asked.push((xid, Arc::clone(&request)));
        scene.served.send(connection, ClientPacket::Request { xid, request });
    }
}

fn proof(identity: u64) -> ClientPacket {
    let auth = format!("user{identity}:password").into_bytes();
    ClientPacket::Auth { scheme: "digest".into(), auth: auth.into() }
}

fn request(random: &mut Random) -> Request {
    let path = ["/a", "/b", "/a/x", "/b/y", "/c"][random.below(5) as usize];
    let watch = random.chance(Ratio::one_in(2));
    let mode = *random.pick(&[
        CreateMode::Persistent,
        CreateMode::Persistent,
        CreateMode::Ephemeral,
        CreateMode::PersistentSequential,
        CreateMode::EphemeralSequential,
    ]);
    match random.below(12) {
        0..=2 => {
            let acl = match random.below(4) {
                0 => AclList::creator_all(),
                _ => AclList::OPEN,
            };
            let data = vec![7; random.below(20) as usize].into();
            Request::Write(Op::Create { path: path.into(), data, mode, acl })
        }
        3 | 4 => Request::Write(Op::delete(path, Version::Any)),
        5 => Request::Write(Op::set_data(path, *b"y", Version::Any)),
        6 => Request::Exists { path: path.into(), watch },
        7 => Request::GetData { path: path.into(), watch },
        8 | 9 => Request::GetChildren { path: path.into(), watch },
        10 => Request::Sync { path: path.into() },
        _ => match random.below(3) {
            0 => Request::AddWatch { path: path.into(), mode: AddWatchMode::Persistent },
            1 => Request::RemoveWatches { path: path.into(), kind: WatcherType::Persistent },
            _ => {
                let create = Op::create(path, *b"", mode);
                Request::Multi(vec![create, Op::set_data("/a", *b"", Version::Any)])
            }
        },
    }
}

/// Runs clients of this seed, and returns the property that they find violated.
fn found(bugs: Bugs, seed: u64) -> Option<String> {
    let mut scene = Scene::of(&ServedOptions { seed, bugs, ..ServedOptions::default() });
    let mut random = Seeds::new(seed).stream("clients", 0);
    let mut clients: Vec<Client> = (0..3).map(|_| Client::default()).collect();
    for _ in 0..400 {
        let at = random.below(3) as usize;
        let client = &mut clients[at];
        client.reads(&mut scene);
        let server = ServerId(random.between(1, 3) as u8);
        match (client.connection, random.below(40)) {
            (None, _) => client.connects(&mut scene, server),
            (Some(connection), 0) => scene.served.disconnect(connection),
            (Some(connection), 1) => {
                scene.served.hang_up(connection);
                client.connects(&mut scene, server);
            }
            (Some(_), 2) => drop(scene.served.crash(server)),
            (Some(_), 3..=5) => drop(scene.served.restart(server)),
            (Some(_), 6) => {
                drop(scene.served.slow_disk(server, random.span(Duration::ZERO, SECOND / 10)));
            }
            (Some(_), 7) => scene.served.heal(),
            (Some(connection), 8) if client.is_connected => {
                let identity = random.below(2);
                client.identity = Some(identity);
                scene.served.send(connection, proof(identity));
            }
            (Some(connection), 9..=12) if client.is_connected => {
                scene.served.send(connection, ClientPacket::Ping)
            }
            (Some(_), 13) => {
                client.asks(&mut scene, Request::CloseSession);
                client.asks(
                    &mut scene,
                    Request::Write(Op::create("/late", *b"", CreateMode::PersistentSequential)),
                );
            }
            (Some(_), _) => client.asks(&mut scene, request(&mut random)),
        }
        let longest = *random.pick(&[SECOND / 500, SECOND / 2]);
        scene.pass(random.span(Duration::ZERO, longest));
        if let Some(objection) = scene.served.violation() {
            let property = objection.property.clone();
            scene.check();
            return Some(property);
        }
    }
    assert_eq!(scene.served.ensemble().unjudged_outside(), 0, "every session is judged");
    None
}

#[test]
fn servers_without_defects_keep_their_promises_to_clients_of_any_language() {
    for seed in 0..40 {
        assert_eq!(found(Release::Repaired.bugs(), seed), None, "seed {seed}");
    }
}

/// Each of these defects shows itself to clients only, and breaks no promise among servers.
#[test]
fn a_defect_that_only_clients_can_see_is_found() {
    let planted = [
        (Bug::PlantedWrongXid, "H13 servers keep to the protocol"),
        (Bug::PlantedSequence, "H10 sequence numbers grow"),
        (Bug::PlantedExistEvent, "H7 watches are kept"),
        (Bug::PlantedChildWatch, "H7 watches are kept"),
        (Bug::PlantedChildByCzxid, "H7 watches are kept"),
        (Bug::PlantedLocalSync, "H6 a sync sees what was acknowledged"),
        (Bug::ClosingSessionWrites, "H8 an ended session is over"),
        (Bug::PlantedCreateAsksNoAcl, "H17 access is as ACLs grant it"),
        (Bug::PlantedDeafLeader, "S14 no session ends early"),
    ];
    for (bug, property) in planted {
        let bugs = Release::Repaired.bugs().with(bug);
        let first = (0..200).find_map(|seed| found(bugs, seed));
        assert_eq!(first.as_deref(), Some(property), "{bug}");
    }
}

/// A refused identity ends the connection, and a client of another language may re-attach its session.
#[test]
fn a_session_goes_on_after_a_refused_identity() {
    let mut scene = Scene::new(3, 11);
    let (one, session) = scene.connect(1, None).expect("server 1 answers");
    let unknown = ClientPacket::Auth { scheme: "unknown".into(), auth: b"".to_vec().into() };
    scene.served.send(one, unknown);
    scene.pass(SECOND);
    assert!(scene.take(one).last().is_some_and(is_end));
    let (two, again) = scene.connect(2, Some(session)).expect("the session goes on");
    assert_eq!(again, session);
    assert!(!scene.exists(two, "/a"));
    assert_eq!(scene.served.violation(), None);
    scene.check();
}

/// A client that says it has read less than it has can be shown anything: its session is not judged any more, and is counted.
#[test]
fn a_client_that_goes_back_in_time_is_not_judged() {
    let mut scene = Scene::new(3, 10);
    let (one, session) = scene.connect(1, None).expect("server 1 answers");
    scene.create(one, "/a");
    scene.pass(SECOND);
    assert_eq!(scene.take(one).len(), 1);
    let (two, _) = scene.connect(2, Some(session)).expect("the session goes on");
    assert_eq!(scene.served.ensemble().unjudged_outside(), 1);
    assert!(scene.exists(two, "/a"), "it is served all the same");
    assert_eq!(scene.served.violation(), None);
    scene.check();
}
