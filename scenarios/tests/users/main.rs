//! Tests as users write them: programs, options, faults, properties, and their results.

mod barriers;
mod counter;
#[cfg(feature = "coverage")]
mod coverage;
mod detectors;
mod directories;
mod helpers;
mod program;
mod release;
mod roles;
mod rounds;
mod script;
mod services;
mod shared;
#[cfg(feature = "proptest")]
mod strategies;
mod watch_reset;
