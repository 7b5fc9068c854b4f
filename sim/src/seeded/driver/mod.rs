//! The phases of a run: chaos; then everything is healed; then every program must finish and every server must serve
//! within a bound. If not, the driver reports which program waits for what.
//!
//! The driver takes steps from the heap, applies them to the world, and schedules their effects. Faults are ordinary
//! steps, so the world's rolling hash over (time, step, effects) covers all decisions of the driver.

mod follow;

use crate::random::Seeds;
use crate::run::demands::sessions_are_over;
use crate::run::mends::SUPERVISION;
use crate::run::programs::Programs;
use crate::run::record::{Closed, Keep, Record};
use crate::run::subject::Subject;
use crate::scenario::aftermath::Aftermath;
use crate::scenario::faults::Fault;
use crate::seeded::drawn::Drawn;
use crate::seeded::faults::ambush::Ambushes;
use crate::seeded::faults::lost_reply::LostReplies;
use crate::seeded::faults::scripted::Scripted;
use crate::seeded::faults::{Order, clipped, strike};
use crate::seeded::heap::{Due, Heap};
use crate::seeded::latency::Latencies;
use crate::seeded::pace::Waiting;
use crate::seeded::plan;
use crate::seeded::transport::Retransmissions;
use vivarium_model::effect::{Effect, Effects, Status};
use vivarium_model::event::Event;
use vivarium_model::id::{ClientId, Machine, ServerId};
use vivarium_model::mark::Disruption;
use vivarium_model::property::{Objection, View};
use vivarium_model::step::{Step, Tail};
use vivarium_model::time::Time;

/// The most steps of a run; one that takes more does not terminate.
const STEPS_MAX: u64 = 20_000_000;

/// Runs a world with the options in `drawn`.
pub(crate) fn simulate<S: Subject>(subject: S, drawn: &Drawn, keep: Keep) -> Closed {
    fork(subject, drawn, drawn.run.seed, &[], keep)
}

/// Runs a world with the options in `drawn`: first these recorded steps, then as this seed chooses.
pub(crate) fn fork<S: Subject>(
    mut subject: S,
    drawn: &Drawn,
    seed: u64,
    steps: &[(Time, Step)],
    keep: Keep,
) -> Closed {
    subject.tell(keep.telling);
    let keeps_monitors = keep.monitors;
    let mut driver = Driver::new(subject, drawn, seed, keep);
    let outcome = driver.story(steps).map_err(|objection| driver.subject.explained(objection));
    let view = View::new(driver.heap.now(), driver.subject.history());
    let unfinished = driver.programs.blamed(&outcome);
    let measured = driver.subject.measured();
    let monitors = if keeps_monitors { driver.subject.monitors() } else { Vec::new() };
    let mut closed = driver.record.close(outcome, &driver.effects, view, measured, &unfinished);
    closed.report.scripted = driver.scripted.applied();
    Closed { monitors, ..closed }
}

struct Driver<'a, S> {
    subject: S,
    drawn: &'a Drawn,
    seeds: Seeds,
    heap: Heap,
    latencies: Latencies,
    lost_replies: LostReplies,
    ambushes: Ambushes,
    scripted: Scripted,
    /// Late retransmissions by TCP, while faults happen.
    retransmissions: Option<Retransmissions>,
    /// The programs' priorities, while faults happen.
    waiting: Option<Waiting>,
    chaotic: bool,
    effects: Effects,
    /// The orders of faults, in order; carried out before the next entry of the heap.
    orders: Vec<(Fault, Order)>,
    programs: Programs,
    record: Record,
}

