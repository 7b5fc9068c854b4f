//! Faults that wait for critical moments of the ensemble: an election that has just ended, a synchronisation that
//! begins, a proposal that no other server has received.
//!
//! These windows are a few disk operations or packets wide, and most of the difficult rules of servers concern them;
//! faults at random times rarely hit them.

use super::crash::{failed_write, fails_after, tail};
use super::{Order, a_while, servers, surviving};
use crate::random::{Random, Ratio, Seeds};
use crate::run::look::Look;
use crate::scenario::faults::{Await, Fault, purpose};
use vivarium_model::event::{Event, SyncMode};
use vivarium_model::id::{LearnerConnection, Machine, ServerId};
use vivarium_model::step::Step;
use vivarium_model::time::Duration;

/// One kind of such a fault in one run.
#[derive(Clone, Debug)]
struct Ambush {
    kind: Fault,
    ratio: Ratio,
    random: Random,
}

/// All such faults of a run.
#[derive(Clone, Debug)]
pub(crate) struct Ambushes(Vec<Ambush>);

impl Ambushes {
    /// Returns those that the plan contains.
    pub(crate) fn new(ambushes: &[(Fault, Ratio)], seeds: &Seeds) -> Ambushes {
        let on_servers = |(kind, _): &&(Fault, Ratio)| kind.awaits() != Some(Await::Write);
        let ambush = |(kind, ratio): &(Fault, Ratio)| Ambush {
            kind: *kind,
            ratio: *ratio,
            random: seeds.stream(&purpose(*kind), 1),
        };
        Ambushes(ambushes.iter().filter(on_servers).map(ambush).collect())
    }

    /// Handles an event. The orders given are carried out right after the step.
    pub(crate) fn event(
        &mut self,
        event: &Event,
        look: &dyn Look,
        orders: &mut Vec<(Fault, Order)>,
    ) {
        for ambush in &mut self.0 {
            if ambush.kind.awaits() == awaited(event) && ambush.is_struck(event) {
                let kind = ambush.kind;
                let given = ambush.strike(event, look);
                orders.extend(given.into_iter().map(|order| (kind, order)));
            }
        }
    }
}

/// Returns the moment that this event begins.
fn awaited(event: &Event) -> Option<Await> {
    match event {
        Event::Synchronising { .. } => Some(Await::Synchronisation),
        Event::Elected { .. } => Some(Await::Election),
        Event::Proposed { .. } => Some(Await::Proposal),
        _ => None,
    }
}

impl Ambush {
    /// Returns true if the fault strikes at this event. TRUNCs are rare, so they get two chances.
    fn is_struck(&mut self, event: &Event) -> bool {
        let once = self.random.chance(self.ratio);
        let is_trunc = matches!(event, Event::Synchronising { mode: SyncMode::Trunc, .. });
        once || is_trunc && self.random.chance(self.ratio)
    }

    fn strike(&mut self, event: &Event, look: &dyn Look) -> Vec<Order> {
        let random = &mut self.random;
        match (self.kind, event) {
            (Fault::SyncCrash, Event::Synchronising { leader, learner, .. }) => {
                let victim = if random.below(4) == 0 { *leader } else { learner.learner };
                let after = soon(random, 150);
                crash(random, victim, after)
            }
            (Fault::SyncBreak, Event::Synchronising { learner, .. }) => break_off(random, *learner),
            (Fault::SyncFsyncError, Event::Synchronising { learner, .. }) => {
                let (stall, fails) = (soon(random, 150), failed_write(random));
                fails_after(stall, learner.learner, fails)
            }
            (Fault::SlowSync, Event::Synchronising { learner, mode, .. }) => {
                // A SNAP has many pieces; anything in one piece needs time for a commit.
                let most = if *mode == SyncMode::Snap { 40 } else { 150 };
                vec![Order::SlowStream {
                    learner: learner.learner,
                    lasts: a_while(random, 20, 300),
                    by: random.span(Duration::from_millis(1), Duration::from_millis(most)),
                }]
            }
            (Fault::ElectionCrash, Event::Elected { server, leader, .. }) => {
                let victim = if random.below(4) == 0 { *server } else { *leader };
                let after = soon(random, 80);
                crash(random, victim, after)
            }
            (Fault::LoneLeader, Event::Proposed { leader, .. }) => isolate(random, *leader, look),
            (Fault::LoneFsyncError, Event::Proposed { leader, .. }) => {
                let stall = random.span(Duration::from_millis(1), Duration::from_millis(50));
                let mut orders = isolate(random, *leader, look);
                orders.extend(fails_after(stall, *leader, failed_write(random)));
                orders
            }
            _ => Vec::new(),
        }
    }
}

