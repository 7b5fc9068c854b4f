//! The properties of growing values, the same order, and agreement.

use super::{falls, holds, two, words};
use vivarium::prelude::*;

/// Counts by the length of a znode's data.
async fn count(zookeeper: ZooKeeper, careful: bool) -> Result<(), String> {
    zookeeper.connect().await;
    let is_slow = zookeeper.client() == ClientId(2);
    for _ in 0..if is_slow { 1 } else { 4 } {
        let (data, stat) = zookeeper.get_data("/count").await.map_err(words)?;
        let version = if careful { Version::Is(stat.version) } else { Version::Any };
        for _ in 0..if is_slow { 4 } else { 0 } {
            zookeeper.exists("/").await.map_err(words)?;
        }
        let data = [&data, &b"i"[..]].concat();
        if zookeeper.set_data("/count", &data, version).await.is_ok() {
            zookeeper.custom("counted", &[("to", (data.len() as i64).into())]);
        }
    }
    Ok(())
}

#[test]
fn values_grow() {
    let make = |careful| {
        move || {
            let test = Test::new("count", move |zookeeper| count(zookeeper, careful));
            test.clients(2).setup("/count").monitor(grows("counted", "to").per_client())
        }
    };
    let says = "client 1 said `counted` (to = 2), but before, client 1 said `counted` (to = ";
    falls(make(false), 500, &two(), says);
    holds(make(true), 100, &two());
}

/// Each client produces two jobs; client 1 consumes the jobs that it finds, twice.
async fn queue(zookeeper: ZooKeeper, in_order: bool) -> Result<(), String> {
    zookeeper.connect().await;
    for _ in 0..if zookeeper.client() == ClientId(1) { 1 } else { 2 } {
        let mode = CreateMode::PersistentSequential;
        let made = zookeeper.create("/jobs/job-", b"", mode).await;
        let (job, stat) = made.map_err(words)?;
        let czxid = Value::from(stat.czxid);
        zookeeper.custom("produced", &[("job", (*job).into()), ("czxid", czxid)]);
    }
    for _ in 0..if zookeeper.client() == ClientId(1) { 2 } else { 0 } {
        let mut jobs = zookeeper.get_children("/jobs").await.map_err(words)?;
        jobs.sort();
        if !in_order {
            jobs.reverse();
        }
        for job in jobs.iter().map(|job| format!("/jobs/{job}")) {
            zookeeper.delete(&job, Version::Any).await.map_err(words)?;
            zookeeper.custom("consumed", &[("job", (*job).into())]);
        }
    }
    Ok(())
}

#[test]
fn what_is_consumed_comes_in_the_order_of_what_is_produced() {
    let make = |in_order, ranked| {
        move || {
            let order = same_order("produced", "consumed", "job");
            let order = if ranked { order.ranked_by("czxid") } else { order };
            let test = Test::new("queue", move |zookeeper| queue(zookeeper, in_order));
            test.clients(2).setup("/jobs").monitor(order)
        }
    };
    falls(make(false, true), 200, &two(), " (place ");
    holds(make(true, true), 100, &two());
    // Clients report their products in another order than that of the commits.
    falls(make(true, false), 500, &two(), ") after client 1 said `consumed` (job = ");
}

/// Votes for itself, and follows the first vote. The mistake: follows its own.
async fn decide(zookeeper: ZooKeeper, obeys: bool) -> Result<(), String> {
    zookeeper.connect().await;
    let own = format!("client {}", zookeeper.client().0);
    let created = zookeeper.create("/decision", own.as_bytes(), CreateMode::Persistent).await;
    let decision = match created {
        Err(Error::NodeExists) if obeys => {
            let (data, _) = zookeeper.get_data("/decision").await.map_err(words)?;
            String::from_utf8_lossy(&data).into_owned()
        }
        _ => own,
    };
    zookeeper.custom("decided", &[("for", (*decision).into())]);
    Ok(())
}

#[test]
fn all_agree() {
    let make = |obeys| {
        move || {
            let test = Test::new("decide", move |zookeeper| decide(zookeeper, obeys));
            test.clients(2).monitor(agree("decided", "for"))
        }
    };
    falls(make(false), 5, &two(), "said `decided` (for = client");
    holds(make(true), 100, &two());
}