impl<'a, S: Subject> Driver<'a, S> {
    fn new(subject: S, drawn: &'a Drawn, seed: u64, keep: Keep) -> Driver<'a, S> {
        let run = &drawn.run;
        let seeds = Seeds::new(seed);
        let clients = usize::from(run.clients());
        let (record, effects) = Record::begin(run, drawn.to_string(), keep);
        Driver {
            subject,
            drawn,
            heap: Heap::new(usize::from(run.config.servers), clients, run.config.tick),
            latencies: Latencies::new(drawn.timings.clone(), drawn.pace.slow.as_ref(), &seeds)
                .with_bugs(run.config.bugs),
            retransmissions: Retransmissions::new(&drawn.transport, &seeds),
            waiting: drawn.pace.priorities.as_ref().map(Waiting::new),
            lost_replies: LostReplies::new(&drawn.plan.ambushes, clients, &seeds),
            ambushes: Ambushes::new(&drawn.plan.ambushes, &seeds),
            scripted: Scripted::new(&drawn.script, drawn.run.chaos, clients, &seeds),
            seeds,
            chaotic: true,
            effects,
            orders: Vec::new(),
            programs: Programs::new(&run.config),
            record,
        }
    }

    /// Runs the phases, after these recorded steps.
    fn story(&mut self, recorded: &[(Time, Step)]) -> Result<(), Objection> {
        match recorded {
            [] => self.begin(),
            steps => self.follow(steps)?,
        }
        self.chaos()?;
        self.heal()?;
        self.demand_progress()?;
        self.let_services_settle()?;
        self.demand_expiry()?;
        self.settle()?;
        self.subject.end(self.heap.now())
    }

    fn begin(&mut self) {
        self.subject.begin(&mut self.effects);
        self.follow_up();
        for turn in &self.drawn.plan.turns {
            self.heap.push(turn.at, Due::Fault(turn.kind, turn.occurrence));
        }
        for (at, rule) in self.scripted.timed() {
            self.heap.push(at, Due::Rule(rule as u32));
        }
        for kind in self.drawn.throughout() {
            self.record.fault(kind);
        }
    }

    /// Lets faults happen until their time is over or all programs have finished. A service never finishes.
    fn chaos(&mut self) -> Result<(), Objection> {
        let end = Time::ZERO + self.drawn.run.chaos;
        let serves = self.drawn.run.config.has_services();
        while (serves || !self.programs.all_finished()) && self.heap.now() < end {
            if !self.turn()? {
                return Err(self.no_progress("nothing is due any more"));
            }
        }
        Ok(())
    }

    /// Mends everything that faults have broken, and ends the faults. In some runs a minority of the servers is down
    /// or cut off from now on.
    fn heal(&mut self) -> Result<(), Objection> {
        self.chaotic = false;
        for server in &self.drawn.run.aftermath.left_down {
            if self.subject.is_up(*server) {
                self.take(Due::Step(Step::Crash { server: *server, tail: Tail::LOST }))?;
            }
        }
        self.waiting = None;
        self.retransmissions = None;
        self.latencies.recover(self.heap.now());
        for from in self.machines() {
            for to in self.machines() {
                let step = match (self.subject.is_cut(from, to), self.stays_cut(from, to)) {
                    (true, false) => Step::Heal { from, to },
                    (false, true) if from != to => Step::Cut { from, to },
                    _ => continue,
                };
                self.take(Due::Step(step))?;
            }
        }
        for server in self.servers() {
            if !self.subject.is_up(server) && !self.is_left_down(server) {
                self.take(Due::Step(Step::Restart(server)))?;
            }
        }
        for client in self.clients() {
            if self.subject.is_paused(client) {
                self.take(Due::Step(Step::Resume(client)))?;
            }
            self.take(Due::Step(Step::Start(client)))?;
        }
        Ok(())
    }

    /// Returns true if a server does not restart any more.
    fn is_left_down(&self, server: ServerId) -> bool {
        !self.chaotic && self.drawn.run.aftermath.left_down.contains(&server)
    }

    /// Returns true if a link stays cut for the rest of the run.
    fn stays_cut(&self, from: Machine, to: Machine) -> bool {
        !self.chaotic && self.drawn.run.aftermath.stays_cut(from, to)
    }

    /// Checks progress in the healed world: every program must finish and every server must serve.
    fn demand_progress(&mut self) -> Result<(), Objection> {
        let bound = self.drawn.progress_bound;
        let deadline = self.heap.now() + bound;
        while !self.programs.is_all_done(&self.subject, &self.drawn.run.aftermath) {
            if self.heap.now() >= deadline {
                return Err(self.no_progress(&format!("{bound:?} after all faults were healed")));
            }
            if !self.turn()? {
                return Err(self.no_progress("nothing is due any more"));
            }
        }
        Ok(())
    }

    /// Gives services time to notice the ends of their sessions and to restore what ended with them.
    fn let_services_settle(&mut self) -> Result<(), Objection> {
        if !self.drawn.run.config.has_services() {
            return Ok(());
        }
        let end = self.heap.now() + 2 * Aftermath::expiry_bound(&self.drawn.run.config);
        while self.heap.now() < end && self.turn()? {}
        Ok(())
    }

    /// In some runs, checks that the sessions whose programs ended without closing them expire.
    fn demand_expiry(&mut self) -> Result<(), Objection> {
        if !self.drawn.run.aftermath.awaits_expiry {
            return Ok(());
        }
        let bound = Aftermath::expiry_bound(&self.drawn.run.config);
        let deadline = self.heap.now() + bound;
        while !self.subject.history().tree().sessions().is_empty() {
            if self.heap.now() >= deadline || !self.turn()? {
                let when = format!("{bound:?} after all programs have ended");
                return sessions_are_over(self.subject.history(), &when);
            }
        }
        Ok(())
    }

    /// Lets everything in flight arrive before the final checks.
    fn settle(&mut self) -> Result<(), Objection> {
        let end = self.heap.now() + 2 * self.drawn.run.config.tick;
        while self.heap.now() < end && self.turn()? {}
        Ok(())
    }

    /// Takes the next entry of the heap, and carries out the orders that faults give in reaction. Returns false if
    /// nothing is due.
    fn turn(&mut self) -> Result<bool, Objection> {
        let Some((at, due)) = self.heap.pop() else {
            return Ok(false);
        };
        if self.record.steps() >= STEPS_MAX {
            return Err(self.no_progress(&format!("after {STEPS_MAX} steps")));
        }
        match due {
            Due::Fault(kind, occurrence) => self.fault(kind, occurrence),
            Due::Rule(rule) if self.chaotic => {
                let now = self.heap.now();
                self.scripted.at(now, rule as usize, &self.subject, &mut self.orders);
            }
            Due::Rule(_) => {}
            Due::Step(step) if step.is_fault() => self.late_fault(step)?,
            Due::Step(Step::Restart(server)) if self.is_left_down(server) => {}
            Due::Step(Step::Heal { from, to }) if self.stays_cut(from, to) => {}
            Due::Step(step) => match self.held(at, &step) {
                Some(until) => self.heap.push(until, due),
                None => drop(self.take(due)?),
            },
            Due::Timer(_) => drop(self.take(due)?),
        }
        if !self.orders.is_empty() {
            self.carry_out_orders()?;
        }
        Ok(true)
    }

    /// Returns the earliest time at which a step can happen, if it must wait for a stalled disk, for programs of
    /// higher priority or for its retransmission.
    fn held(&mut self, now: Time, step: &Step) -> Option<Time> {
        if let Some(late) = &mut self.retransmissions
            && let Some(until) = late.until(now, step)
        {
            return Some(until);
        }
        match (&mut self.waiting, *step) {
            (Some(waiting), Step::Start(client) | Step::Input(client)) => waiting.hold(now, client),
            _ => self.latencies.stalled(now, step),
        }
    }

    /// Applies a step to the world and schedules its consequences.
    fn take(&mut self, due: Due) -> Result<Status, Objection> {
        let now = self.heap.now();
        let step = match due {
            Due::Step(step) => step,
            Due::Timer(timer) => Step::Fire(timer),
            Due::Fault(kind, _) => unreachable!("{kind} is no step"),
            Due::Rule(rule) => unreachable!("the rule {rule} is no step"),
        };
        self.effects.clear();
        self.record.begins(&step);
        let outcome = self.subject.step(now, &step, &mut self.effects);
        if !matches!(outcome, Ok(Status::Blocked(_) | Status::NotEnabled)) {
            let view = View::new(now, self.subject.history());
            self.record.step(step, &self.effects, view);
        }
        let status = outcome?;
        if let Status::Blocked(blocker) = status {
            self.heap.park(blocker, due);
        }
        if let Some(late) = &mut self.retransmissions {
            match status {
                Status::Blocked(blocker) => late.blocked(now, step, blocker),
                Status::Done => late.broken(now, &step),
                Status::NotEnabled => {}
            }
        }
        self.follow_up();
        self.read_events()?;
        Ok(status)
    }

    /// Schedules the steps that the last step made due.
    fn follow_up(&mut self) {
        let now = self.heap.now();
        for effect in &self.effects.effects {
            match *effect {
                Effect::Due(step) => {
                    if let Step::Apply(server) = step
                        && self.latencies.misses_wake_up(server)
                    {
                        self.heap.push(now, Due::Step(Step::MissWakeUp(server)));
                    }
                    self.heap.push(self.latencies.due(now, &step), Due::Step(step));
                }
                Effect::Random(client, call) => {
                    let value = self.latencies.random_number(client);
                    let step = Step::Random { client, call, value };
                    self.heap.push(self.latencies.due(now, &step), Due::Step(step));
                }
                Effect::Arm { timer, after, spread } => {
                    self.heap.arm(timer, after + self.latencies.spread(timer, spread));
                }
                Effect::Disarm(timer) => self.heap.disarm(timer),
                Effect::Unblocked(blocker) => {
                    if let Some(late) = &mut self.retransmissions {
                        late.unblocked(now, blocker);
                    }
                    self.heap.unblock(blocker);
                }
            }
        }
    }

    /// Reads the events of the last step for ends of programs and servers, and for events that faults wait for.
    fn read_events(&mut self) -> Result<(), Objection> {
        for at in 0..self.effects.events.len() {
            let event = &self.effects.events[at];
            self.programs.event(event)?;
            if self.chaotic && self.scripted.waits() {
                let (now, events) = (self.heap.now(), &self.effects.events);
                self.scripted.event(now, (events, at), &self.subject, &mut self.orders);
            }
            match event {
                Event::Exited { server, .. } => {
                    let restart = Due::Step(Step::Restart(*server));
                    self.heap.push(self.heap.now() + SUPERVISION, restart);
                }
                Event::Sent { .. } | Event::Proposed { .. } | Event::Applied { .. }
                    if self.chaotic =>
                {
                    let events = &self.effects.events;
                    self.lost_replies.event(events, at, &self.subject, &mut self.orders);
                    self.ambushes.event(&events[at], &self.subject, &mut self.orders);
                }
                Event::Synchronising { .. } | Event::Elected { .. } if self.chaotic => {
                    self.ambushes.event(event, &self.subject, &mut self.orders);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Lets a fault take its turn.
    fn fault(&mut self, kind: Fault, occurrence: u32) {
        if self.chaotic {
            let mut random = plan::occurrence(&self.seeds, kind, occurrence);
            let orders = strike(kind, &mut random, &self.subject);
            self.orders.extend(orders.into_iter().map(|order| (kind, order)));
        }
    }

    /// Applies a fault that had a delay. Only now is it known what a crash can lose.
    fn late_fault(&mut self, step: Step) -> Result<(), Objection> {
        if !self.chaotic {
            return Ok(());
        }
        let step = match step {
            Step::Crash { server, tail } => {
                let tail = clipped(tail, self.subject.unsynced(server));
                Step::Crash { server, tail }
            }
            step => step,
        };
        self.take(Due::Step(step)).map(drop)
    }

    /// Carries out the orders of faults, and those given in reaction.
    fn carry_out_orders(&mut self) -> Result<(), Objection> {
        let mut struck = None;
        let mut next = 0;
        while let Some(&(kind, order)) = self.orders.get(next) {
            next += 1;
            // However many steps a fault takes, it counts once.
            if self.carry_out(order)? && struck != Some(kind) {
                struck = Some(kind);
                self.record.fault(kind);
            }
        }
        self.orders.clear();
        Ok(())
    }

    /// Carries out an order. Returns true if it was (a part of) the fault itself and had an effect.
    fn carry_out(&mut self, order: Order) -> Result<bool, Objection> {
        let now = self.heap.now();
        match order {
            Order::Strike(step) => Ok(self.take(Due::Step(step))? == Status::Done),
            Order::Later(after, step) => {
                self.heap.push(now + after, Due::Step(step));
                // A delayed fault; any other step ends one.
                Ok(step.is_fault())
            }
            Order::Stall(server, lasts) => {
                self.latencies.stall(server, now + lasts);
                self.record.slowed(Disruption::DiskStall);
                Ok(true)
            }
            Order::SlowStream { learner, lasts, by } => {
                self.latencies.slow_stream(learner, now, lasts, by);
                self.record.slowed(Disruption::DelayBurst);
                Ok(true)
            }
            Order::SlowDown { machine, lasts, by } => {
                self.latencies.slow_down(machine, now + lasts, by);
                self.record.slowed(Disruption::DelayBurst);
                Ok(true)
            }
        }
    }

    /// Returns the objection that something is not done, with what each program waits for.
    fn no_progress(&self, when: &str) -> Objection {
        self.programs.no_progress(&self.subject, when)
    }

    fn servers(&self) -> impl Iterator<Item = ServerId> + use<S> {
        (1..=self.subject.servers()).map(ServerId)
    }

    fn clients(&self) -> impl Iterator<Item = ClientId> + use<S> {
        ClientId::first(self.subject.clients())
    }

    fn machines(&self) -> impl Iterator<Item = Machine> + use<S> {
        self.servers().map(Machine::Server).chain(self.clients().map(Machine::Client))
    }
}

#[cfg(test)]
mod tests;
