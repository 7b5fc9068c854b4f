//! Timelines: the steps of a run as text, each with its consequences.

use crate::folding::fold;
use crate::story::story;
use crate::telling::{Telling, WIDTH, digits, tell};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use vivarium_model::subject::Subject;
use vivarium_model::trace::TraceLine;
use vivarium_model::words::plural;

/// Returns the part of a run's story that is relevant to `about` (the subjects of an objection) and the timeline of its
/// last steps, each under a heading. `until` describes the last step shown, if that is not the end.
/// `every_step` is the command that shows what is left out. Empty without steps.
pub fn last_steps(
    turns: &[TraceLine],
    lines: &[TraceLine],
    about: &BTreeSet<Subject>,
    until: Option<String>,
    every_step: &str,
) -> String {
    let Some(first) = lines.first() else { return String::new() };
    let mut text = String::new();
    // For a run that is shown from its first step, the timeline is the story.
    if first.number > 1 && !turns.is_empty() {
        let _ = writeln!(text, "What happened:\n{}", story(turns, about));
    }
    // The missing numbers are those of pings.
    let last = lines.last().map_or(0, |line| line.number);
    let whole = last - first.number + 1 == lines.len() as u64;
    let pings = if whole { "" } else { " other than pings" };
    let count = plural(lines.len(), "step");
    let _ = match &until {
        Some(until) => write!(text, "The {count}{pings} {until}:\n{}", timeline(lines)),
        None => write!(text, "The last {count}{pings}:\n{}", timeline(lines)),
    };
    if first.number > 1 || !whole || until.is_some() {
        let _ = writeln!(text, "\nTo see every step: {every_step}");
    }
    text
}

/// Returns the steps as text: virtual time, number and step on one line; below it, indented, the notes of the
/// machines (`·`) and the events (`→`) in ZooKeeper's terms.
pub fn timeline(lines: &[TraceLine]) -> String {
    let digits = digits(lines);
    let mut text = String::new();
    for line in lines {
        let Telling { headline, notes, events } = tell(line);
        let head = format!("{:>14}  #{:<digits$}  ", line.at.to_string(), line.number);
        let indent = " ".repeat(head.chars().count());
        let notes = notes.iter().map(|note| format!("{indent}· {note}"));
        let events = events.iter().map(|event| format!("{indent}→ {event}"));
        for line in [head + &headline].into_iter().chain(notes).chain(events) {
            text.push_str(&fold(&format!("{line}\n"), WIDTH));
        }
    }
    text
}

/// Returns the steps as text for runs in which no time passes: number and step on one line; below it the same as in
/// [`timeline`].
pub fn steps(lines: &[TraceLine]) -> String {
    let digits = digits(lines);
    let mut text = String::new();
    for line in lines {
        let Telling { headline, notes, events } = tell(line);
        let indent = " ".repeat(digits + 4);
        let _ = writeln!(text, "{:>width$}  {headline}", line.number, width = digits + 2);
        for note in notes {
            let _ = writeln!(text, "{indent}· {note}");
        }
        for event in events {
            let _ = writeln!(text, "{indent}→ {event}");
        }
    }
    text
}
