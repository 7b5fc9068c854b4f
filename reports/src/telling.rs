//! The text of one step and its consequences.
//!
//! Nothing is repeated: if the first note says what was read, written or handed over, it replaces the step; an event
//! that is the step itself (a crash, a pause) or that repeats the note is left out.

use vivarium_model::event::Event;
use vivarium_model::note::Note;
use vivarium_model::step::{Step, Tail};
use vivarium_model::trace::TraceLine;
use vivarium_model::words::plural;
use vivarium_model::zxid::Zxid;

/// The width at which lines are broken.
pub(crate) const WIDTH: usize = 160;

/// Returns the width of the largest number of these steps.
pub(crate) fn digits(lines: &[TraceLine]) -> usize {
    lines.last().map_or(1, |line| line.number.to_string().len())
}

/// The text of a step and its consequences, without repetitions.
pub struct Telling<'a> {
    /// What happened.
    pub headline: String,
    /// The notes of the machines that the headline does not say.
    pub notes: &'a [Note],
    /// The events that neither the headline nor a note says.
    pub events: Vec<String>,
}

/// Returns the text of a step.
pub fn tell(line: &TraceLine) -> Telling<'_> {
    let TraceLine { step, notes, events, .. } = line;
    let rest: Vec<&Event> = events.iter().filter(|event| !is_the_step(step, event)).collect();
    let itself = events.iter().find(|event| is_the_step(step, event));
    let is_noted = is_told_by_note(step) && !notes.is_empty();
    let (headline, notes) = match (step, itself) {
        (Step::Serve { prefix, .. }, _) if is_noted && *prefix > Zxid::ZERO => {
            (format!("{}, and shows the log up to {prefix}", notes[0]), &notes[1..])
        }
        _ if is_noted => (notes[0].to_string(), &notes[1..]),
        (Step::Crash { tail, .. }, Some(Event::Crashed { lost, .. })) => {
            (format!("{step}: {}", loss(*tail, *lost)), &notes[..])
        }
        (Step::Resource { .. }, Some(event)) => (event.to_string(), &notes[..]),
        (Step::Fsync(_), _) => (fsync(step, &rest), &notes[..]),
        _ => (step.to_string(), &notes[..]),
    };
    let is_said = |event: &&Event| match event {
        Event::Replied { .. } | Event::Notified { .. } | Event::Rearmed { .. } => is_noted,
        Event::Acked { .. } => matches!(step, Step::Fsync(_)),
        _ => false,
    };
    let rest: Vec<&Event> = rest.into_iter().filter(|event| !is_said(event)).collect();
    Telling { headline, notes, events: sentences(&rest) }
}

/// Returns true if the step itself only names a place where something is read, written or handed over.
fn is_told_by_note(step: &Step) -> bool {
    matches!(
        step,
        Step::ToServer(_)
            | Step::ToClient(_)
            | Step::ToLeader(_)
            | Step::ToLearner(_)
            | Step::Vote { .. }
            | Step::Append(_)
            | Step::Write(_)
            | Step::Input(_)
            | Step::Serve { .. }
            | Step::Notify(_)
            | Step::Late(_)
    )
}

/// Returns true if the event only says that the step happened.
pub(crate) fn is_the_step(step: &Step, event: &Event) -> bool {
    matches!(
        (step, event),
        (Step::Crash { .. }, Event::Crashed { .. })
            | (Step::Restart(_), Event::Restarted { .. })
            | (Step::Start(_), Event::Started { .. })
            | (Step::Kill(_), Event::Killed { .. })
            | (Step::Pause(_), Event::Paused { .. })
            | (Step::Resume(_), Event::Resumed { .. })
            | (Step::Cancel(_), Event::Cancelled { .. })
            | (Step::Resource { .. }, Event::ResourceWrite { .. })
    )
}

/// Describes what a crash lost.
fn loss(tail: Tail, lost: usize) -> String {
    match lost {
        0 => "its log lost nothing".to_string(),
        _ => {
            let torn = if tail.torn { ", half of the first one is left" } else { "" };
            format!("its log lost its last {}{torn}", plural(lost, "transaction"))
        }
    }
}

/// Describes a log's fsync, with the acknowledgements that it releases.
fn fsync(step: &Step, events: &[&Event]) -> String {
    let acked = events.iter().filter_map(|event| match event {
        Event::Acked { zxid, .. } => Some(*zxid),
        _ => None,
    });
    let acked: Vec<_> = acked.collect();
    match (acked.first(), acked.last()) {
        (Some(first), Some(last)) if first < last => {
            format!("{step}, acknowledges {first} to {last}")
        }
        (Some(only), _) => format!("{step}, acknowledges {only}"),
        _ => step.to_string(),
    }
}

/// Returns the events as sentences; a transaction that a leader commits and applies in one step needs only one.
fn sentences(events: &[&Event]) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    let mut committed: Vec<(usize, &Event)> = Vec::new();
    for event in events {
        if let Event::Applied { server, txn, .. } = event {
            let at = committed.iter().position(|(_, earlier)| {
                matches!(earlier, Event::Committed { leader, txn: other }
                    if leader == server && other.zxid == txn.zxid)
            });
            if let Some(at) = at {
                let (place, _) = committed.remove(at);
                sentences[place] = format!("{server} commits and applies {txn}");
                continue;
            }
        }
        if matches!(event, Event::Committed { .. }) {
            committed.push((sentences.len(), event));
        }
        sentences.push(event.to_string());
    }
    sentences
}
