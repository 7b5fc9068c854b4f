//! Latencies of packets, disks and programs.
//!
//! Every link and disk has its own base latency and jitter, drawn from the seed, and occasional outliers. A
//! connection is first in, first out, so a packet is never due before the previous one. Faults can slow down a
//! machine's links for a while, or stall a disk; and in some runs some machines are occasionally slow
//! ([`crate::seeded::pace`]).

use crate::random::{Random, Ratio, Seeds};
use crate::seeded::pace::{SlowReactions, Stretch, Stretched};
use crate::seeded::timings::{Latency, Outlier, Timings};
use vivarium_model::id::{ClientId, Machine, ServerId};
use vivarium_model::release::{Bug, Bugs};
use vivarium_model::step::Step;
use vivarium_model::time::{Duration, Time};
use vivarium_model::timer::Timer;

/// The due time of each queue's last step; the next step is not due before it.
#[derive(Clone, Debug, Default)]
struct Queues(Vec<Time>);

impl Queues {
    fn after_last(&mut self, queue: usize, due: Time) -> Time {
        if queue >= self.0.len() {
            self.0.resize(queue + 1, Time::ZERO);
        }
        let last = &mut self.0[queue];
        *last = due.max(*last);
        *last
    }
}

/// The longest pause of a thread whose role has ended.
const LONGEST_REST: Duration = Duration::from_secs(4);

/// The links of one machine: their random stream, their queues, and their slowdowns.
#[derive(Clone, Debug)]
struct Links {
    latency: Latency,
    random: Random,
    queues: Queues,
    /// Until this time every packet takes longer.
    slow_until: Time,
    slower_by: Duration,
    /// Occasional delays of packets.
    stretched: Option<Stretched>,
}

impl Links {
    fn new(latency: Latency, random: Random, stretched: Option<Stretched>) -> Links {
        Links {
            latency,
            random,
            stretched,
            queues: Queues::default(),
            slow_until: Time::ZERO,
            slower_by: Duration::ZERO,
        }
    }

    fn arrival(&mut self, now: Time, queue: usize, outlier: Outlier) -> Time {
        let mut latency = self.latency.draw(&mut self.random);
        if self.random.chance(outlier.ratio) {
            latency += self.random.exponential_span(outlier.mean);
        }
        if now < self.slow_until {
            latency += self.slower_by;
        }
        latency += longer(&mut self.stretched);
        self.queues.after_last(queue, now + latency)
    }
}

/// One server's disk and threads: their random stream and their queues.
#[derive(Clone, Debug)]
struct Disk {
    random: Random,
    queues: Queues,
    stalled_until: Time,
    /// The stream of pieces to this server.
    stream: SlowStream,
    /// Occasional delays of its CommitProcessor.
    commits: Option<Stretched>,
}

/// A slow handler of a leader: its next piece waits until `held_until`, and each later one up to `until` takes `by`
/// longer.
#[derive(Clone, Copy, Debug, Default)]
struct SlowStream {
    held_until: Time,
    until: Time,
    by: Duration,
}

/// One client's program: its reaction time, and that of outside resources.
#[derive(Clone, Debug)]
struct Programs {
    random: Random,
    queues: Queues,
    /// The random numbers for the program itself.
    numbers: Random,
    /// Occasional delays of its reactions.
    stretched: Option<Stretched>,
}

fn longer(stretched: &mut Option<Stretched>) -> Duration {
    stretched.as_mut().map(Stretched::longer).unwrap_or_default()
}

/// Computes when each step is due.
#[derive(Clone, Debug)]
pub struct Latencies {
    timings: Timings,
    servers: Vec<Links>,
    clients: Vec<Links>,
    disks: Vec<Disk>,
    programs: Vec<Programs>,
    misses_wake_ups: bool,
}

