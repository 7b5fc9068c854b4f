//! Searches: they are exhaustive if they say so, they find the shortest way, and they cover each recipe within given
//! budgets. Also `vivarium explore`, as users see it.
#![cfg(feature = "explore")]

mod agreement;
mod barriers;
mod bounds;
mod caches;
mod checkpoints;
mod clocks;
mod command;
mod counters;
mod deletions;
mod estimates;
mod exhibit;
mod fuzz;
mod fuzz_servers;
mod giving_up;
mod holes;
mod lock;
mod lock_mutants;
mod monitors;
mod pages;
#[cfg(feature = "cluster")]
mod processes;
mod queues;
mod reports;
mod revocable_lock;
mod symmetry;
mod texts;
mod timers;
mod values;
mod walks;
