//! The checked arguments of `vivarium run`.

use super::select::Selected;
use crate::catalogue::Entry;
use crate::sweeping::seeds::SeedRange;
use std::time::Duration;
use vivarium_sim::HostKind;

/// A checked command line.
pub(super) struct Plan<'a> {
    pub(super) selection: Vec<Selected<'a>>,
    pub(super) bugs: &'a [String],
    pub(super) seeds: Option<SeedRange>,
    pub(super) jobs: usize,
    pub(super) host: HostKind,
    pub(super) keep_going: bool,
    /// For how long a violating run is minimised.
    pub(super) minimises_for: Duration,
}

impl Plan<'_> {
    pub(super) fn seeds_of(&self, entry: &Entry) -> SeedRange {
        self.seeds
            .clone()
            .unwrap_or_else(|| SeedRange::count(entry.seeds).expect("the catalogue gives some"))
    }
}
