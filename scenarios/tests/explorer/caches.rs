//! Caches in a user's test, also of `/`; and mutants that only a search finds.

use super::exhibit::{assert_holds, explored, two};
use vivarium::prelude::*;
use vivarium::recipes::cache::{self, CacheEvent, CacheSeen, TreeCache};

/// Follows its copy of the tree until it has seen the znode that it waits for.
async fn reader(zk: ZooKeeper) -> Result<(), String> {
    let mut copy = TreeCache::new(zk.clone(), "/");
    while copy.get("/app/done").is_none() {
        let event = copy.next().await.map_err(|error| error.to_string())?;
        let znodes = copy.znodes().map(|(path, znode)| (path.clone(), znode.clone())).collect();
        zk.observe(CacheSeen::Content { root: "/".into(), znodes });
        if let CacheEvent::Added { path, .. } = event {
            assert!(copy.children("/app").count() > 0 || !path.starts_with("/app/"));
        }
    }
    Ok(())
}

async fn writer(zk: ZooKeeper) -> Result<(), String> {
    let written = in_sessions(&zk, |zk, _| async move {
        ensure_path(&zk, "/app/jobs/1").await?;
        ensure_deleted(&zk, "/app/jobs/1").await?;
        ensure_path(&zk, "/app/done").await
    });
    written.await.map_err(|error| error.to_string())
}

#[test]
fn a_copy_of_everything_holds_through_every_fault() {
    Test::of_roles("copying", [Role::new("reader", reader), Role::new("writer", writer)])
        .monitors(cache::monitors("/", Duration::from_secs(60)))
        .must_see("content")
        .faults(Faults::ALL)
        .seeds(100)
        .run();
}

/// Some of these show in hardly any run of a sweep.
#[test]
fn mutants_are_found_by_searches_without_faults() {
    let exhibits = [
        ("node-cache", "CacheBelievesLaggard", "cache CA4 complete"),
        ("children-cache", "InitCountsVanished", "cache CA4 initialized at rest"),
        ("children-cache", "FailOnVanishedPeer", "program"),
        ("tree-cache", "CacheForgetsDescendants", "cache CA2 replay"),
        ("tree-cache", "CacheChildBeforeParent", "cache CA3 onward"),
    ];
    for (scenario, mutant, property) in exhibits {
        let Verdict::Violated(violation) = explored(scenario, Some(mutant), &two()).verdict else {
            panic!("{scenario} with {mutant} holds")
        };
        assert_eq!(violation.objection.property, property, "{scenario} with {mutant}");
    }
}

#[test]
fn caches_hold_in_every_order() {
    for scenario in ["node-cache", "children-cache", "tree-cache", "shared-value"] {
        assert_holds(scenario, &two());
    }
}
