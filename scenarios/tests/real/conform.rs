//! The comparison with a real ZooKeeper, if one is installed (`apt-get install zookeeper`). If not, these tests say
//! so and pass: a build machine runs `vivarium conform`.

use std::sync::Arc;
use std::time::Duration;
use vivarium::conform::report::{found, mix};
use vivarium::conform::{
    Connection, Installation, Options, Outcome, Plan, RealServer, Received, Tally, run,
};
use vivarium_model::config::ServerOptions;
use vivarium_model::id::{ServerId, Xid};
use vivarium_model::network::Delivered;
use vivarium_model::op::{CreateMode, Op, Request, Response, Version};
use vivarium_model::packet::{ClientPacket, ServerPacket};
use vivarium_model::release::{Bug, Bugs};
use vivarium_model::wire::{Opcodes, Password};
use vivarium_model::zxid::Zxid;
use vivarium_sim::replica::Replica;

fn plan(operations: u64, planted: &[Bug]) -> Plan {
    Plan {
        operations,
        seed: 1,
        server: None,
        zookeeper: None,
        planted: planted.to_vec(),
        ensemble: false,
        observers: 0,
    }
}

/// Returns the outcome of a plan; `None` if no ZooKeeper is installed.
fn compare(plan: &Plan) -> Option<Outcome> {
    if let Err(error) = Installation::find() {
        eprintln!("not compared: {error}");
        return None;
    }
    Some(run(plan, &mut |_| ()).expect("a real server that can be talked to"))
}

#[test]
fn the_model_answers_as_a_real_server_does() {
    let plan = plan(1_500, &[]);
    let Some(outcome) = compare(&plan) else { return };
    if let Some(finding) = &outcome.finding {
        panic!("{}", found(&plan, finding));
    }
    assert!(outcome.tally.operations() >= 1_500);
    assert!(outcome.tally.of_code(None) > 100, "{}", mix(&outcome.tally, 100));
}

#[test]
fn a_session_moves_between_three_servers_of_which_one_is_killed_and_an_observer() {
    // A difference that is not repeated is no verdict: then another seed is tried.
    let mut outcomes = (1..4).map(|seed| {
        let plan = Plan { ensemble: true, observers: 1, seed, ..plan(400, &[]) };
        let outcome = compare(&plan)?;
        match &outcome.finding {
            None => Some(Some(outcome)),
            Some(finding) if finding.is_inconclusive(&plan) => Some(None),
            Some(finding) => panic!("{}", found(&plan, finding)),
        }
    });
    let Some(outcome) = outcomes.find(|outcome| !matches!(outcome, Some(None))) else {
        panic!("three runs without a verdict")
    };
    let Some(outcome) = outcome.flatten() else { return };
    let count = |name| outcome.tally.of_action(name);
    assert!(count("move") > 10, "{}", mix(&outcome.tally, 100));
    assert_eq!(count("kill of the leader") + count("kill of a follower"), count("restart"));
    assert!(count("restart") > 0, "{}", mix(&outcome.tally, 100));
}

/// A server that is not stopped keeps its directory.
#[test]
fn no_server_outlives_the_program_that_started_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_vivarium"));
    command.args(["conform", "--bug", "PlantedSequence"]).env("TMPDIR", directory.path());
    if let Err(error) = Installation::find() {
        eprintln!("not compared: {error}");
        return;
    }
    let output = command.output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("conform: DIVERGED"), "{text}");
    let left = std::fs::read_dir(directory.path()).expect("it is there").count();
    assert_eq!(left, 0, "servers left behind");
}

/// Each deviation is found, by a script of at most six actions. This tests one of them, to show that the comparison
/// can fail; `vivarium conform --bug` finds all ten.
#[test]
fn a_planted_deviation_is_found_and_the_script_is_short() {
    let plan = plan(50_000, &[Bug::PlantedEphemeralParent]);
    let Some(outcome) = compare(&plan) else { return };
    let finding = outcome.finding.expect("the model lets ephemerals have children");
    assert!(finding.again);
    assert!(finding.script.len() <= 6, "{}", found(&plan, &finding));
    let text = found(&plan, &finding);
    assert!(text.contains("NoChildrenForEphemerals"), "{text}");
    assert!(
        text.contains(
            "replay: vivarium conform --ops 50000 --seed 1 --bug PlantedEphemeralParent\n"
        ),
        "{text}"
    );
}