/// Returns a delay within the few disk operations and packets that follow an event, on fast or on slow machines.
fn soon(random: &mut Random, slow: u64) -> Duration {
    let mean = random.choose(&[2, 10, 40, slow]).unwrap_or(slow);
    random.exponential_span(Duration::from_millis(mean))
}

/// Crashes a server after a while and restarts it soon, before the others have advanced far.
fn crash(random: &mut Random, server: ServerId, after: Duration) -> Vec<Order> {
    let down_for = a_while(random, 10, 300);
    vec![
        Order::Later(after, Step::Crash { server, tail: tail(random) }),
        Order::Later(after + down_for, Step::Restart(server)),
    ]
}

/// Interrupts a learner's synchronisation; the learner keeps its memory. In half of the cases everything is slow
/// before, so that transactions commit meanwhile and the learner's disk operations are incomplete; and the learner
/// crashes soon afterwards, so that whatever its disk lacks is lost.
fn break_off(random: &mut Random, connection: LearnerConnection) -> Vec<Order> {
    let learner = connection.learner;
    let is_slow = random.chance(Ratio::one_in(2));
    let by = random.span(Duration::from_millis(5), Duration::from_millis(60));
    let stall = random.span(Duration::from_millis(50), Duration::from_millis(300));
    let break_slow = by + random.span(Duration::ZERO, stall);
    let break_fast = soon(random, 150);
    let is_reset = random.chance(Ratio::one_in(2));
    let broken = if is_reset {
        let (to_leader, to_learner) = (surviving(random, 2), surviving(random, 4));
        Step::BreakLearner { connection, to_leader, to_learner }
    } else {
        Step::Rejoin(learner)
    };
    if !is_slow {
        return vec![Order::Later(break_fast, broken)];
    }
    let dies_after = break_slow + a_while(random, 50, 300);
    let mut orders = vec![
        Order::SlowStream { learner, lasts: by, by },
        Order::Stall(learner, by + stall),
        Order::Later(break_slow, broken),
    ];
    orders.extend(crash(random, learner, dies_after));
    orders
}

/// Breaks the leader's connections to its learners, mostly with the proposal still in flight, and cuts the leader off
/// from the other servers for a while. Its clients still reach it.
fn isolate(random: &mut Random, leader: ServerId, look: &dyn Look) -> Vec<Order> {
    let mean = random.choose(&[30, 300, 1_500]).unwrap_or(300);
    let lasts = a_while(random, 5, mean);
    let others: Vec<ServerId> = servers(look).filter(|server| *server != leader).collect();
    let mut cuts = Vec::new();
    for other in &others {
        let (one, two) = (Machine::Server(leader), Machine::Server(*other));
        // A link that is cut already is healed by the partition that cut it.
        cuts.extend([(one, two), (two, one)].into_iter().filter(|(a, b)| !look.is_cut(*a, *b)));
    }
    let mut orders: Vec<Order> =
        cuts.iter().map(|(from, to)| Order::Strike(Step::Cut { from: *from, to: *to })).collect();
    for connection in others.iter().filter_map(|other| look.learner_connection(*other)) {
        let to_learner = if random.below(4) == 0 { surviving(random, 2) } else { 0 };
        orders.push(Order::Strike(Step::BreakLearner { connection, to_leader: 0, to_learner }));
    }
    orders.extend(
        cuts.iter().map(|(from, to)| Order::Later(lasts, Step::Heal { from: *from, to: *to })),
    );
    orders
}