impl Latencies {
    /// Returns the latencies of a run with these timings and slow reactions.
    pub fn new(timings: Timings, slow: Option<&SlowReactions>, seeds: &Seeds) -> Latencies {
        // Slow reactions use random streams of their own.
        let stretched = |purpose: &str, stretches: Option<&Vec<Stretch>>, at: u64| {
            let stretch = stretches.and_then(|stretches| stretches.get(at as usize).copied());
            Stretched::new(stretch, seeds.stream(&format!("slow {purpose}"), at))
        };
        let links = |purpose: &str, latencies: &[Latency], stretches: Option<&Vec<Stretch>>| {
            let link = |(at, latency): (u64, &Latency)| {
                let stretched = stretched(purpose, stretches, at);
                Links::new(*latency, seeds.stream(purpose, at), stretched)
            };
            (0u64..).zip(latencies).map(link).collect()
        };
        let disk = |at| Disk {
            random: seeds.stream("disk", at),
            queues: Queues::default(),
            stalled_until: Time::ZERO,
            stream: SlowStream::default(),
            commits: stretched("commits", slow.map(|slow| &slow.commits), at),
        };
        let program = |at| Programs {
            random: seeds.stream("program", at),
            queues: Queues::default(),
            numbers: seeds.stream("program random", at),
            stretched: stretched("program", slow.map(|slow| &slow.programs), at),
        };
        Latencies {
            servers: links("server network", &timings.servers, slow.map(|slow| &slow.servers)),
            clients: links("client network", &timings.clients, slow.map(|slow| &slow.clients)),
            disks: (0..timings.servers.len() as u64).map(disk).collect(),
            programs: (0..timings.clients.len() as u64).map(program).collect(),
            misses_wake_ups: false,
            timings,
        }
    }

    /// Makes CommitProcessors miss wake-ups, if the servers have that defect
    /// ([`vivarium_model::release::Bug::MissedWakeUp`]).
    pub fn with_bugs(self, bugs: Bugs) -> Latencies {
        Latencies { misses_wake_ups: bugs.has(Bug::MissedWakeUp), ..self }
    }

    /// Returns when a step that became due at `now` completes.
    pub fn due(&mut self, now: Time, step: &Step) -> Time {
        let timings = &self.timings;
        match *step {
            Step::ToServer(connection) => {
                self.client_link(connection.client, now, 2 * usize::from(connection.slot))
            }
            Step::ToClient(connection) => {
                self.client_link(connection.client, now, 2 * usize::from(connection.slot) + 1)
            }
            Step::ToLeader(connection) => {
                let queue = LEARNER_QUEUES + 2 * usize::from(connection.slot);
                self.server_link(connection.learner, now, queue)
            }
            Step::ToLearner(connection) => {
                let queue = LEARNER_QUEUES + 2 * usize::from(connection.slot) + 1;
                self.server_link(connection.learner, now, queue)
            }
            Step::Vote { from, to } => self.server_link(from, now, usize::from(to.0)),
            Step::Message { from, to } => {
                self.client_link(from, now, MESSAGE_QUEUES + usize::from(to.0))
            }
            Step::Append(server) => self.disk(server, now, 0, timings.append),
            Step::Fsync(server) => self.disk(server, now, 1, timings.fsync),
            Step::Write(server) => self.disk(server, now, 2, timings.fsync),
            Step::Snapshot(server) => self.disk(server, now, 3, timings.fsync),
            Step::Stream(connection) => {
                let queue = 4 + usize::from(connection.slot);
                let slow = self.disks[connection.learner.index()].stream;
                let slower = if now < slow.until { slow.by } else { Duration::ZERO };
                let mut piece = timings.append;
                piece.base += slower;
                self.disk(connection.learner, now, queue, piece)
            }
            Step::Start(client) | Step::Input(client) | Step::Random { client, .. } => {
                let longer = longer(&mut self.programs[client.index()].stretched);
                self.program(client, now + longer, 0, timings.program)
            }
            Step::Resource { client, .. } => self.program(client, now, 1, timings.resource),
            // Usually a commit is applied before anything else happens.
            Step::Apply(server) => now + longer(&mut self.disks[server.index()].commits),
            // The thread pauses long enough for its server to have joined again.
            Step::ApplyRest(server) => {
                let random = &mut self.disks[server.index()].random;
                now + random.span(Duration::ZERO, LONGEST_REST)
            }
            // No other step becomes due by itself: timers have deadlines, faults their plan.
            _ => now,
        }
    }

