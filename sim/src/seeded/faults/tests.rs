//! The orders of each fault in the toy world.

use super::lost_reply::LostReplies;
use super::*;
use crate::random::Seeds;
use crate::run::subject::Subject;
use crate::scenario::faults::FaultSet;
use crate::seeded::drawn::Drawn;
use crate::seeded::mock::{Defects, Mock, scenario};
use crate::seeded::plan::{self, Plan};
use std::collections::BTreeSet;
use vivarium_model::effect::Effects;
use vivarium_model::event::{Event, SyncMode};
use vivarium_model::id::{ClientConnection, LearnerConnection};
use vivarium_model::step::Tail;
use vivarium_model::time::Time;

/// A world in which every client has sent its first request, and the events of the last one.
fn world() -> (Mock, Vec<Event>) {
    let drawn = Drawn::draw(&scenario(FaultSet::NONE), 1);
    let mut world = Mock::new(&drawn, Defects::default());
    let mut events = Vec::new();
    for client in ClientId::first(drawn.run.clients()) {
        events = take(&mut world, &[Step::Start(client), Step::Input(client)]);
    }
    (world, events)
}

/// Takes these steps and returns the events of the last one.
fn take(world: &mut Mock, steps: &[Step]) -> Vec<Event> {
    let mut effects = Effects::hashed();
    for step in steps {
        effects.clear();
        world.step(Time::ZERO, step, &mut effects).expect("the toy objects to nothing");
    }
    effects.events
}

fn orders(fault: Fault, occurrence: u32) -> Vec<Order> {
    let mut random = plan::occurrence(&Seeds::new(7), fault, occurrence);
    strike(fault, &mut random, &world().0)
}

fn turn_takers() -> impl Iterator<Item = Fault> {
    Fault::ALL.into_iter().filter(|fault| fault.takes_turns())
}

#[test]
fn the_orders_of_a_fault_are_a_function_of_seed_kind_and_occurrence() {
    for fault in turn_takers() {
        for occurrence in 0..20 {
            assert_eq!(orders(fault, occurrence), orders(fault, occurrence), "{fault}");
        }
    }
}

#[test]
fn broken_things_are_mended_later() {
    for (fault, occurrence) in turn_takers().flat_map(|fault| (0..50).map(move |at| (fault, at))) {
        let orders = orders(fault, occurrence);
        for order in &orders {
            let (Order::Strike(step) | Order::Later(_, step)) = order else { continue };
            let mended = match *step {
                Step::Crash { server, .. } => Step::Restart(server),
                Step::Cut { from, to } => Step::Heal { from, to },
                Step::Kill(client) => Step::Start(client),
                Step::Pause(client) => Step::Resume(client),
                _ => continue,
            };
            let is_end = |order: &Order| matches!(order, Order::Later(_, step) if *step == mended);
            assert!(orders.iter().any(is_end), "{fault} {occurrence}: {step} has no end");
        }
    }
}

#[test]
fn strikes_are_faults_and_what_comes_later_is_an_end_or_a_fault_with_a_run_up() {
    for order in turn_takers().flat_map(|fault| (0..50).flat_map(move |at| orders(fault, at))) {
        match order {
            Order::Strike(step) => assert!(step.is_fault(), "{step}"),
            Order::Later(_, Step::Crash { .. } | Step::Rejoin(_) | Step::FsyncError { .. }) => {}
            Order::Later(_, step) => assert!(!step.is_fault(), "{step}"),
            Order::Stall(..) | Order::SlowDown { .. } | Order::SlowStream { .. } => {}
        }
    }
}

#[test]
fn a_tail_is_no_longer_than_what_is_unsynced() {
    let tail =
        Tail { survive: 2, torn: true, snapshots: true, cuts: true, packets: 1, ..Tail::LOST };
    assert_eq!(clipped(tail, 0), Tail { survive: 0, torn: false, ..tail });
    assert_eq!(clipped(tail, 2), Tail { survive: 2, torn: false, ..tail });
    assert_eq!(clipped(tail, 3), tail);
}

