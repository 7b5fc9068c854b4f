//! The properties of a double barrier, as monitors (recipe rule 2.3).
//!
//! | | property | class |
//! |---|---|---|
//! | DB1 | no program enters before enough parties were registered at one moment | event |
//! | DB2 | no program has left before all others have begun to leave or have lost their sessions | event |
//! | DB3 | no program enters a generation while another is inside an earlier one | event |
//! | DB4 | all members of a generation get the same verdict | event |
//! | DB5 | a program that no longer waits for the others stops listing them | run |
//!
//! Each monitor takes one double barrier and ignores everything else, and keeps what it needs of the past in its own
//! state (the [`Ledger`]). The monitors use the observations of programs and the committed history, but no znode's
//! name: every ephemeral znode that a session creates in the directory of members that it has announced is a
//! registration.

pub mod emptiness;
pub mod enough;
mod ledger;
pub mod one_generation;
pub mod one_verdict;
pub mod patience;

pub use emptiness::Emptiness;
pub use enough::Enough;
pub use ledger::Ledger;
pub use one_generation::OneGeneration;
pub use one_verdict::OneVerdict;
pub use patience::Patience;

use vivarium_model::property::Monitor;

/// Returns all monitors of the double barrier in the directory `barrier`, which requires this number of `parties`.
pub fn monitors(barrier: &str, parties: usize) -> Vec<Box<dyn Monitor>> {
    vec![
        Box::new(Enough::new(barrier, parties)),
        Box::new(Emptiness::new(barrier)),
        Box::new(OneGeneration::new(barrier)),
        Box::new(OneVerdict::new(barrier)),
        Box::new(Patience::new(barrier)),
    ]
}

#[cfg(test)]
mod tests;
