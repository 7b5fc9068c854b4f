//! Timelines: the steps of a run as text, each with what it caused.

use crate::describe::{describe, plural};
use std::fmt::Write as _;
use vivarium_model::trace::TraceLine;

/// The timeline of a run's last steps, under a line that says how many they are.
pub fn last_steps(lines: &[TraceLine]) -> String {
    format!("The last {}:\n{}", plural(lines.len(), "step"), timeline(lines))
}

/// The steps as text: virtual time, number and step on one line; below it, indented, the notes of
/// the machines (`·`) and the events (`→`) in ZooKeeper's words.
pub fn timeline(lines: &[TraceLine]) -> String {
    let digits = lines.last().map_or(1, |line| line.number.to_string().len());
    let mut text = String::new();
    for line in lines {
        let head = format!("{:>14}  #{:<digits$}  ", line.at.to_string(), line.number);
        let indent = " ".repeat(head.chars().count());
        let notes = line.notes.iter().map(|note| ("·", note.clone()));
        let events = line.events.iter().map(|event| ("→", describe(event)));
        writeln!(text, "{head}{}", line.step).expect("strings take all that is written");
        for (sign, sentence) in notes.chain(events) {
            writeln!(text, "{indent}{sign} {sentence}").expect("strings take all that is written");
        }
    }
    text
}
