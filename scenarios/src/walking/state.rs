//! A place of a walk as data for the page.

use super::Judged;
use super::details::details;
use crate::picturing::{About, kind, picture};
use crate::properties::stated_properties;
use serde::Serialize;
use vivarium_model::id::Machine;
use vivarium_model::note::Note;
use vivarium_model::time::Time;
use vivarium_reports::numbers::grouped;
use vivarium_reports::picture::{Picture, StepKind};
use vivarium_reports::telling::{Telling, tell};
use vivarium_sim::film::Film;
use vivarium_sim::walked::{Choice, Kind, PlaceId, Position, Walk};

/// A place of a walk.
#[derive(Debug, Serialize)]
pub(crate) struct State {
    /// The number of the place.
    pub(crate) place: PlaceId,
    /// The place before it.
    pub(crate) back: Option<PlaceId>,
    /// The way so far.
    pub(crate) picture: Picture,
    /// The possible steps by the machine that takes them.
    pub(crate) next: Vec<Group>,
    /// The possible faults, in the same way.
    pub(crate) faults: Vec<Group>,
    /// The recorded way, if a case was loaded.
    pub(crate) recorded: Option<Recorded>,
    /// What programs await now.
    pub(crate) awaits: Vec<Awaits>,
    /// How many steps of the way were not possible.
    pub(crate) skipped: usize,
    /// The names of the monitors.
    pub(crate) properties: Vec<String>,
}

/// The possible steps of one machine.
#[derive(Debug, Serialize)]
pub(crate) struct Group {
    /// The machine's name, or words for steps of no single machine.
    pub(crate) name: String,
    pub(crate) choices: Vec<Offer>,
}

/// A possible step.
#[derive(Debug, Serialize)]
pub(crate) struct Offer {
    /// Its number among the choices of the place.
    pub(crate) choice: usize,
    pub(crate) kind: StepKind,
    /// What happens.
    pub(crate) words: String,
    /// The known consequences, and the details of a fault.
    pub(crate) notes: Vec<String>,
    /// The virtual time in microseconds, if it differs from the present one.
    pub(crate) at: Option<u64>,
    /// True if the recorded way goes on with it.
    pub(crate) recorded: bool,
}

/// A place of a program that awaits something.
#[derive(Debug, Serialize)]
pub(crate) struct Awaits {
    /// The name of the client machine.
    pub(crate) name: String,
    /// The source lines of the awaits, the innermost one first.
    pub(crate) places: Vec<String>,
}

/// The recorded way.
#[derive(Debug, Serialize)]
pub(crate) struct Recorded {
    /// How many steps it has. The place after its step N has the number N.
    pub(crate) steps: usize,
    /// How many of its steps the way to this place has taken before it left the recorded way.
    pub(crate) shared: usize,
    /// The next recorded place, if the way has not left the recorded way.
    pub(crate) next: Option<PlaceId>,
}

/// Returns the data of a place.
pub(super) fn of(
    walk: &Walk,
    title: &str,
    place: PlaceId,
    judged: &Judged,
    position: Position,
) -> State {
    let Position { film, choices, awaits, .. } = position;
    let awaits = awaits.into_iter().filter(|it| !it.places.is_empty());
    let awaits =
        awaits.map(|it| Awaits { name: film.name(Machine::Client(it.client)), places: it.places });
    let last = film.frames.len() as u64 - 1;
    let mut facts =
        vec![fact("way", &steps_in_words(last)), fact("hash", &judged.hash.to_string())];
    if judged.objection.is_none() {
        facts.insert(0, fact("verdict", "no property is violated so far"));
    }
    let violation = judged.objection.clone().map(|objection| (objection, last));
    let about = About { title: title.to_owned(), facts, options: Vec::new(), violation };
    let (next, faults) = groups(walk, place, &film, &choices);
    State {
        place,
        back: walk.back(place),
        picture: picture(&film, about),
        next,
        faults,
        recorded: recorded(walk, place),
        awaits: awaits.collect(),
        skipped: judged.skipped,
        properties: properties(walk),
    }
}

/// Returns the names of all monitors: also of those that the case of a served ensemble states.
fn properties(walk: &Walk) -> Vec<String> {
    let mut names = walk.origin().properties();
    if walk.origin().scenario().is_none() {
        let stated = stated_properties(walk.origin().parameters()).unwrap_or_default();
        names.extend(stated.iter().map(|stated| stated.monitor().name().to_owned()));
    }
    names
}

fn fact(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

fn steps_in_words(steps: u64) -> String {
    format!("{} step{}", grouped(steps), if steps == 1 { "" } else { "s" })
}

fn recorded(walk: &Walk, place: PlaceId) -> Option<Recorded> {
    let steps = walk.recorded().len();
    let mut at = place;
    // The recorded places come first, in their order.
    while at > steps {
        at = walk.back(at)?;
    }
    (steps > 0).then(|| Recorded { steps, shared: at, next: walk.next_recorded(place) })
}

/// Returns the choices by machine, in the order of machines: ordinary ones, and faults.
fn groups(
    walk: &Walk,
    place: PlaceId,
    film: &Film,
    choices: &[Choice],
) -> (Vec<Group>, Vec<Group>) {
    let now = film.frames.last().map_or(Time::ZERO, |frame| frame.at);
    let recorded = walk.next_recorded(place).and_then(|next| walk.step_to(next));
    let (mut next, mut faults) = (Vec::new(), Vec::new());
    let machines = film.machines.iter().copied().map(Some).chain([None]);
    for machine in machines {
        let name = machine.map_or_else(|| "The whole ensemble".to_owned(), |it| film.name(it));
        let own = choices.iter().enumerate();
        let own = own.filter(|(_, choice)| match (choice.places.first(), machine) {
            (Some(first), Some(machine)) => *first == machine,
            (first, None) => first.is_none_or(|first| !film.machines.contains(first)),
            (None, Some(_)) => false,
        });
        let (mut ordinary, mut harmful) = (Vec::new(), Vec::new());
        for (number, choice) in own {
            let is_recorded = recorded.is_some_and(|step| choice.line.step == step);
            let offer = offer(number, choice, now, is_recorded);
            if choice.kind == Kind::Fault { harmful.push(offer) } else { ordinary.push(offer) }
        }
        for (groups, choices) in [(&mut next, ordinary), (&mut faults, harmful)] {
            if !choices.is_empty() {
                groups.push(Group { name: name.clone(), choices });
            }
        }
    }
    (next, faults)
}

fn offer(number: usize, choice: &Choice, now: Time, recorded: bool) -> Offer {
    let line = &choice.line;
    let Telling { headline, notes, events } = tell(line);
    let at = (line.at > now).then_some(line.at.0);
    let told = notes.iter().map(Note::to_string).chain(events);
    let notes = details(&line.step).into_iter().chain(told).collect();
    Offer { choice: number, kind: kind(&line.step), words: headline, notes, at, recorded }
}