#[test]
fn a_symmetric_partition_cuts_both_ways_and_a_one_way_partition_does_not() {
    let cuts = |fault, occurrence| -> BTreeSet<(Machine, Machine)> {
        let cut = |order| match order {
            Order::Strike(Step::Cut { from, to }) => Some((from, to)),
            _ => None,
        };
        orders(fault, occurrence).into_iter().filter_map(cut).collect()
    };
    for occurrence in 0..50 {
        let symmetric = cuts(Fault::Partition, occurrence);
        assert!(!symmetric.is_empty());
        assert!(symmetric.iter().all(|(from, to)| symmetric.contains(&(*to, *from))));
        let one_way = cuts(Fault::OneWayPartition, occurrence);
        assert!(!one_way.is_empty());
        assert!(one_way.iter().all(|(from, to)| !one_way.contains(&(*to, *from))));
    }
}

#[test]
fn a_link_that_is_cut_already_is_left_to_the_partition_that_cut_it() {
    let (mut world, _) = world();
    let all = || servers(&world).map(Machine::Server).chain(clients(&world).map(Machine::Client));
    let pairs: Vec<_> = all().flat_map(|from| all().map(move |to| (from, to))).collect();
    let cuts: Vec<Step> = pairs.into_iter().map(|(from, to)| Step::Cut { from, to }).collect();
    take(&mut world, &cuts);
    let mut random = plan::occurrence(&Seeds::new(7), Fault::Partition, 0);
    assert_eq!(strike(Fault::Partition, &mut random, &world), []);
}

#[test]
fn surviving_packets_are_at_most_those_under_way() {
    let mut random = Seeds::new(1).stream("test", 0);
    let mut seen = BTreeSet::new();
    for _ in 0..200 {
        seen.insert(surviving(&mut random, 3));
    }
    assert_eq!(seen, BTreeSet::from([0, 1, 2, 3]));
    assert_eq!(surviving(&mut random, 0), 0);
}

/// Waits for every write with this kind only.
fn trap(kind: Fault) -> LostReplies {
    let plan = Plan { turns: Vec::new(), ambushes: vec![(kind, Ratio::one_in(1))] };
    LostReplies::new(&plan.ambushes, 4, &Seeds::new(1))
}

fn all_events(trap: &mut LostReplies, events: &[Event], world: &Mock) -> Vec<(Fault, Order)> {
    let mut orders = Vec::new();
    for at in 0..events.len() {
        trap.event(events, at, world, &mut orders);
    }
    orders
}

/// The connection of the last client in [`world`].
fn last_connection(world: &Mock) -> ClientConnection {
    let client = ClientId(world.clients().into());
    world.client_connection(client).expect("it runs")
}

#[test]
fn a_reply_is_lost_never_applied_by_losing_the_request() {
    let (world, sent) = world();
    let connection = last_connection(&world);
    let orders = all_events(&mut trap(Fault::LostReplyNeverApplied), &sent, &world);
    let broken = Step::BreakClient { connection, to_server: 0, to_client: 0 };
    assert_eq!(orders, [(Fault::LostReplyNeverApplied, Order::Strike(broken))]);
}

#[test]
fn a_reply_is_lost_pending_by_stalling_the_other_disks_once_it_is_proposed() {
    let (mut world, sent) = world();
    let connection = last_connection(&world);
    let mut trap = trap(Fault::LostReplyPending);
    assert_eq!(all_events(&mut trap, &sent, &world), []);
    let proposed = take(&mut world, &[Step::ToServer(connection)]);
    let orders = all_events(&mut trap, &proposed, &world);
    let broken = Order::Strike(Step::BreakClient { connection, to_server: 0, to_client: 0 });
    assert!(matches!(orders[0].1, Order::Stall(ServerId(2), _)), "{orders:?}");
    assert!(matches!(orders[1].1, Order::Stall(ServerId(3), _)), "{orders:?}");
    assert_eq!(orders[2..], [(Fault::LostReplyPending, broken)]);
    assert_eq!(all_events(&mut trap, &proposed, &world), [], "once is enough");
}

#[test]
fn a_reply_is_lost_applied_when_the_clients_own_server_has_applied_it() {
    let (mut world, sent) = world();
    let connection = last_connection(&world);
    let mut trap = trap(Fault::LostReplyApplied);
    assert_eq!(all_events(&mut trap, &sent, &world), []);
    let applied = take(&mut world, &[Step::ToServer(connection), Step::Fsync(ServerId(2))]);
    let elsewhere: Vec<Event> = applied
        .iter()
        .map(|event| match event.clone() {
            Event::Applied { txn, digest, .. } => {
                Event::Applied { server: ServerId(3), txn, digest }
            }
            other => other,
        })
        .collect();
    assert_eq!(all_events(&mut trap, &elsewhere, &world), [], "another server sends no reply");
    let broken = Order::Strike(Step::BreakClient { connection, to_server: 0, to_client: 0 });
    let orders = all_events(&mut trap, &applied, &world);
    assert_eq!(orders, [(Fault::LostReplyApplied, broken)]);
}

