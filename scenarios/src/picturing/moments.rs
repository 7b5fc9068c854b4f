//! A step of a picture: its kind, its words, and what it concerns.

use super::Lanes;
use std::collections::BTreeSet;
use vivarium_model::event::Event;
use vivarium_model::step::Step;
use vivarium_model::subject::Subject;
use vivarium_model::trace::TraceLine;
use vivarium_reports::picture::{PictureStep, StepKind};
use vivarium_reports::telling::{Telling, tell};
use vivarium_sim::film::Frame;

/// Returns the step of a frame.
pub(super) fn step(frame: &Frame, lanes: &Lanes) -> PictureStep {
    let at = u64::try_from(frame.at.since(vivarium_model::time::Time::ZERO).as_micros());
    let states =
        frame.states.iter().map(|(machine, lines)| (lanes.of_machine(*machine), lines.clone()));
    let beginning = PictureStep {
        number: 0,
        at: at.unwrap_or(u64::MAX),
        lanes: frame.places.iter().map(|machine| lanes.of_machine(*machine)).collect(),
        kind: StepKind::Server,
        words: "the run begins".to_owned(),
        notes: Vec::new(),
        events: Vec::new(),
        milestone: false,
        paths: Vec::new(),
        states: states.collect(),
    };
    let Some(line) = &frame.line else { return beginning };
    let Telling { headline, notes, events } = tell(line);
    PictureStep {
        number: line.number,
        kind: kind(&line.step),
        words: headline,
        notes: notes.iter().map(ToString::to_string).collect(),
        events,
        milestone: line.step.is_milestone() || line.events.iter().any(Event::is_milestone),
        paths: paths(line),
        ..beginning
    }
}

/// Returns the kind of a step.
pub(crate) fn kind(step: &Step) -> StepKind {
    match step {
        step if step.is_fault() => StepKind::Fault,
        step if step.is_milestone() => StepKind::Mending,
        Step::ToServer(_)
        | Step::ToClient(_)
        | Step::ToLeader(_)
        | Step::ToLearner(_)
        | Step::Vote { .. }
        | Step::Message { .. }
        | Step::Serve { .. }
        | Step::Late(_) => StepKind::Packet,
        Step::Fire(_) => StepKind::Timer,
        Step::Start(_)
        | Step::Input(_)
        | Step::Random { .. }
        | Step::Clock { .. }
        | Step::Resource { .. }
        | Step::Outside(_) => StepKind::Program,
        _ => StepKind::Server,
    }
}

/// Returns the paths of znodes that a step and its events are about.
fn paths(line: &TraceLine) -> Vec<String> {
    let subjects = line.events.iter().flat_map(Event::subjects).chain(line.step.subjects());
    let path = |subject| match subject {
        Subject::Text(text) if text.starts_with('/') => Some(text.to_string()),
        _ => None,
    };
    subjects.filter_map(path).collect::<BTreeSet<_>>().into_iter().collect()
}
