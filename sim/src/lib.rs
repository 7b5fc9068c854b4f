//! What can happen: virtual time, latencies, faults, seeds, hosts, sweeps and replays.
//!
//! A [`scenario::Scenario`] says which world to build and what may go wrong; a seed draws one run
//! of it ([`options::Drawn`]); the driver takes its steps until everything is done or something is
//! violated. [`run`] is one seed, [`sweep`] many, [`replay`] takes recorded steps again, and
//! [`check_determinism`] makes sure that a seed means one run and no other.

mod determinism;
mod driver;
mod faults;
mod heap;
pub mod latency;
#[cfg(test)]
mod mock;
pub mod options;
pub mod plan;
mod programs;
pub mod random;
mod record;
mod replay;
mod run;
pub mod scenario;
mod subject;
mod sweep;
mod timers;

pub use determinism::{Difference, Side, Way};
pub use faults::Fault;
pub use options::Drawn;
pub use replay::Replay;
pub use run::{HostKind, RunOptions, RunReport};
pub use scenario::{Choice, FaultSet, Scenario};
pub use sweep::{SweepOptions, SweepReport, Totals};
