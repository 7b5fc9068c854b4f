//! Conditions on the tree.

use super::{falls, holds, two, words};
use std::collections::BTreeSet;
use vivarium::prelude::*;

/// The first client leads, by a znode with its name. The mistake: every client that finds no leader is the first.
async fn lead(zookeeper: ZooKeeper, careful: bool) -> Result<(), String> {
    zookeeper.connect().await;
    let own = format!("/leaders/{}", zookeeper.client().0);
    if zookeeper.get_children("/leaders").await.map_err(words)?.is_empty() {
        let path = if careful { "/leaders/the-only-one" } else { &own };
        let _ = zookeeper.create(path, b"", CreateMode::Persistent).await;
    }
    Ok(())
}

#[test]
fn the_tree_is_always_so() {
    let make = |careful| {
        move || {
            let one = tree_always("one leader", |tree| tree.children("/leaders").len() <= 1);
            let test = Test::new("lead", move |zookeeper| lead(zookeeper, careful));
            test.clients(2).setup("/leaders").monitor(one)
        }
    };
    falls(make(false), 200, &two(), "it does not hold of the tree as of ");
    holds(make(true), 100, &two());
}

#[test]
fn the_tree_is_so_at_the_end() {
    let make = |most: usize| {
        move || {
            let few = tree_at_end("few", move |tree| match tree.under("/leaders").count() {
                count if count <= most => Ok(()),
                count => Err(format!("{count} lead")),
            });
            let test = Test::new("lead", |zookeeper| lead(zookeeper, false));
            test.clients(2).setup("/leaders").monitor(few)
        }
    };
    falls(make(1), 200, &two(), "2 lead");
    holds(make(2), 50, &two());
}

/// Creates a znode, lists the directory, and deletes the znode; by mistake, not if another client's znode exists.
async fn scratch(zookeeper: ZooKeeper, mode: CreateMode, cleans: bool) -> Result<(), String> {
    zookeeper.connect().await;
    let (own, _) = zookeeper.create("/scratch/s-", b"", mode).await.map_err(words)?;
    let alone = zookeeper.get_children("/scratch").await.map_err(words)?.len() == 1;
    if cleans || alone {
        zookeeper.delete(&own, Version::Any).await.map_err(words)?;
    }
    Ok(())
}

fn scratches(mode: CreateMode, cleans: bool) -> Test {
    let test = Test::new("scratch", move |zookeeper| scratch(zookeeper, mode, cleans));
    test.clients(2).setup("/scratch")
}

#[test]
fn no_ghost_is_left() {
    let make = |mode, cleans| move || scratches(mode, cleans).monitor(no_ghosts_under("/scratch"));
    let persistent = CreateMode::PersistentSequential;
    falls(make(persistent, false), 200, &two(), "still exists, but no client is left to delete it");
    holds(make(persistent, true), 100, &two());
    // An ephemeral is deleted with its session.
    holds(make(CreateMode::EphemeralSequential, false), 100, &two());
    let but = || no_ghosts_under("/scratch").but_for(|path| path.starts_with("/scratch/s-"));
    holds(|| scratches(persistent, false).monitor(but()), 50, &two());
}

/// Reports that it has left, and deletes its znode, before or after.
async fn leave(zookeeper: ZooKeeper, at_last: bool) -> Result<(), String> {
    zookeeper.connect().await;
    let own = format!("/workers/{}", zookeeper.client().0);
    zookeeper.create(&own, b"", CreateMode::Ephemeral).await.map_err(words)?;
    if at_last {
        zookeeper.delete(&own, Version::Any).await.map_err(words)?;
    }
    zookeeper.custom("left", &[("worker", (*own).into())]);
    Ok(())
}

#[test]
fn what_was_said_is_held_against_the_tree() {
    let make = |at_last, per_client| {
        move || {
            let left =
                |left: &mut BTreeSet<_>, said: &Said<'_>| Ok(left.insert(said.text("worker")?));
            let stays_away = always("who left stays away", BTreeSet::new(), left)
                .on("left")
                .and_tree(|left, tree| left.iter().all(|worker| !tree.has(worker)));
            let stays_away = if per_client { stays_away.per_client() } else { stays_away };
            let test = Test::new("leave", move |zookeeper| leave(zookeeper, at_last));
            test.clients(2).setup("/workers").monitor(stays_away)
        }
    };
    for per_client in [false, true] {
        let says = " said `left` (worker = /workers/";
        falls(make(false, per_client), 50, &two(), "it does not hold of the tree as of");
        falls(make(false, per_client), 50, &two().clients(1), says);
        holds(make(true, per_client), 50, &two());
    }
}
