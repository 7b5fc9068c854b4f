//! Tests that a program that begins a round is identified by the round's state, and that a program that depends on
//! something else is detected.

use super::*;
use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use vivarium_model::error::Error;
use vivarium_model::op::{
    AddWatchMode, CreateMode, EventType, Response, SessionState, WatchedEvent,
};
use vivarium_model::zxid::Zxid;

/// Creates a host of one program in rounds.
fn in_rounds<S, P, F>(first: S, round: P) -> Memo
where
    S: Clone + Eq + Hash + Send + Sync + 'static,
    P: Fn(ZooKeeper, S) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Round<S>, String>> + Send + 'static,
{
    begun(vec![rounds(first, round)])
}

fn draw(memo: &mut Memo, value: u64) -> Vec<Output> {
    reply(memo, 0, Outcome::Random(value))
}

/// Draws numbers, and begins a new round after each odd one.
async fn gamble(zookeeper: ZooKeeper, (): ()) -> Result<Round<()>, String> {
    if zookeeper.random().await % 2 == 1 {
        return Ok(Round::Again(()));
    }
    zookeeper.sleep(seconds(1)).await;
    Ok(Round::Done)
}

#[test]
fn a_round_that_begins_anew_is_where_it_began() {
    let mut memo = in_rounds((), gamble);
    let beginning = memo.fingerprint();
    for odd in [1, 3, 5, 3, 1] {
        assert_eq!(draw(&mut memo, odd), [submit(0, Operation::Random)]);
        assert_eq!(memo.fingerprint(), beginning);
    }
    // The nodes are the root and the round, however often the round began.
    assert_eq!(nodes(&memo), 2);
    assert_eq!(draw(&mut memo, 2), [submit(0, Operation::Sleep(seconds(1)))]);
    assert_eq!(reply(&mut memo, 0, Outcome::Elapsed), [Output::Finished(Ok(()))]);
    assert_eq!(memo.dependent(), None);
    // The same holds after a restart of the program.
    memo.kill(ONE);
    memo.start(ONE);
    feed(&mut memo, ONE, Input::Start);
    assert_eq!(memo.fingerprint(), beginning);
}

#[test]
fn the_state_is_all_that_tells_rounds_apart() {
    let mut memo = in_rounds(0, |zookeeper: ZooKeeper, sum: u64| async move {
        Ok(Round::Again((sum + zookeeper.random().await) % 5))
    });
    let mut places = vec![memo.fingerprint()];
    for _ in 0..4 {
        draw(&mut memo, 2);
        assert!(!places.contains(&memo.fingerprint()));
        places.push(memo.fingerprint());
    }
    for (value, sum) in [(1, 4), (3, 2), (4, 1), (4, 0), (3, 3)] {
        draw(&mut memo, value);
        // The sums went 0, 2, 4, 1, 3.
        let place = [0, 2, 4, 1, 3].iter().position(|at| *at == sum).expect("one of five");
        assert_eq!(memo.fingerprint(), places[place]);
    }
    assert_eq!((nodes(&memo), memo.dependent()), (6, None));
}

/// Rounds that wait for nothing get no node; the last of them, which waits, does.
#[test]
fn rounds_without_a_wait_are_no_places() {
    let mut memo = in_rounds(9, |zookeeper: ZooKeeper, left: u8| async move {
        zookeeper.custom(&left.to_string(), &[]);
        if left > 0 {
            return Ok(Round::Again(left - 1));
        }
        Ok(Round::Again(zookeeper.random().await as u8))
    });
    let beginning = memo.fingerprint();
    let outputs = draw(&mut memo, 2);
    assert_eq!(outputs, [said("2"), said("1"), said("0"), submit(0, Operation::Random)]);
    assert_eq!((nodes(&memo), memo.fingerprint()), (2, beginning));

    let endless = in_rounds((), |_, ()| async { Ok(Round::Again(())) });
    let message = "the program does not block: 100000 polls for one input".to_owned();
    assert_eq!(state(&endless), &NodeState::Panicked(message));
}

