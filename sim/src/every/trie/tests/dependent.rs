//! Tests that programs that are no function of their inputs are detected and named.

use super::*;
use std::future::poll_fn;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Poll, Waker};

#[test]
fn a_program_that_counts_in_a_static_is_named() {
    static COUNTER: AtomicU32 = AtomicU32::new(1);
    let mut memo = alone(|zookeeper| async move {
        zookeeper.sleep(seconds(COUNTER.fetch_add(1, Ordering::Relaxed).into())).await;
        zookeeper.random().await;
        Ok(())
    });
    assert_eq!(memo.dependent(), None, "it has run once");
    assert_eq!(reply(&mut memo, 0, Outcome::Elapsed), []);
    let sentence = "client 1's program depends on something other than its handle: at its input 1 \
                    (\"begin\") the first run \"asks: sleep 1s (call 0)\" and a later one, with \
                    the same inputs, \"asks: sleep 2s (call 0)\"";
    assert_eq!(memo.dependent(), Some(sentence));
    assert_eq!(state(&memo), &NodeState::Dependent(sentence.to_owned()));
    // Its further behaviour is unknown.
    let there = memo.clone();
    assert_eq!(reply(&mut memo, 0, Outcome::Random(1)), []);
    assert_eq!(memo, there);
}

/// No later replay passes the last edge, so the edge is checked when it is made.
#[test]
fn a_program_whose_last_word_differs_is_named() {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let mut memo = begun(vec![
        program(|_| async { Ok(()) }),
        program(|zookeeper: ZooKeeper| async move {
            zookeeper.sleep(seconds(1)).await;
            if COUNTER.fetch_add(1, Ordering::Relaxed) == 0 {
                zookeeper.custom("first", &[]);
            }
            Ok(())
        }),
    ]);
    assert_eq!(memo.dependent(), None);
    feed(&mut memo, TWO, answered(0, Outcome::Elapsed));
    let sentence = memo.dependent().expect("the last word differs");
    let named = "client 2's program depends on something other than its handle: at its input 2 \
                 (\"the sleep is over (call 0)\") the first run ";
    assert!(sentence.starts_with(named), "{sentence}");
    assert!(sentence.ends_with("with the same inputs, \"returns Ok\""), "{sentence}");
}

/// A queue in a static: a replay of one program finds what the other program put there.
#[test]
fn a_channel_between_programs_is_named() {
    static QUEUE: Mutex<Vec<u32>> = Mutex::new(Vec::new());
    let queue = || QUEUE.lock().expect("nothing panics while it is held");
    let mut memo = begun(vec![
        program(move |zookeeper| async move {
            let taken = queue().pop();
            zookeeper.sleep(seconds(taken.unwrap_or(1).into())).await;
            Ok(())
        }),
        program(move |zookeeper| async move {
            queue().push(3);
            zookeeper.random().await;
            Ok(())
        }),
    ]);
    reply(&mut memo, 0, Outcome::Elapsed);
    let sentence = memo.dependent().expect("the first program sees what the second has put");
    assert!(sentence.contains("client 1's program depends on something other"), "{sentence}");
    assert!(sentence.contains("\"asks: sleep 1s (call 0)\" and a later one"), "{sentence}");
}

type Shared = Arc<Mutex<Option<Waker>>>;

fn place(shared: &Shared) -> std::sync::MutexGuard<'_, Option<Waker>> {
    shared.lock().expect("nothing panics while it is held")
}

/// A program that waits for a wake-up from outside, and for a call. `keep` decides which waker is stored.
fn waiter(shared: &Shared, keep: fn(&mut Option<Waker>, Waker)) -> Program {
    let shared = Arc::clone(shared);
    program(move |zookeeper| {
        let shared = Arc::clone(&shared);
        async move {
            let zk = zookeeper.clone();
            zookeeper.spawn(async move { while zk.random().await > 0 {} });
            poll_fn(|context| {
                keep(&mut place(&shared), context.waker().clone());
                Poll::<()>::Pending
            })
            .await;
            Ok(())
        }
    })
}

/// Wakes the waiter when its own sleep is over.
fn rouser(shared: &Shared) -> Program {
    let shared = Arc::clone(shared);
    program(move |zookeeper| {
        let shared = Arc::clone(&shared);
        async move {
            zookeeper.sleep(seconds(1)).await;
            if let Some(waker) = place(&shared).take() {
                waker.wake();
            }
            zookeeper.sleep(seconds(1)).await;
            Ok(())
        }
    })
}

const WOKEN: &str = "client 1's program was woken by something other than its handle, so what it \
                     does is not decided by its inputs";

#[test]
fn a_program_that_another_one_wakes_is_named() {
    let shared = Shared::default();
    let latest = |place: &mut Option<Waker>, waker| *place = Some(waker);
    let mut memo = begun(vec![waiter(&shared, latest), rouser(&shared)]);
    assert_eq!(memo.dependent(), None);
    feed(&mut memo, TWO, answered(0, Outcome::Elapsed));
    assert_eq!(memo.dependent(), Some(WOKEN));
}

/// The process whose waker is stored has been replaced by a later replay.
#[test]
fn a_program_whose_dead_process_is_woken_is_named() {
    let shared = Shared::default();
    let first = |place: &mut Option<Waker>, waker| {
        place.get_or_insert(waker);
    };
    let mut memo = begun(vec![waiter(&shared, first), rouser(&shared)]);
    for value in 1..5 {
        reply(&mut memo, 0, Outcome::Random(value));
    }
    assert_eq!(memo.dependent(), None);
    feed(&mut memo, TWO, answered(0, Outcome::Elapsed));
    assert_eq!(memo.dependent(), Some(WOKEN));
}

/// Tasks of one program may wake each other: that stays inside the program.
#[test]
fn a_channel_within_a_program_is_its_own_affair() {
    let mut memo = alone(|zookeeper| async move {
        let shared = Shared::default();
        let (zk, other) = (zookeeper.clone(), Arc::clone(&shared));
        zookeeper.spawn(async move {
            zk.sleep(seconds(1)).await;
            zk.custom("passed on", &[]);
            if let Some(waker) = place(&other).take() {
                waker.wake();
            }
            zk.random().await;
        });
        let mut polls = 0;
        poll_fn(|context| {
            polls += 1;
            *place(&shared) = Some(context.waker().clone());
            if polls == 2 { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        zookeeper.sleep(seconds(2)).await;
        Ok(())
    });
    let told = reply(&mut memo, 0, Outcome::Elapsed);
    let sleep = submit(1, Operation::Sleep(seconds(2)));
    assert_eq!(told, [said("passed on"), submit(0, Operation::Random), sleep]);
    assert_eq!(reply(&mut memo, 1, Outcome::Elapsed), [Output::Finished(Ok(()))]);
    assert_eq!(memo.dependent(), None);
}
