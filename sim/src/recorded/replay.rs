//! Replays the steps of a recorded run: without a clock and random numbers.
//!
//! A step that is not possible (any more) is skipped and reported. If nothing was skipped and the hash is the
//! recorded one, the replay is the same run.

use super::due_timers::DueTimers;
use super::steps::{Taker, Took, take_all};
use crate::run::demands::{PROGRESS, sessions_are_over};
use crate::run::programs::Programs;
use crate::run::record::{Closed, Keep, Record};
use crate::run::subject::{Subject, WithSubject, with_world};
use crate::run::{RunOptions, RunReport};
use crate::scenario::Scenario;
use crate::scenario::aftermath::Aftermath;
use crate::scenario::run::Run;
use crate::seeded::drawn::Drawn;
use vivarium_model::case::Case;
use vivarium_model::effect::{Effects, Status};
use vivarium_model::property::{Objection, View};
use vivarium_model::step::Step;
use vivarium_model::time::Time;

/// The result of a replay.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The run.
    pub report: RunReport,
    /// The steps that were not possible, with their numbers in the case, from 1.
    pub skipped: Vec<(u64, Time, Step)>,
    /// True if it was the recorded run: nothing skipped, and the same hash.
    pub same: bool,
}

/// Returns a recorded run, and a text that describes it. The values in the case override those that its seed gives
/// today.
///
/// # Errors
/// One sentence that says what is wrong with the case.
pub(crate) fn recorded(scenario: &Scenario, case: &Case) -> Result<(Run, String), String> {
    case.check()?;
    scenario.takes_clients(case.config.clients.len())?;
    let seed = case.seed.ok_or("it has no seed, and the programs of a run are made from one")?;
    let mut drawn = Drawn::draw(scenario, seed);
    let run = &mut drawn.run;
    run.config = case.config.clone();
    run.aftermath = Aftermath::read(&case.parameters, &case.config)?;
    if let Some(rounds) = case.parameters.get("rounds") {
        run.rounds =
            rounds.parse().map_err(|_| format!("its `rounds` is `{rounds}`, not a number"))?;
    }
    let options_text = drawn.to_string();
    Ok((drawn.run, options_text))
}

/// Replays the steps of a recorded run.
///
/// # Errors
/// One sentence that says what is wrong with the case.
///
/// # Panics
/// If this build does not have the host.
pub fn replay(scenario: &Scenario, case: &Case, options: &RunOptions) -> Result<Replay, String> {
    let (run, options_text) = recorded(scenario, case)?;
    let expected = case.violation.as_ref();
    let keep = Keep::from(*options);
    let timers = Timers::AsRecorded;
    let with = ReplayIn { run: &run, options_text, steps: &case.steps, expected, timers, keep };
    let Ended { closed, skipped, .. } = with_world(scenario, &run, options.host, with);
    let same = skipped.is_empty() && closed.report.hash == case.hash;
    Ok(Replay { report: closed.report, skipped, same })
}

/// The arguments of [`replay_in`], for a world under any host.
pub(crate) struct ReplayIn<'a> {
    pub(crate) run: &'a Run,
    pub(crate) options_text: String,
    pub(crate) steps: &'a [(Time, Step)],
    /// The objection to the recorded run's last step.
    pub(crate) expected: Option<&'a Objection>,
    pub(crate) timers: Timers,
    pub(crate) keep: Keep,
}

/// When an armed timer fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timers {
    /// When the record says so.
    AsRecorded,
    /// When the record says so, if it is due then. Without other steps of the record it may not be due yet.
    WhenDue,
}

/// A replay that has ended.
pub(crate) struct Ended {
    pub(crate) closed: Closed,
    /// The steps that were not possible, with their numbers in the record, from 1.
    pub(crate) skipped: Vec<(u64, Time, Step)>,
    /// True if the last checks were made, after all steps; false if a step was objected to.
    pub(crate) at_end: bool,
}

