//! A modelled ensemble that is served to clients outside of the run ([`Outside`]) while a clock goes on.
//!
//! The caller says what time it is. Everything that is due by then happens, in the order in which it is due; latencies of
//! disks and of the network between servers, and the order of elections, are drawn from a seed. What clients send arrives at
//! once: the network that they have really passed is outside. Faults happen when the caller asks for them
//! ([`faults`](self)).
//!
//! Inputs, faults and everything that follows are steps, so the run can be recorded as it goes ([`Served::recorded`]) and
//! replayed ([`replica::replay`](crate::replica::replay)), and the monitors of servers judge it meanwhile.

mod faults;
#[cfg(test)]
mod tests;

pub use faults::{LostReply, Refused, Reply};

use crate::random::{Random, Ratio, Seeds};
use crate::replica::{JUDGED, Judged, Judges, empty_case};
use crate::run::demands::asserted;
use crate::run::mends::SUPERVISION;
use crate::seeded::heap::{Due, Heap};
use crate::seeded::latency::Latencies;
use crate::seeded::timings::{Latency, Outlier, Timings};
use std::fmt;
use std::sync::Arc;
use vivarium_model::case::Case;
use vivarium_model::config::{Config, ServerOptions};
use vivarium_model::effect::{Effect, Effects, Status};
use vivarium_model::ensemble::Ensemble;
use vivarium_model::event::Event;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::id::{ClientConnection, ClientId, ServerId, SessionId};
use vivarium_model::network::Delivered;
use vivarium_model::observation::Custom;
use vivarium_model::outside::Outside;
use vivarium_model::packet::{ClientPacket, ServerPacket};
use vivarium_model::property::{Monitor, Objection};
use vivarium_model::release::Bugs;
use vivarium_model::step::Step;
use vivarium_model::time::{Duration, Time};

/// The part of the wake-ups that a sweep misses (ZOOKEEPER-4537) that is missed here. Each costs a client the time until its
/// next ping, and a real server misses none in thousands of writes.
const MISSED: Ratio = Ratio::one_in(200);

/// The settings of a served ensemble.
#[derive(Clone, Debug)]
pub struct ServedOptions {
    /// The number of servers.
    pub servers: u8,
    /// The defects that the servers have.
    pub bugs: Bugs,
    /// The servers' own options.
    pub options: ServerOptions,
    /// The length of a tick.
    pub tick: Duration,
    /// What latencies, elections and faults are drawn from.
    pub seed: u64,
    /// How often each server was started before: the ids of sessions depend on it.
    pub earlier_starts: u16,
    /// The time at which the ensemble starts, in microseconds since 1970: znodes get their times from it.
    pub start: Time,
}

impl Default for ServedOptions {
    /// Three servers without defects.
    fn default() -> ServedOptions {
        ServedOptions {
            servers: 3,
            bugs: Bugs::NONE,
            options: ServerOptions::default(),
            tick: Duration::from_secs(2),
            seed: 0,
            earlier_starts: 0,
            start: Time(1_000_000),
        }
    }
}

/// A modelled ensemble that is served to clients outside of the run. See the [module](self).
pub struct Served {
    judged: Judged,
    heap: Heap,
    latencies: Latencies,
    wake_ups: Random,
    seeds: Seeds,
    faults: faults::Standing,
    effects: Effects,
    delivered: Vec<(ClientConnection, Delivered<ServerPacket>)>,
    /// The steps since the last call of [`Served::recorded`].
    steps: Vec<(Time, Step)>,
    taken: u64,
    violated: Option<(Objection, Fingerprint)>,
}

/// What has happened since the last record.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// The inputs from outside.
    pub outside: Vec<Arc<Outside>>,
    /// The steps with their times.
    pub steps: Vec<(Time, Step)>,
    /// The run's hash after the last step.
    pub hash: Fingerprint,
    /// The objection to the last step, if there was one.
    pub violation: Option<Objection>,
}

impl Served {
    /// Starts the servers. They elect a leader as time passes.
    pub fn new(settings: &ServedOptions) -> Served {
        Served::judged_by(settings, Vec::new())
    }

    /// Starts the servers; these monitors judge what programs observe ([`Served::observe`]), besides those of servers.
    pub fn judged_by(settings: &ServedOptions, further: Vec<Box<dyn Monitor>>) -> Served {
        let mut config = Config::new(settings.servers, 0);
        config.bugs = settings.bugs;
        config.options = settings.options.clone();
        config.tick = settings.tick;
        config.deletes_containers = true;
        config.earlier_starts = settings.earlier_starts;
        config.outside = true;
        let seeds = Seeds::new(settings.seed);
        let servers = usize::from(settings.servers);
        let mut served = Served {
            judged: Judged::new(&Arc::new(config), Judges::ServersAndClients, further),
            heap: Heap::new(servers, 0, settings.tick),
            latencies: Latencies::new(timings(settings.servers), None, &seeds)
                .with_bugs(settings.bugs),
            wake_ups: seeds.stream("wake-ups", 0),
            seeds,
            faults: faults::Standing::default(),
            effects: Effects::hashed(),
            delivered: Vec::new(),
            steps: Vec::new(),
            taken: 0,
            violated: None,
        };
        served.heap.pass(settings.start);
        for server in served.ensemble().config().server_ids() {
            served.take(Due::Step(Step::Restart(server)));
        }
        served
    }

