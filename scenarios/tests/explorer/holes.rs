//! Searches that were once wrongly called exhaustive: the smallest programs with a result that reductions, or the
//! merging of states, had left out. Each is searched with and without reductions.

use std::num::NonZeroUsize;
use vivarium::prelude::*;
use vivarium_model::verdict::Verdict;

/// Returns the verdict of both searches, which must agree except for the number of states.
fn verdict(make: impl Fn() -> Test, exploration: &Exploration) -> Verdict {
    let reduced = make().explored(exploration).expect("it can be").verdict;
    let plain =
        make().explored(&exploration.clone().without_reductions()).expect("it can be").verdict;
    let property = |verdict: &Verdict| match verdict {
        Verdict::Violated(violation) => violation.objection.property.clone(),
        other => other.word().to_string(),
    };
    assert_eq!(property(&reduced), property(&plain));
    reduced
}

fn falls(make: impl Fn() -> Test, exploration: &Exploration) {
    let verdict = verdict(make, exploration);
    assert!(
        matches!(verdict, Verdict::Violated(_)),
        "it is possible, and the search says {verdict}"
    );
}

fn holds(make: impl Fn() -> Test, exploration: &Exploration) {
    let verdict = verdict(make, exploration);
    assert!(matches!(verdict, Verdict::Exhausted { .. }), "{verdict}");
}

/// Returns a test of a program that fails when the closure returns true.
fn test<P, F>(program: P) -> impl Fn() -> Test
where
    P: Fn(ZooKeeper) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = bool> + Send + 'static,
{
    move || {
        let program = program.clone();
        Test::new("hole", move |zookeeper: ZooKeeper| {
            let program = program.clone();
            async move {
                zookeeper.connect().await;
                if program(zookeeper).await { Err("it came to that".to_string()) } else { Ok(()) }
            }
        })
    }
}

fn only(clients: u8) -> Exploration {
    Exploration::new().clients(clients)
}

// ---- a fault between a reply and the next call ----

#[test]
fn a_session_can_expire_before_a_client_asks_for_anything() {
    let asks = |zookeeper: ZooKeeper| async move {
        zookeeper.exists("/a").await == Err(Error::SessionExpired)
    };
    falls(test(asks), &only(1).expiries(1));
    holds(test(asks), &only(1));
}

/// Violated by a second session.
#[derive(Clone, Hash)]
struct NoSecondSession;

impl Declared for NoSecondSession {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "no second session",
        LooksBack::Tip,
        minds! { |this, view, event|
            Event::Committed { .. } if view.history.tree().sessions().len() > 1 => {
                Err(this.objection("there are two"))
            },
        },
    );
}

/// The reply to a connect request is lost: the session exists, and its client never learns of it.
#[test]
fn a_session_can_begin_of_which_its_client_never_learns() {
    let no_second = || test(|_zookeeper| async { false })().monitor(NoSecondSession);
    falls(no_second, &only(1).lost(1));
    holds(no_second, &only(1));
}

#[test]
fn a_connection_can_be_lost_between_two_calls_that_are_answered() {
    let asks = |zookeeper: ZooKeeper| async move {
        let mut states = zookeeper.session_events();
        let first = zookeeper.exists("/a").await.is_ok();
        let second = zookeeper.exists("/a").await.is_ok();
        let mut lost = false;
        while let Some(state) = states.try_next() {
            lost |= state == SessionState::Disconnected;
        }
        first && second && lost
    };
    falls(test(asks), &only(1).lost(1));
    falls(test(asks), &only(2).lost(1));
    holds(test(asks), &only(2));
}

/// Client 2 has learned of client 1's znode from client 1, and is connected to a server that knows the znode. But
/// client 2 loses its connection before its first request, and the next server lags.
#[test]
fn a_connection_can_be_lost_before_the_first_request() {
    let asks = |zookeeper: ZooKeeper| async move {
        if zookeeper.client() == ClientId(1) {
            let made = zookeeper.create("/a", b"", CreateMode::Persistent).await.is_ok();
            if made {
                zookeeper.send(ClientId(2), b"made");
            }
            return false;
        }
        zookeeper.receive().await;
        let before = zookeeper.exists("/a").await;
        before == Ok(None)
    };
    falls(test(asks), &only(2).lost(1).may_be_bounded());
}

