//! Runs chosen by a seed: the options, the faults, the latencies and the order of steps.
//!
//! A run draws its options and its fault plan (`options`, [`plan`]), each from ChaCha streams named by (seed,
//! purpose, entity), so leaving out one fault changes the rest little. The driver runs the chaos, mends everything,
//! and then requires that every program finishes within a bound. Besides the monitors it checks S6 and S7 of a
//! server's disk after a step has changed it ([`vivarium_model::property::disks`]). `faults` contains the effect of
//! each kind, and the kinds of a scenario with their frequencies. [`pace`] changes latencies and the order of steps
//! during the chaos; in more than four of ten seeds it changes nothing.

pub mod containers;
pub(crate) mod drawn;
pub(crate) mod driver;
pub(crate) mod faults;
pub(crate) mod heap;
pub mod latency;
#[cfg(test)]
pub(crate) mod mock;
mod options;
pub mod pace;
pub mod plan;
pub(crate) mod timers;
pub mod timings;
pub mod transport;

use crate::run::record::{Closed, Keep};
use crate::run::subject::{Subject, WithSubject, with_timed_world, with_world};
use crate::run::{HostKind, RunOptions, RunReport};
use crate::scenario::Scenario;
use crate::seeded::drawn::Drawn;
use std::cell::Cell;
use std::rc::Rc;
use vivarium_model::time::Duration;

/// Runs one seed of a scenario.
///
/// The run is a function of the scenario and the seed; the options only decide what is kept of it. If programs use
/// the standard library's hash maps, call this on a fresh thread, as [`sweep()`](crate::sweep()) does.
///
/// # Panics
/// If this build does not have the host ([`HostKind::is_available`]).
pub fn run(scenario: &Scenario, seed: u64, options: &RunOptions) -> RunReport {
    let drawn = Drawn::draw(scenario, seed);
    simulate(scenario, &drawn, options.host, Keep::from(*options)).report
}

/// Runs one seed and returns the real time that the host of the programs took, for benchmarks.
///
/// # Panics
/// If this build does not have the host.
pub fn run_timed(scenario: &Scenario, seed: u64, host: HostKind) -> (RunReport, Duration) {
    let spent = Rc::new(Cell::new(Duration::ZERO));
    let drawn = Drawn::draw(scenario, seed);
    let keep = Keep::from(RunOptions { host, ..RunOptions::default() });
    let with = Simulate { drawn: &drawn, keep };
    let closed = with_timed_world(scenario, &drawn.run, host, Some(Rc::clone(&spent)), with);
    (closed.report, spent.get())
}

pub(crate) fn simulate(scenario: &Scenario, drawn: &Drawn, host: HostKind, keep: Keep) -> Closed {
    with_world(scenario, &drawn.run, host, Simulate { drawn, keep })
}

/// The arguments of [`driver::simulate`], for a world under any host.
struct Simulate<'a> {
    drawn: &'a Drawn,
    keep: Keep,
}

impl WithSubject for Simulate<'_> {
    type Result = Closed;

    fn run<S: Subject>(self, subject: S) -> Closed {
        driver::simulate(subject, self.drawn, self.keep)
    }
}
