//! A test as users write it: clients count in one znode, each its own number.
//!
//! The znode holds one number per client. A client that wants to count reads the znode, adds one to its own number,
//! and writes the result under the version that it read. A write whose reply is lost may have been applied, or may
//! still be applied. So after every failure the client reads again, and a client that crashed and restarted continues
//! from its number.

use std::collections::BTreeMap;
use vivarium::prelude::*;

const COUNTER: &str = "/counter";

/// Counts up to `rounds`, despite all failures.
async fn count_up(zookeeper: ZooKeeper, rounds: u32, careful: bool) -> Result<(), String> {
    let own = u32::from(zookeeper.client().0);
    loop {
        zookeeper.connect().await;
        match count_once(&zookeeper, own, rounds, careful).await {
            Ok(true) => return Ok(()),
            // Another client was faster, or the outcome is unknown: look again.
            Ok(false) | Err(Error::BadVersion | Error::ConnectionLoss | Error::SessionExpired) => {}
            Err(Error::NoNode) => {
                let created = zookeeper.create(COUNTER, b"", CreateMode::Persistent).await;
                if let Err(Error::BadArguments) = created {
                    return Err("the counter's path is refused".to_string());
                }
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// Reads, and writes the next number; reports the number if this write has counted. Returns `Ok(true)` when nothing
/// is left to do.
async fn count_once(
    zookeeper: &ZooKeeper,
    own: u32,
    rounds: u32,
    careful: bool,
) -> Result<bool, Error> {
    let (data, stat) = zookeeper.get_data(COUNTER).await?;
    let mut numbers = decode(&data);
    let number = numbers.entry(own).or_default();
    if *number >= rounds {
        return Ok(true);
    }
    *number += 1;
    let number = *number;
    let version = if careful { Version::Is(stat.version) } else { Version::Any };
    zookeeper.set_data(COUNTER, encode(&numbers).as_bytes(), version).await?;
    zookeeper.custom("counted", &[("to", i64::from(number).into())]);
    Ok(false)
}

/// Formats numbers such as `1=3,2=5`: client 1 has counted to 3, client 2 to 5.
fn encode(numbers: &BTreeMap<u32, u32>) -> String {
    let parts: Vec<String> =
        numbers.iter().map(|(own, number)| format!("{own}={number}")).collect();
    parts.join(",")
}

fn decode(data: &[u8]) -> BTreeMap<u32, u32> {
    let text = std::str::from_utf8(data).expect("only we write it");
    let parts = text.split(',').filter_map(|part| part.split_once('='));
    parts.filter_map(|(own, number)| Some((own.parse().ok()?, number.parse().ok()?))).collect()
}

/// Violated if a client counts to a number twice.
fn counts_up() -> impl Monitor {
    grows("counted", "to").per_client().named("counts up")
}

#[test]
fn clients_count_through_every_fault() {
    let report =
        Test::with_rounds("counter", 1..=5, |zookeeper, rounds| count_up(zookeeper, rounds, true))
            .clients(2..=3)
            .faults(Faults::ALL)
            .monitor(counts_up())
            .seeds(100)
            .run();
    assert!(report.fault_total() > 0, "no fault ever struck");
}

/// The mistake that the version prevents: a client that writes without a version undoes what another client has
/// counted in the meantime.
#[test]
#[should_panic(expected = ", but before, client")]
fn a_careless_write_takes_back_what_others_counted() {
    Test::with_rounds("careless counter", 5, |zookeeper, rounds| {
        count_up(zookeeper, rounds, false)
    })
    .clients(3)
    .monitor(counts_up())
    .seeds(100)
    .run();
}

#[test]
#[should_panic(
    expected = "cargo test counter::a_program_that_fails_is_reported_with_its_replay_line"
)]
fn a_program_that_fails_is_reported_with_its_replay_line() {
    let fail = |_zookeeper| async { Err("no luck today".to_string()) };
    Test::new("failing", fail).clients(1).seeds(3).run();
}
