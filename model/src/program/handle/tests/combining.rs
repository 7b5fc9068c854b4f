//! Awaiting several futures concurrently.

use super::*;
use crate::program::handle::{Cancelled, Either, TimedOut, join, join_all, race};

#[test]
fn a_race_polls_the_first_first_and_drops_the_loser() {
    let (mut process, begun) = started(|zookeeper| async move {
        let slow = async {
            let _guard = Guard(zookeeper.clone(), "loser dropped");
            zookeeper.sleep(seconds_of(2)).await;
        };
        match race(zookeeper.sleep(seconds_of(1)), slow).await {
            Either::Left(()) => zookeeper.custom("first", &[]),
            Either::Right(()) => zookeeper.custom("second", &[]),
        }
        Ok(())
    });
    assert_eq!(begun, [sleep(0, 1), sleep(1, 2)]);
    assert_eq!(
        reply(&mut process, 0, Outcome::Elapsed),
        [abandon(1), said("loser dropped"), said("first"), Output::Finished(Ok(()))]
    );
}

#[test]
fn of_two_that_are_ready_the_first_wins() {
    let (_, begun) = started(|_| async move {
        let winner = race(async { 1 }, async { 2 }).await;
        Err(format!("{winner:?}"))
    });
    assert_eq!(begun, [Output::Finished(Err("Left(1)".to_owned()))]);
}

#[test]
fn a_timeout_drops_what_it_wraps() {
    let run = |first: u32| {
        let (mut process, _) = started(|zookeeper| async move {
            let result = zookeeper.timeout(seconds_of(1), zookeeper.now()).await;
            Err(match result {
                Ok(_) => "in time".to_owned(),
                Err(TimedOut) => TimedOut.to_string(),
            })
        });
        let outcome = if first == 0 { Outcome::Now(Default::default()) } else { Outcome::Elapsed };
        reply(&mut process, first, outcome)
    };
    assert_eq!(run(0), [abandon(1), Output::Finished(Err("in time".to_owned()))]);
    assert_eq!(run(1), [abandon(0), Output::Finished(Err("timed out".to_owned()))]);
}

#[test]
fn cancellation_drops_a_recipe_at_its_await_point() {
    let run = |first: u32| {
        let (mut process, begun) = started(|zookeeper| async move {
            let recipe = async {
                let _guard = Guard(zookeeper.clone(), "recipe dropped");
                zookeeper.sleep(seconds_of(1)).await;
                zookeeper.custom("slept", &[]);
            };
            let result = zookeeper.cancellable(recipe).await;
            result.map_err(|Cancelled| Cancelled.to_string())
        });
        assert_eq!(begun, [submit(0, Operation::Cancelled), sleep(1, 1)]);
        let outcome = if first == 0 { Outcome::Cancelled } else { Outcome::Elapsed };
        reply(&mut process, first, outcome)
    };
    let cancelled = Output::Finished(Err("cancelled".to_owned()));
    assert_eq!(run(0), [abandon(1), said("recipe dropped"), cancelled]);
    assert_eq!(
        run(1),
        [said("slept"), said("recipe dropped"), abandon(0), Output::Finished(Ok(()))]
    );
}

#[test]
fn joined_futures_begin_together_and_keep_their_order() {
    let (mut process, begun) = started(|zookeeper| async move {
        let pair = join(zookeeper.random(), zookeeper.random());
        let all = join_all((0..2).map(|_| zookeeper.random()));
        let ((a, b), rest) = join(pair, all).await;
        Err(format!("{a} {b} {rest:?}"))
    });
    assert_eq!(begun, [0, 1, 2, 3].map(|call| submit(call, Operation::Random)));
    for call in [3, 1, 0] {
        assert_eq!(reply(&mut process, call, Outcome::Random(u64::from(call))), []);
    }
    assert_eq!(
        reply(&mut process, 2, Outcome::Random(2)),
        [Output::Finished(Err("0 1 [2, 3]".to_owned()))]
    );
}
