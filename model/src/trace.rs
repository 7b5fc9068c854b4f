//! What a reader sees of one step of a run: the lines of a timeline.

use crate::event::Event;
use crate::step::Step;
use crate::time::Time;

/// One step with everything worth telling that it caused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceLine {
    /// Virtual time of the step.
    pub at: Time,
    /// The step's number in its run, from 1.
    pub number: u64,
    /// The step.
    pub step: Step,
    /// Notes of the machines, in order ([`crate::effect::Effects::note`]).
    pub notes: Vec<String>,
    /// Events, in order.
    pub events: Vec<Event>,
}
