//! The steps that are due in a replay and not taken yet, each with the time since when.

use crate::run::mends::SUPERVISION;
use crate::run::subject::Subject;
use crate::seeded::timers::deadline;
use std::collections::{BTreeMap, VecDeque};
use vivarium_model::effect::{Blocker, Effect, Effects, Status};
use vivarium_model::event::Event;
use vivarium_model::id::{CallId, ClientId};
use vivarium_model::step::Step;
use vivarium_model::time::{Duration, Time};
use vivarium_model::timer::Timer;

/// The steps that are due and not taken.
#[derive(Debug)]
pub(super) struct Pending {
    /// Sessions expire on multiples of it.
    tick: Duration,
    /// Since when each step is due; equal steps in order.
    since: BTreeMap<Step, VecDeque<Time>>,
    /// Requested random numbers.
    randoms: BTreeMap<(ClientId, CallId), Time>,
    /// When each armed timer fires at the latest.
    timers: BTreeMap<Timer, Time>,
    /// Steps and timers that wait for a blocker to go.
    blocked: Vec<(Blocker, Due)>,
}

/// A step that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// A step, since that time.
    Step(Step, Time),
    /// A random number, since that time.
    Random(ClientId, CallId, Time),
    /// A timer, which fires at that time.
    Timer(Timer, Time),
}

impl Pending {
    /// Nothing is due yet.
    pub(super) fn new(tick: Duration) -> Pending {
        let (since, randoms, timers) = Default::default();
        Pending { tick, since, randoms, timers, blocked: Vec::new() }
    }

    /// Notes what a step made due.
    pub(super) fn note(&mut self, at: Time, effects: &Effects) {
        for effect in &effects.effects {
            match *effect {
                Effect::Due(step) => self.push(step, at),
                Effect::Random(client, call) => drop(self.randoms.insert((client, call), at)),
                Effect::Arm { timer, after, spread } => {
                    self.disarm(timer);
                    self.timers.insert(timer, deadline(timer, at + after + spread, self.tick));
                }
                Effect::Disarm(timer) => self.disarm(timer),
                Effect::Unblocked(blocker) => self.unblocked(at, blocker),
            }
        }
        for event in &effects.events {
            if let Event::Exited { server, .. } = event {
                self.push(Step::Restart(*server), at + SUPERVISION);
            }
        }
    }

    /// Forgets what a step has taken. Returns since when it was due; `None` if it was not due, as a fault.
    pub(super) fn taken(&mut self, step: &Step) -> Option<Time> {
        match step {
            Step::Fire(timer) => self.timers.remove(timer),
            Step::Random { client, call, .. } => self.randoms.remove(&(*client, *call)),
            step => {
                let all = self.since.get_mut(step)?;
                let since = all.pop_front();
                if all.is_empty() {
                    self.since.remove(step);
                }
                since
            }
        }
    }

    /// Forgets a step that has nothing to act on any more.
    pub(super) fn lost(&mut self, due: Due) {
        match due {
            Due::Step(step, _) => drop(self.taken(&step)),
            Due::Random(client, call, _) => drop(self.randoms.remove(&(client, call))),
            Due::Timer(timer, _) => drop(self.timers.remove(&timer)),
        }
    }

    /// Lets a step wait for a blocker.
    pub(super) fn wait(&mut self, due: Due, blocker: Blocker) {
        self.lost(due);
        self.blocked.push((blocker, due));
    }

    /// Returns the step with the earliest deadline: the time since when it is due, and what `patience` adds to that, if
    /// the step has a deadline.
    pub(super) fn first(&self, patience: &dyn Fn(&Due) -> Option<Duration>) -> Option<(Time, Due)> {
        let deadline = |due: Due| Some((due.at() + patience(&due)?, due));
        self.all().filter_map(deadline).min_by_key(|(at, _)| *at)
    }

    /// Forgets the steps that have nothing to act on any more, and lets those that are blocked wait anew.
    pub(super) fn refresh(&mut self, at: Time, subject: &impl Subject) {
        self.since.retain(|step, since| match subject.allows(step) {
            Err(Status::NotEnabled) => false,
            Err(Status::Blocked(_)) => {
                since.iter_mut().for_each(|since| *since = at);
                true
            }
            Ok(()) | Err(Status::Done) => true,
        });
    }

    /// All that is due, the earliest of equal steps only.
    fn all(&self) -> impl Iterator<Item = Due> {
        let steps = self.since.iter().map(|(step, since)| Due::Step(*step, since[0]));
        let randoms =
            self.randoms.iter().map(|((client, call), at)| Due::Random(*client, *call, *at));
        let timers = self.timers.iter().map(|(timer, at)| Due::Timer(*timer, *at));
        steps.chain(randoms).chain(timers)
    }

    fn push(&mut self, step: Step, since: Time) {
        self.since.entry(step).or_default().push_back(since);
    }

    fn disarm(&mut self, timer: Timer) {
        self.timers.remove(&timer);
        self.blocked.retain(|(_, due)| !matches!(due, Due::Timer(other, _) if *other == timer));
    }

    fn unblocked(&mut self, at: Time, blocker: Blocker) {
        let mut free = Vec::new();
        self.blocked.retain(|(by, due)| {
            let stays = *by != blocker;
            free.extend((!stays).then_some(*due));
            stays
        });
        for due in free {
            match due {
                Due::Step(step, _) => self.push(step, at),
                Due::Random(client, call, _) => drop(self.randoms.insert((client, call), at)),
                Due::Timer(timer, _) => drop(self.timers.entry(timer).or_insert(at)),
            }
        }
    }
}

impl Due {
    /// The step; a random number has no value yet.
    pub(super) fn step(&self) -> Step {
        match *self {
            Due::Step(step, _) => step,
            Due::Timer(timer, _) => Step::Fire(timer),
            Due::Random(client, call, _) => Step::Random { client, call, value: 0 },
        }
    }

    /// Since when the step is due.
    fn at(&self) -> Time {
        match self {
            Due::Step(_, at) | Due::Random(_, _, at) | Due::Timer(_, at) => *at,
        }
    }
}
