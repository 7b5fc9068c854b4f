//! What we saw: verdicts, traces and timelines as text for people and as JSON and JUnit for
//! machines, and the case files that a run is replayed from.
//!
//! Everything here turns finished data into text. Nothing runs a world, and nothing prints: the
//! caller decides where the text goes.

#![forbid(unsafe_code)]

pub mod case_file;
pub mod determinism;
pub mod exploration;
pub mod folding;
pub mod json;
#[cfg(feature = "junit")]
pub mod junit;
pub mod numbers;
mod story;
pub mod summary;
pub mod table;
mod telling;
pub mod timeline;
pub mod violation;
