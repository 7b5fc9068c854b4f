//! The page of a picture and its exports, on pictures of runs that never were.

mod synthetic;

use proptest::prelude::*;
use regex_lite::Regex;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use synthetic::{explored, picture};
use vivarium_reports::picture::page::page;
use vivarium_reports::picture::perfetto::trace_events;
use vivarium_reports::picture::shiviz::{EVENT, shiviz};
use vivarium_reports::picture::{Picture, PictureStep, StepKind};

/// The JSON that a page embeds.
fn embedded(page: &str) -> Value {
    let (_, rest) = page
        .split_once("<script type=\"application/json\" id=\"data\">")
        .expect("the page has data");
    let (data, _) = rest.split_once("</script>").expect("the data ends");
    serde_json::from_str(data).expect("the data is JSON")
}

#[test]
fn a_page_embeds_its_picture() {
    let picture = picture(1, 80, 3, 2);
    assert_eq!(embedded(&page(&picture)), serde_json::to_value(&picture).expect("it is JSON"));
}

#[test]
fn no_text_of_a_picture_breaks_out_of_its_element() {
    let hostile = "</script><script>alert(1)</script><!-- @title@ @data@ @scripts@ & \u{2028} \"";
    let step = PictureStep {
        number: 1,
        at: 0,
        lanes: Vec::new(),
        kind: StepKind::Program,
        words: hostile.into(),
        notes: vec![hostile.into()],
        events: Vec::new(),
        milestone: false,
        paths: vec![hostile.into()],
        states: Vec::new(),
    };
    let picture = Picture { title: hostile.into(), steps: vec![step], ..Picture::default() };
    let plain = page(&Picture::default());
    let page = page(&picture);
    assert_eq!(embedded(&page), serde_json::to_value(&picture).expect("it is JSON"));
    for tag in ["<script", "</script", "<!--"] {
        assert_eq!(page.matches(tag).count(), plain.matches(tag).count(), "{tag}");
    }
}

#[test]
fn a_page_asks_no_network_for_anything() {
    let page = page(&picture(1, 80, 3, 2));
    for source in [" src=", "@import", "url(", "fetch(", "XMLHttpRequest", "WebSocket", "import("] {
        assert!(!page.contains(source), "{source}");
    }
    // The name of a namespace is no address.
    let addresses: Vec<&str> = page.split("http").skip(1).map(|rest| &rest[..20]).collect();
    let namespace =
        |address: &&str| address.starts_with("-equiv") || address.starts_with("://www.w3.org/2000");
    assert!(addresses.iter().all(namespace), "{addresses:?}");
}

#[test]
fn a_page_of_ten_thousand_steps_is_a_few_megabytes() {
    let size = page(&picture(42, 10_000, 5, 5)).len();
    assert!(size < 5 << 20, "{size} bytes");
}

#[test]
fn an_empty_picture_has_a_page_and_exports() {
    let empty = Picture::default();
    assert_eq!(embedded(&page(&empty))["steps"], Value::Array(Vec::new()));
    assert!(serde_json::from_str::<Value>(&trace_events(&empty)).is_ok());
    assert_eq!(shiviz(&empty), format!("{EVENT}\n\n"));
}

#[test]
#[should_panic(expected = "the packet has two ends")]
fn a_packet_to_nowhere_has_no_page() {
    let mut picture = picture(1, 80, 3, 2);
    picture.arrows[0].ended = Some(80);
    page(&picture);
}

/// The events of a trace with a phase.
fn events(trace: &str, phase: &str) -> Vec<Value> {
    let trace: Value = serde_json::from_str(trace).expect("a trace is JSON");
    let all = trace["traceEvents"].as_array().expect("a trace has events");
    all.iter().filter(|event| event["ph"] == phase).cloned().collect()
}

fn thread(event: &Value) -> (u64, u64) {
    (event["pid"].as_u64().expect("a process"), event["tid"].as_u64().expect("a thread"))
}

fn interval(event: &Value) -> (u64, u64) {
    let ts = event["ts"].as_u64().expect("a time");
    (ts, ts + event["dur"].as_u64().unwrap_or(0))
}

/// Fails if two slices of a thread overlap without one in the other, or a thread has no name.
fn assert_slices_nest(trace: &str) {
    let named: BTreeSet<_> = events(trace, "M")
        .iter()
        .filter(|event| event["name"] == "thread_name")
        .map(thread)
        .collect();
    let mut threads: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for event in events(trace, "X") {
        threads.entry(thread(&event)).or_default().push(interval(&event));
    }
    for (id, mut slices) in threads {
        assert!(named.contains(&id), "thread {id:?} has no name");
        slices.sort_by_key(|&(from, to)| (from, std::cmp::Reverse(to)));
        let mut open: Vec<(u64, u64)> = Vec::new();
        for slice in slices {
            open.retain(|outer| outer.1 > slice.0);
            assert!(open.iter().all(|outer| slice.1 <= outer.1), "{slice:?} overlaps {open:?}");
            open.push(slice);
        }
    }
}

