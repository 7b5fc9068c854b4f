//! What machines are in for a while: roles, connections, faults.

use super::Lanes;
use std::collections::BTreeMap;
use vivarium_model::id::Machine;
use vivarium_model::portrait::Condition;
use vivarium_reports::picture::{Span, SpanKind};
use vivarium_sim::film::Film;

/// Returns the spans of a run, in the order in which they begin.
pub(super) fn spans(film: &Film, lanes: &Lanes) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut open: BTreeMap<(Machine, Condition), usize> = BTreeMap::new();
    for (at, frame) in film.frames.iter().enumerate() {
        for (machine, now) in &frame.conditions {
            open.retain(|(of, condition), span| {
                let lasts = of != machine || now.contains(condition);
                if !lasts {
                    spans[*span].to = Some(at);
                }
                lasts
            });
            for condition in now {
                open.entry((*machine, condition.clone())).or_insert_with(|| {
                    let (kind, label) = words(film, condition);
                    let lane = lanes.of_machine(*machine);
                    spans.push(Span { lane, kind, from: at, to: None, label });
                    spans.len() - 1
                });
            }
        }
    }
    spans
}

fn words(film: &Film, condition: &Condition) -> (SpanKind, String) {
    let nothing = String::new;
    match condition {
        Condition::Looking => (SpanKind::Looking, nothing()),
        Condition::Synchronising { leader } => (SpanKind::Synchronising, format!("with {leader}")),
        Condition::Following { leader } => (SpanKind::Following, leader.to_string()),
        Condition::Elected => (SpanKind::Synchronising, "elected, not established".to_owned()),
        Condition::Leading { epoch } => (SpanKind::Leading, format!("epoch {epoch}")),
        Condition::Down => (SpanKind::Down, nothing()),
        Condition::Connected { server: Some(server) } => {
            (SpanKind::Connected, format!("to {server}"))
        }
        Condition::Connected { server: None } => (SpanKind::Connected, nothing()),
        Condition::Disconnected => (SpanKind::Disconnected, nothing()),
        Condition::Expired => (SpanKind::Expired, nothing()),
        Condition::Paused => (SpanKind::Paused, nothing()),
        Condition::CutOff { from } => {
            let names: Vec<String> = from.iter().map(|machine| film.name(*machine)).collect();
            (SpanKind::Cut, format!("from {}", names.join(", ")))
        }
    }
}
