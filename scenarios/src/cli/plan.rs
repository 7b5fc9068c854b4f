//! The checked arguments of `vivarium run`.

use super::select::Selected;
use crate::catalogue::Entry;
use crate::sweeping::seeds::SeedRange;
use crate::sweeping::shard::Shard;
use std::time::Duration;
use vivarium_reports::summary::ScenarioReport;
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
    /// The part of each scenario's seeds to run; `None` for all.
    pub(super) shard: Option<Shard>,
}

impl Plan<'_> {
    /// Returns the scenario's seeds, of all shards.
    pub(super) fn seeds_of(&self, entry: &Entry) -> SeedRange {
        self.seeds
            .clone()
            .unwrap_or_else(|| SeedRange::count(entry.seeds).expect("the catalogue gives some"))
    }

    /// Returns the seeds to run; `None` for a shard without seeds.
    pub(super) fn part_of(&self, entry: &Entry) -> Option<SeedRange> {
        let whole = self.seeds_of(entry);
        match self.shard {
            Some(shard) => SeedRange::of(shard.part(&whole)),
            None => Some(whole),
        }
    }

    /// Completes the report on a scenario, also one that ended with an error: its seeds, its shard, and whether the
    /// seeds are enough to reach all of its marks.
    pub(super) fn complete(&self, entry: &Entry, report: &mut ScenarioReport) {
        let whole = self.seeds_of(entry);
        report.first_seed = whole.range().start;
        report.asked = whole.len();
        // Without switches, the catalogue's number of seeds is enough.
        report.demands_marks = self.seeds.is_none() && self.bugs.is_empty();
        match self.shard {
            Some(shard) => shard.stamp(&whole, report),
            None => report.judge(),
        }
    }
}