#[test]
fn a_task_at_work_keeps_the_ways_apart_until_it_is_done() {
    let mut memo = in_rounds((), |zookeeper: ZooKeeper, ()| async move {
        let task = zookeeper.clone();
        match zookeeper.random().await {
            1 => zookeeper.spawn(async move { task.sleep(seconds(9)).await }),
            2 => return Ok(Round::Done),
            _ => {}
        }
        Ok(Round::Again(()))
    });
    let idle = memo.fingerprint();
    draw(&mut memo, 0);
    assert_eq!(memo.fingerprint(), idle);
    // The next round begins before the task runs.
    let outputs = draw(&mut memo, 1);
    assert_eq!(outputs, [submit(0, Operation::Random), submit(1, Operation::Sleep(seconds(9)))]);
    let busy = memo.fingerprint();
    assert_ne!(busy, idle);
    draw(&mut memo, 0);
    assert_ne!(memo.fingerprint(), idle);
    assert_ne!(memo.fingerprint(), busy);
    assert_eq!(reply(&mut memo, 1, Outcome::Elapsed), []);
    assert_ne!(memo.fingerprint(), idle, "it has gone on, but the round has not begun without it");
    assert_eq!(draw(&mut memo, 0), [submit(0, Operation::Random)]);
    assert_eq!((memo.fingerprint(), memo.dependent()), (idle, None));
    // The task ends with the program.
    draw(&mut memo, 1);
    assert_eq!(draw(&mut memo, 2), [Output::Finished(Ok(()))]);
}

/// A round's watches end with it, including events that were received and not read.
#[test]
fn what_a_round_did_not_read_is_gone() {
    let mut memo = in_rounds((), |zookeeper: ZooKeeper, ()| async move {
        let mut states = zookeeper.session_events();
        let mode = AddWatchMode::Persistent;
        let mut events = zookeeper.add_watch("/a", mode).await.map_err(|e| e.to_string())?;
        if zookeeper.random().await == 0 {
            zookeeper.custom(&format!("{:?} {:?}", events.next().await, states.next().await), &[]);
        }
        Ok(Round::Again(()))
    });
    let round = memo.fingerprint();
    let watches = || Outcome::Response(Ok(Response::Watches));
    reply(&mut memo, 0, watches());
    let event =
        WatchedEvent { kind: EventType::NodeCreated, path: "/a".into(), zxid: Zxid::default() };
    feed(&mut memo, ONE, Input::Event { call: CallId(1), event });
    feed(&mut memo, ONE, Input::Session(SessionState::Disconnected.into()));
    let outputs = draw(&mut memo, 7);
    assert_eq!(outputs[0], Output::Abandon { call: CallId(1) });
    assert!(matches!(outputs[1], Output::Submit { call: CallId(0), .. }));
    assert_eq!((memo.fingerprint(), memo.dependent()), (round, None));
    reply(&mut memo, 0, watches());
    draw(&mut memo, 0);
    assert!(memo.node(ONE).is_some_and(|node| node.pending().len() == 1), "it waits for the event");
}

/// A call that survives its round (here because its future is leaked) keeps histories apart, because the round's state
/// is not everything.
#[test]
fn what_outlives_a_round_keeps_the_ways_apart() {
    let mut memo = in_rounds((), |zookeeper: ZooKeeper, ()| async move {
        if zookeeper.random().await == 1 {
            let zookeeper = zookeeper.clone();
            let mut call = Box::pin(async move { zookeeper.sleep(seconds(1)).await });
            std::future::poll_fn(|context| {
                assert!(call.as_mut().poll(context).is_pending());
                std::task::Poll::Ready(())
            })
            .await;
            std::mem::forget(call);
        }
        Ok(Round::Again(()))
    });
    let round = memo.fingerprint();
    draw(&mut memo, 1);
    assert_ne!(memo.fingerprint(), round);
    assert_eq!(memo.node(ONE).map(|node| node.pending().len()), Some(2));
    let once = memo.fingerprint();
    reply(&mut memo, 1, Outcome::Random(0));
    assert_ne!(memo.fingerprint(), once, "it is as any program: its history");
    assert_eq!(memo.dependent(), None);
}

