//! A picture in the Trace Event Format, which Perfetto and Chrome's viewers open.
//!
//! Servers and clients are processes, and each lane is a thread of steps. Roles, faults and beliefs are on threads of
//! their own below it: on one thread, slices may nest but not overlap.

use super::places::{assert_complete, places, times};
use super::{LaneKind, Picture, SpanKind};
use serde::Serialize;
use serde_json::{Value, json};

/// Returns the picture as the JSON of the Trace Event Format. Times are in microseconds; a step takes one.
///
/// Packets are flows between the slices of their steps. A packet that was never read, nor lost, has no end to flow to;
/// the slice of its sender names it.
pub fn trace_events(picture: &Picture) -> String {
    assert_complete(picture);
    let mut export =
        Export { picture, times: times(picture), events: Vec::new(), threads: Vec::new() };
    export.lanes();
    export.steps();
    export.arrows();
    export.spans();
    export.violation();
    let facts = picture.facts.iter().map(|(name, value)| (name.clone(), json!(value)));
    let document = Document {
        trace_events: export.events,
        display_time_unit: "ms",
        other_data: [("title".to_owned(), json!(picture.title))].into_iter().chain(facts).collect(),
    };
    serde_json::to_string(&document).expect("all keys of maps are texts")
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    trace_events: Vec<Value>,
    display_time_unit: &'static str,
    other_data: serde_json::Map<String, Value>,
}

/// The category of steps and of the flows between them. Chrome's own viewer binds a flow to a slice only if their
/// categories are equal, so the kind of a step is an argument.
const STEP: &str = "step";

/// The process of the steps of the whole ensemble, and of the violation.
const RUN: u64 = 3;

/// A thread that holds slices of one sort of one lane, and until when the last of them lasts.
struct Thread {
    lane: usize,
    sort: &'static str,
    id: u64,
    until: u64,
}

struct Export<'a> {
    picture: &'a Picture,
    times: Vec<u64>,
    events: Vec<Value>,
    threads: Vec<Thread>,
}

