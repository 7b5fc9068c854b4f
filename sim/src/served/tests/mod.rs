//! Clients outside, faults on demand, and the record of both.

use super::*;
use crate::random::Ratio;
use crate::replica::replay;
use std::collections::BTreeMap;
use vivarium_model::error::Error;
use vivarium_model::id::{SessionId, Xid};
use vivarium_model::op::{CreateMode, Op, Request, Response};
use vivarium_model::release::{Bug, Release};

mod clients;

const SECOND: Duration = Duration::from_secs(1);

/// A served ensemble with its whole record.
struct Scene {
    served: Served,
    case: Case,
    received: BTreeMap<ClientConnection, Vec<Delivered<ServerPacket>>>,
    xid: u32,
}

impl Scene {
    fn new(servers: u8, seed: u64) -> Scene {
        Scene::of(&ServedOptions {
            servers,
            seed,
            bugs: Release::Repaired.bugs(),
            ..ServedOptions::default()
        })
    }

    fn of(settings: &ServedOptions) -> Scene {
        let served = Served::new(settings);
        let case = served.case();
        let mut scene = Scene { served, case, received: BTreeMap::new(), xid: 0 };
        scene.pass(5 * SECOND);
        scene
    }

    /// Lets time pass in small pieces, and adds what has happened to the record.
    fn pass(&mut self, span: Duration) {
        let end = self.served.now() + span;
        while self.served.now() < end {
            self.served.pass((self.served.now() + Duration::from_millis(7)).min(end));
            self.record();
        }
    }

    fn record(&mut self) {
        for (connection, delivered) in self.served.delivered() {
            self.received.entry(connection).or_default().push(delivered);
        }
        let Recorded { outside, steps, hash, violation } = self.served.recorded();
        self.case.outside.extend(outside.iter().map(|input| Outside::clone(input)));
        self.case.steps.extend(steps);
        (self.case.hash, self.case.violation) = (hash, violation);
    }

    /// Connects, and returns the connection with its session.
    fn connect(
        &mut self,
        server: u8,
        session: Option<SessionId>,
    ) -> Option<(ClientConnection, SessionId)> {
        let client = self.served.ensemble().next_outside();
        let connection = self.served.open(client, ServerId(server))?;
        let connect = ClientPacket::Connect {
            last_zxid_seen: Default::default(),
            timeout: 6 * SECOND,
            session,
            read_only: false,
        };
        self.served.send(connection, connect);
        self.pass(SECOND);
        match self.take(connection).first() {
            Some(Delivered::Packet(ServerPacket::Connected { session, .. })) => {
                Some((connection, *session))
            }
            _ => None,
        }
    }

    fn take(&mut self, connection: ClientConnection) -> Vec<Delivered<ServerPacket>> {
        self.received.remove(&connection).unwrap_or_default()
    }

    fn send(&mut self, connection: ClientConnection, request: Request) {
        self.xid += 1;
        let (xid, request) = (Xid(self.xid), Arc::new(request));
        self.served.send(connection, ClientPacket::Request { xid, request });
    }

    fn create(&mut self, connection: ClientConnection, path: &str) {
        self.send(connection, Request::Write(Op::create(path, *b"", CreateMode::Ephemeral)));
    }

    /// Asks at another connection whether a znode exists.
    fn exists(&mut self, connection: ClientConnection, path: &str) -> bool {
        self.send(connection, Request::Exists { path: path.into(), watch: false });
        self.pass(Duration::from_millis(10));
        match self.take(connection).pop() {
            Some(Delivered::Packet(ServerPacket::Reply { result, .. })) => {
                assert!(matches!(result, Ok(Response::Exists(_)) | Err(Error::NoNode)));
                result.is_ok()
            }
            other => panic!("{other:?}"),
        }
    }

    fn leader(&self) -> ServerId {
        self.served.ensemble().leader().expect("there is a leader")
    }

    /// The record replays to its hash, from a file, twice.
    fn check(mut self) {
        self.record();
        let written = serde_json::to_string(&self.case).expect("a case can be written");
        let read: Case = serde_json::from_str(&written).expect("and read");
        for _ in 0..2 {
            let replayed = replay(&read).expect("it is a case");
            assert_eq!((replayed.hash, &replayed.skipped[..]), (self.case.hash, &[][..]));
            assert_eq!(replayed.objection, self.case.violation);
        }
    }
}

fn is_end(delivered: &Delivered<ServerPacket>) -> bool {
    matches!(delivered, Delivered::End { .. })
}

#[test]
fn clients_are_served_and_the_record_replays() {
    let mut scene = Scene::new(3, 1);
    let (one, session) = scene.connect(1, None).expect("server 1 answers");
    scene.create(one, "/a");
    scene.pass(Duration::from_millis(1));
    assert_eq!(scene.take(one).len(), 1, "an answer takes less than a millisecond");
    let (two, _) = scene.connect(2, None).expect("server 2 answers");
    assert!(scene.exists(two, "/a"));
    scene.served.hang_up(one);
    assert!(scene.connect(2, Some(session)).is_some(), "the session goes on at another server");
    assert_eq!(scene.served.violation(), None);
    scene.check();
}

