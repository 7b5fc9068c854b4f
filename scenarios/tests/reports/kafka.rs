//! Kafka and its schema registry, three reports: an ephemeral znode makes one broker the controller, or the master.
//!
//! * KAFKA-6082: a controller that has been replaced still writes, after its successor. The repair (pull request
//!   5101) checks the version of the controllers' epoch in the same multi.
//! * KAFKA-13407: a broker that finds itself elected (its create was applied, the answer lost) does not begin to be
//!   the controller. The repair (pull request 11476) begins if the znode has the broker's id, even if an ended
//!   session of the same broker has created it.
//! * Schema registry 131: an instance that is not elected reads which one is; if the znode has been deleted in
//!   between, the instance does nothing more, and waits for no event. The repair tries again.

use crate::judged::{Fails, found, held, in_each, test_in_each, there};
use vivarium::prelude::*;

const CONTROLLER: &str = "/controller";
const EPOCH: &str = "/epoch";
const WRITES: &str = "/writes";
const WRITE: &str = "/writes/write-";

/// KAFKA-6082: each controller takes the next epoch, and writes it in whichever session its client has.
fn writing(checks: bool) -> Test {
    let broker = move |zookeeper: ZooKeeper| async move {
        let client = zookeeper.clone();
        let work = move |scope: ZooKeeper, session| {
            let client = client.clone();
            async move {
                let Some(epoch) = take_epoch(&scope, session).await? else { return Ok(()) };
                client.custom("controls", &[]);
                client.connect().await;
                let text = epoch.to_string();
                let mut ops =
                    vec![Op::create(WRITE, text.as_bytes(), CreateMode::PersistentSequential)];
                if checks {
                    ops.insert(0, Op::check(EPOCH, Version::Is(epoch)));
                }
                match client.multi(ops).await.map_err(|refused| refused.error) {
                    Ok(_) | Err(Error::BadVersion | Error::ConnectionLoss) => {}
                    Err(Error::SessionExpired) => return Ok(()),
                    Err(error) => return Err(error.into()),
                }
                // The controller resigns.
                client.close().await;
                Ok(())
            }
        };
        in_each(&zookeeper, work).await
    };
    Test::new("kafka-6082", broker)
        .clients(2)
        .faults(Faults::ALL.with_rate(Fault::SessionExpiry, Rate::ALWAYS.turns(3)))
        .finishes_within(Duration::from_secs(300))
        .setup(EPOCH)
        .setup(WRITES)
        .monitor(tree_always("no controller writes after its successor", |tree: Tree<'_>| {
            let mut names = tree.children(WRITES);
            names.sort();
            let epoch = |name: &std::sync::Arc<str>| {
                let data = tree.data(&format!("{WRITES}/{name}"))?;
                std::str::from_utf8(data).ok()?.parse::<i32>().ok()
            };
            names.iter().map(epoch).is_sorted()
        }))
        .must_see("controls")
}

/// Becomes the controller, and increments the controllers' epoch; returns `None` if another controller has
/// incremented it at the same time.
async fn take_epoch(zookeeper: &ZooKeeper, session: SessionId) -> Result<Option<i32>, Error> {
    loop {
        let create = || zookeeper.create(CONTROLLER, b"", CreateMode::Ephemeral);
        match until_known(zookeeper, create).await {
            Ok(_) => break,
            Err(Error::NodeExists) => {}
            Err(error) => return Err(error),
        }
        let look = || zookeeper.exists_watch(CONTROLLER);
        match until_known(zookeeper, look).await? {
            (Some(stat), _) if stat.ephemeral_owner == Some(session) => break,
            (Some(_), mut watch) => drop(watch.changed().await?),
            (None, _) => {}
        }
    }
    let (_, stat) = until_known(zookeeper, || zookeeper.get_data(EPOCH)).await?;
    match zookeeper.set_data(EPOCH, b"", Version::Is(stat.version)).await {
        Ok(stat) => Ok(Some(stat.version)),
        Err(Error::BadVersion | Error::ConnectionLoss) => Ok(None),
        Err(error) => Err(error),
    }
}

const AFTER: &str = "";

#[test]
fn kafka_6082_a_replaced_controller_writes() {
    found(writing(false), "3000", AFTER);
}

#[test]
fn kafka_6082_who_checks_the_epoch_is_refused() {
    held(writing(true), "300");
}

/// A broker's reaction to a controller's znode with its own id.
#[derive(Clone, Copy)]
enum Elected {
    /// As reported: the broker is already elected, so there is nothing to do.
    DoesNothing,
    /// The repair: the broker begins to be the controller.
    Begins,
    /// The broker begins if the znode belongs to its present session, and waits for the znode's deletion otherwise.
    BeginsInItsSession,
}

