//! What a double barrier promises, as monitors (recipe rule 2.3).
//!
//! | | property | class |
//! |---|---|---|
//! | DB1 | nobody enters before enough parties were registered at one time | event |
//! | DB2 | nobody has left before all others have begun to, or have lost their session | event |
//! | DB3 | nobody enters a generation while somebody is inside an earlier one | event |
//! | DB4 | all members of a generation get the same verdict | event |
//! | DB5 | who waits no longer for the others asks for them no more | run |
//!
//! All of them take one double barrier and ignore everything else, and know of the past what their own state
//! keeps (the [`Ledger`]). They read what programs say and the committed history, and no znode's name: a
//! registration is whatever ephemeral znode a session has made in the directory in which it said that it would.

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

/// All monitors of the double barrier in the directory `barrier`, which asks for `parties`.
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
