//! The kinds of faults that a scenario can have, and the frequency of each.

mod kind;
mod rate;
mod set;

pub use kind::Fault;
pub(crate) use kind::{Await, purpose};
pub use rate::Rate;
pub use set::FaultSet;
