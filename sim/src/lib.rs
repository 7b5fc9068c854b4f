//! The choosers of steps: simulation with virtual time, latencies, faults and seeds; sweeps, replays and searches; and
//! the hosts of programs.
//!
//! A [`scenario::Scenario`] describes a world and its possible faults. A seed draws one run of the scenario
//! ([`Drawn`]), and the driver takes the run's steps until everything is done or a property is violated. [`run()`] runs
//! one seed, [`sweep()`] runs many, [`replay()`] repeats recorded steps, and [`check_determinism`] checks that a seed
//! always produces the same run.

pub mod budget;
#[cfg(feature = "explore")]
pub mod every;
pub mod host;
mod recorded;
pub mod replica;
mod run;
pub mod scenario;
mod seeded;

pub use recorded::repeat::{check_determinism, sweep, sweep_watched};
pub use recorded::replay::{Replay, replay};
pub use recorded::{embed, minimise, servers, service, steps};
pub use run::demands;
pub use run::difference::{Difference, Side, Way};
pub use run::pulse::{Beat, Pulses};
pub use run::record::Caused;
pub use run::standstill::Stopped;
pub use run::{HostKind, RunOptions, RunReport};
pub use scenario::drawn::Drawn;
pub use scenario::settings::{ClientOptions, Settings};
pub use scenario::{Choice, Explored, Limits, Scenario, Servers, bounds};
pub use seeded::faults::{Fault, FaultSet, Rate};
pub use seeded::sweep::{SweepOptions, SweepReport, Totals, on_fresh_thread};
pub use seeded::{
    aftermath, containers, latency, pace, plan, random, run, run_timed, timings, transport,
};
