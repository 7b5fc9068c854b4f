//! Patroni 774: a node that was restarted reads its own name in the leader key, which another session owns, and
//! deletes the key. If the key has gone in between (its session is over), the delete fails with NoNode, and with it
//! the node's whole turn.
//!
//! The repair considers NoNode a success. But between the look and the delete the key can also have become another
//! node's: the delete is unconditional, and takes the key away from a leader whose session is open.

use crate::judged::{found, held, text};
use vivarium::prelude::*;

const LEADER: &str = "/leader";

/// A node's reaction to a leader key with its own name and another session.
#[derive(Clone, Copy)]
enum Meets {
    /// As reported: deletes the key, and fails if it is gone.
    Deletes,
    /// The repair: deletes the key, whether it exists or not.
    DeletesIfThere,
    /// Waits until the end of its session has deleted the key.
    Awaits,
}

/// Leads once in each session, until one has lasted to its end.
async fn node(zookeeper: ZooKeeper, meets: Meets) -> Result<(), String> {
    let mut session = zookeeper.connect().await;
    loop {
        match turn(&zookeeper.scope(session), session, meets).await {
            Err(Error::SessionExpired) => {
                zookeeper.custom("steps down", &[]);
                session = next_session(&zookeeper, session).await;
            }
            Err(Error::NoNode) => return Err("the node's turn fails with NoNode".to_string()),
            other => return text(other),
        }
    }
}

async fn turn(zookeeper: &ZooKeeper, session: SessionId, meets: Meets) -> Result<(), Error> {
    let name = zookeeper.client().to_string();
    let token = loop {
        let create = || zookeeper.create(LEADER, name.as_bytes(), CreateMode::Ephemeral);
        match until_known(zookeeper, create).await {
            Ok((_, stat)) => break stat.czxid,
            Err(Error::NodeExists) => {}
            Err(error) => return Err(error),
        }
        let (key, mut watch) =
            match until_known(zookeeper, || zookeeper.get_data_watch(LEADER)).await {
                Ok((_, stat, _)) if stat.ephemeral_owner == Some(session) => break stat.czxid,
                Ok((key, _, watch)) => (key, watch),
                Err(Error::NoNode) => continue,
                Err(error) => return Err(error),
            };
        let is_mine = *key == *name.as_bytes();
        match meets {
            Meets::Deletes if is_mine => {
                until_known(zookeeper, || zookeeper.delete(LEADER, Version::Any)).await?;
            }
            Meets::DeletesIfThere if is_mine => ensure_deleted(zookeeper, LEADER).await?,
            _ => drop(watch.changed().await?),
        }
    };
    zookeeper.custom("leads", &[("token", token.into())]);
    zookeeper.sleep(Duration::from_secs(5)).await;
    zookeeper.custom("steps down", &[]);
    // Only its own key: the answer shows whether the session is over.
    until_known(zookeeper, || zookeeper.exists(LEADER)).await?;
    zookeeper.close().await;
    Ok(())
}

fn nodes(meets: Meets) -> Test {
    Test::new("patroni-774", move |zookeeper| node(zookeeper, meets))
        .clients(2)
        .faults(Faults::ALL)
        .finishes_within(Duration::from_secs(300))
        .monitor(never_two_at_once("leads", "steps down"))
        .must_see("leads")
}

const FAILS: &str = "fails with NoNode";
const TWO: &str = "no session of theirs is over";

#[test]
fn a_key_that_is_gone_fails_the_turn() {
    found(nodes(Meets::Deletes), "3000", FAILS);
}

#[test]
fn who_waits_for_the_old_key_leads_alone() {
    held(nodes(Meets::Awaits), "300");
}

#[cfg(feature = "explore")]
mod explored {
    use super::*;
    use crate::judged::found_by_search;

    fn killed() -> Exploration {
        Exploration::new().kills(1)
    }

    #[test]
    fn a_key_that_is_gone_fails_the_turn() {
        found_by_search(nodes(Meets::Deletes).clients(1), &killed(), FAILS);
    }

    /// The restarted node reads its old key; that session ends; the other node leads; the delete takes its key.
    #[test]
    fn the_repair_is_violated_by_a_delete_of_another_ones_key() {
        found_by_search(nodes(Meets::DeletesIfThere), &killed().clients(2), TWO);
    }

    #[test]
    fn who_waits_for_the_old_key_leads_alone_in_every_order() {
        nodes(Meets::Awaits).explore(&killed().clients(2));
    }
}
