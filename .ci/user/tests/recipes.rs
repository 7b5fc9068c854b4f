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
        let lock = Lock::new(zk.clone(), "/jobs/nightly");
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
    let test = Test::new("nightly report", nightly).clients(3).faults(Faults::ALL).setup("/jobs");
    held(test.container("/jobs/nightly").monitors(lock::monitors("/jobs/nightly", LONG)), 100);
}

/// Whatever a client has sent, one client gets, once.
#[test]
fn a_queue_hands_every_letter_out_once() {
    async fn post(zk: ZooKeeper) -> Result<(), String> {
        let mut queue = Queue::open(zk.clone(), "/letters").await;
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
            let barrier = DoubleBarrier::new(zk.clone(), "/step", name, 2);
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
    let test = Test::of_roles("computation", [part("left"), part("right")]).faults(Faults::ALL);
    // Where one is killed inside and its step is over, the other has done without it.
    held(test.monitors(double_barrier::monitors("/step", 2)), 100);
}

/// A visit is counted once, or it is known that nobody knows.
#[test]
fn a_counter_counts_every_visit_once() {
    async fn visit(zk: ZooKeeper) -> Result<(), String> {
        let mut visits = Counter::open(zk, "/visits").await;
        for _ in 0..3 {
            // Added, or nobody knows.
            let _: Changed = visits.add(1).await.map_err(text)?;
        }
        Ok(())
    }
    let test = Test::new("visits", visit).clients(3).faults(Faults::ALL).setup("/visits");
    held(test.monitors(counter::monitors("/visits")), 100);
}

/// Somebody's own election, without an id in the names: a create whose reply is lost is made once more. It tells of
/// itself what the recipe tells.
async fn campaign(zk: ZooKeeper, attempt: Arc<str>) -> Result<(), Error> {
    let lock: Arc<str> = "/leader".into();
    let of = || (Arc::clone(&lock), Arc::clone(&attempt));
    ensure_path(&zk, &lock).await?;
    let (lock, attempt) = of();
    zk.observe(LockSeen::Attempt { lock, attempt });
    let create = || zk.create("/leader/lock-", b"", CreateMode::EphemeralSequential);
    let (node, stat) = until_known(&zk, create).await?;
    let node: Arc<str> = node.into();
    let (lock, attempt) = of();
    zk.observe(LockSeen::NodeKnown { lock, attempt, node: Arc::clone(&node) });
    loop {
        let mut names = until_known(&zk, || zk.get_children("/leader")).await?;
        names.sort();
        let paths = names.iter().map(|name| format!("/leader/{name}"));
        let Some(before) = paths.filter(|path| path.as_str() < &*node).next_back() else { break };
        match until_known(&zk, || zk.watch_data(&before)).await {
            Ok(mut watch) => {
                let (lock, attempt) = of();
                zk.observe(LockSeen::Waiting { lock, attempt, on: before.as_str().into() });
                watch.changed().await?;
            }
            Err(Error::NoNode) => {}
            Err(error) => return Err(error),
        }
    }
    let ((lock, attempt), token) = (of(), stat.czxid);
    zk.observe(LockSeen::Granted { lock, attempt, node: Arc::clone(&node), token });
    let (lock, _) = of();
    zk.observe(LockSeen::Releasing { lock, token });
    ensure_deleted(&zk, &node).await?;
    let (lock, _) = of();
    zk.observe(LockSeen::Released { lock, token });
    Ok(())
}

/// The recipe's properties find the znode that nobody knows of.
#[test]
fn an_election_of_ones_own_is_judged_by_the_same_properties() {
    async fn candidate(zk: ZooKeeper) -> Result<(), String> {
        let attempt: Arc<str> = format!("{:x}", zk.random().await).into();
        let led = in_sessions(&zk, |zk, _session| campaign(zk, Arc::clone(&attempt)));
        led.await.map_err(text)
    }
    let properties = election::monitors("/leader", LONG);
    let test = Test::new("election", candidate).clients(3).faults(Faults::ALL).monitors(properties);
    let seeds = SeedRange::parse("300").expect("a number");
    let failure = test.run_seeds(&seeds).expect_err("somebody objects");
    assert!(failure.finding().is_some() && failure.to_string().contains("lock M"), "{failure}");
}
