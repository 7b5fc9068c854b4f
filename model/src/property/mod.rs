//! Properties as monitors: small automata that eat events and may object with a sentence.
//!
//! The same monitor serves the simulator and the explorer. One without a mutant or planted fault
//! that makes it object is not finished; one is weakened only with a cited rule and a test that it
//! still objects where it must.

use crate::event::Event;
use crate::fingerprint::StableHasher;
use crate::history::History;
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a monitor may look at beside the event itself.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Virtual time; [`Time::ZERO`] always in the explorer.
    pub at: Time,
    /// The committed history. On [`Event::Committed`] it contains that transaction already.
    pub history: &'a History,
}

/// Which engines a monitor is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Bounded, hashable, without absolute time: for both engines.
    Event,
    /// Needs whole histories, durations or counts: simulator only, never hashed.
    Run,
}

/// A monitor's complaint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Objection {
    /// The property violated, e.g. `S5` or `lock M1`.
    pub property: String,
    /// What was seen, in one or two sentences.
    pub saw: String,
}

impl Objection {
    /// An objection.
    pub fn new(property: impl Into<String>, saw: impl Into<String>) -> Objection {
        Objection { property: property.into(), saw: saw.into() }
    }
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.property, self.saw)
    }
}

/// A property of a run.
pub trait Monitor: Send {
    /// The property's id and name, e.g. `S5 no phantom`.
    fn name(&self) -> &'static str;

    /// Which engines it is for.
    fn class(&self) -> Class;

    /// Eats one event.
    ///
    /// # Errors
    /// The objection, if the event violates the property.
    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection>;

    /// The run has ended, healed and quiet.
    ///
    /// # Errors
    /// The objection, if something is missing that should have happened by now.
    fn end(&mut self, view: View<'_>) -> Result<(), Objection> {
        let _ = view;
        Ok(())
    }

    /// Writes the monitor's state into a fingerprint ([`Class::Event`] monitors must).
    fn hash(&self, hasher: &mut StableHasher) {
        let _ = hasher;
    }

    /// What the monitor counted or measured without judging it, for reports: a name with its unit,
    /// and the value. Never part of the hash.
    fn measured(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// A copy with the same state.
    fn clone_box(&self) -> Box<dyn Monitor>;
}

impl Clone for Box<dyn Monitor> {
    fn clone(&self) -> Box<dyn Monitor> {
        self.clone_box()
    }
}
