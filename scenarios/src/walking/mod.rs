//! Walks through a run in a browser: each step is chosen by the reader, and every state is shown in full.
//!
//! A walk begins where a search begins, or at the origin of a case, whose recorded steps can then be taken one by one
//! or left at any place. [`vivarium_sim::walked`] keeps the ways. This module puts them into words, saves them, and
//! serves them to the page ([`vivarium_reports::picture::page::walk_page`]).

mod details;
mod http;
mod state;

#[cfg(all(test, feature = "cli"))]
pub(crate) use http::answer;
pub(crate) use http::{Listener, serve};

use state::State;
use std::path::PathBuf;
use vivarium_model::case::Case;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::property::Objection;
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_reports::case_file;
use vivarium_sim::Scenario;
use vivarium_sim::walked::{Origin, PlaceId, Position, Walk};

/// Why a request of the page is refused: one sentence for the reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// There is no such place, step or path: the page may be of another walk.
    Unknown(String),
    /// The request cannot be read, or the walk cannot carry it out.
    Failed(String),
}

/// The result of a replay of a way.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    /// The steps that were taken: up to an objection, and without impossible ones.
    pub(crate) taken: Vec<(Time, Step)>,
    /// How many steps were not possible.
    pub(crate) skipped: usize,
    /// The run's rolling hash.
    pub(crate) hash: Fingerprint,
    /// The objection, if there was one.
    pub(crate) objection: Option<Objection>,
}

/// What a walk needs from its caller: the judgement of a way, and the name of a saved one.
pub(crate) trait Caller {
    /// Replays a way.
    ///
    /// # Errors
    /// One sentence about what is wrong with the case.
    fn judge(&self, origin: &Origin, way: Vec<(Time, Step)>) -> Result<Judged, String>;

    /// Returns the path of the file for a way; `which` distinguishes it from other ways.
    fn path(&self, case: &Case, which: &str) -> PathBuf;

    /// Returns the command that replays a case file.
    fn replay(&self, path: &str) -> String;
}

/// A walk with all that its page needs.
pub(crate) struct Walking {
    pub(crate) walk: Walk,
    title: String,
    caller: Box<dyn Caller>,
}

/// A way that was saved.
#[derive(Debug)]
pub(crate) struct Saved {
    /// The path of the case file.
    pub(crate) file: String,
    /// The command that replays it.
    pub(crate) replay: String,
}

impl Walking {
    /// Begins a walk at the origin of a case. `scenario` is `None` if the clients are outside of the run.
    pub(crate) fn new(
        scenario: Option<Scenario>,
        case: &Case,
        title: String,
        caller: Box<dyn Caller>,
    ) -> Walking {
        let origin = Origin::new(scenario, case);
        Walking { walk: Walk::new(origin, &case.steps), title, caller }
    }

    /// Returns what the page shows at a place.
    ///
    /// # Errors
    /// If there is no such place, or the case cannot be replayed.
    pub(crate) fn state(&self, place: PlaceId) -> Result<State, Refused> {
        let (judged, position) = self.look(place)?;
        Ok(state::of(&self.walk, &self.title, place, &judged, position))
    }

    /// Takes a step that is possible at a place: the number of a choice in the state of that place. Returns the place
    /// after it.
    ///
    /// # Errors
    /// If there is no such place or choice.
    pub(crate) fn take(&mut self, place: PlaceId, choice: usize) -> Result<PlaceId, Refused> {
        let (_, position) = self.look(place)?;
        let count = position.choices.len();
        let Some(chosen) = position.choices.get(choice) else {
            let sentence = match count {
                0 => "no step is possible here".to_owned(),
                _ => format!("there is no step {choice} here: the last one is {}", count - 1),
            };
            return Err(Refused::Unknown(sentence));
        };
        Ok(self.walk.take(place, chosen))
    }

    /// Saves the way to a place as a case file.
    ///
    /// # Errors
    /// If there is no such place, or the file cannot be written.
    pub(crate) fn save(&self, place: PlaceId) -> Result<Saved, Refused> {
        self.check(place)?;
        let case = self.case(place)?;
        let path = self.caller.path(&case, &format!("walked-{}", &case.hash.to_string()[..8]));
        case_file::save(&path, &case).map_err(|error| Refused::Failed(error.to_string()))?;
        let file = path.display().to_string();
        let replay = self.caller.replay(&file);
        Ok(Saved { file, replay })
    }

    /// Returns the way to a place as a case: its replay takes the same steps, and has the same hash and violation.
    ///
    /// # Errors
    /// If there is no such place, or the case cannot be replayed.
    pub(crate) fn case(&self, place: PlaceId) -> Result<Case, Refused> {
        let judged = self.judge(place)?;
        Ok(self.walk.origin().case(judged.taken, judged.hash, judged.objection))
    }

    fn check(&self, place: PlaceId) -> Result<(), Refused> {
        match self.walk.has(place) {
            true => Ok(()),
            false => Err(Refused::Unknown(format!(
                "there is no place {place} in this walk: open the page without `?at={place}`"
            ))),
        }
    }

    fn judge(&self, place: PlaceId) -> Result<Judged, Refused> {
        self.check(place)?;
        self.caller.judge(self.walk.origin(), self.walk.way(place)).map_err(Refused::Failed)
    }

    pub(crate) fn look(&self, place: PlaceId) -> Result<(Judged, Position), Refused> {
        let judged = self.judge(place)?;
        let position = self.walk.origin().look(judged.taken.clone()).map_err(Refused::Failed)?;
        // A run ends where a property is violated.
        let choices = if judged.objection.is_some() { Vec::new() } else { position.choices };
        Ok((judged, Position { choices, ..position }))
    }
}
