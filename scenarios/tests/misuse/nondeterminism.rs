//! Programs and properties that depend on something other than what they are given.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use vivarium::prelude::*;
use vivarium::seeds::SeedRange;

/// A property whose copies share a count of the events of all of them.
#[derive(Clone)]
struct Shares(Arc<AtomicU64>, u64);

impl std::hash::Hash for Shares {
    fn hash<H: std::hash::Hasher>(&self, _state: &mut H) {}
}

impl Monitor for Shares {
    fn name(&self) -> &'static str {
        "shares"
    }
    fn asked(&self) -> Asked {
        Asked::Everywhere
    }
    fn event(&mut self, _view: View<'_>, _event: &Event) -> Result<(), Objection> {
        match self.0.fetch_add(1, Ordering::Relaxed) == self.1 {
            true => Err(Objection::new("shares", "it is its time")),
            false => Ok(()),
        }
    }
}

/// A program that keeps a count in a static fails in one run, and not when the seed is repeated. The violation is
/// reported anyway. (The count passes 13 once: were it to come again, other threads could bring it about during the
/// repeat.)
#[test]
fn a_violation_that_a_repeat_does_not_show_is_one() {
    static TIMES: AtomicU64 = AtomicU64::new(0);
    let test = Test::new("a static", |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        match TIMES.fetch_add(1, Ordering::Relaxed) {
            13 => Err("the count is 13".to_string()),
            _ => Ok(()),
        }
    });
    let failure = test
        .run_seeds(&SeedRange::count(100).expect("some"))
        .expect_err("the fourteenth run fails");
    let text = failure.to_string();
    assert!(text.contains("the count is 13"), "{text}");
    assert!(text.contains("The same seed, run again, gave a different run"), "{text}");
    assert!(text.contains("a static or thread-local variable"), "{text}");
    let finding = failure.finding().expect("it is a violation");
    let unrepeated = finding.unrepeated.as_ref().expect("it was another run");
    assert_eq!(unrepeated.step, finding.violation.step, "{text}");
}

/// The same for a property whose copies share state.
#[test]
fn so_is_one_of_a_property_that_remembers_other_runs() {
    let test = Test::new("a property that shares", |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        Ok(())
    });
    let test = test.monitor(Shares(Arc::default(), 40));
    let failure =
        test.run_seeds(&SeedRange::count(100).expect("some")).expect_err("it objects once");
    let text = failure.to_string();
    assert!(text.contains("it is its time"), "{text}");
    assert!(text.contains("The same seed, run again, gave a different run"), "{text}");
}

#[cfg(feature = "explore")]
mod searched {
    use super::*;

    /// Returns true in one of `period` runs of a program.
    fn odd(times: &AtomicU64, period: u64) -> bool {
        times.fetch_add(1, Ordering::Relaxed) % period == 1
    }

    type Make = fn(&'static AtomicU64, u64) -> Test;

    fn asks_more(times: &'static AtomicU64, period: u64) -> Test {
        Test::new("asks more", move |zookeeper: ZooKeeper| async move {
            zookeeper.connect().await;
            if odd(times, period) {
                let _ = zookeeper.exists("/a").await;
            }
            let _ = zookeeper.create("/a", b"", CreateMode::Persistent).await;
            Ok(())
        })
    }

    fn sleeps(times: &'static AtomicU64, period: u64) -> Test {
        Test::new("sleeps", move |zookeeper: ZooKeeper| async move {
            zookeeper.connect().await;
            if odd(times, period) {
                zookeeper.sleep(Duration::from_millis(5)).await;
            }
            let asks = zookeeper.create("/a", b"", CreateMode::Persistent);
            let _ = zookeeper.timeout(Duration::from_millis(5), asks).await;
            Ok(())
        })
    }

    fn in_rounds(times: &'static AtomicU64, period: u64) -> Test {
        Test::rounds("in rounds", 0, move |zookeeper: ZooKeeper, tries: u32| async move {
            zookeeper.connect().await;
            if odd(times, period) {
                zookeeper.custom("odd", &[]);
            }
            match zookeeper.create("/a", b"", CreateMode::Persistent).await {
                Err(Error::ConnectionLoss) if tries < 2 => Ok(Round::Again(tries + 1)),
                _ => Ok(Round::Done),
            }
        })
    }

    fn panics(times: &'static AtomicU64, period: u64) -> Test {
        Test::new("panics", move |zookeeper: ZooKeeper| async move {
            zookeeper.connect().await;
            let (one, other) =
                join(zookeeper.exists("/a"), zookeeper.create("/a", b"", CreateMode::Persistent))
                    .await;
            assert!(!odd(times, period), "{one:?}, {other:?}");
            zookeeper.exists("/a").await.map(drop).map_err(|error| error.to_string())
        })
    }

    /// For every dependence on a static, however often it shows, the search reports it and ends.
    #[test]
    fn a_program_that_is_no_function_of_its_inputs_is_told() {
        static TIMES: AtomicU64 = AtomicU64::new(0);
        let makes: [Make; 4] = [asks_more, sleeps, in_rounds, panics];
        let explorations = [
            Exploration::new().clients(2).lost(1).timers(1).kills(1),
            Exploration::new().clients(2).lost(1).depth_first(),
            Exploration::new().clients(2).timers(1).without_reductions().max_states(20_000),
            Exploration::new().clients(2).lost(1).without_symmetry(),
        ];
        for make in makes {
            for exploration in &explorations {
                for period in [2, 3, 5, 11, 29] {
                    TIMES.store(0, Ordering::Relaxed);
                    let verdict =
                        make(&TIMES, period).explored(exploration).expect("it can be").verdict;
                    let objection = &verdict.violation().expect("it is told").objection;
                    let named = ["a function of its inputs", "program"];
                    assert!(named.contains(&objection.property.as_str()), "{period}: {objection}");
                }
            }
        }
    }

    /// A violation of the property is reported. A property that is never violated does not show that it shares state,
    /// so the verdict names this assumption. The test uses one thread: two threads can reach the same step at the
    /// same time, and one of the two results is dropped, which makes no difference if the assumption is true.
    #[test]
    fn a_property_that_shares_what_it_knows() {
        let explored = |time| {
            static TIMES: AtomicU64 = AtomicU64::new(1);
            let test = asks_more(&TIMES, u64::MAX).monitor(Shares(Arc::default(), time));
            let alone = Exploration::new().threads(NonZeroUsize::MIN);
            test.explored(&alone.clients(2).lost(1)).expect("it can be")
        };
        for time in [3, 10, 50, 200, 1_000] {
            let verdict = explored(time).verdict;
            let says = "a property that objected once, and not when the same was searched again";
            let is_doubted = matches!(&verdict, Verdict::Bounded { by, .. } if by.contains(says));
            assert!(is_doubted || verdict.violation().is_some(), "{time}: {verdict}");
        }
        let claims = explored(u64::MAX).claims;
        let claim = "if copies of a property share no memory, and its hash includes all state that its judgement depends on (";
        assert!(claims.iter().any(|claimed| claimed.starts_with(claim)), "{claims:?}");
    }
}
