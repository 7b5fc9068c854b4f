//! What can happen: virtual time, latencies, faults, seeds, hosts, sweeps and replays.
//!
//! A [`scenario::Scenario`] says which world to build and what may go wrong; a seed draws one run
//! of it ([`Drawn`]); the driver takes its steps until everything is done or something is
//! violated. [`run()`] is one seed, [`sweep()`] many, [`replay()`] takes recorded steps again, and
//! [`check_determinism`] makes sure that a seed means one run and no other.

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