/// A bounded retry whose count is not in its state. `count` returns the number of attempts so far, including this one.
async fn retry(zookeeper: ZooKeeper, count: impl FnOnce() -> u64) -> Result<Round<bool>, String> {
    match zookeeper.create("/a", b"", CreateMode::Persistent).await {
        Ok(_) | Err(Error::NodeExists) => Ok(Round::Done),
        Err(Error::ConnectionLoss) if count() < 3 => Ok(Round::Again(true)),
        Err(error) => Err(error.to_string()),
    }
}

fn lose(memo: &mut Memo) -> Vec<Output> {
    reply(memo, 0, Outcome::Response(Err(Error::ConnectionLoss)))
}

/// Checks that a host detects a program that counts lost attempts, without knowing more about the program.
fn found_out(mut memo: Memo) {
    lose(&mut memo);
    lose(&mut memo);
    let why = memo.dependent().expect("it fails the third time");
    let named = "client 1's program depends on something other than its handle";
    assert!(why.starts_with(named), "{why}");
}

#[test]
fn a_count_behind_an_arc_is_found_out() {
    let tries = Arc::new(AtomicU64::new(0));
    found_out(in_rounds(false, move |zookeeper: ZooKeeper, _| {
        let tries = Arc::clone(&tries);
        retry(zookeeper, move || tries.fetch_add(1, Ordering::Relaxed) + 1)
    }));
}

/// The count is right in every new process, so no replay from the beginning differs.
#[test]
fn a_count_that_each_life_begins_anew_is_found_out() {
    let tries = Arc::new(AtomicU64::new(0));
    found_out(in_rounds(false, move |zookeeper: ZooKeeper, again| {
        let tries = Arc::clone(&tries);
        if !again {
            tries.store(0, Ordering::Relaxed);
        }
        retry(zookeeper, move || tries.fetch_add(1, Ordering::Relaxed) + 1)
    }));
}

#[test]
fn a_count_in_a_static_is_found_out() {
    static TRIES: AtomicU64 = AtomicU64::new(0);
    let count = || TRIES.fetch_add(1, Ordering::Relaxed) + 1;
    found_out(in_rounds(false, move |zookeeper: ZooKeeper, _| retry(zookeeper, count)));
}

#[test]
fn a_count_in_a_thread_is_found_out() {
    thread_local!(static TRIES: Cell<u64> = const { Cell::new(0) });
    let count = || TRIES.replace(TRIES.get() + 1) + 1;
    found_out(in_rounds(false, move |zookeeper: ZooKeeper, _| retry(zookeeper, count)));
}

/// A counter that `Eq` ignores.
#[derive(Clone, Copy)]
struct Unseen(u64);

impl PartialEq for Unseen {
    fn eq(&self, _other: &Unseen) -> bool {
        true
    }
}

impl Eq for Unseen {}

impl Hash for Unseen {
    fn hash<H: Hasher>(&self, _state: &mut H) {}
}

#[test]
fn a_count_that_eq_leaves_out_is_found_out() {
    let mut memo = in_rounds(Unseen(1), |zookeeper: ZooKeeper, tries: Unseen| async move {
        match retry(zookeeper, || tries.0).await? {
            Round::Again(_) => Ok(Round::Again(Unseen(tries.0 + 1))),
            Round::Done => Ok(Round::Done),
        }
    });
    let round = memo.fingerprint();
    lose(&mut memo);
    assert_ne!(memo.fingerprint(), round);
    assert!(memo.dependent().is_some_and(|why| why.contains("its earlier rounds were different")));
}

/// A count that `Hash` ignores.
#[derive(Clone, PartialEq, Eq)]
struct Unhashed(u64);

impl Hash for Unhashed {
    fn hash<H: Hasher>(&self, _state: &mut H) {}
}

#[test]
fn states_that_hash_alike_are_refused() {
    let mut memo = in_rounds(Unhashed(1), |zookeeper: ZooKeeper, tries: Unhashed| async move {
        zookeeper.random().await;
        Ok(Round::Again(Unhashed(tries.0 + 1)))
    });
    draw(&mut memo, 1);
    let sentence = "client 1's program hands on two states that are not equal, but hash alike: \
                    their `Hash` must include every field that their `Eq` compares (derive both)";
    assert_eq!(memo.dependent(), Some(sentence));
}

