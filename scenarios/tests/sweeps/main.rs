//! Sweeps: every planted defect is found, what is right holds, and what a sweep does is among what there is.

mod bridge;
mod embedding;
mod local_sessions;
mod lost_replies;
mod moved_sessions;
mod museum;
mod narrow;
mod planted;
mod recorded;
mod reported_again;
mod subjects;

use vivarium::catalogue::{Entry, catalogue};

/// The catalogue's entry of this name.
fn entry(name: &str) -> Entry {
    catalogue().into_iter().find(|entry| entry.name == name).expect("it is in the catalogue")
}