// ---- a sync ----

#[test]
fn a_sync_can_be_lost() {
    let asks = |zookeeper: ZooKeeper| async move {
        zookeeper.sync("/").await == Err(Error::ConnectionLoss)
    };
    falls(test(asks), &only(1).lost(1));
    holds(test(asks), &only(1));
}

// ---- the shortest prefix ----

/// A watch on an absent znode that is set after the znode's creation and deletion does not fire.
#[test]
fn a_watch_can_be_set_behind_what_it_waits_for() {
    let waits = |zookeeper: ZooKeeper| async move {
        if zookeeper.client() == ClientId(1) {
            let _ = zookeeper.create("/a", b"", CreateMode::Persistent).await;
            let _ = zookeeper.delete("/a", Version::Any).await;
        } else if let Ok((None, mut watch)) = zookeeper.exists_watch("/a").await {
            let _ = watch.changed().await;
        }
        false
    };
    let verdict = verdict(test(waits), &only(2));
    let Verdict::Violated(violation) = verdict else { panic!("it can wait for ever: {verdict}") };
    assert_eq!(violation.objection.property, "progress");
}

// ---- where only sleeps are left ----

#[test]
fn faults_strike_those_who_sleep() {
    let sleeps = |zookeeper: ZooKeeper| async move {
        let made = zookeeper.create("/a", b"", CreateMode::Ephemeral).await.is_ok();
        zookeeper.sleep(Duration::from_secs(60)).await;
        made && zookeeper.exists("/a").await == Err(Error::SessionExpired)
    };
    falls(test(sleeps), &only(1).expiries(1));
    holds(test(sleeps), &only(1));
    let lost = |zookeeper: ZooKeeper| async move {
        let mut states = zookeeper.session_events();
        while states.try_next().is_some() {}
        let before = zookeeper.exists("/a").await.is_ok() && states.try_next().is_none();
        zookeeper.sleep(Duration::from_secs(60)).await;
        before && states.try_next() == Some(SessionState::Disconnected)
    };
    falls(test(lost), &only(1).lost(1));
    holds(test(lost), &only(1));
}

// ---- monitors ----

/// Violated by a request that is sent after another client's observation.
#[derive(Clone, Hash, Default)]
struct NobodySendsBehindASaying {
    said: Option<ClientId>,
}

impl Declared for NobodySendsBehindASaying {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "nobody sends behind a saying",
        LooksBack::Whole,
        minds! { |this, view, event|
            Event::Observed { client, .. } => this.said = Some(*client),
            Event::Sent { client, .. } if this.said.is_some_and(|said| said != *client) => {
                Err(this.objection(format!("{client} sends")))
            },
        },
    );
}

#[test]
fn a_monitor_can_mind_when_a_request_is_sent() {
    let asks = |zookeeper: ZooKeeper| async move {
        if zookeeper.client() == ClientId(1) {
            zookeeper.custom("said", &[]);
        } else {
            let _ = zookeeper.exists("/a").await;
        }
        false
    };
    let make = || test(asks)().monitor(NobodySendsBehindASaying::default());
    falls(make, &only(2));
}

/// Keeps a record for each client; violated by a client that dies between its two observations.
#[derive(Clone, Hash, Default)]
struct NobodyDiesHalfWay {
    said: [u32; 9],
}

impl Declared for NobodyDiesHalfWay {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "nobody dies half-way",
        LooksBack::Whole,
        minds! { |this, view, event|
            #[unordered]
            Event::Observed { client, .. } => this.said[client.index()] += 1,
            #[unordered]
            Event::Killed { client } if this.said[client.index()] == 1 => {
                Err(this.objection(format!("{client} is killed")))
            },
        },
    );
}

