//! Dubbo 5125: a provider that reconnects in a new session finds the znode of its old session and considers it its
//! registration. When ZooKeeper deletes that znode, the provider is no longer registered.
//!
//! The repair (pull request 5135) deletes the znode that is in the way, and creates it again. A delete cannot depend
//! on the znode's owner (each new znode has version 0), so a delete that was pending when its process died, or gave
//! its session up, deletes the next registration.

use crate::judged::{found, held, text};
use vivarium::prelude::*;

const PROVIDER: &str = "/provider";

/// The provider's reaction to a znode that already exists.
#[derive(Clone, Copy)]
enum Meets {
    /// As reported: considers it its own registration.
    Takes,
    /// The repair: deletes it and creates it again.
    Replaces,
    /// Waits until the old session's end has deleted it.
    Awaits,
}

/// Registers in each session, and later checks whether it is still registered.
async fn provider(zookeeper: ZooKeeper, meets: Meets) -> Result<(), String> {
    let work = |zookeeper: ZooKeeper, session| async move {
        register(&zookeeper, session, meets).await?;
        zookeeper.custom("registered", &[]);
        zookeeper.sleep(Duration::from_secs(60)).await;
        // If its session is over, it registers anew.
        settle(&zookeeper).await?;
        until_known(&zookeeper, || zookeeper.exists(PROVIDER)).await
    };
    match text(in_sessions(&zookeeper, work).await)? {
        Some(_) => Ok(()),
        None => Err("the provider's session lives, and its registration is gone".to_string()),
    }
}

async fn register(zookeeper: &ZooKeeper, session: SessionId, meets: Meets) -> Result<(), Error> {
    loop {
        let create = || zookeeper.create(PROVIDER, b"", CreateMode::Ephemeral);
        match until_known(zookeeper, create).await {
            Ok(_) => return Ok(()),
            Err(Error::NodeExists) => {}
            Err(error) => return Err(error),
        }
        match meets {
            Meets::Takes => return Ok(()),
            Meets::Replaces => ensure_deleted(zookeeper, PROVIDER).await?,
            Meets::Awaits => {
                let look = || zookeeper.exists_watch(PROVIDER);
                let (stat, mut watch) = until_known(zookeeper, look).await?;
                match stat {
                    Some(stat) if stat.ephemeral_owner == Some(session) => return Ok(()),
                    Some(_) => drop(watch.changed().await?),
                    None => {}
                }
            }
        }
    }
}

fn providers(meets: Meets) -> Test {
    Test::new("dubbo-5125", move |zookeeper| provider(zookeeper, meets))
        .clients(1)
        .client_options(ClientOptions::new().expires_locally())
        .faults(Faults::ALL)
        .finishes_within(Duration::from_secs(300))
        .must_see("registered")
}

const GONE: &str = "its registration is gone";

#[test]
fn the_znode_of_the_old_session_is_taken_for_the_registration() {
    found(providers(Meets::Takes), "1000", GONE);
}

#[test]
fn who_waits_for_the_old_session_stays_registered() {
    held(providers(Meets::Awaits), "300");
}

#[cfg(feature = "explore")]
mod explored {
    use super::*;
    use crate::judged::found_by_search;

    fn searched(meets: Meets) -> Test {
        providers(meets).client_options(ClientOptions::new())
    }

    #[test]
    fn the_znode_of_the_old_process_is_taken_for_the_registration() {
        found_by_search(searched(Meets::Takes), &Exploration::new().kills(1), GONE);
    }

    /// A process whose create had no answer finds its own znode, deletes it, and dies; the next one registers, and
    /// then the delete arrives.
    #[test]
    fn the_repair_is_violated_by_a_late_delete() {
        let budget = Exploration::new().kills(1).lost(1);
        found_by_search(searched(Meets::Replaces), &budget, GONE);
    }

    /// Both are needed: a pending delete of an earlier process, and a later process.
    #[test]
    fn the_repair_holds_against_either_fault_alone() {
        searched(Meets::Replaces).explore(&Exploration::new().kills(1));
        searched(Meets::Replaces).explore(&Exploration::new().lost(1));
    }

    #[test]
    fn who_waits_for_the_old_session_stays_registered_in_every_order() {
        searched(Meets::Awaits).explore(&Exploration::new().kills(1).lost(1));
        searched(Meets::Awaits).explore(&Exploration::new().expiries(1).lost(1));
    }
}