    /// Returns the servers, their disks and the network.
    pub fn ensemble(&self) -> &Ensemble {
        self.judged.world.ensemble()
    }

    /// Returns the number of steps that have been taken.
    pub fn steps(&self) -> u64 {
        self.taken
    }

    /// Returns the time of the last step or input.
    pub fn now(&self) -> Time {
        self.heap.now()
    }

    /// Returns the time at which something is due next; nothing happens before.
    pub fn next(&self) -> Option<Time> {
        self.heap.next()
    }

    /// Lets everything happen that is due by this time. The time of the ensemble is then that of the last step.
    pub fn run(&mut self, until: Time) {
        while let Some((at, due)) = self.heap.pop_until(until) {
            match due {
                Due::Step(Step::ToClient(connection)) if self.loses(connection) => {}
                Due::Step(Step::Fsync(server)) if self.fails(server) => {}
                Due::Step(step) => match self.held(at, &step) {
                    Some(until) => self.heap.push(until, due),
                    None => drop(self.take(due)),
                },
                Due::Timer(_) => drop(self.take(due)),
                Due::Fault(fault, _) => unreachable!("{fault} has no turn here"),
                Due::Rule(rule) => unreachable!("there is no script with a rule {rule}"),
            }
        }
    }

    /// Lets time pass: everything happens that is due by then, and what comes next happens no earlier.
    pub fn pass(&mut self, until: Time) {
        self.run(until);
        self.heap.pass(until);
    }

    /// Opens a connection for a client: the next one ([`Ensemble::next_outside`]), or one whose connections have ended.
    /// Returns `None` if the server is down, as a refused connection.
    pub fn open(&mut self, client: ClientId, server: ServerId) -> Option<ClientConnection> {
        if !self.ensemble().is_up(server) {
            return None;
        }
        let before = self.ensemble().open_connections(client);
        self.outside(Outside::Opens { client, server });
        let mut after = self.ensemble().open_connections(client);
        after.retain(|connection| !before.contains(connection));
        after.pop()
    }

    /// Sends a packet. Until a ConnectRequest is answered, a server reads nothing more of the connection, so nothing else is to
    /// be sent.
    pub fn send(&mut self, connection: ClientConnection, packet: ClientPacket) {
        if let Some(reply) = self.faults.lost.for_packet(connection, &packet) {
            return self.lose(reply, connection, packet);
        }
        self.outside(Outside::Sends { connection, packet });
    }

    /// Closes the client's end of a connection.
    pub fn hang_up(&mut self, connection: ClientConnection) {
        self.outside(Outside::HangsUp { connection });
    }

    /// Takes the observation of a program, whose observer has a number of its own: the next one
    /// ([`Ensemble::next_outside`]) when it observes first. `session` is the one by which it acts.
    pub fn observe(
        &mut self,
        client: ClientId,
        observer: &str,
        session: Option<SessionId>,
        observation: Custom,
    ) {
        let observer = observer.into();
        self.outside(Outside::Observes { client, observer, session, observation });
    }

    /// The program of an observer has ended: it believes nothing any more.
    pub fn end_of_program(&mut self, client: ClientId) {
        self.outside(Outside::Ends { client });
    }

