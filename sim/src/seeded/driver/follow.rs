//! Takes recorded steps first, and lets the run go on from there under a seed of its own.

use super::Driver;
use crate::run::mends::{SUPERVISION, mends};
use crate::run::subject::Subject;
use crate::seeded::heap::Due;
use std::collections::BTreeMap;
use vivarium_model::effect::{Effect, Effects, Status};
use vivarium_model::event::Event;
use vivarium_model::id::{CallId, ClientId, ServerId};
use vivarium_model::property::{Objection, View};
use vivarium_model::step::Step;
use vivarium_model::time::{Duration, Time};
use vivarium_model::timer::Timer;

/// The mean time until what was broken when the recorded steps end is mended.
const MENDED: Duration = Duration::from_secs(1);

impl<S: Subject> Driver<'_, S> {
    /// Takes these steps, each at its time; what they made due then waits in the heap. Faults that have begun end after a
    /// while, and those of the plan have their turns from now on.
    ///
    /// # Errors
    /// Returns a monitor's objection.
    pub(super) fn follow(&mut self, steps: &[(Time, Step)]) -> Result<(), Objection> {
        let mut pending = Pending::default();
        self.subject.begin(&mut self.effects);
        pending.note(Time::ZERO, &self.effects);
        let mut now = Time::ZERO;
        for (at, step) in steps {
            now = *at;
            self.effects.clear();
            self.record.begins(step);
            let status = self.subject.step(now, step, &mut self.effects)?;
            if status != Status::Done {
                continue;
            }
            let view = View::new(now, self.subject.history());
            self.record.step(*step, &self.effects, view);
            pending.taken(step);
            pending.note(now, &self.effects);
            self.effects.events.iter().try_for_each(|event| self.programs.event(event))?;
        }
        self.heap.pass(now);
        self.go_on(pending, now);
        for kind in self.drawn.throughout() {
            self.record.fault(kind);
        }
        Ok(())
    }

    /// Schedules what is pending.
    fn go_on(&mut self, pending: Pending, now: Time) {
        for step in pending.steps {
            let at = self.latencies.due(now, &step);
            self.heap.push(at, Due::Step(step));
        }
        for (client, call) in pending.randoms {
            let value = self.latencies.random_number(client);
            let step = Step::Random { client, call, value };
            let at = self.latencies.due(now, &step);
            self.heap.push(at, Due::Step(step));
        }
        for (timer, (exact, spread)) in pending.timers {
            let deadline = exact + self.latencies.spread(timer, spread);
            self.heap.arm(timer, Duration::from_micros(deadline.0.saturating_sub(now.0)));
        }
        for server in pending.exited {
            self.heap.push(now + SUPERVISION, Due::Step(Step::Restart(server)));
        }
        self.mend_later(now);
        for turn in self.drawn.plan.turns.iter().filter(|turn| turn.at >= now) {
            self.heap.push(turn.at, Due::Fault(turn.kind, turn.occurrence));
        }
    }

    /// Schedules the ends of the faults that have begun.
    fn mend_later(&mut self, now: Time) {
        let mut random = self.seeds.stream("ends of recorded faults", 0);
        for step in mends(&self.subject) {
            self.heap.push(now + random.exponential_span(MENDED), Due::Step(step));
        }
    }
}

/// What recorded steps have made due and not taken.
#[derive(Default)]
struct Pending {
    /// In the order in which they became due.
    steps: Vec<Step>,
    randoms: Vec<(ClientId, CallId)>,
    /// The time when each armed timer fires, and by how much it may be later.
    timers: BTreeMap<Timer, (Time, Duration)>,
    exited: Vec<ServerId>,
}

impl Pending {
    /// Notes what a step made due.
    fn note(&mut self, at: Time, effects: &Effects) {
        for effect in &effects.effects {
            match *effect {
                Effect::Due(step) => self.steps.push(step),
                Effect::Random(client, call) => self.randoms.push((client, call)),
                Effect::Arm { timer, after, spread } => {
                    self.timers.insert(timer, (at + after, spread));
                }
                Effect::Disarm(timer) => drop(self.timers.remove(&timer)),
                Effect::Unblocked(_) => {}
            }
        }
        for event in &effects.events {
            match event {
                Event::Exited { server, .. } => self.exited.push(*server),
                Event::Restarted { server } => self.exited.retain(|other| other != server),
                _ => {}
            }
        }
    }

    /// Forgets what a step has taken.
    fn taken(&mut self, step: &Step) {
        match step {
            Step::Fire(timer) => drop(self.timers.remove(timer)),
            Step::Random { client, call, .. } => {
                self.randoms.retain(|pending| pending != &(*client, *call));
            }
            _ => {
                if let Some(at) = self.steps.iter().position(|pending| pending == step) {
                    self.steps.remove(at);
                }
            }
        }
    }
}
