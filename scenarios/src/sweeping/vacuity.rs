//! Checks that a verdict had something to judge: a property that held although no program did anything was not tested.
//! See also [`vivarium_reports::coverage`].

use std::collections::BTreeSet;
use std::sync::Arc;
use vivarium_model::property::Monitor;
use vivarium_reports::coverage::observation;

/// Returns the names of the observations that these properties need, sorted.
pub(crate) fn looked_for(monitors: &[Box<dyn Monitor>]) -> BTreeSet<Arc<str>> {
    monitors.iter().flat_map(|monitor| monitor.looks_for()).collect()
}

/// Checks that programs made all observations of these names. Returns a sentence about the first that none made.
pub(crate) fn must_have(observed: &BTreeSet<&str>, names: &[String]) -> Result<(), String> {
    match names.iter().find(|name| !observed.contains(name.as_str())) {
        Some(name) => Err(format!(
            "no program made {}, so the properties that held were not tested",
            observation(name)
        )),
        None => Ok(()),
    }
}
