//! The properties always, at most once, exactly once, and eventually.

use super::{falls, holds, two, words};
use vivarium::prelude::*;

/// Takes the only item, if no client has taken it.
async fn take(zookeeper: ZooKeeper, careful: bool) -> Result<(), String> {
    zookeeper.connect().await;
    let (data, stat) = zookeeper.get_data("/stock").await.map_err(words)?;
    if data.is_empty() {
        let version = if careful { Version::Is(stat.version) } else { Version::Any };
        if zookeeper.set_data("/stock", b"none", version).await.is_ok() {
            zookeeper.custom("moved", &[("by", Value::Number(-1)), ("shelf", "top".into())]);
        }
    }
    Ok(())
}

#[test]
fn always_folds_what_is_said() {
    let make = |careful| {
        move || {
            let fold = |stock: &mut i64, said: &Said<'_>| {
                *stock += said.number("by")?;
                Ok(*stock >= 0)
            };
            let stock = always("never negative", 1, fold).on("moved").per("shelf");
            let test = Test::new("stock", move |zookeeper| take(zookeeper, careful));
            test.clients(2).setup("/stock").monitor(stock)
        }
    };
    let says = "said `moved` (by = -1, shelf = top), and then the property no longer holds";
    falls(make(false), 200, &two(), says);
    holds(make(true), 100, &two());
}

/// Each client creates a job of its own and does all jobs that exist. With `mistake` 1, it does jobs that another
/// client may have done already; with 2, it does others' jobs without reporting it.
async fn work(zookeeper: ZooKeeper, mistake: u32) -> Result<(), String> {
    zookeeper.connect().await;
    let own = format!("job-{}", zookeeper.client().0);
    zookeeper.create(&format!("/jobs/{own}"), b"", CreateMode::Persistent).await.map_err(words)?;
    zookeeper.custom("produced", &[("job", (*own).into())]);
    for job in zookeeper.get_children("/jobs").await.map_err(words)? {
        let deleted = zookeeper.delete(&format!("/jobs/{job}"), Version::Any).await;
        if (deleted.is_ok() || mistake == 1) && (job == own || mistake != 2) {
            zookeeper.custom("consumed", &[("job", (*job).into())]);
        }
    }
    Ok(())
}

fn jobs(mistake: u32) -> Test {
    let test = Test::new("jobs", move |zookeeper| work(zookeeper, mistake));
    test.clients(2).setup("/jobs")
}

#[test]
fn at_most_once_is_said() {
    let make = |mistake| move || jobs(mistake).monitor(at_most_once("consumed", "job"));
    falls(make(1), 200, &two(), "said `consumed` (job = job-1), but before, client");
    holds(make(0), 100, &two());
}

#[test]
fn exactly_once_is_said() {
    let once = || exactly_once("consumed", "job").announced_by("produced");
    let make = |mistake| move || jobs(mistake).monitor(once());
    falls(make(1), 200, &two(), ", but before, client");
    let says =
        "client 1 said `produced` (job = job-1), but no client said `consumed` with job = job-1";
    falls(|| jobs(2).monitor(once().with("job", "job-1")), 200, &two(), says);
    holds(make(0), 100, &two());
    let listed =
        |jobs: &'static [&'static str]| exactly_once("consumed", "job").among(jobs.to_vec());
    holds(|| self::jobs(0).monitor(listed(&["job-1", "job-2"])), 50, &two());
    let says = "no client said `consumed` with job = job-3";
    falls(|| self::jobs(0).monitor(listed(&["job-1", "job-3"])), 5, &two(), says);
}

/// The first client leads.
async fn lead(zookeeper: ZooKeeper) -> Result<(), String> {
    zookeeper.connect().await;
    if zookeeper.create("/leader", b"", CreateMode::Persistent).await.is_ok() {
        zookeeper.custom("led", &[]);
        // Even if other clients sleep, this is not the end.
        zookeeper.sleep(Duration::from_secs(1)).await;
        zookeeper.custom("slept", &[]);
    }
    Ok(())
}

#[test]
fn eventually_it_is_said() {
    let make = |property: fn() -> _| move || Test::new("lead", lead).clients(2).monitor(property());
    holds(make(|| eventually("led")), 50, &two());
    holds(make(|| eventually("slept")), 50, &two());
    falls(make(|| eventually("was elected")), 5, &two(), "no client ever said `was elected`");
    falls(make(|| eventually("led").by_every_client()), 5, &two(), "never said `led`");
    let first = || eventually("led").by([ClientId(1)]).by_every_client();
    falls(make(first), 100, &two(), "client 1 never said `led`");
}
