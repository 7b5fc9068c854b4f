//! Runs that a seed chooses: the options, the faults, the latencies and the order of what happens.
//!
//! A run draws its options and its fault plan (`options`, [`plan`]), each from ChaCha streams named by (seed, purpose,
//! entity), so leaving one fault out disturbs the rest little. The driver runs chaos, mends everything, and then
//! demands that every program finishes within a bound. Besides the monitors it checks S6 and S7 of a server's disk when
//! a step has changed it ([`vivarium_model::property::disks`]). `faults` holds what each kind does, which kinds a
//! scenario has and how often. [`pace`] changes latencies and the order of steps as long as the chaos lasts; in more
//! than four of ten seeds it changes nothing.

pub mod aftermath;
pub mod containers;
pub(crate) mod driver;
pub(crate) mod faults;
mod heap;
pub mod latency;
#[cfg(test)]
pub(crate) mod mock;
mod options;
pub mod pace;
pub mod plan;
pub mod random;
pub(crate) mod sweep;
mod timers;
pub mod timings;
pub mod transport;

use crate::run::record::{Closed, Keep};
use crate::run::subject::{Subject, WithSubject, with_timed_world, with_world};
use crate::run::{HostKind, RunOptions, RunReport};
use crate::scenario::Scenario;
use crate::scenario::drawn::Drawn;
use std::cell::Cell;
use std::rc::Rc;
use vivarium_model::time::Duration;

/// Runs one seed of a scenario.
///
/// The run is a function of the scenario and the seed; the options decide what is kept of it. Call
/// it on a fresh thread (as [`sweep()`](crate::sweep()) does) where programs use the standard library's hash maps.
///
/// # Panics
/// If this build has no such host ([`HostKind::is_available`]).
pub fn run(scenario: &Scenario, seed: u64, options: &RunOptions) -> RunReport {
    let drawn = Drawn::draw(scenario, seed);
    simulate(scenario, &drawn, options.host, Keep::from(*options)).report
}

/// Runs one seed and says how much real time the host of the programs took: for benches.
///
/// # Panics
/// If this build has no such host.
pub fn run_timed(scenario: &Scenario, seed: u64, host: HostKind) -> (RunReport, Duration) {
    let spent = Rc::new(Cell::new(Duration::ZERO));
    let drawn = Drawn::draw(scenario, seed);
    let keep = Keep::from(RunOptions { host, ..RunOptions::default() });
    let with = Simulate { drawn: &drawn, keep };
    let closed = with_timed_world(scenario, &drawn, host, Some(Rc::clone(&spent)), with);
    (closed.report, spent.get())
}

pub(crate) fn simulate(scenario: &Scenario, drawn: &Drawn, host: HostKind, keep: Keep) -> Closed {
    with_world(scenario, drawn, host, Simulate { drawn, keep })
}

/// [`driver::simulate`], for a world under any host.
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
