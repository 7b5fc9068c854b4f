//! What programs believe for a while, from their observations.
//!
//! An observation that begins a belief has another one that ends it. The two belong together if all fields that both
//! have are equal: the token of a grant is that of its release.

use super::Lanes;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::ClientId;
use vivarium_model::observation::{Observed, Value};
use vivarium_reports::picture::Bar;
use vivarium_sim::film::Film;

/// A kind of belief.
struct Belief {
    /// The observation that begins it.
    begins: &'static str,
    /// The belief in words. The text of `field` follows them.
    words: &'static str,
    field: &'static str,
    /// The observations that end it.
    ends: &'static [&'static str],
}

const BELIEFS: &[Belief] = &[
    Belief {
        begins: "granted",
        words: "HOLDS",
        field: "lock",
        ends: &["releasing", "released", "lost", "let go"],
    },
    Belief {
        begins: "waiting",
        words: "waits for",
        field: "on",
        ends: &["waiting", "granted", "gave up", "attempt", "lost"],
    },
    Belief { begins: "leads", words: "LEADS", field: "election", ends: &["releasing", "lost"] },
    Belief {
        begins: "entered",
        words: "INSIDE",
        field: "barrier",
        ends: &["leaving", "left", "out of patience"],
    },
    Belief {
        begins: "claimed",
        words: "works on",
        field: "item",
        ends: &["finishing", "lost", "acked", "not acked"],
    },
    Belief { begins: "joined", words: "MEMBER", field: "member", ends: &["leaving"] },
    Belief { begins: "uses", words: "uses", field: "items", ends: &["uses", "stops"] },
    Belief { begins: "taking", words: "takes", field: "item", ends: &["taken", "taking"] },
];

/// A belief that has not ended.
struct Open<'a> {
    client: ClientId,
    belief: &'static Belief,
    fields: &'a [(Arc<str>, Value)],
    bar: usize,
}

/// Returns the beliefs of all programs.
pub(super) fn bars(film: &Film, lanes: &Lanes) -> Vec<Bar> {
    let mut bars: Vec<Bar> = Vec::new();
    let mut open: Vec<Open<'_>> = Vec::new();
    for (at, frame) in film.frames.iter().enumerate() {
        for event in frame.line.iter().flat_map(|line| &line.events) {
            let Some(client) = event.client() else { continue };
            open.retain(|it| {
                let lasts = it.client != client || !ends(it, event);
                if !lasts {
                    bars[it.bar].to = Some(at);
                }
                lasts
            });
            let Event::Observed { observation, .. } = event else { continue };
            let belief = BELIEFS.iter().find(|belief| belief.begins == observation.name());
            let (Some(belief), Some(lane)) = (belief, lanes.of_client(client)) else { continue };
            let fields = observation.fields().unwrap_or_default();
            if is_empty(belief, fields) {
                continue;
            }
            open.push(Open { client, belief, fields, bar: bars.len() });
            bars.push(Bar { lane, label: label(belief, fields), from: at, to: None });
        }
    }
    bars
}

/// Returns true if an event of the same client ends a belief.
fn ends(open: &Open<'_>, event: &Event) -> bool {
    match event {
        Event::Killed { .. } | Event::Finished { .. } | Event::Panicked { .. } => true,
        Event::Observed { observation, .. } => {
            open.belief.ends.contains(&observation.name()) && agrees(open, observation)
        }
        _ => false,
    }
}

/// Returns true if no field that both have differs, other than the one that the belief is about: the next one of its
/// kind replaces it.
fn agrees(open: &Open<'_>, observation: &Observed) -> bool {
    let is_next = observation.name() == open.belief.begins;
    let fields = observation.fields().unwrap_or_default();
    open.fields.iter().all(|(name, value)| {
        let other = fields.iter().find(|(other, _)| other == name);
        let replaced = is_next && **name == *open.belief.field;
        replaced || other.is_none_or(|(_, other)| other == value)
    })
}

/// Returns true if the belief is about an empty list: the use of nothing.
fn is_empty(belief: &Belief, fields: &[(Arc<str>, Value)]) -> bool {
    let field = fields.iter().find(|(name, _)| **name == *belief.field);
    matches!(field, Some((_, Value::List(list))) if list.is_empty())
}

fn label(belief: &Belief, fields: &[(Arc<str>, Value)]) -> String {
    let field = fields.iter().find(|(name, _)| **name == *belief.field);
    match field {
        Some((_, Value::Text(text))) => format!("{} {text}", belief.words),
        Some((_, value)) => format!("{} {value}", belief.words),
        None => belief.words.to_owned(),
    }
}
