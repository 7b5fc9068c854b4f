//! The choosers of steps: simulation with virtual time, latencies, faults and seeds; sweeps, replays and searches; and
//! the hosts of programs.
//!
//! A [`scenario::Scenario`] describes a world and its possible faults. A [`Run`] is one run of it: a seed draws one
//! ([`Drawn`]), a replay takes it from a case, a search begins with the smallest one. Under a seed, the driver takes the run's steps until everything is done or a property is violated. [`run()`] runs
//! one seed, [`sweep()`] runs many, [`replay()`] repeats recorded steps, and [`check_determinism`] checks that a seed
//! always produces the same run.

mod awaits;
pub mod budget;
#[cfg(feature = "coverage")]
pub mod covered;
pub mod embed;
#[cfg(feature = "explore")]
pub mod every;
pub mod film;
pub mod forked;
pub mod host;
pub mod minimised;
pub mod random;
mod recorded;
pub mod replica;
mod run;
pub mod scenario;
mod seeded;
pub mod served;
mod sweep;
pub mod walked;

pub use awaits::Fate;
pub use recorded::replay::{Replay, replay};
pub use recorded::{minimise, servers, service, steps};
pub use run::demands;
pub use run::difference::{Difference, Side, Way};
pub use run::heartbeat::{Beat, Heartbeats};
pub use run::record::Caused;
pub use run::standstill::Stopped;
pub use run::{HostKind, RunOptions, RunReport};
pub use scenario::faults::{Fault, FaultSet, Rate};
pub use scenario::run::Run;
pub use scenario::settings::{ClientOptions, Settings};
pub use scenario::{Choice, Explored, Limits, Scenario, Servers, aftermath, bounds};
pub use seeded::drawn::Drawn;
pub use seeded::{containers, latency, pace, plan, run, run_timed, timings, transport};
pub use sweep::repeat::{check_determinism, sweep, sweep_watched};
pub use sweep::{SweepOptions, SweepReport, Totals, on_fresh_thread};
