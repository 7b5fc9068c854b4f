//! Runs with known steps: replays and comparisons.

pub(crate) mod completed;
pub(crate) mod determinism;
pub(crate) mod due_timers;
pub mod minimise;
mod pending;
pub(crate) mod replay;
pub mod servers;
pub mod service;
pub mod steps;
