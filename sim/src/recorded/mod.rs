//! Runs with known steps: replay, comparison, and repetition at the other grain.

pub(crate) mod determinism;
pub mod embed;
pub mod minimise;
pub(crate) mod repeat;
pub(crate) mod replay;
pub mod servers;
pub mod service;
pub mod steps;
