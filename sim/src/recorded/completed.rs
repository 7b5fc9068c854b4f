//! Replays a part of recorded steps. A step that is due and not among them is taken all the same, no later than such steps
//! were taken in the recorded run.
//!
//! So the run is one that could have happened in the recorded run's time: whatever a fault that is left out had kept
//! from happening happens, and nothing is late. That matters where a property depends on the clock, or is about what
//! has not happened by the end.

use super::pending::{Due, Pending};
use super::replay::{Recorded, Timers, finale};
use super::steps::Taker;
use crate::run::mends::mends;
use crate::run::programs::Programs;
use crate::run::record::{Closed, Keep, Record};
use crate::run::subject::{Subject, WithSubject};
use crate::scenario::run::Run;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::mem::{Discriminant, discriminant};
use vivarium_model::effect::{Effects, Status};
use vivarium_model::fingerprint::StableHasher;
use vivarium_model::id::ClientId;
use vivarium_model::property::{Objection, View};
use vivarium_model::step::Step;
use vivarium_model::time::{Duration, Time};

/// How long steps waited in a recorded run, by their kind.
#[derive(Debug)]
pub(crate) struct Patience(Vec<(Discriminant<Step>, Waits)>);

/// How long the steps of one kind waited.
#[derive(Debug)]
struct Waits {
    /// Since when each was due, and the longest wait of this and all later ones.
    longest: Vec<(Time, Duration)>,
    shortest: Duration,
}

/// Since when each step was due, and how long it waited.
type Waited = Vec<(Time, Duration)>;

impl Waits {
    /// Sorts how long the steps waited.
    fn of(mut waits: Waited) -> Waits {
        waits.sort_unstable();
        let shortest = waits.iter().map(|(_, wait)| *wait).min().unwrap_or(Duration::ZERO);
        let mut longest = Duration::ZERO;
        for (_, wait) in waits.iter_mut().rev() {
            longest = longest.max(*wait);
            *wait = longest;
        }
        Waits { longest: waits, shortest }
    }

    fn since(&self, since: Time) -> Duration {
        let from = self.longest.partition_point(|(at, _)| *at < since);
        self.longest.get(from).map_or(self.shortest, |(_, wait)| *wait)
    }
}

impl Patience {
    /// Returns how long a step may wait that is due since then: as long as any of its kind that was due then or later
    /// waited. If there was none, as long as the quickest of its kind, or of any kind: the last one may have waited for a
    /// disk that was slow, and a disk that stays slow would be a fault that the recorded run had not.
    fn with(&self, due: &Due) -> Duration {
        let (kind, since) = match due {
            Due::Step(Step::Restart(_), _) | Due::Timer(..) => return Duration::ZERO,
            Due::Step(step, since) => (discriminant(step), *since),
            Due::Random(_, _, since) => (discriminant(&due.step()), *since),
        };
        match self.0.iter().find(|(other, _)| *other == kind) {
            Some((_, waits)) => waits.since(since),
            None => self.0.iter().map(|(_, waits)| waits.shortest).min().unwrap_or(Duration::ZERO),
        }
    }
}

/// The arguments of a measurement, for a world under any host.
pub(crate) struct MeasuredIn<'a> {
    pub(crate) run: &'a Run,
    pub(crate) steps: &'a [(Time, Step)],
}

impl WithSubject for MeasuredIn<'_> {
    type Result = Patience;

    fn run<S: Subject>(self, mut subject: S) -> Patience {
        let (_, mut effects) = Record::begin(self.run, String::new(), Keep::default());
        let mut waits: Vec<(Discriminant<Step>, Waited)> = Vec::new();
        let mut pending = Pending::new(self.run.config.tick);
        subject.begin(&mut effects);
        pending.note(Time::ZERO, &effects);
        for (at, step) in self.steps {
            effects.clear();
            if subject.step(*at, step, &mut effects) != Ok(Status::Done) {
                continue;
            }
            if let Some(since) = pending.taken(step)
                && !matches!(step, Step::Fire(_))
            {
                let (kind, wait) = (discriminant(step), at.since(since));
                match waits.iter_mut().find(|(other, _)| *other == kind) {
                    Some((_, waits)) => waits.push((since, wait)),
                    None => waits.push((kind, vec![(since, wait)])),
                }
            }
            pending.note(*at, &effects);
            pending.refresh(*at, &subject);
        }
        Patience(waits.into_iter().map(|(kind, waits)| (kind, Waits::of(waits))).collect())
    }
}

