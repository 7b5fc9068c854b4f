//! What the runs of a test reach, down to the awaits of its programs.

use std::time::Duration;
use vivarium::prelude::*;
use vivarium::{AwaitCounts, Coverage, Test};

/// The line of [`worker`].
const WORKER: u32 = line!() + 4;
const CONNECT: u32 = WORKER + 2;
const CREATE: u32 = WORKER + 3;
const SLEEP: u32 = WORKER + 9;
async fn worker(zookeeper: ZooKeeper, number: u8) -> Result<(), String> {
    for _ in 0..3 {
        zookeeper.connect().await;
        match zookeeper.create("/jobs/job-", &[number], CreateMode::PersistentSequential).await {
            Ok(_) | Err(Error::ConnectionLoss | Error::SessionExpired) => {}
            Err(error) => return Err(error.to_string()),
        }
        let waits = number == 1;
        if waits {
            zookeeper.sleep(Duration::from_millis(10)).await;
        }
    }
    Ok(())
}

fn of_workers(faults: Faults) -> Coverage {
    let programs = |zookeeper: ZooKeeper| async move {
        let number = zookeeper.client().index() as u8;
        worker(zookeeper, number).await
    };
    Test::new("workers", programs).clients(2).setup("/jobs").faults(faults).seeds(60).coverage()
}

/// Returns the counts of the await at this line of this file, however it was reached.
fn at(coverage: &Coverage, line: u32) -> AwaitCounts {
    let mut sum = AwaitCounts::default();
    let ends = format!("users/coverage.rs:{line}");
    for counts in &coverage.awaits {
        if counts.places.first().is_some_and(|place| place.ends_with(&ends)) {
            sum.answered += counts.answered;
            sum.lost += counts.lost;
            sum.expired += counts.expired;
            sum.dropped += counts.dropped;
            sum.killed += counts.killed;
        }
    }
    sum
}

fn count(counts: &[vivarium::Count], name: &str) -> u64 {
    let named = counts.iter().find(|count| count.name == name);
    named.unwrap_or_else(|| panic!("no count of {name}: {counts:?}")).count
}

/// Without faults every await is answered, as often as the program's loops say.
#[test]
fn awaits_are_counted_by_their_lines() {
    let coverage = of_workers(Faults::NONE);
    let answered = |answered| AwaitCounts { answered, ..AwaitCounts::default() };
    assert_eq!(at(&coverage, CREATE), answered(60 * 2 * 3));
    assert_eq!(at(&coverage, SLEEP), answered(60 * 3), "one of the two programs sleeps");
    assert!(at(&coverage, CONNECT).answered >= 60 * 2);
    assert_eq!(coverage.awaits_without(|counts| counts.lost).len(), coverage.awaits.len());
    assert_eq!(count(&coverage.events, "finished"), 120);
    assert_eq!(count(&coverage.events, "lost"), 0);
}

/// What the awaits saw agrees with the events of the same runs, which are counted elsewhere.
#[test]
fn what_faults_do_is_counted_at_the_await_where_they_strike() {
    let coverage = of_workers(Faults::ALL);
    let create = at(&coverage, CREATE);
    assert!(create.lost > 0 && create.killed > 0, "{create:?}");
    assert_eq!(create.dropped, 0, "the program drops nothing: {create:?}");
    let of = |event| count(&coverage.events, event);
    // Creates are the only requests. An answer or a loss that a killed program does not learn of is no answer.
    let (replied, lost) = (of("replied"), of("lost"));
    let or_killed = |number: u64| number..=number + create.killed;
    assert!(or_killed(create.answered).contains(&replied), "{create:?}, {replied} replied");
    // A request that was not sent yet fails too, without a loss on the network.
    assert!(lost <= create.lost + create.killed, "{create:?}, {lost} lost");
    let killed = of("killed");
    let at_once: u64 = coverage.awaits.iter().map(|counts| counts.killed).sum();
    assert!(at_once <= killed, "each program awaits one thing: {at_once} of {killed}");
    assert!(at(&coverage, SLEEP).killed > 0);
}

/// A program that never awaits is named, like in a sweep.
#[test]
#[should_panic(expected = "loops: seed 0: client 1's program")]
fn a_program_that_loops_is_named() {
    let programs = |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        loop {
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    Test::new("loops", programs).clients(1).seeds(1).coverage();
}