#[test]
fn a_program_can_die_around_a_sync() {
    let asks = |zookeeper: ZooKeeper| async move {
        zookeeper.custom("x", &[]);
        let _ = zookeeper.sync("/").await;
        zookeeper.custom("y", &[]);
        false
    };
    falls(|| test(asks)().monitor(NobodyDiesHalfWay::default()), &only(1).kills(1));
    holds(|| test(asks)().monitor(NobodyDiesHalfWay::default()), &only(1));
}

// ---- timers that were kept from ending ----

#[test]
fn a_timer_that_was_kept_from_ending_is_never_exhausted() {
    let timed = |zookeeper: ZooKeeper| async move {
        zookeeper.timeout(Duration::from_secs(1), zookeeper.sync("/")).await.is_err()
    };
    let without = verdict(test(timed), &only(1).timers(0));
    assert!(matches!(without, Verdict::Bounded { .. }), "{without}");
    falls(test(timed), &only(1).timers(1));
    let waits = |zookeeper: ZooKeeper| async move {
        if let Ok(mut watch) = zookeeper.watch_data("/a").await {
            let _ = zookeeper.timeout(Duration::from_secs(1), watch.changed()).await;
        }
        false
    };
    let setup = only(1).lost(1).timers(0).setup("/a");
    let verdict = verdict(test(waits), &setup);
    assert!(matches!(verdict, Verdict::Bounded { .. }), "{verdict}");
}

// ---- smaller ones ----

#[test]
fn the_own_watch_can_fire_before_the_own_create_is_lost() {
    let asks = |zookeeper: ZooKeeper| async move {
        let Ok((None, mut watch)) = zookeeper.exists_watch("/a").await else { return false };
        let create = zookeeper.create("/a", b"", CreateMode::Persistent);
        let (created, fired) = join(create, watch.changed()).await;
        created.err() == Some(Error::ConnectionLoss)
            && fired.is_ok_and(|event| event.kind == EventType::NodeCreated)
    };
    falls(test(asks), &only(1).lost(1));
}

/// Violated if there is not exactly one session when a program makes an observation.
#[derive(Clone, Default, Hash)]
struct OneSession;

impl Declared for OneSession {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "one session",
        LooksBack::Tip,
        minds! { |this, view, event|
            Event::Observed { .. } => match view.history.tree().sessions().len() {
                0 | 1 => Ok(()),
                more => Err(this.objection(format!("there are {more}"))),
            },
        },
    );
}

/// The session exists, and its client has never learned of it.
#[test]
fn the_answer_to_a_new_session_can_be_lost() {
    for closes in [true, false] {
        let make = || {
            Test::new("sessions", move |zookeeper: ZooKeeper| async move {
                zookeeper.connect().await;
                if closes {
                    zookeeper.close().await;
                    zookeeper.connect().await;
                }
                zookeeper.custom("asks", &[]);
                Ok(())
            })
            .monitor(OneSession)
        };
        falls(make, &only(1).lost(1));
        holds(make, &only(1));
    }
}

#[test]
fn a_create_can_be_answered_before_a_random_number() {
    let asks = |zookeeper: ZooKeeper| async move {
        let create = zookeeper.create("/a", b"", CreateMode::Persistent);
        matches!(race(zookeeper.random(), create).await, Either::Right(_))
    };
    falls(test(asks), &only(1));
}

/// An ephemeral whose client is gone is deleted with its session, unless another client deletes it first.
#[test]
fn a_deletion_can_come_before_the_end_of_a_dead_session() {
    let asks = |zookeeper: ZooKeeper| async move {
        if zookeeper.client() == ClientId(1) {
            let _ = zookeeper.create("/a", b"", CreateMode::Ephemeral).await;
            return false;
        }
        zookeeper.delete("/a", Version::Any).await.is_ok()
            && zookeeper.exists("/a").await == Ok(None)
    };
    falls(test(asks), &only(2));
}

/// The setup exists from the start, even for a server that lags.
#[test]
fn what_is_set_up_is_behind_every_view() {
    let asks = |zookeeper: ZooKeeper| async move { zookeeper.exists("/a").await == Ok(None) };
    holds(test(asks), &only(1).lost(1).setup("/a"));
}

