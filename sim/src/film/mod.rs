//! A run for a reader who looks at it step by step: what each step did, the state of every machine that it changed, and
//! each packet from its sending to its reading or loss.
//!
//! A film is made from the recorded steps, at either grain, in one way: it takes the steps in a world without monitors,
//! and compares the grain's [portrait](vivarium_model::portrait) before and after each step. The replay of the same
//! case says what was violated.

mod packets;
mod taking;

pub use packets::Packet;
pub(crate) use taking::{Ending, film_outside_to_end, film_to_end, line, places};
pub use taking::{film, film_of_servers_outside};

use vivarium_model::case::GrainKind;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::id::Machine;
use vivarium_model::portrait::Condition;
use vivarium_model::time::Time;
use vivarium_model::trace::TraceLine;

/// A run, step by step.
#[derive(Clone, Debug)]
pub struct Film {
    /// The grain of the run.
    pub grain: GrainKind,
    /// All machines, servers first.
    pub machines: Vec<Machine>,
    /// The beginning of the run, and then its steps.
    pub frames: Vec<Frame>,
    /// The packets, in the order in which they were sent.
    pub packets: Vec<Packet>,
    /// The texts of which states consist, each once.
    pub lines: Vec<String>,
    /// The rolling hash over (time, step, effects), which identifies the run.
    pub hash: Fingerprint,
    /// The numbers of the steps that read a packet whose sending was not seen: none, unless the film is wrong.
    pub unexplained: Vec<u64>,
}

/// The beginning of the run, or a step with its consequences.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Virtual time.
    pub at: Time,
    /// The step. `None` for the beginning, when the servers start.
    pub line: Option<TraceLine>,
    /// The machines that the step happened on; the first one took the step.
    pub places: Vec<Machine>,
    /// The machines whose state has changed, with the new state: positions in [`Film::lines`].
    pub states: Vec<(Machine, Vec<usize>)>,
    /// What machines are in now, if it has changed.
    pub conditions: Vec<(Machine, Vec<Condition>)>,
}

impl Film {
    /// Returns the name of a machine.
    pub fn name(&self, machine: Machine) -> String {
        match (self.grain, machine) {
            (GrainKind::Service, Machine::Server(_)) => "ZooKeeper".to_owned(),
            _ => machine.to_string(),
        }
    }

    /// Returns the state of a machine after a frame, as lines. Empty for a machine that does not exist yet.
    pub fn state_after(&self, frame: usize, machine: Machine) -> Vec<&str> {
        let mut states = self.frames[..=frame].iter().rev().flat_map(|frame| &frame.states);
        let state = states.find(|(of, _)| *of == machine);
        let lines = state.map_or(&[][..], |(_, lines)| lines);
        lines.iter().map(|line| self.lines[*line].as_str()).collect()
    }
}
