//! A program in rounds behaves like the loop that it represents.

use super::*;
use crate::program::handle::{Program, Round, race, rounds};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Makes an observation when it is dropped, and leaves work to a task.
struct Duty(ZooKeeper, u64);

impl Drop for Duty {
    fn drop(&mut self) {
        let task = self.0.clone();
        self.0.custom(&format!("round {} is over", self.1), &[]);
        self.0.spawn(async move { task.custom("and done with", &[]) });
    }
}

/// Draws three numbers within a deadline; the third takes too long.
async fn round(zookeeper: ZooKeeper, number: u64) -> Result<Round<u64>, String> {
    let _duty = Duty(zookeeper.clone(), number);
    let mut events = zookeeper.session_events();
    race(zookeeper.random(), race(zookeeper.sleep(seconds_of(number)), events.next())).await;
    match number {
        0 => Ok(Round::Done),
        1..3 => Ok(Round::Again(number + 1)),
        3 => panic!("three is too much"),
        _ => Err(number.to_string()),
    }
}

fn looped(first: u64) -> Program {
    program(move |zookeeper: ZooKeeper| async move {
        let mut state = first;
        while let Round::Again(next) = round(zookeeper.clone(), state).await? {
            state = next;
        }
        Ok(())
    })
}

/// Returns all outputs of a program that draws numbers until it ends.
fn lived(program: &Program) -> Vec<Vec<Output>> {
    let mut process = Process::new(ClientId(1), program);
    let mut all = vec![feed(&mut process, Input::Start)];
    while process.is_running() {
        all.push(reply(&mut process, 0, Outcome::Random(5)));
    }
    assert!(!process.is_foreign());
    all
}

#[test]
fn rounds_do_what_a_loop_does() {
    for first in [0, 1, 4] {
        assert_eq!(lived(&rounds(first, round)), lived(&looped(first)), "from {first}");
    }
    let all = lived(&rounds(1, round));
    // The next round continues immediately, before the task left by the previous one.
    let next = [
        abandon(1),
        said("round 1 is over"),
        submit(0, Operation::Random),
        sleep(1, 2),
        said("and done with"),
    ];
    assert_eq!(all[1], next);
    assert_eq!(all[3].last(), Some(&Output::Panicked("three is too much".into())));
}

/// A panic while the state is made, cloned or dropped is a panic of the program.
#[test]
fn a_round_that_cannot_be_made_is_a_panic_of_the_program() {
    let unmade = rounds(1, |zookeeper: ZooKeeper, number: u64| {
        assert!(number < 2, "round {number} cannot be made");
        round(zookeeper, number)
    });
    let all = lived(&unmade);
    assert_eq!(all[1].last(), Some(&Output::Panicked("round 2 cannot be made".into())));
}

/// Earlier rounds are freed entirely.
#[test]
fn a_round_leaves_nothing_behind() {
    let held = Arc::new(());
    let rounds = {
        let held = Arc::clone(&held);
        rounds(0, move |zookeeper: ZooKeeper, number: u64| {
            let held = Arc::clone(&held);
            async move {
                let _held = held;
                zookeeper.random().await;
                Ok(Round::Again(number + 1))
            }
        })
    };
    let mut process = Process::new(ClientId(1), &rounds);
    feed(&mut process, Input::Start);
    for _ in 0..5 {
        assert_eq!(reply(&mut process, 0, Outcome::Random(0)), [submit(0, Operation::Random)]);
        // One in the test, one in the closure, one in the round.
        assert_eq!(Arc::strong_count(&held), 3);
        assert_eq!((process.tasks(), process.live_tasks()), (1, 1));
    }
    drop(process);
    assert_eq!(Arc::strong_count(&held), 2);
}

/// A round's beginning represents everything before it, but only if nothing from before is still alive.
#[test]
fn a_beginning_is_one_only_with_nothing_left_over() {
    let made = Arc::new(AtomicU64::new(0));
    let rounds = rounds(1, move |zookeeper: ZooKeeper, number: u64| {
        made.fetch_add(1, Ordering::Relaxed);
        async move {
            let task = zookeeper.clone();
            match zookeeper.random().await {
                1 => zookeeper.spawn(async move { task.sleep(seconds_of(1)).await }),
                2 => std::mem::forget(zookeeper.session_events()),
                _ => zookeeper.custom("nothing", &[]),
            }
            Ok(Round::Again(number + 1))
        }
    });
    let begins = |answers: &[u64]| {
        let mut process = Process::new(ClientId(1), &rounds);
        feed(&mut process, Input::Start);
        let mut began = vec![process.take_began().map(|at| at.said)];
        for answer in answers {
            let call = process.pending().last().expect("it draws").0;
            reply(&mut process, call.0, Outcome::Random(*answer));
            began.push(process.take_began().map(|at| at.said));
        }
        began
    };
    assert_eq!(begins(&[0, 0]), [Some(0), Some(1), Some(1)]);
    assert_eq!(begins(&[0, 1]), [Some(0), Some(1), None]);
    assert_eq!(begins(&[2, 0]), [Some(0), None, None]);
    let mut whole = process(|zookeeper| async move {
        zookeeper.random().await;
        Ok(())
    });
    feed(&mut whole, Input::Start);
    assert!(whole.take_began().is_none());
}
