//! Sweeps: every planted defect is found, correct programs and servers hold, and searches cover everything that a
//! sweep does.

mod bridge;
mod embedding;
mod forks;
mod local_sessions;
mod lost_replies;
mod minimised;
mod moved_sessions;
mod museum;
mod narrow;
mod planted;
mod recorded;
mod reported_again;
mod subjects;

use vivarium::catalogue::{Entry, catalogue};

/// Returns the catalogue's entry with this name.
fn entry(name: &str) -> Entry {
    catalogue().into_iter().find(|entry| entry.name == name).expect("it is in the catalogue")
}
