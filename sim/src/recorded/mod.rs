//! Runs whose steps are known: taken again, held against each other, and told at the other grain.

pub(crate) mod determinism;
pub mod embed;
pub mod minimise;
pub(crate) mod repeat;
pub(crate) mod replay;
pub mod servers;
pub mod service;
pub mod steps;
