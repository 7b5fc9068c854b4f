//! Reports made by hand, as a sweep would fill them.
#![allow(dead_code, reason = "each test file uses its part")]

use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use vivarium_model::case::{Case, GrainKind};
use vivarium_model::config::Config;
use vivarium_model::error::Error;
use vivarium_model::event::Event;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::host::{Input, Operation, Outcome, Output};
use vivarium_model::id::{CallId, ClientConnection, ClientId, Machine, ServerId, SessionId, Xid};
use vivarium_model::note::Note;
use vivarium_model::observation::{Observation, Observed};
use vivarium_model::op::{CreateMode, Op, Request, Response, SessionState};
use vivarium_model::packet::{Delivered, ServerPacket};
use vivarium_model::path::ZnodePath;
use vivarium_model::property::{Measure, Objection};
use vivarium_model::stat::Stat;
use vivarium_model::step::{Step, Tail};
use vivarium_model::time::Time;
use vivarium_model::timer::{ClientTimer, Timer};
use vivarium_model::trace::TraceLine;
use vivarium_model::txn::{Txn, TxnBody};
use vivarium_model::verdict::{Verdict, Violation};
use vivarium_model::zxid::{Epoch, Zxid};
use vivarium_reports::summary::{Count, Finding, ScenarioReport};

pub(crate) const SESSION: SessionId = SessionId(0x0100_0001_0000_0002);
pub(crate) const CONNECTION: ClientConnection = ClientConnection { client: ClientId(1), slot: 0 };

/// What a recipe says.
#[derive(Debug, PartialEq, Eq, Hash, Serialize)]
struct Granted {
    token: Zxid,
}

impl Observation for Granted {
    fn words(&self) -> String {
        let node = "/locks/one/x-0000000002";
        format!("believes that it HOLDS /locks/one from now on, by {node}, token {}", self.token)
    }
}

pub(crate) fn create() -> Arc<Request> {
    let path = Arc::from("/locks/one/x-");
    let mode = CreateMode::EphemeralSequential;
    Arc::new(Request::Write(Op::create(path, [], mode)))
}

pub(crate) fn objection() -> Objection {
    Objection::new(
        "lock M1 mutual exclusion",
        "client 2 was granted /locks/one with token 1:9 while client 1 held it with token 1:7, \
         and both sessions were alive",
    )
}

pub(crate) fn violation() -> Violation {
    Violation {
        objection: objection(),
        seed: Some(42),
        at: Time(12_345_678),
        step: 10_235,
        hash: Fingerprint(0x0123_4567_89ab_cdef_0011_2233_4455_6677),
    }
}

pub(crate) fn trace() -> Vec<TraceLine> {
    let crash = TraceLine {
        at: Time(12_301_000),
        number: 9_998,
        step: Step::Crash {
            server: ServerId(3),
            tail: Tail { survive: 1, torn: true, ..Tail::LOST },
        },
        notes: Vec::new(),
        events: vec![
            Event::Crashed { server: ServerId(3), lost: 2 },
            Event::Session {
                client: ClientId(1),
                session: Some(SESSION),
                server: None,
                state: SessionState::Disconnected,
            },
        ],
    };
    let lost = TraceLine {
        at: Time(12_340_000),
        number: 9_999,
        step: Step::Fire(Timer::Client(ClientId(1), ClientTimer::Read)),
        notes: Vec::new(),
        events: vec![Event::Lost {
            client: ClientId(1),
            session: SESSION,
            xid: Xid(4),
            request: create(),
        }],
    };
    let granted = TraceLine {
        at: Time(12_345_678),
        number: 10_235,
        step: Step::Input(ClientId(2)),
        notes: vec![
            Note::Received {
                client: ClientId(2),
                input: Input::Reply { call: CallId(0), outcome: children() },
            },
            Note::Did(Output::Submit {
                call: CallId(1),
                operation: Operation::Sleep(Duration::from_millis(100)),
            }),
        ],
        events: vec![Event::Observed {
            client: ClientId(2),
            session: Some(SESSION),
            next_xid: Xid(9),
            observation: Observed::new(Granted { token: Zxid::new(Epoch(1), 9) }),
        }],
    };
    vec![crash, lost, fsync(), replied(), granted]
}

/// The children of a queue, as a program reads them.
fn children() -> Outcome {
    let stat = Stat { cversion: 4, ..Stat::default() };
    Outcome::Response(Ok(Response::Children(vec!["x-0000000002".into()], stat)))
}

/// A leader's fsync completes a quorum.
fn fsync() -> TraceLine {
    let leader = ServerId(2);
    let zxid = Zxid::new(Epoch(1), 8);
    let body = TxnBody::Delete { path: ZnodePath::new("/locks/one/x-0000000001").unwrap() };
    let txn = Arc::new(Txn { zxid, session: SESSION, cxid: Xid(3), time: 0, body });
    TraceLine {
        at: Time(12_341_000),
        number: 10_000,
        step: Step::Fsync(leader),
        notes: Vec::new(),
        events: vec![
            Event::Acked { server: leader, zxid: zxid.previous(), durable: zxid },
            Event::Acked { server: leader, zxid, durable: zxid },
            Event::Committed { leader, txn: Arc::clone(&txn) },
            Event::Applied { server: leader, txn, digest: Fingerprint(0) },
        ],
    }
}

