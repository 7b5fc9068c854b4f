//! One server: the machines that turn requests into an ordered, replicated log.

pub mod outstanding;
pub mod prep;
pub mod tracker;