    /// Slows down a machine's links for a while.
    pub fn slow_down(&mut self, machine: Machine, until: Time, by: Duration) {
        let links = match machine {
            Machine::Server(server) => &mut self.servers[server.index()],
            Machine::Client(client) => &mut self.clients[client.index()],
        };
        links.slow_until = until;
        links.slower_by = by;
    }

    /// Stalls a server's disk: it makes nothing durable before `until`.
    pub fn stall(&mut self, server: ServerId, until: Time) {
        let stalled_until = &mut self.disks[server.index()].stalled_until;
        *stalled_until = until.max(*stalled_until);
    }

    /// Slows down the leader's handler of a learner for a while, beginning with the piece that is already due.
    pub(crate) fn slow_stream(
        &mut self,
        learner: ServerId,
        now: Time,
        lasts: Duration,
        by: Duration,
    ) {
        let slow = SlowStream { held_until: now + by, until: now + lasts, by };
        self.disks[learner.index()].stream = slow;
    }

    /// Returns the time until which this step waits for a stalled disk or handler, if it does. An append does not
    /// wait, because it only writes to the page cache.
    pub fn stalled(&self, now: Time, step: &Step) -> Option<Time> {
        let until = match *step {
            Step::Fsync(server) | Step::Write(server) | Step::Snapshot(server) => {
                self.disks[server.index()].stalled_until
            }
            Step::Stream(connection) => self.disks[connection.learner.index()].stream.held_until,
            _ => return None,
        };
        (until > now).then_some(until)
    }

    /// Ends all slowdowns and stalls, because the faults are over.
    pub fn recover(&mut self, now: Time) {
        for links in self.servers.iter_mut().chain(&mut self.clients) {
            links.slow_until = now;
            links.stretched = None;
        }
        for program in &mut self.programs {
            program.stretched = None;
        }
        for disk in &mut self.disks {
            disk.stalled_until = now;
            disk.stream = SlowStream::default();
            disk.commits = None;
        }
    }

    /// Draws whether the CommitProcessor misses the wake-up for its newest entry, if the servers have that defect.
    pub(crate) fn misses_wake_up(&mut self, server: ServerId) -> bool {
        self.misses_wake_ups && self.disks[server.index()].random.chance(Ratio::one_in(20))
    }

    /// Returns the next random number for a client's program.
    pub(crate) fn random_number(&mut self, client: ClientId) -> u64 {
        self.programs[client.index()].numbers.number()
    }

    /// Draws the additional delay of a timer; a zero spread needs no draw.
    pub fn spread(&mut self, timer: Timer, spread: Duration) -> Duration {
        if spread.is_zero() {
            return Duration::ZERO;
        }
        let random = match timer {
            Timer::Server(server, _) => &mut self.servers[server.index()].random,
            Timer::Client(client, _) | Timer::Sleep(client, _) => {
                &mut self.clients[client.index()].random
            }
        };
        random.span(Duration::ZERO, spread)
    }

    fn client_link(&mut self, client: ClientId, now: Time, queue: usize) -> Time {
        self.clients[client.index()].arrival(now, queue, self.timings.network_outlier)
    }

    fn server_link(&mut self, server: ServerId, now: Time, queue: usize) -> Time {
        self.servers[server.index()].arrival(now, queue, self.timings.network_outlier)
    }