/// The leader deletes containers that have had children, and TTL znodes whose time is over; a container that was
/// never used stays, and so does every znode with children (rule 1.5.4).
#[test]
fn a_real_leader_and_the_model_delete_the_same_containers() {
    let znodes = [
        ("/used", CreateMode::Container),
        ("/used/child", CreateMode::Persistent),
        ("/never-used", CreateMode::Container),
        ("/kept", CreateMode::Container),
        ("/kept/child", CreateMode::Persistent),
        ("/short", CreateMode::PersistentWithTtl(Duration::from_millis(50))),
        ("/long", CreateMode::PersistentWithTtl(Duration::from_secs(3_600))),
        ("/parent", CreateMode::PersistentWithTtl(Duration::from_millis(50))),
        ("/parent/child", CreateMode::Persistent),
    ];
    let create = |(path, mode)| Request::Write(Op::create(path, [], mode));
    let delete = Op::Delete { path: "/used/child".into(), version: Version::Any };
    let list = Request::GetChildren { path: "/".into(), watch: false };
    let mut requests: Vec<Request> = znodes.into_iter().map(create).collect();
    requests.push(Request::Write(delete));
    let connect = ClientPacket::Connect {
        last_zxid_seen: Zxid::ZERO,
        timeout: Duration::from_secs(30),
        session: None,
        read_only: false,
    };
    let packet = |(at, request): (usize, Request)| ClientPacket::Request {
        xid: Xid(at as u32 + 1),
        request: Arc::new(request),
    };
    let names = |packet: ServerPacket| match packet {
        ServerPacket::Reply { result: Ok(Response::Children(names, _)), .. } => names,
        other => panic!("{other} is no list of children"),
    };

    let options = ServerOptions { extended_types: true, ..ServerOptions::default() };
    let mut replica = Replica::new(1, Bugs::NONE, options);
    let client = replica.open(ServerId(1));
    replica.send(client, connect.clone());
    for packet in requests.iter().cloned().enumerate().map(packet) {
        replica.send(client, packet);
    }
    replica.check_containers(Duration::from_secs(1));
    replica.send(client, packet((90, list.clone())));
    let mut last = None;
    while let Some(Delivered::Packet(packet)) = replica.receive(client) {
        last = Some(packet);
    }
    let modelled = names(last.expect("an answer"));
    assert_eq!(modelled.join(" "), "kept long never-used parent zookeeper");

    if let Err(error) = Installation::find() {
        eprintln!("not compared: {error}");
        return;
    }
    let interval = Duration::from_millis(200);
    let options = Options { container_check_interval: interval, ..Options::default() };
    let server = RealServer::start(&options).expect("a real server");
    let patience = Duration::from_secs(10);
    let password = Password::default();
    let (mut real, _) =
        Connection::connect(server.address(), &connect, &password, patience).expect("a connection");
    let mut ask = |packet: ClientPacket| {
        real.send(&packet, Opcodes::Newest).expect("a connection");
        match real.receive(patience).expect("a connection") {
            Received::Packet(packet) => packet,
            other => panic!("{other:?} instead of an answer"),
        }
    };
    for packet in requests.into_iter().enumerate().map(packet) {
        ask(packet);
    }
    // The first look can precede the end of a time to live; the second cannot.
    for at in 90.. {
        let found = names(ask(packet((at, list.clone()))));
        if found == modelled {
            break;
        }
        assert!(at < 150, "the real server keeps {found:?}, the model {modelled:?}");
        std::thread::sleep(interval);
    }
}

#[test]
fn codes_that_were_never_answered_are_named() {
    let text = mix(&Tally::default(), 100);
    for name in ["NoNode (-101)", "QuotaExceeded (-125)", "SessionMoved (-118)"] {
        assert!(text.contains(name), "{text}");
    }
}