impl WithSubject for ReplayIn<'_> {
    type Result = Ended;

    fn run<S: Subject>(self, subject: S) -> Self::Result {
        replay_in(subject, self)
    }
}

/// Replays these steps.
pub(crate) fn replay_in<S: Subject>(mut subject: S, replay: ReplayIn<'_>) -> Ended {
    let ReplayIn { run, options_text, steps, expected, timers, keep } = replay;
    let (record, mut effects) = Record::begin(run, options_text, keep);
    subject.begin(&mut effects);
    let programs = Programs::new(&run.config);
    let mut taker = Recorded::new(subject, programs, record, timers);
    taker.began(&effects);
    let Took { skipped, outcome } = take_all(&mut taker, steps, &mut effects);
    let Recorded { mut subject, programs, record, last, .. } = taker;
    let outcome = outcome.map_err(|objection| subject.explained(objection));
    if outcome.is_err() {
        let view = View::new(last, subject.history());
        let closed = record.close(outcome, &effects, view, subject.measured(), &[]);
        return Ended { closed, skipped, at_end: false };
    }
    let end = steps.last().map_or(Time::ZERO, |(at, _)| *at);
    let outcome = finale(&mut subject, &programs, end, &run.aftermath, expected);
    let view = View::new(end, subject.history());
    let unfinished = programs.blamed(&outcome);
    let closed = record.close(outcome, &effects, view, subject.measured(), &unfinished);
    Ended { closed, skipped, at_end: true }
}

/// A run of a scenario that keeps the same records as a seeded one.
pub(super) struct Recorded<S> {
    pub(super) subject: S,
    pub(super) programs: Programs,
    pub(super) record: Record,
    /// The time of the last step.
    pub(super) last: Time,
    timers: Timers,
    due: DueTimers,
}

impl<S: Subject> Recorded<S> {
    pub(super) fn new(
        subject: S,
        programs: Programs,
        record: Record,
        timers: Timers,
    ) -> Recorded<S> {
        let (last, due) = (Time::ZERO, DueTimers::default());
        Recorded { subject, programs, record, last, timers, due }
    }

    /// Notes the timers that are armed from the start.
    pub(super) fn began(&mut self, effects: &Effects) {
        self.due.note(Time::ZERO, effects);
    }
}

impl<S: Subject> Taker for Recorded<S> {
    fn take(&mut self, at: Time, step: &Step, effects: &mut Effects) -> Result<Status, Objection> {
        if self.timers == Timers::WhenDue && self.due.is_early(at, step) {
            return Ok(Status::NotEnabled);
        }
        self.record.begins(step);
        let status = self.subject.step(at, step, effects)?;
        if self.timers == Timers::WhenDue {
            self.due.note(at, effects);
        }
        if status == Status::Done {
            effects.events.iter().try_for_each(|event| self.programs.event(event))?;
        }
        Ok(status)
    }

    fn taken(&mut self, at: Time, step: Step, effects: &Effects) {
        self.last = at;
        self.record.step(step, effects, View::new(at, self.subject.history()));
    }
}

/// Checks what the driver checked at the end, as far as it got: the final properties if everything was done, progress
/// if that was missing. A recording that ended with another objection, which is not raised any more, requires
/// nothing.
pub(super) fn finale(
    subject: &mut impl Subject,
    programs: &Programs,
    end: Time,
    aftermath: &Aftermath,
    expected: Option<&Objection>,
) -> Result<(), Objection> {
    let is_late = expected.is_some_and(|objection| objection.property == PROGRESS);
    if programs.is_all_done(subject, aftermath) {
        if is_late && aftermath.awaits_expiry {
            sessions_are_over(subject.history(), "after all recorded steps")?;
        }
        subject.end(end)
    } else if is_late {
        Err(programs.no_progress(subject, "after all recorded steps"))
    } else {
        Ok(())
    }
}
