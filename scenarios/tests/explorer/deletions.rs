//! Containers and TTL znodes that the leader deletes during a search.

use std::time::Duration;
use vivarium::prelude::*;
use vivarium_model::note::Note;

const TTL: Duration = Duration::from_secs(60 * 60);

fn extended(test: Test) -> Test {
    test.server_options(ServerOptions { extended_types: true, ..ServerOptions::default() })
}

/// Returns the verdict of a search with reductions, which must be the same without.
fn word(test: impl Fn() -> Test, exploration: &Exploration) -> &'static str {
    let ways = [exploration.clone(), exploration.clone().without_reductions()];
    let words = ways.map(|how| test().explored(&how).expect("it can be").verdict.word());
    assert_eq!(words[0], words[1]);
    words[0]
}

fn violated(test: impl Fn() -> Test, exploration: &Exploration) {
    assert_eq!(word(test, exploration), "violated");
}

fn held(test: impl Fn() -> Test, exploration: &Exploration) {
    assert_eq!(word(test, exploration), "exhausted");
}

fn deleting(deletions: u8) -> Exploration {
    Exploration::new().deletions(deletions)
}

/// Creates a child in a container of the setup, deletes it, and creates another one.
fn comes_back() -> Test {
    Test::new("comes back", |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        let create = |path| zookeeper.create(path, b"", CreateMode::Persistent);
        create("/jobs/a").await.map_err(|error| format!("at first: {error}"))?;
        zookeeper.delete("/jobs/a", Version::Any).await.map_err(|error| error.to_string())?;
        create("/jobs/b").await.map_err(|error| format!("then: {error}"))?;
        Ok(())
    })
    .clients(1)
    .container("/jobs")
}

#[test]
fn a_container_that_is_empty_again_can_go() {
    held(comes_back, &deleting(0));
    violated(comes_back, &deleting(1));
    let report = comes_back().explored(&deleting(1)).expect("it can be");
    let finding = report.finding.expect("a violation has a finding");
    let mut notes = finding.trace.iter().flat_map(|line| &line.notes);
    let deletes = Note::ContainerDeleted { path: "/jobs".into() };
    assert!(notes.any(|note| *note == deletes), "{:?}", finding.trace);
    assert!(finding.violation.objection.saw.contains("then: NoNode"), "{:?}", finding.violation);
    assert!(finding.options.contains("1 deletions"), "{}", finding.options);
}

/// A container that never had a child stays, unless a server option limits its time.
#[test]
fn a_container_that_was_never_used_stays() {
    let looks = || {
        Test::new("looks", |zookeeper: ZooKeeper| async move {
            zookeeper.connect().await;
            let there = zookeeper.exists("/jobs").await.map_err(|error| error.to_string())?;
            there.map(|_| ()).ok_or_else(|| "it is gone".to_string())
        })
        .clients(1)
        .container("/jobs")
    };
    held(looks, &deleting(2));
    let in_time = || {
        let max_never_used_interval = Some(TTL);
        looks().server_options(ServerOptions { max_never_used_interval, ..Default::default() })
    };
    violated(in_time, &deleting(1));
}

/// A TTL znode as a lease: its owner continues to work until it looks.
fn leases() -> Test {
    extended(Test::new("leases", |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        let mode = CreateMode::PersistentWithTtl(TTL);
        match zookeeper.create("/lease", b"", mode).await {
            Ok(_) => {
                zookeeper.custom("leads", &[]);
                let there = zookeeper.exists("/lease").await.map_err(|error| error.to_string())?;
                zookeeper.custom("follows", &[]);
                there.map(|_| ()).ok_or_else(|| "the lease was lost".to_string())
            }
            Err(Error::NodeExists) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }))
    .clients(1)
}

#[test]
fn a_ttl_znode_can_go_at_any_moment() {
    violated(leases, &deleting(1));
    held(leases, &deleting(0));
    // If servers do not support TTL znodes, the create fails.
    let refused = || leases().server_options(ServerOptions::default());
    violated(refused, &deleting(1));
}

/// A program that waits for the end of a lease is not stuck: the znode is deleted in time, even if the budget is used
/// up.
#[test]
fn whoever_waits_for_the_end_goes_on() {
    let waits = || {
        extended(Test::new("waits", |zookeeper: ZooKeeper| async move {
            zookeeper.connect().await;
            let mode = CreateMode::PersistentWithTtl(TTL);
            for _ in 0..2 {
                match zookeeper.create("/lease", b"", mode).await {
                    Ok(_) | Err(Error::NodeExists) => {}
                    Err(error) => return Err(error.to_string()),
                }
                let (there, mut watch) =
                    zookeeper.exists_watch("/lease").await.map_err(|error| error.to_string())?;
                if there.is_some() {
                    watch.changed().await.map_err(|error| error.to_string())?;
                }
            }
            Ok(())
        }))
        .clients(1)
    };
    held(waits, &deleting(0));
    held(waits, &deleting(1));
    let two = || waits().clients(2);
    held(two, &deleting(1));
}

#[test]
fn the_report_says_what_goes() {
    let row = |test: Test, deletions, name| {
        let report = test.explored(&deleting(deletions)).expect("it can be");
        let row = report.dimension(name).expect("a row");
        format!("{}: {} ({})", row.name, row.says, if row.is_in { "in" } else { "out" })
    };
    let said = [
        row(comes_back(), 0, "deletion of containers"),
        row(comes_back(), 1, "deletion of containers"),
        row(comes_back(), 0, "TTL znodes"),
        row(comes_back(), 1, "TTL znodes"),
        row(leases(), 2, "TTL znodes"),
    ];
    let expected = [
        "deletion of containers: 1 container of the setup: no leader deletes one that has become empty; --deletions brings \
         it in (out)",
        "deletion of containers: 1 container of the setup: one that has become empty goes where nothing else can happen, and \
         once elsewhere (in)",
        "TTL znodes: extendedTypesEnabled is off: creating one is refused (out)",
        "TTL znodes: extendedTypesEnabled is off: creating one is refused (out)",
        "TTL znodes: one without children, however long its time to live, goes where nothing else can happen, and up to 2 \
         times elsewhere (in)",
    ];
    assert_eq!(said, expected);
}