/// Returns the orders of a fault of this kind when it first strikes at this event.
fn ambushed(kind: Fault, seed: u64, event: &Event, world: &Mock) -> Vec<Order> {
    let plan = Plan { turns: Vec::new(), ambushes: vec![(kind, Ratio::one_in(1))] };
    let mut orders = Vec::new();
    ambush::Ambushes::new(&plan.ambushes, &Seeds::new(seed)).event(event, world, &mut orders);
    assert!(orders.iter().all(|(of, _)| *of == kind));
    orders.into_iter().map(|(_, order)| order).collect()
}

fn synchronising() -> Event {
    let learner = LearnerConnection { learner: ServerId(2), slot: 0 };
    Event::Synchronising { leader: ServerId(1), learner, mode: SyncMode::Trunc }
}

#[test]
fn a_crash_during_a_synchronisation_kills_one_of_the_two_and_restarts_it() {
    let (world, _) = world();
    let mut victims = BTreeSet::new();
    for seed in 0..50 {
        let orders = ambushed(Fault::SyncCrash, seed, &synchronising(), &world);
        let [Order::Later(dies, Step::Crash { server, .. }), Order::Later(starts, restart)] =
            orders[..]
        else {
            panic!("{orders:?}");
        };
        assert!(dies < starts && restart == Step::Restart(server), "{orders:?}");
        victims.insert(server);
    }
    assert_eq!(victims, BTreeSet::from([ServerId(1), ServerId(2)]));
}

#[test]
fn a_synchronisation_is_broken_off_by_a_reset_or_by_the_learner() {
    let (world, _) = world();
    let broken = |order: &Order| {
        matches!(order, Order::Later(_, Step::BreakLearner { .. } | Step::Rejoin(ServerId(2))))
    };
    for seed in 0..50 {
        let orders = ambushed(Fault::SyncBreak, seed, &synchronising(), &world);
        assert_eq!(orders.iter().filter(|order| broken(order)).count(), 1, "{orders:?}");
    }
}

#[test]
fn a_synchronisation_fails_at_the_disk_while_that_stands_still() {
    let (world, _) = world();
    for seed in 0..50 {
        let orders = ambushed(Fault::SyncFsyncError, seed, &synchronising(), &world);
        let [
            Order::Stall(stalled, lasts),
            Order::Later(after, Step::FsyncError { server, .. }),
            Order::Later(_, Step::Restart(restarted)),
        ] = orders[..]
        else {
            panic!("{orders:?}");
        };
        assert_eq!(restarted, server);
        assert!(stalled == ServerId(2) && server == stalled && after < lasts, "{orders:?}");
    }
}

#[test]
fn a_lone_leader_is_cut_off_from_all_others_both_ways_and_comes_back() {
    let (mut world, _) = world();
    let connection = last_connection(&world);
    let proposed = take(&mut world, &[Step::ToServer(connection)]);
    let is_proposal = |event: &&Event| matches!(event, Event::Proposed { .. });
    let event = proposed.iter().find(is_proposal).expect("a proposal");
    let Event::Proposed { leader, .. } = *event else { unreachable!() };
    let orders = ambushed(Fault::LoneLeader, 1, event, &world);
    for other in servers(&world).filter(|server| *server != leader) {
        let (one, two) = (Machine::Server(leader), Machine::Server(other));
        for (from, to) in [(one, two), (two, one)] {
            assert!(orders.contains(&Order::Strike(Step::Cut { from, to })), "{orders:?}");
            let heals = |order: &Order| matches!(order, Order::Later(_, step) if *step == Step::Heal { from, to });
            assert!(orders.iter().any(heals), "{orders:?}");
        }
    }
}

#[test]
fn an_ambush_waits_for_its_own_event_only() {
    let (world, sent) = world();
    for kind in [Fault::SyncCrash, Fault::SyncBreak, Fault::SlowSync, Fault::ElectionCrash] {
        assert_eq!(ambushed(kind, 1, &sent[0], &world), [], "{kind}");
    }
    assert_eq!(ambushed(Fault::ElectionCrash, 1, &synchronising(), &world), []);
}
