//! The reports of searches as a reader sees them.

mod common;

use common::finding;
use std::sync::Arc;
use std::time::Duration;
use vivarium_model::case::GrainKind;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::id::{ClientConnection, ClientId, SessionId, Xid};
use vivarium_model::note::Note;
use vivarium_model::op::Request;
use vivarium_model::packet::ClientPacket;
use vivarium_model::property::Objection;
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_model::trace::TraceLine;
use vivarium_model::verdict::{Verdict, Violation};
use vivarium_model::zxid::Zxid;
use vivarium_reports::exploration::{
    Dimension, ExplorationReport, Figures, exploration_json, exploration_text,
};
use vivarium_reports::junit::exploration_junit;
use vivarium_reports::summary::{Finding, Way};
use vivarium_reports::table::WIDTH;

fn exhausted() -> ExplorationReport {
    ExplorationReport {
        scenario: "lock".into(),
        bugs: Vec::new(),
        grain: GrainKind::Service,
        strategy: "breadth first".into(),
        reduced: true,
        threads: 8,
        processes: 1,
        dimensions: vec![
            Dimension::new("clients", true, "2: every order of requests and replies"),
            Dimension::new("kills", false, "--kills brings it in"),
        ],
        properties: vec!["program".into(), "lock M1 exclusion".into()],
        unasked: vec!["lock M5 no leak".into()],
        figures: Figures {
            generated: 12_345_678,
            distinct: 2_345_678,
            in_all: None,
            depth: 71,
            peak_frontier: 45_678,
            visited_bytes: 2_345_678 * 40,
            pieces_bytes: 345 << 20,
            programs: Some(6_016),
            wall: Duration::from_secs(10),
        },
        cycles: "no cycles".into(),
        claims: vec!["if all is as was claimed".into()],
        unseen: vec!["an observation `granted`".into()],
        observed: vec!["released".into()],
        verdict: Verdict::Exhausted { states: 2_345_678, depth: 71 },
        finding: None,
    }
}

/// One line longer than a timeline's would be cut at.
fn steps() -> Vec<TraceLine> {
    let connection = ClientConnection { client: ClientId(1), slot: 0 };
    let takes = |path: String| Note::Takes {
        client: ClientId(1),
        packet: ClientPacket::Request {
            xid: Xid(1),
            request: Arc::new(Request::GetChildren { path: path.into(), watch: false }),
        },
    };
    let line = |number, step, notes: Vec<Note>| TraceLine {
        at: Time::ZERO,
        number,
        step,
        notes,
        events: Vec::new(),
    };
    vec![
        line(1, Step::Start(ClientId(1)), Vec::new()),
        line(
            2,
            Step::Serve { client: ClientId(1), prefix: Zxid::ZERO },
            vec![takes(format!("/{}", "x".repeat(200)))],
        ),
        line(
            3,
            Step::Serve { client: ClientId(1), prefix: Zxid(1 << 32 | 4) },
            vec![takes("/lock".into())],
        ),
        line(4, Step::BreakClient { connection, to_server: 0, to_client: 0 }, Vec::new()),
        line(5, Step::Expire(SessionId(0x1)), Vec::new()),
    ]
}

fn violated() -> ExplorationReport {
    let violation = Violation {
        objection: Objection::new("lock M6 no self-wait", "client 1 waits for itself"),
        seed: None,
        at: Time::ZERO,
        step: 5,
        hash: Fingerprint(0x77),
    };
    let found = Finding {
        scenario: "lock with NoGuid".into(),
        violation: violation.clone(),
        options: "2 clients over the service grain; budget: 1 lost".into(),
        case_file: Some(Ok("cases/lock-NoGuid-explored.json".into())),
        replay: "vivarium replay cases/lock-NoGuid-explored.json --timeline".into(),
        story: Vec::new(),
        trace: steps(),
        way: Some(Way { length: 4, left_out: 2, proven: false }),
        ..finding()
    };
    ExplorationReport {
        bugs: vec!["NoGuid".into()],
        verdict: Verdict::Violated(Box::new(violation)),
        finding: Some(found),
        ..exhausted()
    }
}

#[test]
fn a_search_that_saw_everything() {
    insta::assert_snapshot!(exploration_text(&exhausted(), WIDTH));
}

/// No step is left out and no line cut.
#[test]
fn a_way_to_a_violation() {
    let text = exploration_text(&violated(), WIDTH);
    assert!(text.contains(&"x".repeat(200)), "{text}");
    insta::assert_snapshot!(text.split("\n what can vary").next().unwrap_or_default());
}

#[test]
fn for_machines() {
    insta::assert_snapshot!(exploration_json(&[exhausted(), violated()]));
}

#[test]
fn a_search_that_was_stopped_is_green_nowhere() {
    let verdict = Verdict::Bounded { by: "10 minutes".into(), states: 3, frontier: 2 };
    let bounded = ExplorationReport { verdict, ..exhausted() };
    let xml = exploration_junit(&[bounded.clone(), violated()]);
    assert!(xml.contains("failures=\"1\" errors=\"1\""), "{xml}");
    assert!(xml.contains("inconclusive: stopped by 10 minutes"), "{xml}");
    let text = exploration_text(&bounded, WIDTH);
    let end = "lock: inconclusive: stopped by 10 minutes after 3 states, 2 left\n  if all is as was claimed\n  \
               although no program made an observation `granted`\n";
    assert!(text.ends_with(end), "{text}");
}