    /// Returns the packets and ends of connections that clients have read since the last call.
    pub fn delivered(
        &mut self,
    ) -> impl Iterator<Item = (ClientConnection, Delivered<ServerPacket>)> + '_ {
        self.delivered.drain(..)
    }

    /// Returns what has happened since the last call, for a record, and forgets it. Without such calls the record grows.
    pub fn recorded(&mut self) -> Recorded {
        Recorded {
            outside: self.judged.world.take_out_inputs(),
            steps: std::mem::take(&mut self.steps),
            hash: self.hash(),
            violation: self.violation().cloned(),
        }
    }

    /// Returns a case without steps, to which the records are to be added.
    pub fn case(&self) -> Case {
        let mut case = empty_case(self.ensemble().config());
        case.parameters.insert(JUDGED.0.into(), JUDGED.1.into());
        case
    }

    /// Returns the objection to the first property that was violated. The record ends there; the ensemble goes on.
    pub fn violation(&self) -> Option<&Objection> {
        self.violated.as_ref().map(|(objection, _)| objection)
    }

    fn hash(&self) -> Fingerprint {
        let hasher = self.effects.hasher.as_ref().expect("it was made with one");
        self.violated.as_ref().map_or_else(|| hasher.fingerprint(), |(_, hash)| *hash)
    }

    fn outside(&mut self, input: Outside) {
        let step = self.judged.world.from_outside(input);
        self.take(Due::Step(step));
    }

    /// Takes a step now and schedules what follows. Returns true if it was possible.
    fn take(&mut self, due: Due) -> bool {
        let now = self.heap.now();
        let step = match due {
            Due::Step(step) => step,
            Due::Timer(timer) => Step::Fire(timer),
            Due::Fault(fault, _) => unreachable!("{fault} is no step"),
            Due::Rule(rule) => unreachable!("the rule {rule} is no step"),
        };
        if let Some(server) = self.paused(&step) {
            self.faults.paused.entry(server).or_default().push(due);
            return false;
        }
        self.effects.clear();
        let taken = asserted(|| self.judged.take(now, &step, &mut self.effects));
        let (status, objection) = match taken.and_then(|taken| taken) {
            Ok(status) => (status, None),
            Err(objection) => (Status::Done, Some(objection)),
        };
        match status {
            Status::Blocked(blocker) => self.heap.park(blocker, due),
            Status::Done if self.violated.is_none() => {
                self.steps.push((now, step));
                self.taken += 1;
                self.violated = objection.map(|objection| (objection, self.hash()));
            }
            Status::Done | Status::NotEnabled => {}
        }
        self.follow_up(now);
        status == Status::Done
    }

    /// Schedules the steps that the last step made due.
    fn follow_up(&mut self, now: Time) {
        let effects = std::mem::take(&mut self.effects.effects);
        for effect in &effects {
            match *effect {
                Effect::Due(Step::ToClient(connection)) => {
                    self.heap.push(now, Due::Step(Step::ToClient(connection)));
                }
                Effect::Due(step) => {
                    if let Step::Apply(server) = step
                        && self.latencies.misses_wake_up(server)
                        && self.wake_ups.chance(MISSED)
                    {
                        self.heap.push(now, Due::Step(Step::MissWakeUp(server)));
                    }
                    let due = self.due(now, &step);
                    self.heap.push(due, Due::Step(step));
                }
                Effect::Arm { timer, after, spread } => {
                    self.heap.arm(timer, after + self.latencies.spread(timer, spread));
                }
                Effect::Disarm(timer) => self.heap.disarm(timer),
                Effect::Unblocked(blocker) => self.heap.unblock(blocker),
                Effect::Random(client, _) => unreachable!("{client} has no program here"),
            }
        }
        self.effects.effects = effects;
        self.delivered.append(&mut self.effects.to_outside);
        for event in &self.effects.events {
            if let Event::Exited { server, .. } = event {
                self.heap.push(now + SUPERVISION, Due::Step(Step::Restart(*server)));
            }
        }
    }

    /// Returns when a step that became due now completes. What clients send has arrived.
    fn due(&mut self, now: Time, step: &Step) -> Time {
        match step {
            Step::ToServer(_) | Step::ToClient(_) => now,
            step => self.latencies.due(now, step) + self.faults.slower(step),
        }
    }

    /// Returns the time until which a step waits for a stalled disk.
    fn held(&self, now: Time, step: &Step) -> Option<Time> {
        self.latencies.stalled(now, step)
    }

    /// Returns the server that would take this step and is paused.
    fn paused(&self, step: &Step) -> Option<ServerId> {
        let taker = match step {
            Step::ToServer(connection) => self.ensemble().server_of(*connection),
            Step::Crash { .. } | Step::Restart(_) => None,
            step => self.ensemble().taker(step),
        };
        taker.filter(|server| self.faults.paused.contains_key(server))
    }
}

impl fmt::Debug for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Served").field("now", &self.now()).field("steps", &self.taken).finish()
    }
}

/// Returns the latencies of servers in one room with fast disks: so short that a request is answered as soon as it is read,
/// and never equal, so that seeds take things in different orders.
fn timings(servers: u8) -> Timings {
    let microseconds = |base, jitter| Latency {
        base: Duration::from_micros(base),
        jitter: Duration::from_micros(jitter),
    };
    Timings {
        servers: (0..servers).map(|_| microseconds(1, 4)).collect(),
        clients: Vec::new(),
        network_outlier: Outlier::NONE,
        append: microseconds(0, 1),
        fsync: microseconds(2, 6),
        disk_outlier: Outlier::NONE,
        program: microseconds(1, 0),
        resource: microseconds(1, 0),
    }
}
