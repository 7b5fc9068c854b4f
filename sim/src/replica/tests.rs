use super::*;
use vivarium_model::error::Error;
use vivarium_model::id::Xid;
use vivarium_model::op::{CreateMode, Op, Request};
use vivarium_model::release::{Bug, Release};

fn connect(session: Option<SessionId>) -> ClientPacket {
    let timeout = Duration::from_secs(6);
    ClientPacket::Connect { last_zxid_seen: Default::default(), timeout, session, read_only: false }
}

fn create(xid: u32, path: &str) -> ClientPacket {
    let request = Request::Write(Op::create(path, *b"", CreateMode::Ephemeral));
    ClientPacket::Request { xid: Xid(xid), request: Arc::new(request) }
}

/// Opens a session at this server; `None` if it does not answer.
fn session(replica: &mut Replica, server: u8) -> Option<(ClientConnection, SessionId)> {
    let connection = replica.open(ServerId(server));
    replica.send(connection, connect(None));
    match replica.receive(connection) {
        Some(Delivered::Packet(ServerPacket::Connected { session, .. })) => {
            Some((connection, session))
        }
        _ => None,
    }
}

/// A run in which clients connect, write, reattach to another server and expire, while servers crash and restart.
fn story() -> Replica {
    let mut replica = Replica::new(3, Release::Repaired.bugs(), ServerOptions::default());
    tell(&mut replica).expect("every client gets its answers");
    replica
}

fn tell(replica: &mut Replica) -> Option<()> {
    let (one, owner) = session(replica, 1)?;
    replica.send(one, create(1, "/a"));
    replica.receive(one)?;
    replica.crash(ServerId(3));
    let (two, _) = session(replica, 2)?;
    replica.send(two, create(1, "/b"));
    replica.close(one);
    let again = replica.open(ServerId(2));
    replica.send(again, connect(Some(owner)));
    replica.restart(ServerId(3));
    replica.expire(owner);
    Some(())
}

#[test]
fn what_clients_outside_do_is_recorded_and_replays_to_the_same_hash() {
    let replica = story();
    assert_eq!(replica.violation(), None);
    assert!(replica.tree().node("/b").is_some() && replica.tree().node("/a").is_none());
    let case = replica.case();
    let written = serde_json::to_string(&case).expect("a case can be written");
    let read: Case = serde_json::from_str(&written).expect("and read");
    assert_eq!(read, case);
    for _ in 0..2 {
        let replayed = replay(&read).expect("it is a case of a replica");
        assert_eq!((replayed.hash, replayed.skipped.len()), (case.hash, 0));
        assert_eq!(replayed.objection, None);
    }
}

/// A leader's own sync waits for what is committed and not applied, but not for a write that its client has sent after
/// it: that one is answered after the sync.
#[test]
fn a_sync_between_two_writes_of_its_client_is_answered_in_its_turn() {
    let mut replica = Replica::new(1, Release::Repaired.bugs(), ServerOptions::default());
    let (connection, _) = session(&mut replica, 1).expect("the server answers");
    let sync = Arc::new(Request::Sync { path: "/".into() });
    let sync = ClientPacket::Request { xid: Xid(2), request: sync };
    replica.send_together(connection, [create(1, "/a"), sync, create(3, "/b")]);
    let mut answered = Vec::new();
    while let Some(Delivered::Packet(ServerPacket::Reply { xid, result, .. })) =
        replica.receive(connection)
    {
        assert!(result.is_ok());
        answered.push(xid.0);
    }
    assert_eq!((answered, replica.violation()), (vec![1, 2, 3], None));
}

/// An older server answers an operation that it does not know before a write that waits, closes the connection, and
/// keeps the session.
#[test]
fn an_unknown_operation_costs_the_connection_and_no_more() {
    let who = || ClientPacket::Request { xid: Xid(2), request: Arc::new(Request::WhoAmI) };
    let answers = |operations_of| {
        let options = ServerOptions { operations_of, ..ServerOptions::default() };
        let mut replica = Replica::new(1, Release::Repaired.bugs(), options);
        let (connection, owner) = session(&mut replica, 1).expect("the server answers");
        replica.send_together(connection, [create(1, "/a"), who()]);
        let mut told = Vec::new();
        while let Some(delivered) = replica.receive(connection) {
            told.push(match delivered {
                Delivered::Packet(ServerPacket::Reply { xid, zxid, result }) => {
                    (xid.0, zxid.counter(), result.err())
                }
                _ => break,
            });
        }
        let again = replica.open(ServerId(1));
        replica.send(again, connect(Some(owner)));
        let lives = matches!(
            replica.receive(again),
            Some(Delivered::Packet(ServerPacket::Connected { session, .. })) if session == owner
        );
        assert_eq!(replica.violation(), None);
        (told, lives, replica.tree().node("/a").is_some())
    };
    let refused = vec![(2, 0, Some(Error::Unimplemented))];
    assert_eq!(answers(Release::V3_6_4), (refused, true, true));
    assert_eq!(answers(Release::V3_7_2), (vec![(1, 2, None), (2, 2, None)], true, true));
}

/// Another packet results in another hash.
#[test]
fn the_hash_knows_what_was_sent() {
    let mut case = story().case();
    let sent = case.outside.iter_mut().find_map(|input| match input {
        Outside::Sends { packet: packet @ ClientPacket::Request { .. }, .. } => Some(packet),
        _ => None,
    });
    *sent.expect("a request was sent") = create(1, "/c");
    assert_ne!(replay(&case).expect("it can be replayed").hash, case.hash);
}

/// The first commit of a server that writes its first snapshot in place violates S3.
#[test]
fn a_defect_of_the_servers_is_objected_to_and_the_case_ends_there() {
    let bugs = Bugs::NONE.with(Bug::SnapshotWrittenInPlace);
    let mut replica = Replica::new(1, bugs, ServerOptions::default());
    let (connection, _) = session(&mut replica, 1).expect("the server answers");
    replica.send(connection, create(1, "/a"));
    let case = replica.case();
    let objection = case.violation.as_ref().expect("it is committed and not durable");
    assert_eq!(
        (objection.property.as_str(), replica.violation()),
        ("S3 committed means durable", Some(objection))
    );
    let replayed = replay(&case).expect("it is a case of a replica");
    assert!(replayed.is_run_of(&case) && replayed.taken.len() == case.steps.len());
    assert_eq!(replayed.objection, case.violation);
}

/// A case file can contain any input.
#[test]
fn inputs_that_make_no_sense_are_refused_or_not_possible() {
    let case = story().case();
    let mut no_input = case.clone();
    no_input.outside.pop();
    let refused = replay(&no_input).expect_err("the last input is missing");
    assert!(refused.contains("from outside"), "{refused}");
    for number in [0, 999] {
        let mut far = case.clone();
        far.outside[0] = Outside::Opens { client: ClientId(number), server: ServerId(1) };
        assert!(!replay(&far).expect("it is skipped").skipped.is_empty());
    }
    let mut closed = case.clone();
    closed.config.outside = false;
    assert!(replay(&closed).is_err());
}
