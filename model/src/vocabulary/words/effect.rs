//! A step's consequences as text: one line for each effect, event and note.

use crate::vocabulary::effect::{Blocker, Effect, Effects};
use std::fmt::{self, Display};
use std::time::Duration;

impl Display for Effects {
    /// Writes one per line: notes (`·`), events (`→`), then effects (`+`), each group in order.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for note in self.notes.iter().flatten() {
            writeln!(f, "· {note}")?;
        }
        for event in &self.events {
            writeln!(f, "→ {event}")?;
        }
        for effect in &self.effects {
            writeln!(f, "+ {effect}")?;
        }
        Ok(())
    }
}

impl Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Effect::Due(step) => write!(f, "due: {step}"),
            Effect::Random(client, call) => {
                write!(f, "due: a random number for {client} (call {})", call.0)
            }
            Effect::Arm { timer, after, spread } if *spread == Duration::ZERO => {
                write!(f, "armed: {timer}, in {after:?}")
            }
            Effect::Arm { timer, after, spread } => {
                write!(f, "armed: {timer}, in {after:?} to {:?}", *after + *spread)
            }
            Effect::Disarm(timer) => write!(f, "disarmed: {timer}"),
            Effect::Unblocked(blocker) => write!(f, "unblocked: {blocker}"),
        }
    }
}

impl Display for Blocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Blocker::Cut { from, to } => write!(f, "the way from {from} to {to}"),
            Blocker::Paused(client) => write!(f, "{client}"),
            Blocker::Busy(server) => write!(f, "the packet thread of {server}"),
        }
    }
}
