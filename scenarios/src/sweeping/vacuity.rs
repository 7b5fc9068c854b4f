//! Checks that a verdict had something to judge: a property that held although no program did anything was not tested.

use std::collections::BTreeSet;
use std::sync::Arc;
use vivarium_model::property::Monitor;

/// The activity of the programs in a sweep or search.
pub(crate) struct Activity<'a> {
    /// Whether a program made a request.
    pub(crate) requests: bool,
    /// The names of the observations that programs made.
    pub(crate) observed: BTreeSet<&'a str>,
}

impl Activity<'_> {
    /// Returns what these properties depend on and no program did, in words that follow "no program made".
    pub(crate) fn missing(&self, monitors: &[Box<dyn Monitor>]) -> Vec<String> {
        let mut missing = Vec::new();
        if !self.requests && self.observed.is_empty() {
            missing.push("a request or an observation".to_string());
        }
        let looked_for: BTreeSet<Arc<str>> =
            monitors.iter().flat_map(|monitor| monitor.looks_for()).collect();
        let unseen = looked_for.iter().filter(|name| !self.observed.contains(&***name));
        missing.extend(unseen.map(|name| observation(name)));
        missing
    }

    /// Checks that programs made all these observations; returns a sentence about the first that none made.
    pub(crate) fn must_have(&self, names: &[String]) -> Result<(), String> {
        match names.iter().find(|name| !self.observed.contains(name.as_str())) {
            Some(name) => Err(format!(
                "no program made {}, so the properties that held were not tested",
                observation(name)
            )),
            None => Ok(()),
        }
    }
}

fn observation(name: &str) -> String {
    format!("an observation `{name}`")
}