impl Export<'_> {
    /// Names the processes and the threads of steps.
    fn lanes(&mut self) {
        for (pid, name) in [(1, "servers"), (2, "clients"), (RUN, "run")] {
            self.meta("process_name", pid, 0, json!({ "name": name }));
            self.meta("process_sort_index", pid, 0, json!({ "sort_index": pid }));
        }
        for (lane, machine) in self.picture.lanes.iter().enumerate() {
            self.thread(self.process(lane), thread_of(lane), &machine.name);
        }
        self.thread(RUN, 1, "whole ensemble");
    }

    fn meta(&mut self, name: &str, pid: u64, tid: u64, args: Value) {
        self.events.push(
            json!({ "ph": "M", "name": name, "pid": pid, "tid": tid, "ts": 0, "args": args }),
        );
    }

    fn thread(&mut self, pid: u64, tid: u64, name: &str) {
        self.meta("thread_name", pid, tid, json!({ "name": name }));
        self.meta("thread_sort_index", pid, tid, json!({ "sort_index": tid }));
    }

    fn process(&self, lane: usize) -> u64 {
        match self.picture.lanes[lane].kind {
            LaneKind::Server => 1,
            LaneKind::Client => 2,
        }
    }

    /// Steps of the whole ensemble are on a thread of the run; a lane where one of them sent or read a packet shows it
    /// too, for the flow needs a slice.
    fn steps(&mut self) {
        let mut unread = vec![Vec::new(); self.picture.steps.len()];
        for arrow in self.picture.arrows.iter().filter(|arrow| arrow.ended.is_none()) {
            unread[arrow.sent].push(arrow.words.as_str());
        }
        for (index, lanes) in places(self.picture).into_iter().enumerate() {
            let step = &self.picture.steps[index];
            let args = json!({
                "step": step.number, "kind": step.kind, "notes": step.notes, "events": step.events, "paths": step.paths,
                "milestone": step.milestone, "sent and never read": unread[index],
            });
            let whole = step.lanes.is_empty().then_some((RUN, 1));
            let lanes = lanes.into_iter().map(|lane| (self.process(lane), thread_of(lane)));
            for (pid, tid) in whole.into_iter().chain(lanes).collect::<Vec<_>>() {
                self.slice(&step.words, STEP, (pid, tid), (self.times[index], 1), args.clone());
            }
        }
    }

    fn slice(
        &mut self,
        name: &str,
        category: &str,
        (pid, tid): (u64, u64),
        (ts, dur): (u64, u64),
        args: Value,
    ) {
        self.events.push(json!({
            "ph": "X", "name": name, "cat": category, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args,
        }));
    }

    fn arrows(&mut self) {
        for (id, arrow) in self.picture.arrows.iter().enumerate() {
            let Some(ended) = arrow.ended else { continue };
            let what = if arrow.words.is_empty() { "packet" } else { arrow.words.as_str() };
            let name = if arrow.lost { format!("lost: {what}") } else { what.to_owned() };
            for (phase, lane, step) in [("s", arrow.from, arrow.sent), ("f", arrow.to, ended)] {
                let mut event = json!({
                    "ph": phase, "id": id + 1, "name": name, "cat": STEP, "pid": self.process(lane),
                    "tid": thread_of(lane), "ts": self.times[step],
                });
                if phase == "f" {
                    // Binds to the slice around it; without it, a flow ends at the next slice.
                    event["bp"] = json!("e");
                }
                self.events.push(event);
            }
        }
    }

    /// Roles, faults and beliefs, in the order in which they begin.
    fn spans(&mut self) {
        let spans = self.picture.spans.iter().map(|span| {
            let sort = match span.kind {
                SpanKind::Down | SpanKind::Cut | SpanKind::Paused => "faults",
                _ => "role",
            };
            let label =
                if span.label.is_empty() { String::new() } else { format!(" ({})", span.label) };
            (span.lane, sort, format!("{}{label}", word(span.kind)), span.from, span.to)
        });
        let bars = self
            .picture
            .bars
            .iter()
            .map(|bar| (bar.lane, "beliefs", bar.label.clone(), bar.from, bar.to));
        let mut all: Vec<_> = spans.chain(bars).collect();
        all.sort_by_key(|(.., from, _)| *from);
        let end = self.times.last().map_or(0, |last| last + 1);
        for (lane, sort, name, from, to) in all {
            let (ts, until) = (self.times[from], to.map_or(end, |to| self.times[to]));
            let tid = self.free_thread(lane, sort, ts, until);
            self.slice(&name, sort, (self.process(lane), tid), (ts, until - ts), json!({}));
        }
    }

    /// Returns a thread of the lane on which nothing of the sort lasts at `from`, and makes one if there is none.
    fn free_thread(&mut self, lane: usize, sort: &'static str, from: u64, until: u64) -> u64 {
        let mut same =
            self.threads.iter_mut().filter(|thread| thread.lane == lane && thread.sort == sort);
        if let Some(thread) = same.find(|thread| thread.until <= from) {
            thread.until = until;
            return thread.id;
        }
        let others = self.threads.iter().filter(|thread| thread.lane == lane).count() as u64;
        let id = thread_of(lane) + 1 + others;
        assert!(
            others + 1 < THREADS_OF_LANE,
            "a lane has fewer than {THREADS_OF_LANE} spans at a time"
        );
        self.threads.push(Thread { lane, sort, id, until });
        let name = format!("{}: {sort}", self.picture.lanes[lane].name);
        self.thread(self.process(lane), id, &name);
        id
    }

    fn violation(&mut self) {
        let Some(violation) = &self.picture.violation else { return };
        let step = violation.step.or(self.picture.steps.len().checked_sub(1));
        let ts = step.map_or(0, |step| self.times[step]);
        self.events.push(json!({
            "ph": "i", "s": "g", "name": format!("violated: {}", violation.property), "cat": "violation", "pid": RUN,
            "tid": 1, "ts": ts, "args": { "saw": violation.saw },
        }));
    }
}

/// How many threads a lane may have: one for its steps, the others for what lasts.
const THREADS_OF_LANE: u64 = 1_000;

/// The thread of a lane's steps. Threads of different processes have different numbers too: some viewers need it.
fn thread_of(lane: usize) -> u64 {
    (lane as u64 + 1) * THREADS_OF_LANE
}

fn word(kind: SpanKind) -> &'static str {
    match kind {
        SpanKind::Looking => "looking",
        SpanKind::Synchronising => "synchronising",
        SpanKind::Following => "following",
        SpanKind::Leading => "leading",
        SpanKind::Down => "down",
        SpanKind::Cut => "cut off",
        SpanKind::Paused => "paused",
        SpanKind::Connected => "connected",
        SpanKind::Disconnected => "disconnected",
        SpanKind::Expired => "expired",
    }
}
