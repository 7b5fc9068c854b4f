//! The explorer: visits every state that a model can reach, up to stated bounds.
//!
//! The engine is our own and the interface is stateright's. A type that implements [`Model`] can also be given to
//! stateright's checkers ([`cross_check`]).
//!
//! A search ([`search()`]) runs breadth first in the order of world steps, so that the first violation has the fewest
//! steps, or depth first, which needs little memory beyond the table of visited states. It never reports an early stop
//! as a success: [`Ending`] distinguishes exhausted, bounded and violated.
//!
#![doc = include_str!("README.md")]

mod estimate;
mod intern;
pub mod memo;
mod model;
mod outcome;
pub mod programs;
mod progress;
mod search;
mod second_opinion;
pub mod servers;
mod shortest;
pub mod trie;
mod visited;

pub use estimate::Estimate;
pub use model::Model;
pub use outcome::{Bound, Counterexample, Cycles, Ending, Outcome, Statistics};
pub use progress::{Observer, Progress, Silent};
pub use search::{Checkpoint, Checkpoints, Options, Strategy, search};
#[cfg(feature = "cluster")]
pub use search::{Cluster, addresses, free};
pub use second_opinion::{SecondOpinion, cross_check};
pub use shortest::Shortest;
