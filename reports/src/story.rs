//! The story of a run: only its milestones ([`Event::is_milestone`]), one line each.
//!
//! A long story is reduced to the relevant milestones: first those about a znode, session, attempt or zxid that the
//! objection is about, then those of its clients (with all their sessions) and servers, then the last ones.

use crate::folding::fold;
use crate::telling::{WIDTH, digits, is_the_step, tell};
use std::collections::BTreeSet;
use vivarium_model::event::Event;
use vivarium_model::step::Step;
use vivarium_model::subject::Subject;
use vivarium_model::trace::TraceLine;
use vivarium_model::words::list;

/// The most lines of a story.
const LINES: usize = 30;

/// The most lines that are included because they share a znode, session, attempt or zxid with the objection.
const MENTIONS: usize = 15;

/// The most lines that are included because they share any subject with the objection.
const CONCERNS: usize = 22;

/// One milestone.
struct Turn {
    text: String,
    /// What it is about.
    subjects: BTreeSet<Subject>,
}

/// Returns the part of the story that is relevant to these subjects, one line per milestone, with `…` where
/// milestones are left out.
pub(crate) fn story(lines: &[TraceLine], about: &BTreeSet<Subject>) -> String {
    let turns = turns(lines);
    let chosen = choose(&turns, about, &with_sessions(about, lines));
    let mut text = String::new();
    let mut next = 0;
    for at in chosen {
        if at > next {
            text.push_str(&format!("{:>14}\n", "…"));
        }
        next = at + 1;
        text.push_str(&turns[at].text);
        text.push('\n');
    }
    text
}

/// Returns the positions of the milestones to include, in order. `machines` are the machines of the objection, with
/// their sessions.
fn choose(turns: &[Turn], about: &BTreeSet<Subject>, machines: &BTreeSet<Subject>) -> Vec<usize> {
    let mut chosen = vec![false; turns.len()];
    let mut left = LINES;
    let mut choose = |room: usize, is_relevant: &dyn Fn(&Subject) -> bool| {
        for at in (0..turns.len()).rev() {
            if LINES - left < room && !chosen[at] && turns[at].subjects.iter().any(is_relevant) {
                chosen[at] = true;
                left -= 1;
            }
        }
    };
    for thing in rarest_first(turns, about) {
        choose(MENTIONS, &|subject| subject == thing);
    }
    choose(CONCERNS, &|subject| machines.contains(subject));
    for at in (0..turns.len()).rev() {
        if left > 0 && !chosen[at] {
            chosen[at] = true;
            left -= 1;
        }
    }
    (0..turns.len()).filter(|at| chosen[*at]).collect()
}

/// Returns the subjects that are no machines, those of the fewest milestones first: they tell the most.
fn rarest_first<'a>(turns: &[Turn], about: &'a BTreeSet<Subject>) -> Vec<&'a Subject> {
    let count = |subject: &Subject| turns.iter().filter(|it| it.subjects.contains(subject)).count();
    let mut things: Vec<&Subject> = about.iter().filter(|it| !it.is_machine()).collect();
    things.sort_by_key(|subject| count(subject));
    things
}

/// Returns the machines among these subjects, and all sessions of the clients among them.
fn with_sessions(about: &BTreeSet<Subject>, lines: &[TraceLine]) -> BTreeSet<Subject> {
    let mut machines: BTreeSet<Subject> =
        about.iter().filter(|subject| subject.is_machine()).cloned().collect();
    let events = lines.iter().flat_map(|line| &line.events);
    let owned = events.filter_map(|event| match event {
        Event::Session { client, session, .. } | Event::Observed { client, session, .. } => {
            Some((Subject::Client(*client), Subject::Session((*session)?)))
        }
        _ => None,
    });
    let sessions: Vec<Subject> =
        owned.filter(|(client, _)| machines.contains(client)).map(|(_, session)| session).collect();
    machines.extend(sessions);
    machines
}

/// Returns the milestones. Links cut or healed at the same instant share one.
fn turns(lines: &[TraceLine]) -> Vec<Turn> {
    let digits = digits(lines);
    let mut turns: Vec<Turn> = Vec::new();
    let mut lines = lines.iter().peekable();
    while let Some(line) = lines.next() {
        let head = format!("{:>14}  #{:<digits$}  ", line.at.to_string(), line.number);
        let turn = |sentence: String, subjects| Turn {
            text: fold(&format!("{head}{sentence}"), WIDTH),
            subjects,
        };
        let (itself, others): (Vec<&Event>, Vec<&Event>) =
            line.events.iter().partition(|event| is_the_step(&line.step, event));
        let mut subjects = line.step.subjects();
        subjects.extend(itself.iter().flat_map(|event| event.subjects()));
        if let Some((word, way)) = way(&line.step) {
            let mut ways = vec![way];
            while let Some(next) = lines.next_if(|next| {
                next.at == line.at && self::way(&next.step).is_some_and(|other| other.0 == word)
            }) {
                ways.extend(self::way(&next.step).map(|(_, way)| way));
                subjects.extend(next.step.subjects());
            }
            turns.push(turn(format!("{word} {}", list(ways.iter())), subjects));
        } else if line.step.is_milestone() || !itself.is_empty() {
            turns.push(turn(tell(line).headline, subjects));
        }
        turns.extend(others.iter().map(|event| turn(event.to_string(), event.subjects())));
    }
    turns
}

/// Returns the word for cutting or healing a link, and the direction.
fn way(step: &Step) -> Option<(&'static str, String)> {
    match step {
        Step::Cut { from, to } => Some(("CUT", format!("{from} -> {to}"))),
        Step::Heal { from, to } => Some(("HEAL", format!("{from} -> {to}"))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vivarium_model::id::{ClientId, SessionId};

    /// A lock's path is in most milestones of a run and says little; one attempt's znode is in few.
    #[test]
    fn rare_subjects_come_before_common_ones() {
        let turn = |subjects: &[&Subject]| Turn {
            text: String::new(),
            subjects: subjects.iter().copied().cloned().collect(),
        };
        let (common, rare) = (Subject::from("/a-lock"), Subject::from("/z-znode"));
        let mut turns: Vec<Turn> = (0..200).map(|_| turn(&[&common])).collect();
        turns[5] = turn(&[&common, &rare]);
        let about = BTreeSet::from([common, rare]);
        let chosen = choose(&turns, &about, &BTreeSet::new());
        assert_eq!((chosen.len(), chosen[0]), (LINES, 5));
    }

    #[test]
    fn the_story_keeps_old_turns_that_bear_on_the_violation() {
        let turn = |subjects: &[Subject]| Turn {
            text: String::new(),
            subjects: subjects.iter().cloned().collect(),
        };
        let (one, attempt) = (Subject::Client(ClientId(1)), Subject::from("abcdef0123"));
        let (session, other) = (Subject::Session(SessionId(7)), Subject::Client(ClientId(9)));
        let mut turns: Vec<Turn> = (0..200).map(|_| turn(std::slice::from_ref(&other))).collect();
        turns[3] = turn(&[one.clone(), attempt.clone()]);
        turns[7] = turn(std::slice::from_ref(&session));
        let machines = BTreeSet::from([one.clone(), session]);
        let chosen = choose(&turns, &BTreeSet::from([one, attempt]), &machines);
        assert_eq!(chosen.len(), LINES);
        assert_eq!(chosen[..2], [3, 7]);
        assert_eq!(chosen[2], 200 - (LINES - 2));
        let none = BTreeSet::new();
        assert_eq!(choose(&turns[..5], &none, &none), [0, 1, 2, 3, 4]);
    }
}