#[test]
fn a_session_without_a_sign_of_life_expires() {
    let mut scene = Scene::new(3, 2);
    let (one, session) = scene.connect(1, None).expect("server 1 answers");
    scene.create(one, "/a");
    scene.pass(15 * SECOND);
    assert!(scene.take(one).last().is_some_and(is_end), "the server has closed the connection");
    let (two, _) = scene.connect(2, None).expect("server 2 answers");
    assert!(!scene.exists(two, "/a"));
    assert!(scene.connect(3, Some(session)).is_none());
    scene.check();
}

#[test]
fn the_leader_can_expire_a_session_at_once() {
    let mut scene = Scene::new(3, 3);
    assert_eq!(scene.served.expire(SessionId(5)), Err(Refused::NoSession(SessionId(5))));
    let (one, session) = scene.connect(1, None).expect("server 1 answers");
    assert_eq!(scene.served.expire(session), Ok(()));
    scene.pass(SECOND);
    assert!(scene.take(one).last().is_some_and(is_end));
    scene.check();
}

#[test]
fn a_crash_of_the_leader_ends_its_connections_and_another_is_elected() {
    let mut scene = Scene::new(3, 4);
    let before = scene.leader();
    let (one, session) = scene.connect(before.0, None).expect("the leader answers");
    scene.create(one, "/a");
    scene.pass(Duration::from_millis(50));
    assert_eq!(scene.served.crash(before), Ok(()));
    assert_eq!(scene.served.crash(before), Err(Refused::Down(before.0)));
    scene.pass(5 * SECOND);
    assert!(scene.take(one).last().is_some_and(is_end));
    assert_ne!(scene.leader(), before);
    assert_eq!(scene.served.open(ClientId(9), before), None, "a server that is down refuses");
    let other = scene.leader();
    let (two, _) = scene.connect(other.0, Some(session)).expect("the session goes on");
    assert!(scene.exists(two, "/a"));
    assert_eq!(scene.served.restart(before), Ok(()));
    assert_eq!(scene.served.restart(before), Err(Refused::Up(before.0)));
    scene.pass(5 * SECOND);
    assert!(scene.served.ensemble().is_serving(before));
    scene.check();
}

#[test]
fn a_minority_does_not_write_until_the_partition_is_healed() {
    let mut scene = Scene::new(3, 5);
    let leader = scene.leader();
    let (one, _) = scene.connect(leader.0, None).expect("the leader answers");
    let others: Vec<ServerId> = (1..=3).map(ServerId).filter(|id| *id != leader).collect();
    scene.served.partition(&[vec![leader], others.clone()]).expect("they exist");
    assert!(scene.served.partition(&[vec![ServerId(4)]]).is_err());
    scene.create(one, "/a");
    scene.pass(10 * SECOND);
    assert!(!scene.take(one).iter().any(|it| matches!(it, Delivered::Packet(_))));
    assert!(others.contains(&scene.leader()));
    scene.served.heal();
    scene.pass(10 * SECOND);
    assert!(scene.served.ensemble().is_serving(leader));
    let (two, _) = scene.connect(leader.0, None).expect("it follows");
    assert!(!scene.exists(two, "/a"), "the proposal of the old leader is cut off");
    scene.check();
}

#[test]
fn a_paused_server_is_silent_and_then_goes_on() {
    let mut scene = Scene::new(3, 6);
    let follower = (1..=3).map(ServerId).find(|id| *id != scene.leader()).expect("a follower");
    let (one, _) = scene.connect(follower.0, None).expect("it answers");
    scene.served.pause(follower).expect("it is up");
    assert_eq!(scene.served.pause(follower), Err(Refused::Paused(follower.0)));
    scene.create(one, "/a");
    scene.pass(SECOND);
    assert!(scene.take(one).is_empty());
    scene.served.resume(follower).expect("it is paused");
    assert_eq!(scene.served.resume(follower), Err(Refused::NotPaused(follower.0)));
    scene.pass(Duration::from_millis(100));
    assert_eq!(scene.take(one).len(), 1);
    scene.check();
}

/// The leader's next write fails: it leaves its role, and what it had not written is lost with it.
#[test]
fn a_full_disk_fails_the_next_write() {
    let mut scene = Scene::new(3, 9);
    let leader = scene.leader();
    let (one, session) = scene.connect(leader.0, None).expect("it answers");
    scene.served.disk_full(leader).expect("it is up");
    scene.create(one, "/a");
    scene.pass(5 * SECOND);
    assert!(scene.take(one).last().is_some_and(is_end), "it has left its role");
    let (two, _) = scene.connect(scene.leader().0, Some(session)).expect("another leads");
    scene.create(two, "/b");
    scene.pass(SECOND);
    assert_eq!(scene.take(two).len(), 1);
    scene.check();
}

