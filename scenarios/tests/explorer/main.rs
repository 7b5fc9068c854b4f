//! The explorer: what it calls exhausted is, what it finds is the shortest way, and how far each recipe has been seen
//! through. Also `vivarium explore`, as a user meets it.
#![cfg(feature = "explore")]

mod agreement;
mod barriers;
mod bounds;
mod caches;
mod clocks;
mod command;
mod counters;
mod deletions;
mod exhibit;
mod fuzz;
mod fuzz_servers;
mod giving_up;
mod holes;
mod interchangeable;
mod lock;
mod lock_mutants;
mod monitors;
mod pages;
mod queues;
mod reports;
mod revocable_lock;
mod texts;
mod timers;
mod values;
