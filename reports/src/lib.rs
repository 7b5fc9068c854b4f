//! Reports: verdicts, traces and timelines as text for people and as JSON and JUnit for machines, and the case files
//! from which runs are replayed.
//!
//! These modules convert finished data to text. They neither run a world nor print: the caller decides where the text
//! goes.

#![forbid(unsafe_code)]

pub mod annotations;
pub mod case_file;
pub mod coverage;
pub mod covered;
pub mod determinism;
pub mod explanation;
pub mod exploration;
pub mod folding;
pub mod json;
#[cfg(feature = "junit")]
pub mod junit;
pub mod markdown;
pub mod merging;
pub mod numbers;
pub mod picture;
pub mod reading;
pub mod recording;
pub mod run_page;
pub mod script;
mod story;
pub mod summary;
pub mod table;
pub mod telling;
pub mod timeline;
pub mod violation;
