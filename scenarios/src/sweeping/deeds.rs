//! Whether there was anything to judge: what held although nobody did anything, held for nothing.

use std::collections::BTreeSet;
use std::sync::Arc;
use vivarium_model::property::Monitor;

/// What the programs of a sweep or search did.
pub(crate) struct Deeds<'a> {
    /// Somebody made a request.
    pub(crate) requests: bool,
    /// The names of the observations that were made.
    pub(crate) observed: BTreeSet<&'a str>,
}

impl Deeds<'_> {
    /// What nobody did, of that which these properties are about; in words, behind "nobody made".
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

    /// The first of these observations that nobody made, as a sentence.
    pub(crate) fn must_have(&self, names: &[String]) -> Result<(), String> {
        match names.iter().find(|name| !self.observed.contains(name.as_str())) {
            Some(name) => Err(format!(
                "nobody made {}, so what held was not put to the test",
                observation(name)
            )),
            None => Ok(()),
        }
    }
}

fn observation(name: &str) -> String {
    format!("an observation `{name}`")
}
