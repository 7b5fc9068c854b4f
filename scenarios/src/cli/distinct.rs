//! The distinct violations of a sweep that goes on after its first one: each violating run is minimised, and
//! runs count as one if their minimised runs violate the same property in the same way with the same kinds of faults.

use super::commands::replay_of_seed;
use super::progress::Meter;
use crate::minimising;
use crate::sweeping;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use vivarium_model::case::Case;
use vivarium_reports::script::Sentence;
use vivarium_reports::summary::{Distinct, DistinctViolation};
use vivarium_sim::{HostKind, RunOptions, Scenario};

/// How many times the limit for one run all runs together may take.
const TOGETHER: u32 = 6;

/// What runs of the same violation have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Signature {
    property: String,
    /// What the monitor saw, without numbers: machines, sessions, zxids and names differ from run to run.
    saw: String,
    /// The kinds of faults of the script, by their first words.
    faults: BTreeSet<String>,
}

/// Minimises these violating runs in the order of their seeds, as far as the time reaches, and groups them.
pub(super) fn distinct(
    scenario: &Scenario,
    bugs: &[String],
    violating: &BTreeMap<u64, String>,
    host: HostKind,
    time: Duration,
) -> Distinct {
    let meter = Meter::of_runs(format!("{}, minimised", scenario.name), violating.len() as u64);
    let begun = Instant::now();
    let mut kinds: BTreeMap<Signature, DistinctViolation> = BTreeMap::new();
    let mut minimised = 0;
    for seed in violating.keys() {
        let left = (time * TOGETHER).saturating_sub(begun.elapsed());
        if left.is_zero() {
            break;
        }
        if let Some((signature, found)) = one(scenario, bugs, *seed, host, left.min(time)) {
            let known = kinds.entry(signature).or_insert_with(|| found.clone());
            if found.steps < known.steps {
                let seeds = std::mem::take(&mut known.seeds);
                *known = DistinctViolation { seeds, ..found };
            }
            if !known.seeds.contains(seed) {
                known.seeds.push(*seed);
            }
        }
        minimised += 1;
        meter.update(minimised);
    }
    meter.finish();
    let mut kinds: Vec<DistinctViolation> = kinds.into_values().collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.seeds.len()));
    Distinct { violating: violating.len() as u64, minimised, kinds }
}

/// Minimises the run of a seed.
fn one(
    scenario: &Scenario,
    bugs: &[String],
    seed: u64,
    host: HostKind,
    time: Duration,
) -> Option<(Signature, DistinctViolation)> {
    let options = RunOptions { host, keep_steps: true, ..RunOptions::default() };
    let run = vivarium_sim::on_fresh_thread(|| vivarium_sim::run(scenario, seed, &options));
    let whole = sweeping::case(scenario, bugs, &run);
    let objection = whole.violation.clone()?;
    let servers = super::minimise::servers_alone(&whole);
    let found = minimising::smallest(scenario, &whole, servers.as_ref(), host, time).ok()?;
    let (steps, saw, script) = match &found {
        Some(found) => {
            let saw = found.minimal.finding.violation.objection.saw.clone();
            (found.case.steps.len(), saw, found.minimal.script())
        }
        None => (whole.steps.len(), objection.saw.clone(), Vec::new()),
    };
    let Case { bugs, .. } = &whole;
    let found = DistinctViolation {
        property: objection.property.clone(),
        saw,
        seeds: vec![seed],
        steps: steps as u64,
        replay: format!("{} --minimise", replay_of_seed(&scenario.name, seed, bugs)),
    };
    Some((signature(objection.property, &found.saw, &script), found))
}

fn signature(property: String, saw: &str, script: &[Sentence]) -> Signature {
    let kind = |fault: &Sentence| fault.words.split(' ').next().unwrap_or_default().to_string();
    let faults = script.iter().filter(|sentence| sentence.fault).map(kind).collect();
    Signature { property, saw: without_numbers(saw), faults }
}

/// Replaces each word that has a digit by `#`.
fn without_numbers(words: &str) -> String {
    let word = |word: &str| match word.contains(|letter: char| letter.is_ascii_digit()) {
        true => "#".to_string(),
        false => word.to_string(),
    };
    words.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn violations_that_differ_in_numbers_are_the_same() {
        let script = |words: &str| {
            vec![Sentence { number: 1, words: words.to_string(), fault: true, step: 7 }]
        };
        let of = |saw: &str, words: &str| signature("lock M6".to_string(), saw, &script(words));
        let one = of("client 1 waits for /lock/lock-0000000004", "BREAK client 1 connection 0");
        assert_eq!(
            one,
            of("client 4 waits for /lock/lock-0000000011", "BREAK client 4 connection 3")
        );
        assert_ne!(one, of("client 1 holds /lock/lock-0000000004", "BREAK client 1 connection 0"));
        assert_ne!(one, of("client 1 waits for /lock/lock-0000000004", "CRASH server 1"));
    }
}