/// KAFKA-13407: each broker is the controller once in its session.
fn electing(elected: Elected) -> Test {
    let work = move |zookeeper: ZooKeeper, session| async move {
        let id = zookeeper.client().to_string();
        loop {
            let create = || zookeeper.create(CONTROLLER, id.as_bytes(), CreateMode::Ephemeral);
            match until_known(&zookeeper, create).await {
                Ok(_) => break,
                Err(Error::NodeExists) => {}
                Err(error) => return Err(error.into()),
            }
            let look = || zookeeper.get_data_watch(CONTROLLER);
            let Some((data, stat, mut watch)) = there(until_known(&zookeeper, look).await)? else {
                continue;
            };
            let is_mine = *data == *id.as_bytes();
            match elected {
                Elected::DoesNothing if is_mine && stat.ephemeral_owner == Some(session) => {
                    return Err(Fails::Says(
                        "the broker is elected, and no broker is the controller",
                    ));
                }
                Elected::Begins if is_mine => break,
                Elected::BeginsInItsSession if stat.ephemeral_owner == Some(session) => break,
                _ => drop(watch.changed().await?),
            }
        }
        zookeeper.custom("controls", &[]);
        zookeeper.sleep(Duration::from_secs(5)).await;
        zookeeper.custom("resigns", &[]);
        until_known(&zookeeper, || zookeeper.exists(CONTROLLER)).await?;
        zookeeper.close().await;
        Ok(())
    };
    let broker = move |zookeeper: ZooKeeper| async move {
        let done = in_each(&zookeeper, work).await;
        zookeeper.custom("resigns", &[]);
        done
    };
    Test::new("kafka-13407", broker)
        .clients(2)
        .faults(Faults::ALL)
        .finishes_within(Duration::from_secs(300))
        .monitor(never_two_at_once("controls", "resigns"))
        .must_see("controls")
}

const NO_CONTROLLER: &str = "no broker is the controller";
const TWO: &str = "controls";

#[test]
fn kafka_13407_a_broker_that_finds_itself_elected_does_nothing() {
    found(electing(Elected::DoesNothing), "1000", NO_CONTROLLER);
}

#[test]
fn kafka_13407_who_begins_in_its_own_session_is_alone() {
    held(electing(Elected::BeginsInItsSession), "300");
}

/// Schema registry 131: each instance waits until it or another one is the master.
fn following(tries_again: bool) -> Test {
    let work = move |zookeeper: ZooKeeper, session| async move {
        loop {
            let create = || zookeeper.create(CONTROLLER, b"", CreateMode::Ephemeral);
            match until_known(&zookeeper, create).await {
                Ok(_) => break,
                Err(Error::NodeExists) => {}
                Err(error) => return Err(error.into()),
            }
            let look = || zookeeper.get_data_watch(CONTROLLER);
            match there(until_known(&zookeeper, look).await)? {
                Some((_, stat, _)) if stat.ephemeral_owner == Some(session) => break,
                Some((_, _, mut watch)) => drop(watch.changed().await?),
                None if tries_again => {}
                None => return Err(Fails::Says("there is no master, and the instance has tried")),
            }
        }
        zookeeper.custom("controls", &[]);
        zookeeper.close().await;
        Ok(())
    };
    test_in_each("schema-registry-131", work).clients(2).must_see("controls")
}

const TRIED: &str = "the instance has tried";

#[test]
fn schema_registry_131_the_master_goes_before_the_look() {
    found(following(false), "1000", TRIED);
}

#[test]
fn schema_registry_131_who_tries_again_is_the_master() {
    held(following(true), "300");
}

#[cfg(feature = "explore")]
mod explored {
    use super::*;
    use crate::judged::found_by_search;

    #[test]
    fn kafka_6082_a_session_that_expires() {
        let expired = Exploration::new().expiries(1);
        found_by_search(writing(false), &expired, AFTER);
        writing(true).explore(&expired);
    }

    #[test]
    fn kafka_13407_a_lost_create() {
        let lost = Exploration::new().lost(1);
        found_by_search(electing(Elected::DoesNothing), &lost, NO_CONTROLLER);
    }

    /// The znode of the previous process names the broker, and is deleted with that process's session.
    #[test]
    fn kafka_13407_the_repair_is_violated_by_the_znode_of_an_ended_session() {
        let killed = Exploration::new().kills(1);
        found_by_search(electing(Elected::Begins), &killed, TWO);
        electing(Elected::BeginsInItsSession).explore(&killed);
    }

    #[test]
    fn schema_registry_131_the_master_goes() {
        found_by_search(following(false), &Exploration::new(), TRIED);
        following(true).explore(&Exploration::new().expiries(1));
    }
}
