//! Takes recorded steps of this grain again, under any host: no choice, no budget.
//!
//! A step that is not possible is skipped and reported. What is objected to is what the explorer
//! objects to: a monitor's objection, a program that fails, somebody who waits for ever.

use super::{Prefixes, Service};
use crate::program::host::Host;
use crate::program::machines::ProgramState;
use crate::property::Objection;
use crate::record::trace::TraceLine;
use crate::vocabulary::effect::{Effects, Status};
use crate::vocabulary::event::Event;
use crate::vocabulary::fingerprint::Fingerprint;
use crate::vocabulary::step::Step;
use crate::vocabulary::time::Time;
use crate::vocabulary::timer::Timer;
use crate::vocabulary::words::panic_message;
use crate::world::World;
use crate::world::grain::Grain;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The property that nobody waits for ever.
pub const PROGRESS: &str = "progress";

/// The property that a program neither panics nor returns an error.
pub const PROGRAM: &str = "program";

/// The property that no assertion of the model fails.
pub const PANIC: &str = "panic";

/// What came of recorded steps.
#[derive(Clone, Debug)]
pub struct Retaken {
    /// The steps that were taken, the one objected to included.
    pub taken: Vec<Step>,
    /// Those that were not possible, with their numbers in the record, from 1.
    pub skipped: Vec<(u64, Step)>,
    /// The steps taken as people read them, if they were to be kept.
    pub lines: Vec<TraceLine>,
    /// The rolling hash over (step, effects), as the simulator's.
    pub hash: Fingerprint,
    /// What was objected to: the steps after that were not taken.
    pub objection: Option<Objection>,
}

/// Takes these steps in a world that has not begun. `allow` is asked before each; one that it
/// refuses is skipped. `keep` the lines for people.
pub fn retake<H: Host>(
    mut world: World<H, Service>,
    steps: &[Step],
    keep: bool,
    allow: &mut dyn FnMut(&World<H, Service>, &Step) -> bool,
) -> Retaken {
    let mut effects = Effects { notes: keep.then(Vec::new), ..Effects::hashed() };
    world.begin(&mut effects);
    let (taken, skipped, lines) = (Vec::new(), Vec::new(), Vec::new());
    let mut retaken =
        Retaken { taken, skipped, lines, hash: Fingerprint::default(), objection: None };
    for (number, step) in (1..).zip(steps) {
        effects.clear();
        let is_allowed = allow(&world, step);
        let status = if is_allowed { step_of(&mut world, step, &mut effects) } else { Ok(SKIPPED) };
        match status {
            Ok(Status::Done) => {}
            Ok(Status::Blocked(_) | Status::NotEnabled) => {
                retaken.skipped.push((number, *step));
                continue;
            }
            Err(objection) => retaken.objection = Some(objection),
        }
        retaken.taken.push(*step);
        if let Some(notes) = &effects.notes {
            let (notes, events) = (notes.clone(), effects.events.clone());
            let number = retaken.taken.len() as u64;
            retaken.lines.push(TraceLine { at: Time::ZERO, number, step: *step, notes, events });
        }
        if retaken.objection.is_some() {
            break;
        }
    }
    if retaken.objection.is_none() && !can_go_on(world.grain()) {
        let at_rest = waiting(&world).and_then(|()| world.at_rest(Time::ZERO));
        retaken.objection = at_rest.and_then(|()| world.end(Time::ZERO)).err();
    }
    let hasher = effects.hasher.as_ref().expect("it was made with one");
    retaken.hash = hasher.fingerprint();
    retaken
}

const SKIPPED: Status = Status::NotEnabled;

fn step_of<H: Host>(
    world: &mut World<H, Service>,
    step: &Step,
    effects: &mut Effects,
) -> Result<Status, Objection> {
    let passing = matches!(step, Step::Fire(Timer::Sleep(..)));
    if passing && !has_ordinary_step(world.grain()) {
        world.at_rest(Time::ZERO)?;
    }
    let apply = AssertUnwindSafe(|| world.apply(Time::ZERO, step, effects));
    let applied = catch_unwind(apply)
        .unwrap_or_else(|panic| Err(Objection::new(PANIC, panic_message(&*panic))));
    applied.and_then(|status| judge(&effects.events).map(|()| status))
}

/// No program may fail.
///
/// # Errors
/// One did.
pub fn judge(events: &[Event]) -> Result<(), Objection> {
    events.iter().try_for_each(|event| {
        let saw = match event {
            Event::Finished { client, result: Err(message) } => {
                format!("{client}'s program failed: {message}")
            }
            Event::Panicked { client, message } => {
                format!("{client}'s program panicked: {message}")
            }
            _ => return Ok(()),
        };
        Err(Objection::new(PROGRAM, saw))
    })
}

/// Whether anything can happen, faults apart.
pub fn can_go_on(service: &Service) -> bool {
    let mut steps = Vec::new();
    service.client_ids().for_each(|client| service.sleeps(client, &mut steps));
    !steps.is_empty() || has_ordinary_step(service)
}

/// Whether anything but a program's timer and a fault can happen.
pub fn has_ordinary_step(service: &Service) -> bool {
    let mut steps = Vec::new();
    service.client_ids().any(|client| {
        service.enabled(client, Prefixes::Shortest, &mut steps);
        !steps.is_empty() || service.draws(client).next().is_some()
    })
}

/// Nothing can happen any more: is everybody done?
///
/// # Errors
/// Who waits for what.
pub fn waiting<H: Host>(world: &World<H, Service>) -> Result<(), Objection> {
    let service = world.grain();
    let waiting: Vec<String> = service
        .client_ids()
        .filter(|client| service.program(*client) != ProgramState::Finished)
        .map(|client| format!("{client} waits for {}", world.waits_for(client)))
        .collect();
    if waiting.is_empty() {
        return Ok(());
    }
    let saw = format!("nothing can happen any more, but {}", waiting.join("; "));
    Err(Objection::new(PROGRESS, saw))
}
