//! The steps that are possible in a world.
//!
//! Each grain lists candidates: what is due, what is armed, and what may go wrong. A candidate is offered only if a copy
//! of the grain takes it. The copy also says what the step would read or write.

mod ensemble;
mod faults;
mod service;

pub(super) use ensemble::of_ensemble;
pub(super) use service::of_service;

use crate::film::{line, places};
use crate::run::demands::asserted;
use vivarium_model::effect::{Effects, Status};
use vivarium_model::ensemble::Ensemble;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::host::Host;
use vivarium_model::id::{ClientId, Machine};
use vivarium_model::note::Note;
use vivarium_model::portrait::Portrait;
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_model::trace::TraceLine;
use vivarium_model::world::World;

/// The kinds of steps that a reader can choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Something that is due.
    Due,
    /// A timer or a sleep that ends.
    Timer,
    /// A fault.
    Fault,
    /// The end of a fault.
    Mending,
}

/// A step that is possible.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Its kind.
    pub kind: Kind,
    /// The step, its time, and what it would do, as far as ZooKeeper and the client machines tell. What a program does
    /// with an input is not known before it gets the input.
    pub line: TraceLine,
    /// The machines that the step happens on; the first one takes it.
    pub places: Vec<Machine>,
}

/// A step that may be possible.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) kind: Kind,
    pub(super) at: Time,
    pub(super) step: Step,
}

/// Returns the candidates that are possible.
pub(super) fn choices<H: Host, G: Portrait>(
    world: &World<H, G>,
    candidates: Vec<Candidate>,
) -> Vec<Choice> {
    let mut choices: Vec<Choice> = Vec::new();
    for Candidate { kind, at, step } in candidates {
        let mut effects = Effects::noted();
        let tried = asserted(|| try_step(world, at, &step, &mut effects));
        // A step in which an assertion fails is possible: the reader sees the failure by taking it.
        if !matches!(tried, Ok(Status::Done) | Err(_)) {
            continue;
        }
        if choices.iter().any(|known| known.line.step == step) {
            continue;
        }
        let line = line(0, at, step, &effects);
        choices.push(Choice { kind, line, places: places(world, &step) });
    }
    choices
}

/// Takes a step in a copy of the grain.
fn try_step<H: Host, G: Portrait>(
    world: &World<H, G>,
    at: Time,
    step: &Step,
    effects: &mut Effects,
) -> Status {
    let mut grain = world.grain().clone();
    match *step {
        Step::Input(client) => match grain.take_input(client) {
            Ok(told) => {
                let input = told.input;
                effects.note(|| Note::Received { client, input });
                Status::Done
            }
            Err(status) => status,
        },
        Step::Outside(number) => match world.outside().get(number as usize) {
            Some(input) => grain.outside(input, effects),
            None => Status::NotEnabled,
        },
        _ => grain.apply(at, step, effects),
    }
}

/// Returns a random number for the next step of a way. It depends only on the way's length, so taking a step back and
/// again leads to the same place.
fn random_number(way: &[(Time, Step)]) -> u64 {
    Fingerprint::of(&("a random number", way.len())).0 as u64
}

/// Returns how many of `count` packets or transactions survive a fault: none, or all of them.
fn none_or_all(count: usize) -> Vec<u8> {
    let all = u8::try_from(count).unwrap_or(u8::MAX);
    if all == 0 { vec![0] } else { vec![0, all] }
}

/// Returns the clients of the configuration.
fn clients(ensemble: &Ensemble) -> impl Iterator<Item = ClientId> + use<> {
    (0..ensemble.config().clients.len()).map(ClientId::at)
}
