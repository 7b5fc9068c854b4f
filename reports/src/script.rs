//! The script of a short run: its steps as numbered sentences, without those that only carry others.
//!
//! A script is for a run in which every step matters (a minimised one), so it is complete where a story selects: each
//! fault, each answer that a client read, each write whose answer it did not read, what programs observed, and what
//! servers decided.

use crate::folding::fold;
use crate::telling::{WIDTH, is_the_step, tell};
use serde::Serialize;
use std::collections::BTreeSet;
use vivarium_model::event::Event;
use vivarium_model::id::SessionId;
use vivarium_model::trace::TraceLine;

/// A sentence of a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sentence {
    /// Its number, from 1.
    pub number: usize,
    /// The sentence.
    pub words: String,
    /// True for a fault or the end of one.
    pub fault: bool,
    /// The number of its step in the run, from 1.
    pub step: u64,
}

/// Returns the script of a run.
pub fn script(lines: &[TraceLine]) -> Vec<Sentence> {
    let answered = answered(lines);
    let mut sentences = Vec::new();
    let mut say = |words: String, fault: bool, step: u64| {
        let number = sentences.len() + 1;
        sentences.push(Sentence { number, words, fault, step });
    };
    for line in lines {
        let fault = line.step.is_milestone();
        if fault {
            say(tell(line).headline, true, line.number);
        }
        for event in line.events.iter().filter(|event| !is_the_step(&line.step, event)) {
            if is_told(event, &answered) {
                say(event.to_string(), false, line.number);
            }
        }
    }
    sentences
}

/// Returns the script as text, one numbered sentence per line. Faults are marked.
pub fn script_text(script: &[Sentence]) -> String {
    let digits = script.last().map_or(1, |last| last.number.to_string().len());
    let line = |Sentence { number, words, fault, .. }: &Sentence| {
        let mark = if *fault { "!" } else { " " };
        fold(&format!("{mark} {number:>digits$}.  {words}\n"), WIDTH)
    };
    script.iter().map(line).collect()
}

/// Returns the writes whose answers their clients read.
fn answered(lines: &[TraceLine]) -> BTreeSet<(SessionId, u32)> {
    let events = lines.iter().flat_map(|line| &line.events);
    events
        .filter_map(|event| match event {
            Event::Replied { session, xid, .. } => Some((*session, xid.0)),
            _ => None,
        })
        .collect()
}

/// Returns true if a script tells this event.
fn is_told(event: &Event, answered: &BTreeSet<(SessionId, u32)>) -> bool {
    match event {
        Event::Replied { .. } => true,
        // The answer says the same, if there is one.
        Event::Committed { txn, .. } => {
            event.is_milestone() && !answered.contains(&(txn.session, txn.cxid.0))
        }
        Event::Notified { .. } => true,
        Event::Finished { .. } => false,
        _ => event.is_milestone(),
    }
}
