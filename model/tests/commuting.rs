//! The assumptions behind cloning, hashing and the reductions of searches: steps of different servers commute, a
//! clone behaves like its original, cached fingerprints are right, and equal fingerprints mean equal states.

mod support;

use proptest::prelude::*;
use std::collections::BTreeMap;
use std::collections::VecDeque;
use support::{Dice, Engine, Scripts, ask, busy_script, create};
use vivarium_model::config::{Config, TxnLogSync};
use vivarium_model::effect::{Effects, Status};
use vivarium_model::ensemble::Ensemble;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::host::Operation;
use vivarium_model::id::{ClientId, ServerId};
use vivarium_model::note::Note;
use vivarium_model::op::{CreateMode, Request};
use vivarium_model::packet::Delivered;
use vivarium_model::step::Step;
use vivarium_model::time::{Duration, Time};
use vivarium_model::timer::Timer;
use vivarium_model::world::World;

/// Returns the server that takes a step.
fn server_of(ensemble: &Ensemble, step: &Step) -> Option<ServerId> {
    match *step {
        Step::ToServer(connection) => ensemble.server_of(connection),
        Step::ToLeader(connection) | Step::Stream(connection) => ensemble.leader_of(connection),
        Step::ToLearner(connection) => Some(connection.learner),
        Step::Vote { to, .. } => Some(to),
        Step::Append(server)
        | Step::Fsync(server)
        | Step::Apply(server)
        | Step::MissWakeUp(server)
        | Step::ApplyRest(server)
        | Step::Write(server)
        | Step::Snapshot(server)
        | Step::Rejoin(server)
        | Step::Fire(Timer::Server(server, _)) => Some(server),
        _ => None,
    }
}

/// A mailbox holds one notification, which the next one overwrites (rule 5.6.1): reading it before or after its
/// sender's next step makes a difference.
fn meet_in_a_mailbox(one: (&Step, ServerId), other: (&Step, ServerId)) -> bool {
    let reads_from =
        |step: &Step, sender: ServerId| matches!(step, Step::Vote { from, .. } if *from == sender);
    reads_from(one.0, other.1) || reads_from(other.0, one.1)
}

/// Reading the end of a connection that its opener has closed frees the connection's slot. This affects the opener's
/// next connection once all of its slots are taken.
fn frees_a_slot_of(ensemble: &Ensemble, step: &Step, opener: ServerId) -> bool {
    matches!(*step, Step::ToLeader(connection)
        if connection.learner == opener && ensemble.learner_connection(opener) != Some(connection))
}

/// A leader accepts a connection by its first read of it. If the connection breaks before this read, the learner
/// considers it refused and tries again; if it breaks later, the learner's role ends. So reading the end before or
/// after the leader's first read makes a difference.
fn accepts_what_is_refused(world: &World<Scripts>, at: Time, one: &Step, other: &Step) -> bool {
    let (up, down, reads) = match (one, other) {
        (Step::ToLeader(up), Step::ToLearner(down)) => (up, down, other),
        (Step::ToLearner(down), Step::ToLeader(up)) => (up, down, one),
        _ => return false,
    };
    if up != down {
        return false;
    }
    let mut effects = Effects::default();
    effects.notes = Some(Vec::new());
    let read = world.clone().apply(at, reads, &mut effects);
    let is_refused = |note: &Note| match note {
        Note::Refused { .. } => true,
        Note::FromLearner { delivered, .. } => *delivered == Delivered::End { accepted: false },
        Note::FromLeader { delivered, .. } => *delivered == Delivered::End { accepted: false },
        _ => false,
    };
    read == Ok(Status::Done) && effects.notes.iter().flatten().any(is_refused)
}

/// Returns the world after these steps, and whether all of them happened.
fn after(world: &World<Scripts>, at: Time, steps: [&Step; 2]) -> (World<Scripts>, bool) {
    let mut world = world.clone();
    let mut all_done = true;
    for step in steps {
        let mut effects = Effects::default();
        all_done &= world.apply(at, step, &mut effects) == Ok(Status::Done);
    }
    (world, all_done)
}

/// Checks every pair of enabled steps of different servers, and returns the number of pairs.
fn check_diamonds(engine: &Engine) -> usize {
    let ensemble = engine.world.ensemble();
    let mut steps = Vec::new();
    ensemble.enabled(&[], &mut steps);
    steps.extend(engine.timers.keys().map(|timer| Step::Fire(*timer)));
    let owned: Vec<(Step, ServerId)> = steps
        .into_iter()
        .filter_map(|step| server_of(ensemble, &step).map(|server| (step, server)))
        .collect();
    let at = Time(engine.now);
    let mut pairs = 0;
    for (index, (one, first)) in owned.iter().enumerate() {
        for (other, second) in &owned[index + 1..] {
            if first == second
                || meet_in_a_mailbox((one, *first), (other, *second))
                || frees_a_slot_of(ensemble, one, *second)
                || frees_a_slot_of(ensemble, other, *first)
                || accepts_what_is_refused(&engine.world, at, one, other)
            {
                continue;
            }
            let (left, left_done) = after(&engine.world, at, [one, other]);
            let (right, right_done) = after(&engine.world, at, [other, one]);
            assert_eq!(left_done, right_done, "{one} / {other}");
            assert_eq!(
                left.ensemble().fingerprint(),
                right.ensemble().fingerprint(),
                "{one} and {other} do not commute"
            );
            assert!(left.ensemble() == right.ensemble(), "{one} and {other} do not commute");
            pairs += usize::from(left_done);
        }
    }
    pairs
}