/// The arguments of a completed replay, for a world under any host.
pub(crate) struct CompletedIn<'a> {
    pub(crate) run: &'a Run,
    pub(crate) steps: &'a [(Time, Step)],
    pub(crate) completion: Completion<'a>,
    /// Each client's random numbers, in order.
    pub(crate) randoms: &'a Randoms,
    /// The objection to the recorded run, if its programs may be unfinished.
    pub(crate) expected: Option<&'a Objection>,
    pub(crate) keep: Keep,
}

/// Each client's random numbers, in order.
pub(crate) type Randoms = BTreeMap<ClientId, Vec<u64>>;

/// Returns the random numbers among recorded steps.
pub(crate) fn randoms(steps: &[(Time, Step)]) -> Randoms {
    let mut all = Randoms::new();
    for (_, step) in steps {
        if let Step::Random { client, value, .. } = step {
            all.entry(*client).or_default().push(*value);
        }
    }
    all
}

/// When a step is taken that is due and not recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Completion<'a> {
    /// After as long as in the recorded run, which ended at this time.
    InTime(&'a Patience, Time),
    /// After all recorded steps. No timer fires then.
    AtTheEnd,
}

impl WithSubject for CompletedIn<'_> {
    type Result = Closed;

    fn run<S: Subject>(self, mut subject: S) -> Closed {
        let (record, mut effects) = Record::begin(self.run, String::new(), self.keep.clone());
        subject.begin(&mut effects);
        let programs = Programs::new(&self.run.config);
        let mut taker = Recorded::new(subject, programs, record, Timers::WhenDue);
        taker.began(&effects);
        let mut pending = Pending::new(self.run.config.tick);
        pending.note(Time::ZERO, &effects);
        let outcome = self.take_all(&mut taker, &mut pending, &mut effects);
        let Recorded { mut subject, programs, record, last, .. } = taker;
        let end = match self.completion {
            Completion::InTime(_, until) => until,
            Completion::AtTheEnd => last,
        };
        let outcome = outcome.and_then(|()| {
            finale(&mut subject, &programs, end, &self.run.aftermath, self.expected)
        });
        let outcome = outcome.map_err(|objection| subject.explained(objection));
        let view = View::new(last, subject.history());
        let unfinished = programs.blamed(&outcome);
        record.close(outcome, &effects, view, subject.measured(), &unfinished)
    }
}

