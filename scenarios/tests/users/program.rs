//! A user's program that a search finds wrong, and its correction, which holds in every state.
//!
//! A worker registers itself by an ephemeral znode and reads its configuration at the same time. If that takes too
//! long it gives up; in any case it leaves in the end, and reports it. A worker that has left must not return: others
//! take over its work when its znode is deleted.
#![cfg(feature = "explore")]

use std::collections::BTreeSet;
use vivarium::prelude::*;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::verdict::Verdict;
use vivarium_reports::violation::violation_report;

/// How long a worker waits for its start.
const PATIENCE: Duration = Duration::from_secs(2);

/// The znode that a worker deletes when it leaves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CleansUp {
    /// The znode that it knows to have created. The mistake: it assumes that a create without a timely answer was not
    /// applied.
    WhatItKnows,
    /// The znode that it may have created.
    WhatMayBe,
}

async fn work(zookeeper: ZooKeeper, cleans_up: CleansUp) -> Result<(), String> {
    let session = zookeeper.connect().await;
    let path = format!("/workers/{session}");
    let mut registered = false;
    let started = start(&zookeeper, session, &path, &mut registered);
    match zookeeper.timeout(PATIENCE, started).await {
        // The work would be done here.
        Ok(Ok(())) | Err(TimedOut) => {}
        Ok(Err(Error::SessionExpired)) => return Ok(()),
        Ok(Err(error)) => return Err(error.to_string()),
    }
    if registered || cleans_up == CleansUp::WhatMayBe {
        delete(&zookeeper, session, &path).await;
    }
    zookeeper.custom("left", &[("worker", Value::Text(path.into()))]);
    Ok(())
}

/// Registers and reads the configuration concurrently, until both have succeeded.
async fn start(
    zookeeper: &ZooKeeper,
    session: SessionId,
    path: &str,
    registered: &mut bool,
) -> Result<(), Error> {
    loop {
        let create = zookeeper.create(path, b"", CreateMode::Ephemeral);
        let read = zookeeper.get_data("/config");
        let (created, config) = join(create, read).await;
        *registered |= matches!(created, Ok(_) | Err(Error::NodeExists));
        match (created, config) {
            (Ok(_) | Err(Error::NodeExists), Ok(_)) => return Ok(()),
            (_, Err(Error::ConnectionLoss)) | (Err(Error::ConnectionLoss), _) => {
                if zookeeper.connect().await != session {
                    return Err(Error::SessionExpired);
                }
            }
            (Err(error), _) | (_, Err(error)) => return Err(error),
        }
    }
}

/// Deletes the znode, whatever the fate of its create: requests of a connection are served in order, and once a lost
/// connection is replaced, its pending requests are settled.
async fn delete(zookeeper: &ZooKeeper, session: SessionId, path: &str) {
    while zookeeper.delete(path, Version::Any).await == Err(Error::ConnectionLoss) {
        if zookeeper.connect().await != session {
            return;
        }
    }
}

/// A worker that has left does not return.
fn stays_away() -> impl Monitor {
    let left = |left: &mut BTreeSet<_>, said: &Said<'_>| Ok(left.insert(said.text("worker")?));
    always("who left stays away", BTreeSet::new(), left).on("left").and_tree(|left, tree| {
        let back = left.iter().find(|worker| tree.has(worker));
        back.map_or(Ok(()), |worker| Err(format!("{worker} stands, and its worker has left")))
    })
}

fn workers(cleans_up: CleansUp) -> Test {
    let program = move |zookeeper: ZooKeeper| work(zookeeper, cleans_up);
    Test::new("workers", program).clients(2).monitor(stays_away())
}

fn exploration() -> Exploration {
    Exploration::new().setup("/workers").setup("/config")
}

/// A timeout alone is enough: the create is pending when the worker gives up.
#[test]
fn a_worker_that_gives_up_too_early_leaves_its_znode_behind() {
    let report =
        workers(CleansUp::WhatItKnows).explored(&exploration().timers(1)).expect("it can be");
    let mut finding = report.finding.expect("the mistake is found");
    // The hash differs between builds.
    finding.violation.hash = Fingerprint::default();
    // The file is in the build's directory.
    let file = finding.case_file.take().expect("a case is written").expect("it can be");
    finding.replay = finding.replay.replace(&file, "FILE");
    insta::assert_snapshot!(violation_report(&finding));
}

/// A lost connection without a timeout does no harm: the worker tries until it knows.
#[test]
fn without_its_timeout_ending_early_the_mistake_does_not_show() {
    let report = workers(CleansUp::WhatItKnows)
        .explore(&exploration().clients(1).lost(1).timers(0).may_be_bounded());
    let Verdict::Bounded { by, .. } = report.verdict else { panic!("{:?}", report.verdict) };
    let says = "the budget of timers (with 1 a property is violated)";
    assert_eq!(by, says, "a search must say that it kept timers from ending");
}

/// Each worker sleeps once, so with two early timers every timer can end early: the search is exhaustive, including
/// the order of answers and timeouts.
#[test]
fn a_worker_that_cleans_up_what_may_be_there_stays_away() {
    let report = workers(CleansUp::WhatMayBe).explore(&exploration().timers(2).lost(1));
    assert!(report.figures.distinct > 1_000, "{:?}", report.figures);
}

#[test]
#[should_panic(expected = "and its worker has left")]
fn a_test_that_explores_panics_with_the_report() {
    workers(CleansUp::WhatItKnows).explore(&exploration().timers(1));
}

#[test]
#[should_panic(expected = "inconclusive: stopped by 50 states")]
fn a_test_whose_search_was_stopped_fails() {
    workers(CleansUp::WhatMayBe).explore(&exploration().timers(2).max_states(50));
}
