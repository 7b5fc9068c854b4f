//! Replays the steps of a recorded run: without a clock and random numbers.
//!
//! A step that is not possible (any more) is skipped and reported. If nothing was skipped and the hash is the
//! recorded one, the replay is the same run.

use super::steps::{Taker, Took, take_all};
use crate::run::demands::{PROGRESS, sessions_are_over};
use crate::run::programs::Programs;
use crate::run::record::{Closed, Keep, Record};
use crate::run::subject::{Subject, WithSubject, with_world};
use crate::run::{RunOptions, RunReport};
use crate::scenario::Scenario;
use crate::scenario::drawn::Drawn;
use crate::seeded::aftermath::Aftermath;
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

/// Returns the options of a recorded run. The values in the case override those that the seed gives today.
///
/// # Errors
/// One sentence that says what is wrong with the case.
fn drawn(scenario: &Scenario, case: &Case) -> Result<Drawn, String> {
    case.check().map_err(|why| format!("the case cannot be replayed: {why}"))?;
    scenario.takes_clients(case.config.clients.len())?;
    let mut drawn = Drawn::draw(scenario, case.seed.unwrap_or(0));
    drawn.clients = u8::try_from(case.config.clients.len()).expect("checked above");
    drawn.config = case.config.clone();
    drawn.aftermath = Aftermath::read(&case.parameters, case.config.servers)
        .map_err(|why| format!("the case cannot be replayed: {why}"))?;
    if let Some(rounds) = case.parameters.get("rounds") {
        drawn.rounds = rounds.parse().map_err(|_| {
            format!("the case cannot be replayed: its `rounds` is `{rounds}`, not a number")
        })?;
    }
    Ok(drawn)
}

/// Replays the steps of a recorded run.
///
/// # Errors
/// One sentence that says what is wrong with the case.
///
/// # Panics
/// If this build does not have the host.
pub fn replay(scenario: &Scenario, case: &Case, options: &RunOptions) -> Result<Replay, String> {
    let drawn = drawn(scenario, case)?;
    let expected = case.violation.as_ref();
    let keep = Keep::from(*options);
    let with = ReplayIn { drawn: &drawn, steps: &case.steps, expected, keep };
    let (closed, skipped) = with_world(scenario, &drawn, options.host, with);
    let same = skipped.is_empty() && closed.report.hash == case.hash;
    Ok(Replay { report: closed.report, skipped, same })
}

/// The arguments of [`replay_in`], for a world under any host.
pub(super) struct ReplayIn<'a> {
    pub(super) drawn: &'a Drawn,
    pub(super) steps: &'a [(Time, Step)],
    pub(super) expected: Option<&'a Objection>,
    pub(super) keep: Keep,
}

impl WithSubject for ReplayIn<'_> {
    type Result = (Closed, Vec<(u64, Time, Step)>);

    fn run<S: Subject>(self, subject: S) -> Self::Result {
        replay_in(subject, self.drawn, self.steps, self.expected, self.keep)
    }
}

/// Replays these steps. `expected` is the objection to the recorded run's last step.
pub(crate) fn replay_in<S: Subject>(
    mut subject: S,
    drawn: &Drawn,
    steps: &[(Time, Step)],
    expected: Option<&Objection>,
    keep: Keep,
) -> (Closed, Vec<(u64, Time, Step)>) {
    let (record, mut effects) = Record::begin(drawn.seed, keep);
    subject.begin(&mut effects);
    let programs = Programs::new(&drawn.config);
    let mut run = Run { subject, programs, record, last: Time::ZERO };
    let Took { skipped, outcome } = take_all(&mut run, steps, &mut effects);
    let Run { mut subject, programs, record, last } = run;
    let outcome = outcome.map_err(|objection| subject.explained(objection));
    if outcome.is_err() {
        let view = View::new(last, subject.history());
        return (record.close(drawn, outcome, &effects, view, subject.measured(), &[]), skipped);
    }
    let end = steps.last().map_or(Time::ZERO, |(at, _)| *at);
    let outcome = finale(&mut subject, &programs, end, &drawn.aftermath, expected);
    let view = View::new(end, subject.history());
    let unfinished = programs.blamed(&outcome);
    (record.close(drawn, outcome, &effects, view, subject.measured(), &unfinished), skipped)
}

/// A run of a scenario that keeps the same records as a seeded one.
struct Run<S> {
    subject: S,
    programs: Programs,
    record: Record,
    /// The time of the last step.
    last: Time,
}

impl<S: Subject> Taker for Run<S> {
    fn take(&mut self, at: Time, step: &Step, effects: &mut Effects) -> Result<Status, Objection> {
        self.record.begins(step);
        let status = self.subject.step(at, step, effects)?;
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
fn finale(
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
