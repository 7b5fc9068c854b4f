//! Five recipes, used in a service's own tests: under every fault, with the properties of the recipe beside those
//! of the service.

use std::sync::Arc;
use vivarium::prelude::*;
use vivarium::recipes::contention::{AcquireError, LockSeen};
use vivarium::recipes::counter::{self, Changed, Counter};
use vivarium::recipes::double_barrier::{self, DoubleBarrier, EnterError};
use vivarium::recipes::election;
use vivarium::recipes::lock::{self, Lock};
use vivarium::recipes::queue::{self, Queue};

/// Longer than anything takes that a recipe does in the background.
const LONG: Duration = Duration::from_secs(30);

fn held(test: Test, seeds: u64) {
    let seeds = SeedRange::parse(&seeds.to_string()).expect("a number");
    match test.run_seeds(&seeds) {
        Ok(report) => println!("{}", report.verdict),
        Err(failure) => panic!("{failure}"),
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// One report a night, whoever writes it: the one that was written later is never overwritten by an earlier one.
#[test]
fn a_lock_guards_the_nightly_report() {
    async fn nightly(zk: ZooKeeper) -> Result<(), String> {
        let lock = Lock::new(zk.clone(), "/jobs/nightly", lock::Mutants::NONE);
        loop {
            match lock.acquire().await {
                Ok(guard) => {
                    let token = Some(guard.token().0);
                    let work = async { zk.write_resource("report", token, 0).await };
                    // Lost, or refused as a zombie's: somebody else writes it.
                    let _ = guard.while_held(work).await;
                    guard.release().await;
                    return Ok(());
                }
                Err(AcquireError::SessionExpired) => {}
                Err(error) => return Err(text(error)),
            }
        }
    }
    let test = Test::new("nightly report", nightly).clients(3).setup("/jobs");
    held(test.container("/jobs/nightly").monitors(lock::monitors("/jobs/nightly", LONG)), 100);
}

/// Whatever a client has sent, one client gets, once.
#[test]
fn a_queue_hands_every_letter_out_once() {
    async fn post(zk: ZooKeeper) -> Result<(), String> {
        let mut queue = Queue::open(zk.clone(), "/letters", queue::Mutants::NONE).await;
        let sender = zk.random().await;
        for letter in 0..2 {
            queue.put(format!("{sender:x}/{letter}").as_bytes()).await.map_err(text)?;
        }
        for _ in 0..2 {
            queue.take().await.map_err(text)?;
        }
        queue.close().await.map_err(text)
    }
    let test = Test::new("letters", post).clients(3).monitors(queue::monitors("/letters"));
    // Who is killed leaves letters that nobody comes for.
    held(test.container("/letters").faults(Faults::ALL.without(Fault::ProgramCrash)), 100);
}

/// Nobody computes before all are there, and nobody goes before all are done.
#[test]
fn a_double_barrier_keeps_the_parts_of_a_computation_together() {
    fn part(name: &'static str) -> Role {
        Role::new(name, move |zk: ZooKeeper| async move {
            let barrier =
                DoubleBarrier::new(zk.clone(), "/step", name, 2, double_barrier::Mutants::NONE);
            loop {
                match barrier.enter(1).await {
                    Ok(entered) => {
                        let _ = entered.while_inside(zk.sleep(Duration::from_millis(5))).await;
                        let _ = entered.leave().await;
                        return Ok(());
                    }
                    Err(EnterError::Over) => return Ok(()),
                    Err(EnterError::SessionExpired) => {}
                    Err(error) => return Err(text(error)),
                }
            }
        })
    }
    let test = Test::of_roles("computation", [part("left"), part("right")]);
    // Where one is killed inside and its step is over, the other has done without it.
    held(test.monitors(double_barrier::monitors("/step", 2)), 100);
}

/// A visit is counted once, or it is known that nobody knows.
#[test]
fn a_counter_counts_every_visit_once() {
    async fn visit(zk: ZooKeeper) -> Result<(), String> {
        let mut visits = Counter::open(zk, "/visits", counter::Mutants::NONE).await;
        for _ in 0..3 {
            let added: Changed = visits.add(1).await.map_err(text)?;
            drop(added);
        }
        Ok(())
    }
    let test = Test::new("visits", visit).clients(3).setup("/visits");
    held(test.monitors(counter::monitors("/visits")), 100);
}

/// Somebody's own election, without an id in the names: what it tells of itself is what the recipe tells, and the
/// recipe's properties find the znode that nobody knows of.
#[test]
fn an_election_of_ones_own_is_judged_by_the_same_properties() {
    async fn campaign(zk: ZooKeeper) -> Result<(), String> {
        let lock: Arc<str> = "/leader".into();
        let attempt: Arc<str> = format!("{:x}", zk.random().await).into();
        let led = in_sessions(&zk, |zk, _session| {
            let (lock, attempt) = (Arc::clone(&lock), Arc::clone(&attempt));
            async move {
                ensure_path(&zk, "/leader").await?;
                zk.observe(LockSeen::Attempt { lock: lock.clone(), attempt: attempt.clone() });
                // The mistake: made once more where the reply was lost.
                let create = || zk.create("/leader/lock-", b"", CreateMode::EphemeralSequential);
                let (node, stat) = until_known(&zk, create).await?;
                let node: Arc<str> = node.into();
                let own = Arc::clone(&node);
                zk.observe(LockSeen::NodeKnown {
                    lock: lock.clone(),
                    attempt: attempt.clone(),
                    node: own,
                });
                loop {
                    let mut names = until_known(&zk, || zk.get_children("/leader")).await?;
                    names.sort();
                    let before = names.iter().rposition(|name| {
                        !node.ends_with(name.as_str()) && format!("/leader/{name}") < *node
                    });
                    let Some(before) = before else { break };
                    let on = format!("/leader/{}", names[before]);
                    match until_known(&zk, || zk.watch_data(&on)).await {
                        Ok(mut watch) => {
                            let waiting = Arc::from(on.as_str());
                            zk.observe(LockSeen::Waiting {
                                lock: lock.clone(),
                                attempt: attempt.clone(),
                                on: waiting,
                            });
                            watch.changed().await?;
                        }
                        Err(Error::NoNode) => {}
                        Err(error) => return Err(error),
                    }
                }
                let token = stat.czxid;
                let own = Arc::clone(&node);
                zk.observe(LockSeen::Granted { lock: lock.clone(), attempt, node: own, token });
                zk.observe(LockSeen::Releasing { lock: lock.clone(), token });
                ensure_deleted(&zk, &node).await?;
                zk.observe(LockSeen::Released { lock, token });
                Ok(())
            }
        });
        led.await.map_err(text)?;
        zk.sleep(LONG + Duration::from_secs(1)).await;
        Ok(())
    }
    let test =
        Test::new("election", campaign).clients(3).monitors(election::monitors("/leader", LONG));
    let seeds = SeedRange::parse("300").expect("a number");
    let report = test.run_seeds(&seeds).expect_err("somebody objects");
    let TestFailure::Violated(_) = &report else { panic!("{report}") };
    assert!(report.to_string().contains("lock M"), "{report}");
}