/// A reply, told by a note that is too long for a line.
fn replied() -> TraceLine {
    let long = format!("/{}", "x".repeat(200)).into();
    let note = Note::FromServer {
        client: ClientId(1),
        server: Some(ServerId(2)),
        delivered: Delivered::Packet(ServerPacket::Reply {
            xid: Xid(3),
            zxid: Zxid::new(Epoch(1), 8),
            result: Ok(Response::Ephemerals(vec![long])),
        }),
        answers: None,
    };
    TraceLine {
        at: Time(12_342_000),
        number: 10_001,
        step: Step::ToClient(CONNECTION),
        notes: vec![note],
        events: vec![Event::Replied {
            client: ClientId(1),
            session: SESSION,
            connection: CONNECTION,
            xid: Xid(3),
            zxid: Zxid::new(Epoch(1), 8),
            request: create(),
            result: Err(Error::NodeExists),
        }],
    }
}

/// The turns of a run: what [`trace`] has of them, and a partition before.
pub(crate) fn story() -> Vec<TraceLine> {
    let way = |from, to| Step::Cut { from: Machine::Server(from), to: Machine::Server(to) };
    let cuts = [way(ServerId(1), ServerId(2)), way(ServerId(2), ServerId(1))];
    let cut = |(number, step)| TraceLine {
        at: Time(11_000_000),
        number,
        step,
        notes: Vec::new(),
        events: Vec::new(),
    };
    let kept = trace().into_iter().map(|mut line| {
        line.notes.clear();
        line.events.retain(Event::is_milestone);
        line
    });
    let kept = kept.filter(|line| line.step.is_milestone() || !line.events.is_empty());
    (9_000..).zip(cuts).map(cut).chain(kept).collect()
}

pub(crate) fn finding() -> Finding {
    Finding {
        scenario: "lock with NoGuid".into(),
        violation: violation(),
        options: "3 servers, tick 2000 ms\nfault plan: 4.1 s crash server 3; 9.0 s cut\n".into(),
        config: Config::new(3, 2),
        case_file: Some(Ok("cases/lock-NoGuid-42.json".into())),
        replay: "vivarium replay lock --bug NoGuid --seed 42".into(),
        every_step: "vivarium replay lock --bug NoGuid --seed 42 --timeline=all".into(),
        story: story(),
        trace: trace(),
        way: None,
        unrepeated: None,
        shorter: None,
        stopped: None,
        distinct: None,
        regression: None,
        panicked_at: None,
        as_read: None,
    }
}

/// A sweep in which everything was reached and nothing was violated.
pub(crate) fn held() -> ScenarioReport {
    ScenarioReport {
        scenario: "lock".into(),
        bugs: Vec::new(),
        host: "madsim".into(),
        seeds: 20_000,
        first_seed: 0,
        asked: 20_000,
        steps: 123_456_789,
        simulated: Duration::from_secs(3_650_000),
        wall: Duration::from_millis(48_250),
        faults: Count::list([
            ("crash", 41_234),
            ("one-way partition", 9_876),
            ("program kill", 12),
        ]),
        marks: Count::list([("sync by DIFF", 30_211), ("sync by SNAP", 873)]),
        requests: 812_345,
        observed: Count::list([("granted", 41_000)]),
        looks_for: vec!["granted".into()],
        measured: vec![
            Measure::most("clients woken by one change", 1),
            Measure::longest("zombie overlap, longest", Duration::from_millis(2_400)),
        ],
        violations: 0,
        hash: Fingerprint(0x1234),
        kept_going: false,
        demands_marks: false,
        shard: None,
        merged: None,
        verdict: Verdict::Held { seeds: 20_000, unreached: Vec::new() },
        finding: None,
    }
}

/// A short sweep that missed a mark.
pub(crate) fn short() -> ScenarioReport {
    ScenarioReport {
        scenario: "election".into(),
        seeds: 10,
        asked: 10,
        steps: 81_234,
        simulated: Duration::from_millis(412_700),
        wall: Duration::from_millis(90),
        faults: Count::list([("crash", 4), ("session expiry", 0)]),
        marks: Count::list([("sync by DIFF", 3), ("sync by TRUNC", 0)]),
        observed: Vec::new(),
        looks_for: Vec::new(),
        measured: Vec::new(),
        verdict: Verdict::Held { seeds: 10, unreached: vec!["sync by TRUNC".into()] },
        ..held()
    }
}

/// A sweep that ended with a violation.
pub(crate) fn violated() -> ScenarioReport {
    ScenarioReport {
        bugs: vec!["NoGuid".into()],
        seeds: 43,
        steps: 310_042,
        simulated: Duration::from_secs(5_000),
        wall: Duration::from_millis(610),
        violations: 1,
        verdict: Verdict::Violated(Box::new(violation())),
        finding: Some(finding()),
        ..held()
    }
}

/// A scenario that could not be run.
pub(crate) fn failed() -> ScenarioReport {
    ScenarioReport {
        scenario: "queue".into(),
        seeds: 0,
        asked: 0,
        steps: 0,
        simulated: Duration::ZERO,
        wall: Duration::ZERO,
        faults: Vec::new(),
        marks: Vec::new(),
        observed: Vec::new(),
        looks_for: Vec::new(),
        measured: Vec::new(),
        verdict: Verdict::Error("the ensemble has no servers".into()),
        ..held()
    }
}

pub(crate) fn case() -> Case {
    Case {
        version: Case::VERSION,
        scenario: "lock".into(),
        grain: GrainKind::Ensemble,
        parameters: BTreeMap::from([("clients".into(), "2".into())]),
        seed: Some(42),
        bugs: vec!["NoGuid".into()],
        config: Config::new(3, 2),
        outside: Vec::new(),
        steps: vec![
            (Time(0), Step::Start(ClientId(1))),
            (Time(15), Step::Vote { from: ServerId(1), to: ServerId(2) }),
            (Time(27), Step::Crash { server: ServerId(3), tail: Tail::LOST }),
        ],
        hash: Fingerprint(u128::MAX - 7),
        violation: Some(objection()),
    }
}