fn restless_config() -> Config {
    let mut config = Config::new(3, 3);
    config.commit_log_count = 4;
    config.txn_log_sync = TxnLogSync::Unlimited;
    config.snap_count = 4;
    config.snapshot_piece = 2;
    config.tick = Duration::from_millis(200);
    config
}

/// Checks the pairs at some moments of a random run with faults, and returns their number.
fn diamonds_of_a_run(seed: u64) -> usize {
    let mut engine = Engine::new(restless_config(), (1..=3).map(busy_script).collect());
    let mut dice = Dice(seed);
    let mut pairs = 0;
    for step in 0..900 {
        if dice.roll(60) == 0 {
            let fault = engine.fault(&mut dice);
            engine.step(fault).expect("no violation");
        }
        engine.go(&mut dice).expect("no violation");
        if step % 6 == 0 {
            pairs += check_diamonds(&engine);
        }
    }
    pairs
}

/// A connection breaks while the leader still has FOLLOWERINFO to read and its learner the end of the connection.
#[test]
fn a_connection_that_breaks_before_it_is_accepted_is_refused() {
    assert!(diamonds_of_a_run(17_757_365_853_173_935_057) > 20);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// At moments of a random run with faults, any two steps of different servers lead to the same state in either
    /// order.
    #[test]
    fn steps_of_different_servers_commute(seed: u64) {
        let pairs = diamonds_of_a_run(seed);
        prop_assert!(pairs > 20, "only {pairs} pairs");
    }

    /// Stepping a clone gives the same as stepping the original, and leaves the original unchanged; every cached
    /// fingerprint equals the recomputed one.
    #[test]
    fn a_clone_steps_as_its_original_and_caches_are_true(seed: u64) {
        let mut engine = Engine::new(restless_config(), (1..=3).map(busy_script).collect());
        let mut dice = Dice(seed);
        for _ in 0..600 {
            if dice.roll(60) == 0 {
                let fault = engine.fault(&mut dice);
                engine.step(fault).expect("no violation");
            }
            let before = engine.world.fingerprint();
            let mut copy = engine.clone();
            let mut copied_dice = dice.clone();
            copy.go(&mut copied_dice).expect("no violation");
            prop_assert_eq!(engine.world.fingerprint(), before);
            prop_assert_eq!(engine.world.recomputed_fingerprint(), before);
            engine.go(&mut dice).expect("no violation");
            prop_assert_eq!(engine.world.fingerprint(), copy.world.fingerprint());
            prop_assert_eq!(engine.world.fingerprint(), engine.world.recomputed_fingerprint());
        }
    }
}

/// A planted difference: without the exception for mailboxes, the check would fail.
#[test]
fn the_diamond_check_can_object() {
    let engine = Engine::new(Config::new(3, 0), Vec::new());
    let vote = Step::Vote { from: ServerId(1), to: ServerId(2) };
    let again =
        Step::Fire(Timer::Server(ServerId(1), vivarium_model::timer::ServerTimer::Notification));
    let (left, _) = after(&engine.world, Time::ZERO, [&vote, &again]);
    let (right, _) = after(&engine.world, Time::ZERO, [&again, &vote]);
    assert_ne!(left.ensemble().fingerprint(), right.ensemble().fingerprint());
}

/// A breadth-first search over everything that one server and two clients can do once the clients are connected,
/// without faults and timers. Equal fingerprints always come from equal states.
#[test]
fn a_small_breadth_first_search_ends_and_fingerprints_tell_states_apart() {
    let script = |at: u8| {
        vec![
            Operation::Connect,
            // Holds each client at the gate until both are there.
            Operation::Cancelled,
            create(&format!("/{at}"), CreateMode::Ephemeral),
            ask(Request::GetChildren { path: "/".into(), watch: false }),
        ]
    };
    let mut engine = Engine::new(Config::new(1, 2), vec![script(1), script(2)]);
    let mut dice = Dice(1);
    let clients = [ClientId(1), ClientId(2)];
    while !clients.iter().all(|client| engine.world.ensemble().can_cancel(*client)) {
        engine.go(&mut dice).expect("no violation");
    }
    for client in clients {
        engine.step(Step::Cancel(client)).expect("no violation");
    }
    let mut seen: BTreeMap<Fingerprint, Ensemble> = BTreeMap::new();
    let mut queue = VecDeque::from([engine.world.clone()]);
    let (mut generated, mut ends) = (0, 0);
    while let Some(world) = queue.pop_front() {
        let mut steps = Vec::new();
        world.ensemble().enabled(&[7], &mut steps);
        ends += usize::from(steps.is_empty());
        for step in steps {
            let mut next = world.clone();
            next.apply(Time::ZERO, &step, &mut Effects::default()).expect("no violation");
            generated += 1;
            let key = Fingerprint::of(&(next.fingerprint(), next.host_mut()));
            match seen.get(&key) {
                Some(known) => assert!(known == next.ensemble(), "one fingerprint, two states"),
                None => {
                    seen.insert(key, next.ensemble().clone());
                    queue.push_back(next);
                }
            }
        }
    }
    insta::assert_snapshot!(format!(
        "{generated} generated, {} distinct, {ends} end states",
        seen.len()
    ));
}