/// The next round reveals immediately that the process had been in it before.
#[test]
fn a_round_that_begins_otherwise_is_found_out() {
    let lives = Arc::new(AtomicU64::new(0));
    let mut memo = in_rounds(0, move |zookeeper: ZooKeeper, state: u64| {
        let lives = Arc::clone(&lives);
        async move {
            if state > 0 && lives.fetch_add(1, Ordering::Relaxed) == 0 {
                zookeeper.custom("for the first time", &[]);
            }
            Ok(Round::Again(zookeeper.random().await))
        }
    });
    assert_eq!(memo.dependent(), None);
    draw(&mut memo, 1);
    let sentence = "client 1's program depends on something other than its handle and the state \
                    that its rounds hand on: after its input \"random number 1 (call 0)\" the \
                    next round";
    let why = memo.dependent().expect("it greets once");
    assert!(why.starts_with(sentence), "{why}");
}

/// Like the previous test, but the only difference is that the program listens.
#[test]
fn a_round_that_waits_for_something_else_is_found_out() {
    let lives = Arc::new(AtomicU64::new(0));
    let mut memo = in_rounds(0, move |zookeeper: ZooKeeper, state: u64| {
        let lives = Arc::clone(&lives);
        async move {
            let listens = state > 0 && lives.fetch_add(1, Ordering::Relaxed) == 0;
            let _events = listens.then(|| zookeeper.session_events());
            Ok(Round::Again(zookeeper.random().await))
        }
    });
    draw(&mut memo, 1);
    let why = memo.dependent().expect("it listens once");
    assert!(
        why.ends_with(
            "waits for one thing and, begun with the same state in a new process, for another"
        ),
        "{why}"
    );
}

/// Draws numbers and begins a new round after each odd one, like [`gamble`]; but after an even one it sleeps for as
/// many seconds as there were odd ones.
fn counting() -> Memo {
    let odd = Arc::new(Mutex::new(0));
    in_rounds(false, move |zookeeper: ZooKeeper, again| {
        let odd = Arc::clone(&odd);
        async move {
            if !again {
                *odd.lock().expect("nobody panics") = 0;
            }
            if zookeeper.random().await % 2 == 1 {
                *odd.lock().expect("nobody panics") += 1;
                return Ok(Round::Again(true));
            }
            let odd = *odd.lock().expect("nobody panics");
            zookeeper.sleep(seconds(odd)).await;
            Ok(Round::Done)
        }
    })
}

/// The detection works whichever path of a round is known first: the one that counts, or the one that depends on the
/// count.
#[test]
fn a_count_that_another_way_tells_is_found_out() {
    let mut first_counts = counting();
    draw(&mut first_counts, 1);
    draw(&mut first_counts, 1);
    assert_eq!(first_counts.dependent(), None);
    draw(&mut first_counts, 2);
    assert!(
        first_counts
            .dependent()
            .is_some_and(|why| why.contains("its earlier rounds were different"))
    );

    let mut first_tells = counting();
    draw(&mut first_tells, 1);
    draw(&mut first_tells.clone(), 2);
    assert_eq!(first_tells.dependent(), None);
    draw(&mut first_tells, 1);
    assert!(
        first_tells
            .dependent()
            .is_some_and(|why| why.contains("its earlier rounds were different"))
    );
}

/// No round leads to itself; two rounds lead to each other.
#[test]
fn a_count_round_two_rounds_is_found_out() {
    let tries = Arc::new(AtomicU64::new(0));
    let mut memo = in_rounds(0, move |zookeeper: ZooKeeper, state: u64| {
        let tries = Arc::clone(&tries);
        async move {
            if state == 0 {
                tries.store(0, Ordering::Relaxed);
            }
            let value = zookeeper.random().await;
            let tries = tries.fetch_add(1, Ordering::Relaxed);
            if tries == 7 {
                Err("enough".into())
            } else {
                Ok(Round::Again(3 - state.max(1) + value))
            }
        }
    });
    for _ in 0..3 {
        draw(&mut memo, 0);
    }
    assert!(memo.dependent().is_some_and(|why| why.contains("its earlier rounds were different")));
}