impl CompletedIn<'_> {
    /// Takes the recorded steps, and those whose time is over.
    fn take_all<S: Subject>(
        &self,
        taker: &mut Recorded<S>,
        pending: &mut Pending,
        effects: &mut Effects,
    ) -> Result<(), Objection> {
        let mut recorded = self.steps.iter().peekable();
        let mut drawn: BTreeMap<ClientId, usize> = BTreeMap::new();
        let mut now = Time::ZERO;
        let mut mended = self.mended();
        loop {
            let next = recorded.peek().map(|(at, _)| *at);
            let mends = mended.filter(|at| next.is_none_or(|next| *at < next));
            let overdue = self.overdue(pending, mends.or(next));
            if let (None, Some(at)) = (overdue, mends) {
                (mended, now) = (None, at.max(now));
                self.mend(now, taker, pending, effects)?;
                continue;
            }
            let (at, mut step, due) = match (overdue, recorded.peek()) {
                (Some((at, due)), _) => (at.max(now), due.step(), Some(due)),
                (None, Some((at, step))) => (*at, *step, None),
                (None, None) => return Ok(()),
            };
            now = at;
            if due.is_none() {
                recorded.next();
            } else if self.stays_down(&step) {
                due.into_iter().for_each(|due| pending.lost(due));
                continue;
            }
            self.draw(&mut step, &drawn);
            effects.clear();
            match (take(taker, at, step, effects)?, due) {
                (Status::Done, _) => {
                    if let Step::Random { client, .. } = step {
                        *drawn.entry(client).or_default() += 1;
                    }
                    pending.taken(&step);
                    pending.note(at, effects);
                    pending.refresh(at, &taker.subject);
                }
                (Status::Blocked(blocker), Some(due)) => pending.wait(due, blocker),
                (Status::NotEnabled, Some(due)) => pending.lost(due),
                (Status::Blocked(_) | Status::NotEnabled, None) => {}
            }
        }
    }

    /// Returns when everything is mended. What had no effect in the recorded run, such as the restart of a server that was
    /// up, is not among its steps.
    fn mended(&self) -> Option<Time> {
        let (last, _) = self.steps.last()?;
        let Completion::InTime(..) = self.completion else { return None };
        Some((*last).min(Time::ZERO + self.run.chaos))
    }

    /// Mends everything that does not stay broken.
    fn mend<S: Subject>(
        &self,
        at: Time,
        taker: &mut Recorded<S>,
        pending: &mut Pending,
        effects: &mut Effects,
    ) -> Result<(), Objection> {
        for step in mends(&taker.subject) {
            let stays = match step {
                Step::Heal { from, to } => self.run.aftermath.stays_cut(from, to),
                // A program that was left out stays so.
                Step::Start(_) => true,
                step => self.stays_down(&step),
            };
            effects.clear();
            if !stays && take(taker, at, step, effects)? == Status::Done {
                pending.note(at, effects);
            }
        }
        Ok(())
    }

    /// Returns the step whose time is over before that of the next recorded one, and the end of its time.
    fn overdue(&self, pending: &Pending, next: Option<Time>) -> Option<(Time, Due)> {
        match self.completion {
            Completion::InTime(patience, until) => {
                let first = pending.first(&|due| Some(patience.with(due)));
                first.filter(|(at, _)| *at < next.unwrap_or(until))
            }
            Completion::AtTheEnd if next.is_some() => None,
            Completion::AtTheEnd => pending.first(&|due| match due {
                Due::Timer(..) | Due::Step(Step::Restart(_), _) => None,
                Due::Step(..) | Due::Random(..) => Some(Duration::ZERO),
            }),
        }
    }

    /// Returns true if the step restarts a server that stays down after the faults.
    fn stays_down(&self, step: &Step) -> bool {
        matches!(step, Step::Restart(server) if self.run.aftermath.left_down.contains(server))
    }

    /// Gives a random number the value of the client's next one in the recorded run. After those, each has a value of its
    /// own.
    fn draw(&self, step: &mut Step, drawn: &BTreeMap<ClientId, usize>) {
        if let Step::Random { client, value, .. } = step {
            let number = drawn.get(client).copied().unwrap_or_default();
            let recorded = self.randoms.get(client).and_then(|all| all.get(number));
            *value = recorded.copied().unwrap_or_else(|| {
                let mut hasher = StableHasher::new();
                ("completed", *client, number).hash(&mut hasher);
                hasher.finish()
            });
        }
    }
}

/// Takes and records a step.
fn take<S: Subject>(
    taker: &mut Recorded<S>,
    at: Time,
    step: Step,
    effects: &mut Effects,
) -> Result<Status, Objection> {
    let outcome = taker.take(at, &step, effects);
    if !matches!(outcome, Ok(Status::Blocked(_) | Status::NotEnabled)) {
        taker.taken(at, step, effects);
    }
    outcome
}