#[test]
fn slices_nest_and_flows_lead_from_slice_to_slice() {
    let picture = picture(7, 1_000, 3, 3);
    let trace = trace_events(&picture);
    assert_slices_nest(&trace);
    let slices: BTreeSet<_> =
        events(&trace, "X").iter().map(|slice| (thread(slice), interval(slice).0)).collect();
    let (starts, ends) = (events(&trace, "s"), events(&trace, "f"));
    assert_eq!(starts.len(), picture.arrows.iter().filter(|arrow| arrow.ended.is_some()).count());
    assert_eq!(starts.len(), ends.len());
    for (start, end) in starts.iter().zip(&ends) {
        assert_eq!(
            (&start["id"], &start["name"], &start["cat"]),
            (&end["id"], &end["name"], &end["cat"])
        );
        assert!(interval(start).0 <= interval(end).0);
        for flow in [start, end] {
            assert!(slices.contains(&(thread(flow), interval(flow).0)), "no slice for {flow}");
        }
    }
    assert_eq!(events(&trace, "i").len(), 1, "the violation");
}

#[test]
fn steps_of_an_explored_run_take_a_millisecond_each() {
    let trace = trace_events(&explored(7, 100, 3, 3));
    assert_slices_nest(&trace);
    let times: BTreeSet<u64> = events(&trace, "X").iter().map(|slice| interval(slice).0).collect();
    assert!(times.iter().all(|time| time % 1_000 == 0));
    assert_eq!(times.len(), 100);
}

/// An event of a log, as a reader of the regular expression sees it.
struct Logged {
    host: String,
    step: u64,
    clock: BTreeMap<String, u64>,
}

fn logged(log: &str) -> Vec<Logged> {
    let (first, rest) = log.split_once("\n\n").expect("a log begins with the regular expression");
    let parser = Regex::new(first).expect("it is a regular expression");
    let events: Vec<Logged> = parser
        .captures_iter(rest)
        .map(|event| Logged {
            host: event["host"].to_owned(),
            step: event["step"].parse().expect("a number"),
            clock: serde_json::from_str(&event["clock"]).expect("a clock is JSON"),
        })
        .collect();
    // Nothing is between the events.
    let matched: usize = parser.find_iter(rest).map(|found| found.len() + 1).sum();
    assert_eq!(matched, rest.len());
    events
}

#[test]
fn the_regular_expression_parses_every_event() {
    let mut picture = picture(3, 500, 3, 2);
    picture.steps[4].words = "a text {\"server-1\":1}\nof two lines\n#7 it is".into();
    picture.lanes[3].name = "client \"one\"".into();
    let events = logged(&shiviz(&picture));
    let steps: BTreeSet<u64> = events.iter().map(|event| event.step).collect();
    assert_eq!(steps, (1..=500).collect());
    let hosts: BTreeSet<&str> = events.iter().map(|event| event.host.as_str()).collect();
    assert_eq!(
        hosts,
        BTreeSet::from(["server-1", "server-2", "server-3", "client-\"one\"", "client-2"])
    );
}

/// For each event of a log, the events that a walk along lanes and packets leads to.
fn reachable(picture: &Picture, events: &[Logged]) -> Vec<BTreeSet<usize>> {
    let host = |lane: usize| picture.lanes[lane].name.replace(' ', "-");
    let at = |lane: usize, step: usize| {
        let number = picture.steps[step].number;
        events
            .iter()
            .position(|event| event.step == number && event.host == host(lane))
            .expect("it was logged")
    };
    let mut edges = vec![Vec::new(); events.len()];
    for (index, event) in events.iter().enumerate() {
        edges[index]
            .extend((index + 1..events.len()).find(|&next| events[next].host == event.host));
    }
    for arrow in picture.arrows.iter().filter(|arrow| !arrow.lost) {
        if let Some(ended) = arrow.ended.filter(|&ended| ended != arrow.sent) {
            edges[at(arrow.from, arrow.sent)].push(at(arrow.to, ended));
        }
    }
    // Edges lead to later lines, so each event's successors are complete before it.
    let mut reachable = vec![BTreeSet::new(); events.len()];
    for index in (0..events.len()).rev() {
        for &next in &edges[index] {
            let further = reachable[next].clone();
            reachable[index].extend(further);
            reachable[index].insert(next);
        }
    }
    reachable
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// An event happened before another exactly if its clock is below the other's in every part.
    #[test]
    fn vector_clocks_agree_with_reachability(seed in any::<u64>(), steps in 1_usize..160, servers in 1_usize..5, clients in 1_usize..4) {
        let picture = picture(seed, steps, servers, clients);
        let events = logged(&shiviz(&picture));
        let reachable = reachable(&picture, &events);
        for (index, event) in events.iter().enumerate() {
            for (other, later) in events.iter().enumerate() {
                let below = event.clock.iter().all(|(host, count)| later.clock.get(host).is_some_and(|more| more >= count));
                prop_assert_eq!(below && index != other, reachable[index].contains(&other), "#{} and #{}", event.step, later.step);
            }
        }
    }
}