    fn disk(&mut self, server: ServerId, now: Time, queue: usize, latency: Latency) -> Time {
        let disk = &mut self.disks[server.index()];
        let mut span = latency.draw(&mut disk.random);
        if disk.random.chance(self.timings.disk_outlier.ratio) {
            span += disk.random.exponential_span(self.timings.disk_outlier.mean);
        }
        disk.queues.after_last(queue, now + span)
    }

    fn program(&mut self, client: ClientId, now: Time, queue: usize, latency: Latency) -> Time {
        let program = &mut self.programs[client.index()];
        let span = latency.draw(&mut program.random);
        program.queues.after_last(queue, now + span)
    }
}

/// A server's queues: votes to each server, then both directions of its connections.
const LEARNER_QUEUES: usize = 256;
/// A client's queues: both directions of its connections, then messages to each client.
const MESSAGE_QUEUES: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use vivarium_model::id::{CallId, ClientConnection, LearnerConnection};

    const MILLISECOND: Duration = Duration::from_millis(1);

    fn timings() -> Timings {
        let latency = Latency { base: MILLISECOND, jitter: 9 * MILLISECOND };
        let outlier = Outlier { ratio: Ratio::one_in(5), mean: 50 * MILLISECOND };
        Timings {
            servers: vec![latency; 3],
            clients: vec![latency; 2],
            network_outlier: outlier,
            append: latency,
            fsync: latency,
            disk_outlier: outlier,
            program: latency,
            resource: latency,
        }
    }

    fn latencies(seed: u64) -> Latencies {
        Latencies::new(timings(), None, &Seeds::new(seed))
    }

    /// Every machine is slow every other time.
    fn slow() -> SlowReactions {
        let stretch = |longest| Stretch { ratio: Ratio::one_in(2), longest };
        SlowReactions {
            programs: vec![stretch(5_000 * MILLISECOND); 2],
            clients: vec![stretch(300 * MILLISECOND); 2],
            servers: vec![stretch(50 * MILLISECOND); 3],
            commits: vec![stretch(50 * MILLISECOND); 3],
        }
    }

    fn slow_latencies(seed: u64) -> Latencies {
        Latencies::new(timings(), Some(&slow()), &Seeds::new(seed))
    }

    fn every_queue() -> Vec<Step> {
        let (one, two) = (ServerId(1), ServerId(2));
        let (client, other) = (ClientId(1), ClientId(2));
        let connection = ClientConnection { client, slot: 0 };
        let learner = LearnerConnection { learner: one, slot: 1 };
        vec![
            Step::ToServer(connection),
            Step::ToClient(connection),
            Step::ToServer(ClientConnection { client, slot: 1 }),
            Step::ToLeader(learner),
            Step::ToLearner(learner),
            Step::Stream(learner),
            Step::Vote { from: one, to: two },
            Step::Append(one),
            Step::Fsync(one),
            Step::Write(one),
            Step::Snapshot(one),
            Step::Start(client),
            Step::Input(other),
            Step::Resource { client, call: CallId(0) },
            Step::Message { from: client, to: other },
        ]
    }

    proptest! {
        #[test]
        fn every_queue_is_first_in_first_out(
            seed: u64,
            order in proptest::collection::vec((0..15usize, 0..3_000u64), 1..200),
        ) {
            let mut latencies = slow_latencies(seed);
            latencies.slow_down(Machine::Client(ClientId(1)), Time(9_000), 300 * MILLISECOND);
            let steps = every_queue();
            let mut last = vec![Time::ZERO; steps.len()];
            let mut now = Time::ZERO;
            for (queue, pause) in order {
                now = now + Duration::from_micros(pause);
                let due = latencies.due(now, &steps[queue]);
                prop_assert!(due >= now + MILLISECOND, "{} is too fast", steps[queue]);
                prop_assert!(due >= last[queue], "{} overtakes", steps[queue]);
                last[queue] = due;
            }
        }
    }

    #[test]
    fn slow_reactions_only_add_occasional_delays_until_they_recover() {
        let (connection, learner) = (
            ClientConnection { client: ClientId(1), slot: 0 },
            LearnerConnection { learner: ServerId(1), slot: 0 },
        );
        for (step, longest) in [
            (Step::Input(ClientId(1)), 5_000 * MILLISECOND),
            (Step::ToServer(connection), 300 * MILLISECOND),
            (Step::ToClient(connection), 300 * MILLISECOND),
            (Step::ToLearner(learner), 50 * MILLISECOND),
        ] {
            let (mut plain, mut slow) = (latencies(1), slow_latencies(1));
            let mut longer = 0;
            // So far apart that no packet waits in a queue.
            let moments = |from: u64| (from..from + 400).map(|at| Time(60_000_000 * at));
            for now in moments(0) {
                let by = slow.due(now, &step).since(plain.due(now, &step));
                assert!(by.is_zero() || (MILLISECOND..=longest).contains(&by), "{step}: {by:?}");
                longer += u32::from(!by.is_zero());
            }
            assert!((150..250).contains(&longer), "{step}: {longer} times longer");
            slow.recover(Time(60_000_000 * 400));
            for now in moments(400) {
                assert_eq!(slow.due(now, &step), plain.due(now, &step), "{step}");
            }
        }
    }

    #[test]
    fn queues_do_not_wait_for_each_other() {
        let mut latencies = latencies(1);
        latencies.slow_down(Machine::Client(ClientId(1)), Time(1), 1_000 * MILLISECOND);
        let due = |latencies: &mut Latencies, step: &Step| latencies.due(Time::ZERO, step);
        let slow =
            due(&mut latencies, &Step::ToServer(ClientConnection { client: ClientId(1), slot: 0 }));
        assert!(slow >= Time::ZERO + 1_000 * MILLISECOND);
        let other =
            due(&mut latencies, &Step::ToServer(ClientConnection { client: ClientId(2), slot: 0 }));
        assert!(other < slow);
        latencies.recover(Time::ZERO);
        let later = Time::ZERO + 2_000 * MILLISECOND;
        let step = Step::ToClient(ClientConnection { client: ClientId(1), slot: 0 });
        assert!(latencies.due(later, &step) < later + 900 * MILLISECOND, "fast again");
    }

    #[test]
    fn a_stalled_disk_holds_back_its_own_steps_until_it_recovers() {
        let mut latencies = latencies(1);
        latencies.stall(ServerId(2), Time(50));
        latencies.stall(ServerId(2), Time(30));
        let stalled = |latencies: &Latencies, now, step| latencies.stalled(Time(now), &step);
        for step in [Step::Fsync, Step::Write, Step::Snapshot] {
            assert_eq!(stalled(&latencies, 10, step(ServerId(2))), Some(Time(50)));
            assert_eq!(stalled(&latencies, 50, step(ServerId(2))), None);
            assert_eq!(stalled(&latencies, 10, step(ServerId(1))), None);
        }
        for step in [Step::Append(ServerId(2)), Step::Input(ClientId(2))] {
            assert_eq!(stalled(&latencies, 10, step), None);
        }
        latencies.recover(Time(20));
        assert_eq!(stalled(&latencies, 20, Step::Fsync(ServerId(2))), None);
    }

    #[test]
    fn one_machines_draws_leave_the_others_as_they_are() {
        let (mut one, mut two) = (latencies(1), latencies(1));
        let (disk, program) = (Step::Fsync(ServerId(2)), Step::Input(ClientId(2)));
        for _ in 0..10 {
            two.due(Time::ZERO, &Step::Fsync(ServerId(1)));
            two.due(Time::ZERO, &Step::Input(ClientId(1)));
            two.random_number(ClientId(2));
        }
        for step in [disk, program] {
            assert_eq!(one.due(Time::ZERO, &step), two.due(Time::ZERO, &step));
        }
    }
}