/// Requests take as long as the disks of a quorum.
#[test]
fn slow_disks_slow_requests_down() {
    let mut scene = Scene::new(3, 7);
    let (one, _) = scene.connect(1, None).expect("it answers");
    for server in 1..=3 {
        scene.served.slow_disk(ServerId(server), Duration::from_millis(200)).expect("it exists");
    }
    scene.create(one, "/a");
    scene.pass(Duration::from_millis(150));
    assert!(scene.take(one).is_empty());
    scene.pass(Duration::from_millis(500));
    assert_eq!(scene.take(one).len(), 1);
    scene.check();
}

#[test]
fn a_lost_reply_has_the_outcome_that_was_asked_for() {
    for (lost, at_once, later) in [
        (LostReply::Applied, true, true),
        (LostReply::Never, false, false),
        (LostReply::Pending, false, true),
    ] {
        let mut scene = Scene::new(3, 8);
        let (other, _) = scene.connect(1, None).expect("it answers");
        let (one, session) = scene.connect(2, None).expect("it answers");
        let (request, path) = (Some("create".to_owned()), Some("/b".to_owned()));
        scene.served.lose_next(Reply { connection: one, request, path, lost });
        scene.create(one, "/a");
        scene.pass(Duration::from_millis(20));
        assert_eq!(scene.take(one).len(), 1, "another path");
        scene.create(one, "/b");
        scene.pass(Duration::from_millis(20));
        let received = scene.take(one);
        assert!(matches!(&received[..], [end] if is_end(end)), "{lost:?}: {received:?}");
        let found = scene.exists(other, "/b");
        assert_eq!(found, at_once, "{lost:?}");
        scene.pass(SECOND);
        assert_eq!(scene.exists(other, "/b"), later, "{lost:?}");
        assert!(scene.connect(3, Some(session)).is_some(), "the session goes on");
        scene.check();
    }
}

/// The first commit of a server that writes its first snapshot in place violates S3; the ensemble goes on.
#[test]
fn a_violation_ends_the_record_and_not_the_service() {
    let bugs = Bugs::NONE.with(Bug::SnapshotWrittenInPlace);
    let mut scene = Scene::of(&ServedOptions { servers: 1, bugs, ..ServedOptions::default() });
    let (one, _) = scene.connect(1, None).expect("it answers");
    scene.create(one, "/a");
    scene.pass(SECOND);
    let objection = scene.served.violation().expect("it is committed and not durable");
    assert_eq!(objection.property, "S3 committed means durable");
    let steps = scene.served.steps();
    scene.create(one, "/b");
    scene.pass(SECOND);
    assert_eq!(scene.served.steps(), steps);
    assert!(scene.take(one).len() >= 2);
    scene.check();
}

/// Whatever clients do and whichever faults happen: the record replays, and the repaired release holds.
#[test]
fn any_run_is_a_function_of_its_record() {
    for seed in 0..60 {
        let mut scene = Scene::new(if seed % 4 == 0 { 5 } else { 3 }, seed);
        let mut random = Seeds::new(seed).stream("test", 0);
        let mut connections: Vec<(ClientConnection, SessionId)> = Vec::new();
        for _ in 0..60 {
            anything(&mut scene, &mut random, &mut connections);
            let span = random.span(Duration::ZERO, Duration::from_millis(400));
            scene.pass(span);
        }
        scene.served.heal();
        assert_eq!(scene.served.violation(), None, "seed {seed}");
        scene.check();
    }
}

fn anything(
    scene: &mut Scene,
    random: &mut crate::random::Random,
    connections: &mut Vec<(ClientConnection, SessionId)>,
) {
    let server = ServerId(random.between(1, 3) as u8);
    let session = random.choose(&connections[..]);
    let served = &mut scene.served;
    let refused = match random.below(16) {
        0 => served.crash(server),
        1 => served.power_loss(server),
        2 | 3 => served.restart(server),
        4 => served.partition(&[vec![server]]),
        5 => served.partition_one_way(server, ServerId(random.between(1, 3) as u8)),
        6 | 7 => {
            served.heal();
            Ok(())
        }
        8 => served.pause(server),
        9 => served.slow_disk(server, random.span(Duration::ZERO, Duration::from_millis(80))),
        10 => served.disk_full(server),
        11 => session.map_or(Ok(()), |(_, session)| served.expire(session)),
        12 => {
            let resumed = session.map(|(_, session)| session);
            let resumed = resumed.filter(|_| random.chance(Ratio::one_in(2)));
            connections.extend(scene.connect(server.0, resumed));
            Ok(())
        }
        _ => {
            if let Some((connection, _)) = session {
                let lost =
                    *random.pick(&[LostReply::Applied, LostReply::Never, LostReply::Pending]);
                if random.chance(Ratio::one_in(3)) {
                    let (request, path) = (None, None);
                    served.lose_next(Reply { connection, request, path, lost });
                }
                let path = format!("/{}", random.below(6));
                for _ in 0..random.below(3) {
                    scene.create(connection, &path);
                }
            }
            Ok(())
        }
    };
    if let Err(refused) = refused {
        assert!(!refused.to_string().is_empty());
    }
}
