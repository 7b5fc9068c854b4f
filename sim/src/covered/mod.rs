//! What the runs of a scenario cover: the awaits of its programs, each with how it ended, and the events of servers and
//! clients.
//!
//! A sweep that held says nothing about an await at which no connection was ever lost. The runs are those of a sweep, seed
//! by seed; what is counted changes none of them.

mod counts;
mod events;

pub use counts::Await;

use crate::awaits::traced;
use crate::run::HostKind;
use crate::run::heartbeat::Heartbeats;
use crate::run::record::Keep;
use crate::scenario::Scenario;
use crate::scenario::run::Run;
use crate::seeded::drawn::Drawn;
use crate::seeded::simulate;
use crate::sweep::{self, SweepOptions, Totals};
use counts::{Counts, Shared};
use events::Counting;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use vivarium_model::property::Monitor;

/// What the runs of some seeds cover.
#[derive(Clone, Debug)]
pub struct Covered {
    /// The sum of the runs.
    pub totals: Totals,
    /// The awaits that programs reached, by their places.
    pub awaits: Vec<Await>,
    /// How often each kind of event happened, and each reason or error of those that have one: in words, sorted; kinds that
    /// never happened have 0.
    pub events: BTreeMap<String, u64>,
}

/// Runs each seed once, whether or not it violates a property, and counts. `progress` is called after each run; other
/// threads can observe the state of the runs in `pulses`.
///
/// # Panics
/// If this build does not have the host.
pub fn covered(
    scenario: &Scenario,
    seeds: &SweepOptions,
    host: HostKind,
    pulses: &Arc<Heartbeats>,
    progress: &mut dyn FnMut(&Totals) -> ControlFlow<()>,
) -> Covered {
    let (awaits, events) = (Arc::new(Shared::default()), Counting::new());
    let counted = counted(scenario, &awaits, &events);
    let keep = || Keep { pulses: Some(Arc::clone(pulses)), ..Keep::default() };
    let run = |seed| simulate(&counted, &Drawn::draw(&counted, seed), host, keep());
    let seeds = SweepOptions { keep_going: true, ..seeds.clone() };
    let (report, _) = sweep::sweep_with(&seeds, &run, progress);
    Covered { totals: report.totals, awaits: awaits.counts(), events: events.counts() }
}

/// Returns the scenario with its awaits and events counted.
fn counted(scenario: &Scenario, awaits: &Arc<Shared>, events: &Counting) -> Scenario {
    let (programs, awaits) = (Arc::clone(&scenario.programs), Arc::clone(awaits));
    let (monitors, events) = (Arc::clone(&scenario.monitors), events.clone());
    Scenario {
        programs: Arc::new(move |run: &Run| {
            let of_this_run = Arc::new(Counts::of(&awaits));
            let programs = programs(run).into_iter();
            programs.map(|program| traced(program, &of_this_run)).collect()
        }),
        monitors: Arc::new(move |run: &Run| {
            // The first monitor receives an event before another one can object to it and end the run.
            let first: Box<dyn Monitor> = Box::new(events.clone());
            std::iter::once(first).chain(monitors(run)).collect()
        }),
        ..scenario.clone()
    }
}