// ---- what a dead client's next session can be shown ----

/// Two clients delete a znode each. The third sees that both are gone, reports it by a znode of its own, dies, and
/// begins anew: a server that lags still shows it `there`, but not `gone`.
fn second_life(there: &'static str, gone: &'static str) -> Test {
    async fn looks(zookeeper: ZooKeeper, there: &str, gone: &str) -> Result<bool, Error> {
        let (first, second) =
            (zookeeper.exists(there).await?.is_some(), zookeeper.exists(gone).await?.is_some());
        if !first && !second {
            zookeeper.create("/z", b"", CreateMode::Persistent).await?;
            zookeeper.sleep(Duration::from_secs(60)).await;
        }
        Ok(first && !second && zookeeper.exists("/z").await?.is_some())
    }
    Test::new("second life", move |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        match zookeeper.client() {
            ClientId(1) => _ = zookeeper.delete("/x", Version::Any).await,
            ClientId(3) => _ = zookeeper.delete("/w", Version::Any).await,
            _ if looks(zookeeper, there, gone).await == Ok(true) => {
                return Err("it came to that".to_string());
            }
            _ => {}
        }
        Ok(())
    })
}

/// For both orders of the two deletions.
#[test]
fn a_second_life_can_be_shown_what_the_first_had_left_behind() {
    let three = only(3).lost(1).kills(1).depth_first();
    let three = ["/x", "/w"].into_iter().fold(three, Exploration::setup);
    for (there, gone) in [("/x", "/w"), ("/w", "/x")] {
        let verdict = second_life(there, gone).explored(&three).expect("it can be").verdict;
        assert!(matches!(verdict, Verdict::Violated(_)), "{there} without {gone}: {verdict}");
    }
}

/// The number of states is a function of the model, for every strategy and number of threads.
#[test]
fn all_strategies_and_threads_count_the_same_states() {
    let test = || {
        test(|zookeeper: ZooKeeper| async move {
            let _ = zookeeper.delete("/a", Version::Any).await;
            let _ = zookeeper.exists("/a").await;
            false
        })()
    };
    let one = only(1).setup("/a").expiries(1).kills(1);
    let states = |exploration: Exploration| {
        let verdict = test().explored(&exploration).expect("it can be").verdict;
        let Verdict::Exhausted { states, .. } = verdict else { panic!("{verdict}") };
        states
    };
    let two = NonZeroUsize::new(2).expect("two");
    for one in [one.clone(), one.without_reductions()] {
        let all = states(one.clone().threads(NonZeroUsize::MIN));
        assert_eq!(states(one.clone().threads(two)), all);
        assert_eq!(states(one.clone().depth_first().threads(NonZeroUsize::MIN)), all);
        assert_eq!(states(one.depth_first().threads(two)), all);
    }
}

// ---- an outage that goes on ----

/// Returns how many calls in a row fail, of four that do not wait for a connection.
async fn failures(zookeeper: ZooKeeper) -> usize {
    let mut failures = 0;
    for _ in 0..4 {
        match zookeeper.exists("/a").await {
            Err(Error::ConnectionLoss) => failures += 1,
            _ => break,
        }
    }
    failures
}

/// An outage that cut a connection can refuse the next attempt too; the requests queued for that attempt fail. This
/// takes another lost connection, and the report says so.
#[test]
fn a_refused_attempt_is_one_more_lost_connection() {
    let two = |zookeeper| async { failures(zookeeper).await >= 2 };
    holds(test(two), &only(1).lost(1));
    falls(test(two), &only(1).lost(2));
    let report = test(two)().explored(&only(1).lost(1)).expect("it can be");
    let row = report.dimension("fates of a lost reply").expect("a row");
    assert!(row.says.contains("that is refused is one more lost connection"), "{}", row.says);
    let four = |zookeeper| async { failures(zookeeper).await >= 4 };
    holds(test(four), &only(1).lost(3));
    falls(test(four), &only(1).lost(4));
}
