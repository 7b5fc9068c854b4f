//! The records that engines write and reports read: cases, verdicts, traces, and the marks that a scenario must
//! reach.

pub mod case;
pub mod extent;
pub mod mark;
pub mod trace;
pub mod verdict;
