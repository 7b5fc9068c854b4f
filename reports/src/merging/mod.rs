//! Merges reports of parts of a sweep into the report of the whole.
//!
//! The parts are the shards of one range of seeds, or ranges that adjoin. The merged report equals that of one sweep
//! over all seeds, except for the real time and the field `merged`:
//!
//! * Nothing was violated, or the sweeps kept going after a violation: counts and hashes of all parts are added.
//! * The sweeps stopped at their first violation: a single sweep would have stopped at the first of these, so only the
//!   parts up to it count. [`Merged`] says how many seeds the later parts ran, and how many of those runs ended with a
//!   violation.
//! * A part ended with an error: the merged sweep ends with that error, unless another part has a violation. A violation
//!   is valid whatever the other parts did; [`Merged::failed`] then has the error.
//!
//! Marks that no run reached, and properties that had nothing to judge, are decided here and not by the parts.

mod parts;

pub use parts::MergeError;

use crate::reading::ReadReport;
use crate::summary::{Count, Merged, ScenarioReport};
use parts::Part;
use std::time::Duration;
use vivarium_model::property::Measure;
use vivarium_model::verdict::Verdict;

/// Merges reports. The scenarios are in the order in which the reports, one after the other, first name them.
///
/// # Errors
/// If the reports are not all parts of one sweep of each scenario, or if parts are missing.
pub fn merge(reports: &[ReadReport]) -> Result<Vec<ScenarioReport>, MergeError> {
    if let [first, others @ ..] = reports
        && let Some(other) = others.iter().find(|other| other.build != first.build)
    {
        return Err(MergeError::OtherBuild {
            one: first.file.clone(),
            build: first.build.clone(),
            other: other.file.clone(),
            other_build: other.build.clone(),
        });
    }
    let mut groups: Vec<Vec<Part<'_>>> = Vec::new();
    for read in reports {
        for report in &read.scenarios {
            let part = Part { file: &read.file, report };
            match groups.iter_mut().find(|group| group[0].report.scenario == report.scenario) {
                Some(group) => group.push(part),
                None => groups.push(vec![part]),
            }
        }
    }
    let whole = |mut parts: Vec<Part<'_>>| {
        parts::check(&mut parts)?;
        Ok(whole(&parts))
    };
    groups.into_iter().map(whole).collect()
}

/// Adds the parts, which are sorted and cover one range.
fn whole(parts: &[Part<'_>]) -> ScenarioReport {
    let violated = parts.iter().position(|part| part.report.finding.is_some());
    let counted = match violated {
        Some(at) if !parts[at].report.kept_going => at + 1,
        _ => parts.len(),
    };
    let (counted, uncounted) = parts.split_at(counted);
    let mut whole = counted[0].report.clone();
    counted[1..].iter().for_each(|part| add(&mut whole, part.report));
    whole.observed.sort_by(|one, other| one.name.cmp(&other.name));
    whole.asked = parts.iter().map(|part| part.report.asked).fold(0, u64::saturating_add);
    whole.wall =
        parts.iter().map(|part| part.report.wall).fold(Duration::ZERO, Duration::saturating_add);
    whole.demands_marks = parts.iter().all(|part| part.report.demands_marks);
    whole.shard = None;
    let errors = parts.iter().filter_map(|part| match &part.report.verdict {
        Verdict::Error(sentence) => Some(format!("{}: {sentence}", part.name())),
        _ => None,
    });
    let errors: Vec<String> = errors.collect();
    whole.finding = violated.and_then(|at| parts[at].report.finding.clone());
    whole.verdict = match (&whole.finding, errors.first()) {
        (Some(finding), _) => Verdict::Violated(Box::new(finding.violation.clone())),
        (None, Some(sentence)) => Verdict::Error(sentence.clone()),
        (None, None) => Verdict::Held { seeds: whole.seeds, unreached: Vec::new() },
    };
    whole.judge();
    let title = whole.title_with_rate();
    whole.finding.iter_mut().for_each(|finding| finding.scenario.clone_from(&title));
    let failed = if whole.finding.is_some() { errors } else { Vec::new() };
    whole.merged = Some(merged(parts, uncounted, failed));
    whole
}

/// Adds the counts of a later part.
fn add(sum: &mut ScenarioReport, part: &ScenarioReport) {
    sum.seeds = sum.seeds.saturating_add(part.seeds);
    sum.steps = sum.steps.saturating_add(part.steps);
    sum.simulated = sum.simulated.saturating_add(part.simulated);
    sum.hash.add(part.hash);
    sum.requests = sum.requests.saturating_add(part.requests);
    sum.violations = sum.violations.saturating_add(part.violations);
    add_counts(&mut sum.faults, &part.faults);
    add_counts(&mut sum.marks, &part.marks);
    add_counts(&mut sum.observed, &part.observed);
    Measure::add_all(&mut sum.measured, &part.measured);
    // A part that ended with an error has none.
    if sum.looks_for.is_empty() {
        sum.looks_for.clone_from(&part.looks_for);
    }
}

fn add_counts(sum: &mut Vec<Count>, counts: &[Count]) {
    for Count { name, count } in counts {
        match sum.iter_mut().find(|known| known.name == *name) {
            Some(known) => known.count = known.count.saturating_add(*count),
            None => sum.push(Count::new(name.clone(), *count)),
        }
    }
}

/// Returns the number of reports, and what the counts leave out, also in parts that were merged before.
fn merged(parts: &[Part<'_>], uncounted: &[Part<'_>], mut failed: Vec<String>) -> Merged {
    let before: Vec<&Merged> =
        parts.iter().filter_map(|part| part.report.merged.as_ref()).collect();
    let earlier = |of: fn(&Merged) -> u64| {
        before.iter().map(|merged| of(merged)).fold(0, u64::saturating_add)
    };
    let later = |of: fn(&ScenarioReport) -> u64| {
        uncounted.iter().map(|part| of(part.report)).fold(0, u64::saturating_add)
    };
    failed.extend(before.iter().flat_map(|merged| merged.failed.clone()));
    let single = parts.len() - before.len();
    Merged {
        reports: earlier(|merged| merged.reports).saturating_add(single as u64),
        uncounted_seeds: earlier(|merged| merged.uncounted_seeds)
            .saturating_add(later(|report| report.seeds)),
        uncounted_violations: earlier(|merged| merged.uncounted_violations)
            .saturating_add(later(|report| report.violations)),
        failed,
    }
}
