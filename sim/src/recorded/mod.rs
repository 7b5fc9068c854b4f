//! Runs with known steps: replays and comparisons.

pub(crate) mod determinism;
pub(crate) mod due_timers;
pub mod minimise;
pub(crate) mod replay;
pub mod servers;
pub mod service;
pub mod steps;
