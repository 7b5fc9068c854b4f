//! Tests as a user writes them: programs, options, faults, properties, and what comes of them.

mod barriers;
mod counter;
mod detectors;
mod directories;
mod helpers;
mod program;
mod release;
mod roles;
mod rounds;
mod services;
mod shared;
mod watch_reset;
