//! What a sweep on real servers has found, as text.

use super::plan::Strike;
use super::run::Ended;
use std::fmt::Write;
use vivarium_reports::numbers::grouped;

/// Returns the report on a scenario's runs: the first violation if there is one, what has struck, and the verdict.
/// `again` is the command that repeats a seed.
pub fn report(name: &str, runs: &[(u64, Ended)], again: impl Fn(u64) -> String) -> String {
    let mut text = String::new();
    let violated = runs.iter().find_map(|(seed, ended)| Some((*seed, ended.violation.as_ref()?)));
    if let Some((seed, (objection, events))) = violated {
        let _ = writeln!(text, "{name} on real servers: VIOLATED\n");
        let _ = writeln!(text, "  property   {}", objection.property);
        let _ = writeln!(text, "  saw        {}", objection.saw);
        let _ = writeln!(text, "  seed       {seed}");
        let _ = writeln!(
            text,
            "  again      {} (the same plan; real time decides the rest)",
            again(seed)
        );
        let _ = writeln!(text, "\n  the last events:");
        for event in events {
            let _ = writeln!(text, "    {event}");
        }
        text.push('\n');
    }
    let sum = |of: &dyn Fn(&Ended) -> u64| runs.iter().map(|(_, ended)| of(ended)).sum::<u64>();
    let _ = writeln!(
        text,
        "{name}: {} seeds, {} clients, {} transactions, {} events",
        runs.len(),
        sum(&|ended| ended.clients as u64),
        grouped(sum(&|ended| ended.txns as u64)),
        grouped(sum(&|ended| ended.events as u64)),
    );
    let strikes: Vec<String> = (0..Strike::KINDS.len())
        .map(|kind| format!("{} {}", Strike::KINDS[kind], sum(&|ended| ended.strikes[kind])))
        .collect();
    let _ = writeln!(text, "  {}", strikes.join(", "));
    if let Some((_, ended)) = runs.first().filter(|(_, ended)| !ended.not_judged.is_empty()) {
        let _ = writeln!(
            text,
            "  not judged, because clients and logs do not show enough: {}",
            ended.not_judged.join(", ")
        );
    }
    let verdict = match violated {
        Some((seed, _)) => format!("violated at seed {seed}"),
        None if runs.iter().all(|(_, ended)| ended.judged == 0) => {
            "held, but no property was judged: only that each program ends, without an error"
                .to_owned()
        }
        None => "held".to_owned(),
    };
    let _ = writeln!(text, "  {verdict}");
    text
}
