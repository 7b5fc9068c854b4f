//! What a sweep that held did not cover: marks that no run reached, and properties that had nothing to judge.
//!
//! A part of a sweep cannot decide this, because other parts may reach what it did not. So a shard's report has the
//! counts alone, and the merged report is judged.

use crate::summary::ScenarioReport;
use std::collections::BTreeSet;
use vivarium_model::verdict::Verdict;

/// Returns what properties depend on and no program did, in words that follow "no program made". `observed` has the
/// names of the observations that programs made, `looked_for` those that the properties need.
pub fn missing<'a>(
    requests: bool,
    observed: &BTreeSet<&str>,
    looked_for: impl IntoIterator<Item = &'a str>,
) -> Vec<String> {
    let mut missing = Vec::new();
    if !requests && observed.is_empty() {
        missing.push("a request or an observation".to_string());
    }
    let unseen = looked_for.into_iter().filter(|name| !observed.contains(name));
    missing.extend(unseen.map(observation));
    missing
}

/// Returns the words for an observation of this name.
pub fn observation(name: &str) -> String {
    format!("an observation `{name}`")
}

impl ScenarioReport {
    /// Sets the verdict of a sweep that held, from its counts. Leaves a violation and an error as they are.
    ///
    /// A shard is only held: whether marks are missing is decided when all shards are merged.
    pub fn judge(&mut self) {
        if !matches!(self.verdict, Verdict::Held { .. } | Verdict::Unreached { .. }) {
            return;
        }
        let unreached = if self.shard.is_some() { Vec::new() } else { self.unreached() };
        let held = Verdict::Held { seeds: self.seeds, unreached };
        self.verdict = if self.demands_marks { held.demanding_marks() } else { held };
    }

    /// Returns the marks that no run reached, and what the properties are about and no program did.
    fn unreached(&self) -> Vec<String> {
        let observed = self.observed.iter().filter(|count| count.count > 0);
        let observed = observed.map(|count| count.name.as_str()).collect();
        let looked_for = self.looks_for.iter().map(String::as_str);
        let marks = self.marks.iter().filter(|mark| mark.count == 0);
        let marks = marks.map(|mark| mark.name.clone());
        marks.chain(missing(self.requests > 0, &observed, looked_for)).collect()
    }

    /// Returns true for a shard without seeds, because there are more shards than seeds.
    pub(crate) fn is_empty_shard(&self) -> bool {
        self.shard.is_some() && self.asked == 0 && matches!(self.verdict, Verdict::Held { .. })
    }
}
