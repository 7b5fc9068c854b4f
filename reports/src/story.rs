//! The story of a run: only its milestones ([`Event::is_milestone`]), one line each.
//!
//! A long story is reduced to the relevant milestones: first those that mention a znode, session, attempt or zxid
//! that the monitor named, then those of the clients (with all their sessions) and servers that it named, then the
//! last ones.

use crate::folding::fold;
use crate::telling::{WIDTH, digits, is_the_step, tell};
use std::collections::BTreeSet;
use vivarium_model::event::Event;
use vivarium_model::step::Step;
use vivarium_model::trace::TraceLine;
use vivarium_model::words::list;

/// The most lines of a story.
const LINES: usize = 30;

/// The most lines that are included because they mention a thing that the monitor named.
const MENTIONS: usize = 15;

/// The most lines that are included because they mention a thing, client or server that the monitor named.
const CONCERNS: usize = 22;

/// Returns the part of the story that is relevant to `about`, one line per milestone, with `…` where milestones are
/// left out.
pub(crate) fn story(lines: &[TraceLine], about: &str) -> String {
    let turns = turns(lines);
    let (things, mut parties) = named(about);
    parties.extend(sessions_of(&parties, lines));
    let chosen = choose(&turns, &things, &parties);
    let mut text = String::new();
    let mut next = 0;
    for at in chosen {
        if at > next {
            text.push_str(&format!("{:>14}\n", "…"));
        }
        next = at + 1;
        text.push_str(&turns[at]);
        text.push('\n');
    }
    text
}

/// Returns the positions of the milestones to include, in order.
fn choose(turns: &[String], things: &[String], parties: &[String]) -> Vec<usize> {
    let mentions = |turn: &str, names: &[String]| names.iter().any(|name| has_name(turn, name));
    let mut chosen = vec![false; turns.len()];
    let mut left = LINES;
    let mut choose = |room: usize, bears: &dyn Fn(&str) -> bool| {
        for at in (0..turns.len()).rev() {
            if LINES - left < room && !chosen[at] && bears(&turns[at]) {
                chosen[at] = true;
                left -= 1;
            }
        }
    };
    choose(MENTIONS, &|turn| mentions(turn, things));
    choose(CONCERNS, &|turn| mentions(turn, parties));
    choose(LINES, &|_turn| true);
    (0..turns.len()).filter(|at| chosen[*at]).collect()
}

/// Returns the things (znodes, sessions, attempts, zxids: words with a digit that are long or have a colon) and the
/// clients and servers (`client 1`, `server 2`) in a sentence.
fn named(about: &str) -> (Vec<String>, Vec<String>) {
    let trim = |word: &str| word.trim_matches([',', ';', ':', '(', ')', '.', '`']).to_string();
    let words: Vec<String> = about.split_whitespace().map(trim).collect();
    let is_thing = |word: &&String| {
        let is_zxid = word.split_once(':').is_some_and(|(epoch, counter)| {
            epoch.parse::<u32>().is_ok() && counter.parse::<u32>().is_ok()
        });
        is_zxid || word.len() >= 8 && word.contains(|letter: char| letter.is_ascii_digit())
    };
    let things = words.iter().filter(is_thing).cloned().collect();
    let is_party = |pair: &&[String]| {
        matches!(pair[0].as_str(), "client" | "server") && pair[1].parse::<u8>().is_ok()
    };
    let parties = words.windows(2).filter(is_party).map(|pair| pair.join(" ")).collect();
    (things, parties)
}

/// Returns the sessions of these clients.
fn sessions_of(parties: &[String], lines: &[TraceLine]) -> BTreeSet<String> {
    let events = lines.iter().flat_map(|line| &line.events);
    let owned = events.filter_map(|event| match event {
        Event::Session { client, session, .. } | Event::Observed { client, session, .. } => {
            Some((client.to_string(), (*session)?.to_string()))
        }
        _ => None,
    });
    owned.filter(|(client, _)| parties.contains(client)).map(|(_, session)| session).collect()
}

/// Returns true if the text contains the name without a further letter or digit at either end.
fn has_name(text: &str, name: &str) -> bool {
    let joins = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        !joins(before.chars().next_back()) && !joins(after.chars().next())
    })
}

/// Returns one line per milestone. Links cut or healed at the same instant share one line.
fn turns(lines: &[TraceLine]) -> Vec<String> {
    let digits = digits(lines);
    let mut turns: Vec<String> = Vec::new();
    let mut lines = lines.iter().peekable();
    while let Some(line) = lines.next() {
        let mut told = Vec::new();
        if let Some((word, way)) = way(&line.step) {
            let mut ways = vec![way];
            while let Some(next) = lines.next_if(|next| {
                next.at == line.at && self::way(&next.step).is_some_and(|other| other.0 == word)
            }) {
                ways.extend(self::way(&next.step).map(|(_, way)| way));
            }
            told.push(format!("{word} {}", list(ways.iter())));
        } else if line.step.is_milestone()
            || line.events.iter().any(|event| is_the_step(&line.step, event))
        {
            told.push(tell(line).headline);
        }
        let others = line.events.iter().filter(|event| !is_the_step(&line.step, event));
        told.extend(others.map(Event::to_string));
        let head = format!("{:>14}  #{:<digits$}  ", line.at.to_string(), line.number);
        turns.extend(told.iter().map(|sentence| fold(&format!("{head}{sentence}"), WIDTH)));
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

    #[test]
    fn the_names_in_a_monitors_sentence_are_found() {
        let saw = "client 2, connected by 0x300000100000001, holds /lock/a-0000000001 (token 1:17)";
        let (things, parties) = named(saw);
        assert_eq!(things, ["0x300000100000001", "/lock/a-0000000001", "1:17"]);
        assert_eq!(parties, ["client 2"]);
        assert_eq!(named(""), (Vec::new(), Vec::new()));
    }

    #[test]
    fn a_name_is_not_found_inside_a_longer_one() {
        assert!(has_name("token 1:17, by", "1:17"));
        assert!(!has_name("token 1:177", "1:17"));
        assert!(!has_name("token 11:17", "1:17"));
        assert!(has_name("client 1's program", "client 1") && !has_name("client 12", "client 1"));
    }

    #[test]
    fn the_story_keeps_old_turns_that_bear_on_the_violation() {
        let mut turns: Vec<String> = (0..200).map(|at| format!("client 9 does {at}")).collect();
        turns[3] = "client 1 begins attempt abcdef0123".into();
        turns[7] = "client 1 is Disconnected".into();
        let (things, parties) = named("attempt abcdef0123 of client 1 leaks");
        let chosen = choose(&turns, &things, &parties);
        assert_eq!(chosen.len(), LINES);
        assert_eq!(chosen[..2], [3, 7]);
        assert_eq!(chosen[2], 200 - (LINES - 2));
        assert_eq!(choose(&turns[..5], &[], &[]), [0, 1, 2, 3, 4]);
    }
}
