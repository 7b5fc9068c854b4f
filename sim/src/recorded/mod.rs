//! Runs with known steps: replays and comparisons.

pub(crate) mod determinism;
pub mod minimise;
pub(crate) mod replay;
pub mod servers;
pub mod service;
pub mod steps;
