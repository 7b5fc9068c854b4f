//! KAFKA-7165: a broker whose session is over registers in the next one, is refused by the znode of the old session
//! (NodeExists), and stays unregistered.
//!
//! The repair records in which session the broker registered, and replaces the znode, by one multi, if it belongs to
//! that session. KAFKA-14845 reports what this misses: a create without an answer registered the broker in a session
//! that it has not recorded.

use crate::judged::{found, held, text};
use vivarium::prelude::*;

const BROKER: &str = "/broker";

/// A broker's reaction to a znode that already exists.
#[derive(Clone, Copy)]
enum Meets {
    /// As reported: gives up.
    GivesUp,
    /// The repair: replaces it if it belongs to the session in which the broker registered before.
    ReplacesNoted,
    /// Waits until the session that made it is over.
    Awaits,
}

/// Registers in each session until one has lasted some time.
async fn broker(zookeeper: ZooKeeper, meets: Meets) -> Result<(), String> {
    let mut noted = None;
    let mut session = zookeeper.connect().await;
    loop {
        match serve(&zookeeper.scope(session), session, meets, &mut noted).await {
            Err(Error::SessionExpired) => session = next_session(&zookeeper, session).await,
            Err(Error::NodeExists) => return Err("the broker's old znode refuses it".to_string()),
            other => return text(other),
        }
    }
}

async fn serve(
    zookeeper: &ZooKeeper,
    session: SessionId,
    meets: Meets,
    noted: &mut Option<SessionId>,
) -> Result<(), Error> {
    register(zookeeper, session, meets, *noted).await?;
    *noted = Some(session);
    zookeeper.custom("registered", &[]);
    zookeeper.sleep(Duration::from_secs(20)).await;
    until_known(zookeeper, || zookeeper.exists(BROKER)).await.map(drop)
}

async fn register(
    zookeeper: &ZooKeeper,
    session: SessionId,
    meets: Meets,
    noted: Option<SessionId>,
) -> Result<(), Error> {
    loop {
        let create = || zookeeper.create(BROKER, b"", CreateMode::Ephemeral);
        match until_known(zookeeper, create).await {
            Ok(_) => return Ok(()),
            Err(Error::NodeExists) => {}
            Err(error) => return Err(error),
        }
        let look = || zookeeper.exists_watch(BROKER);
        let (stat, mut watch) = until_known(zookeeper, look).await?;
        let Some(owner) = stat.map(|stat| stat.ephemeral_owner) else { continue };
        if owner == Some(session) {
            return Ok(());
        }
        match meets {
            Meets::ReplacesNoted if owner == noted => replace(zookeeper).await?,
            Meets::GivesUp | Meets::ReplacesNoted => return Err(Error::NodeExists),
            Meets::Awaits => drop(watch.changed().await?),
        }
    }
}

/// Deletes and creates in one transaction. The outcome is ignored: the next create shows it.
async fn replace(zookeeper: &ZooKeeper) -> Result<(), Error> {
    let replaces = || async move {
        let delete = Op::delete(BROKER, Version::Any);
        let create = Op::create(BROKER, [], CreateMode::Ephemeral);
        match zookeeper.multi(vec![delete, create]).await {
            Ok(_) => Ok(()),
            Err(MultiError { error, .. }) => Err(error),
        }
    };
    match until_known(zookeeper, replaces).await {
        Ok(()) | Err(Error::NoNode) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Brokers that are never restarted: a broker whose znode is in the way created it in an earlier session.
fn brokers(meets: Meets) -> Test {
    Test::new("kafka-7165", move |zookeeper| broker(zookeeper, meets))
        .clients(1)
        .client_options(ClientOptions::new().expires_locally())
        .faults(Faults::ALL.without(Fault::ProgramCrash))
        .finishes_within(Duration::from_secs(300))
        .must_see("registered")
}

const REFUSED: &str = "old znode refuses it";

#[test]
fn the_znode_of_the_old_session_refuses_the_broker() {
    found(brokers(Meets::GivesUp), "1000", REFUSED);
}

#[test]
fn the_repair_is_violated_where_the_first_create_had_no_answer() {
    found(brokers(Meets::ReplacesNoted), "3000", REFUSED);
}

#[test]
fn who_waits_for_the_old_session_registers() {
    held(brokers(Meets::Awaits), "300");
}

#[cfg(feature = "explore")]
mod explored {
    use super::*;
    use crate::judged::found_by_search;

    fn searched(meets: Meets) -> Test {
        brokers(meets).client_options(ClientOptions::new())
    }

    /// A restarted process has recorded nothing.
    #[test]
    fn the_znode_of_the_old_process_refuses_the_broker() {
        let killed = Exploration::new().kills(1);
        found_by_search(searched(Meets::GivesUp), &killed, REFUSED);
        found_by_search(searched(Meets::ReplacesNoted), &killed, REFUSED);
    }

    /// The client gives its session up while the create is pending.
    #[test]
    fn the_repair_is_violated_where_the_first_create_had_no_answer() {
        let given_up = Exploration::new().expiries(1);
        found_by_search(brokers(Meets::GivesUp), &given_up, REFUSED);
        found_by_search(brokers(Meets::ReplacesNoted), &given_up, REFUSED);
    }

    #[test]
    fn who_waits_for_the_old_session_registers_in_every_order() {
        brokers(Meets::Awaits).explore(&Exploration::new().expiries(1).lost(1));
        searched(Meets::Awaits).explore(&Exploration::new().kills(1).lost(1));
        searched(Meets::Awaits).explore(&Exploration::new().expiries(1).lost(1));
    }
}
