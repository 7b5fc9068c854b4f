//! Barriers in a user's program: the results of the calls, and what remains afterwards.

use vivarium::prelude::*;
use vivarium_recipes::barrier::{Barrier, WaitError};
use vivarium_recipes::double_barrier::properties::{Emptiness, Enough};
use vivarium_recipes::double_barrier::{DoubleBarrier, EnterError, LeaveError};

const SHORT: Duration = Duration::from_millis(100);
/// Within this time, background tasks are done.
const LONG: Duration = Duration::from_secs(2);

fn text<T, E: ToString>(result: Result<T, E>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

fn expect<T: PartialEq + std::fmt::Debug>(saw: T, expected: T) -> Result<(), String> {
    if saw == expected { Ok(()) } else { Err(format!("{saw:?} instead of {expected:?}")) }
}

async fn raises_and_lowers(zookeeper: ZooKeeper) -> Result<(), String> {
    let barrier = Barrier::new(zookeeper, "/a/b/barrier");
    text(barrier.wait().await)?;
    let raised = text(barrier.raise().await)?;
    // The barrier is already raised.
    expect(text(barrier.raise().await)?, raised)?;
    expect(barrier.wait_timeout(SHORT).await, Err(WaitError::TimedOut))?;
    text(barrier.lower().await)?;
    text(barrier.lower().await)?;
    text(barrier.wait().await)
}

#[test]
fn a_barrier_holds_while_it_is_up() {
    let faults = Faults::ALL.without(Fault::ProgramCrash);
    Test::new("barrier", raises_and_lowers).clients(1).faults(faults).seeds(100).run();
}

#[test]
fn a_path_that_cannot_be_is_refused() {
    let refused = |zookeeper: ZooKeeper| async move {
        let barrier = Barrier::new(zookeeper.clone(), "no path");
        expect(barrier.raise().await, Err(Error::BadArguments))?;
        let double = double(&zookeeper, 1, "no path");
        let entered = double.enter(0).await.map(drop);
        expect(entered, Err(EnterError::Refused(Error::BadArguments)))
    };
    Test::new("refused", refused).clients(1).seeds(5).run();
}

fn double(zookeeper: &ZooKeeper, parties: usize, path: &str) -> DoubleBarrier {
    DoubleBarrier::new(zookeeper.clone(), path, "me", parties)
}

async fn goes_in_and_out(zookeeper: ZooKeeper) -> Result<(), String> {
    let alone = double(&zookeeper, 1, "/a/double");
    let first = text(alone.enter(0).await)?;
    expect(alone.remove(0).await, Err(Error::NotEmpty))?;
    expect(first.while_inside(zookeeper.sleep(SHORT)).await, Ok(()))?;
    let token = first.token();
    text(first.leave().await)?;
    // No party returns to a generation that all parties have left.
    expect(alone.enter(0).await.map(drop), Err(EnterError::Over))?;
    expect(text(alone.enter(1).await)?.token() > token, true)?;
    text(alone.remove(0).await)?;
    zookeeper.sleep(LONG).await;
    // The second membership was dropped, which means that it leaves.
    text(alone.remove(1).await)?;
    expect(text(zookeeper.get_children("/a/double").await)?, Vec::new())
}

#[test]
fn a_generation_is_entered_left_and_removed() {
    Test::new("double barrier", goes_in_and_out).clients(1).seeds(20).run();
}

async fn gives_up(zookeeper: ZooKeeper) -> Result<(), String> {
    let pair = double(&zookeeper, 2, "/double");
    expect(pair.enter_timeout(0, SHORT).await.map(drop), Err(EnterError::TimedOut))?;
    expect(pair.enter(0).await.map(drop), Err(EnterError::Aborted))?;
    // Cancelled: the party withdraws, and nothing is decided.
    expect(zookeeper.timeout(SHORT, pair.enter(1)).await.is_err(), true)?;
    zookeeper.sleep(LONG).await;
    for members in ["/double/0/members", "/double/1/members"] {
        expect(text(zookeeper.get_children(members).await)?, Vec::new())?;
    }
    expect(text(zookeeper.exists("/double/1/verdict").await)?, None)
}

#[test]
fn who_gives_up_or_is_cancelled_leaves_no_registration() {
    Test::new("gives up", gives_up).clients(1).seeds(20).run();
}

/// The first client stays inside while the other leaves, and waits for it only for a limited time.
async fn leaves_without_the_other(zookeeper: ZooKeeper) -> Result<(), String> {
    let party = format!("party {}", zookeeper.client().0);
    let pair = DoubleBarrier::new(zookeeper.clone(), "/double", party, 2);
    let inside = text(pair.enter(0).await)?;
    if zookeeper.client() == ClientId(1) {
        zookeeper.sleep(LONG).await;
        return text(inside.leave().await);
    }
    expect(inside.leave_timeout(SHORT).await, Err(LeaveError::TimedOut))
}

#[test]
fn who_is_out_of_patience_is_out() {
    let test = Test::new("out of patience", leaves_without_the_other).clients(2);
    let test = test.monitor(Enough::new("/double", 2)).monitor(Emptiness::new("/double"));
    test.must_see("out of patience").seeds(20).run();
}
