//! Locks of libraries, six reports: contenders have ephemeral sequential znodes, and the first of the list holds the
//! lock.
//!
//! * kazoo 563: a contender that has finished deletes a lock's directory, between another one's look for it and its
//!   create (NoNode). No repair is published; here NoNode makes the client create the directory again.
//! * kazoo 649: a reader waits for a writer that is later in the line. The repair (pull request 650) considers only
//!   earlier znodes.
//! * kazoo 732: an attempt that does not wait deletes its znode, swallows the error, and leaves the znode in the
//!   line. The repair (pull request 760) repeats the delete until it is known to have worked.
//! * go-zookeeper 229: a create whose answer is lost leaves a znode that its client does not know, and waits for. No
//!   repair is published; here the create is recognised by an id in its name.
//! * Helix, pull request 44: a contender whose predecessor has gone before its watch is set waits for ever. The
//!   repair lists again.
//! * Vault 4491: a lock's release fails, its error is ignored, and the lock is held until the session ends. The
//!   repair (pull request 4569) tries ten times, a second apart; all ten can fail while the session lives.

use crate::judged::{Fails, found, held, in_line, test_in_each, there};
use vivarium::prelude::*;

const LINE: &str = "/line";

fn path(name: &str) -> String {
    format!("{LINE}/{name}")
}

/// Creates a contender's znode; a lost create is found by its name.
async fn enter(zookeeper: &ZooKeeper, kind: &str, session: SessionId) -> Result<String, Error> {
    let prefix = format!("{kind}-{:x}-", session.0);
    loop {
        let create = path(&prefix);
        match zookeeper.create(&create, b"", CreateMode::EphemeralSequential).await {
            Ok((path, _)) => return Ok(path.trim_start_matches("/line/").to_string()),
            Err(Error::ConnectionLoss) => settle(zookeeper).await?,
            Err(error) => return Err(error),
        }
        let names = in_line(zookeeper, LINE).await?;
        if let Some(own) = names.into_iter().find(|name| name.starts_with(&prefix)) {
            return Ok(own);
        }
    }
}

/// Waits until this znode is gone.
async fn await_end(zookeeper: &ZooKeeper, name: &str) -> Result<(), Error> {
    let path = path(name);
    match there(until_known(zookeeper, || zookeeper.get_data_watch(&path)).await)? {
        Some((_, _, mut watch)) => watch.changed().await.map(drop),
        None => Ok(()),
    }
}

/// Two contenders for a place in the line.
fn test<F>(
    name: &str,
    work: impl Fn(ZooKeeper, SessionId) -> F + Clone + Send + Sync + 'static,
) -> Test
where
    F: Future<Output = Result<(), Fails>> + Send,
{
    test_in_each(name, work).setup(LINE).clients(2).must_see("holds")
}

/// kazoo 563: the directory `/line/lock` is created, used, and deleted if it is empty.
fn cleaning(makes_again: bool) -> Test {
    test("kazoo-563", move |zookeeper, session| async move {
        let directory = path("lock");
        let own = format!("{directory}/{:x}", session.0);
        loop {
            ensure_path(&zookeeper, &directory).await?;
            let create = || zookeeper.create(&own, b"", CreateMode::Ephemeral);
            match until_known(&zookeeper, create).await {
                Ok(_) | Err(Error::NodeExists) => break,
                Err(Error::NoNode) if makes_again => {}
                Err(Error::NoNode) => return Err(Fails::Says("the acquire fails with NoNode")),
                Err(error) => return Err(error.into()),
            }
        }
        zookeeper.custom("holds", &[]);
        ensure_deleted(&zookeeper, &own).await?;
        match ensure_deleted(&zookeeper, &directory).await {
            Ok(()) | Err(Error::NotEmpty) => Ok(()),
            Err(error) => Err(error.into()),
        }
    })
}

const NO_NODE: &str = "fails with NoNode";

#[test]
fn kazoo_563_a_directory_that_is_deleted_fails_an_acquire() {
    found(cleaning(false), "1000", NO_NODE);
}

#[test]
fn kazoo_563_who_makes_the_directory_again_acquires() {
    held(cleaning(true), "300");
}

/// kazoo 649: one client reads, the other writes.
fn reading_and_writing(looks_at_earlier_ones_only: bool) -> Test {
    test("kazoo-649", move |zookeeper, session| async move {
        let reads = zookeeper.client() == ClientId(1);
        let own = enter(&zookeeper, if reads { "read" } else { "write" }, session).await?;
        loop {
            let names = in_line(&zookeeper, LINE).await?;
            let Some(place) = names.iter().position(|name| *name == own) else {
                return Err(Error::SessionExpired.into());
            };
            let before = match (reads, looks_at_earlier_ones_only) {
                (true, false) => &names[..],
                _ => &names[..place],
            };
            let blocks = |name: &&String| !reads || name.starts_with("write");
            match before.iter().rfind(blocks) {
                Some(blocker) => await_end(&zookeeper, blocker).await?,
                None => break,
            }
        }
        zookeeper.custom("holds", &[]);
        Ok(ensure_deleted(&zookeeper, &path(&own)).await?)
    })
}

#[test]
fn kazoo_649_a_reader_waits_for_a_later_writer() {
    found(reading_and_writing(false), "1000", "");
}

#[test]
fn kazoo_649_who_looks_at_earlier_ones_only_reads() {
    held(reading_and_writing(true), "300");
}

/// kazoo 732: an attempt that does not wait.
fn attempting(repeats: bool) -> Test {
    test("kazoo-732", move |zookeeper, session| async move {
        let own = enter(&zookeeper, "lock", session).await?;
        if in_line(&zookeeper, LINE).await?.first() == Some(&own) {
            zookeeper.custom("holds", &[]);
            return Ok(ensure_deleted(&zookeeper, &path(&own)).await?);
        }
        if repeats {
            ensure_deleted(&zookeeper, &path(&own)).await?;
        } else {
            // The error is swallowed, whatever it is.
            let _ = zookeeper.delete(&path(&own), Version::Any).await;
        }
        settle(&zookeeper).await?;
        match in_line(&zookeeper, LINE).await?.contains(&own) {
            true => Err(Fails::Says("the attempt is over, and its znode is in the line")),
            false => Ok(()),
        }
    })
}

const LEFT: &str = "its znode is in the line";

#[test]
fn kazoo_732_an_attempt_leaves_its_znode() {
    found(attempting(false), "3000", LEFT);
}

#[test]
fn kazoo_732_who_repeats_the_delete_leaves_nothing() {
    held(attempting(true), "300");
}

/// go-zookeeper 229: an exclusive lock whose create is repeated.
fn creating_again(recognises: bool) -> Test {
    test("go-zookeeper-229", move |zookeeper, session| async move {
        let own = if recognises {
            enter(&zookeeper, "lock", session).await?
        } else {
            let create = path("lock-");
            let again = || zookeeper.create(&create, b"", CreateMode::EphemeralSequential);
            until_known(&zookeeper, again).await?.0.trim_start_matches("/line/").to_string()
        };
        hold(&zookeeper, &own, Wakes::ByList).await
    })
}

/// The way in which a contender learns that its predecessor has gone.
#[derive(Clone, Copy, PartialEq)]
enum Wakes {
    /// It lists again if the predecessor has already gone.
    ByList,
    /// Only by an event: if the predecessor has already gone, by an event of a znode that no contender creates.
    ByEventOnly,
}

async fn hold(zookeeper: &ZooKeeper, own: &str, wakes: Wakes) -> Result<(), Fails> {
    loop {
        let names = in_line(zookeeper, LINE).await?;
        match names.iter().position(|name| *name == own) {
            Some(0) => break,
            Some(place) if wakes == Wakes::ByList => {
                await_end(zookeeper, &names[place - 1]).await?
            }
            Some(place) => {
                let before = path(&names[place - 1]);
                let look = || zookeeper.exists_watch(&before);
                let (_, mut watch) = until_known(zookeeper, look).await?;
                watch.changed().await?;
            }
            None => return Err(Error::SessionExpired.into()),
        }
    }
    zookeeper.custom("holds", &[]);
    Ok(ensure_deleted(zookeeper, &path(own)).await?)
}

#[test]
fn go_zookeeper_229_a_contender_waits_for_a_znode_of_its_own() {
    found(creating_again(false), "1000", "");
}

#[test]
fn go_zookeeper_229_who_recognises_its_create_holds() {
    held(creating_again(true), "300");
}

/// Helix, pull request 44.
fn watching(wakes: Wakes) -> Test {
    test("helix-44", move |zookeeper, session| async move {
        let own = enter(&zookeeper, "lock", session).await?;
        hold(&zookeeper, &own, wakes).await
    })
}

#[test]
fn helix_44_a_predecessor_that_is_gone_wakes_nobody() {
    found(watching(Wakes::ByEventOnly), "1000", "");
}

#[test]
fn helix_44_who_lists_again_holds() {
    held(watching(Wakes::ByList), "300");
}

/// Vault 4491: an office that is released in several attempts, a second apart.
fn giving_back(attempts: u32) -> Test {
    test("vault-4491", move |zookeeper, session| async move {
        let office = path("office");
        loop {
            let create = || zookeeper.create(&office, b"", CreateMode::Ephemeral);
            match until_known(&zookeeper, create).await {
                Ok(_) => break,
                Err(Error::NodeExists) => {}
                Err(error) => return Err(error.into()),
            }
            let look = || zookeeper.exists_watch(&office);
            match until_known(&zookeeper, look).await? {
                (Some(stat), _) if stat.ephemeral_owner == Some(session) => break,
                (Some(_), mut watch) => drop(watch.changed().await?),
                (None, _) => {}
            }
        }
        zookeeper.custom("holds", &[]);
        for attempt in 0..attempts {
            if attempt > 0 {
                zookeeper.sleep(Duration::from_secs(1)).await;
            }
            match zookeeper.delete(&office, Version::Any).await {
                Ok(()) | Err(Error::NoNode) => break,
                // The last error is ignored.
                Err(_) => {}
            }
        }
        settle(&zookeeper).await?;
        let stat = until_known(&zookeeper, || zookeeper.exists(&office)).await?;
        match stat.is_some_and(|stat| stat.ephemeral_owner == Some(session)) {
            true => Err(Fails::Says("no leader, and the office is taken")),
            false => Ok(()),
        }
    })
}

const TAKEN: &str = "the office is taken";

#[test]
fn vault_4491_a_release_that_fails_keeps_the_office() {
    found(giving_back(1), "1000", TAKEN);
}

#[cfg(feature = "explore")]
mod explored {
    use super::*;
    use crate::judged::found_by_search;

    fn free() -> Exploration {
        Exploration::new()
    }

    fn lossy() -> Exploration {
        Exploration::new().lost(1)
    }

    #[test]
    fn kazoo_563_a_directory_that_is_deleted() {
        found_by_search(cleaning(false), &free(), NO_NODE);
        cleaning(true).explore(&free());
    }

    #[test]
    fn kazoo_649_a_reader_and_a_later_writer() {
        found_by_search(reading_and_writing(false), &free(), "");
        reading_and_writing(true).explore(&lossy());
    }

    #[test]
    fn kazoo_732_an_attempt_leaves_its_znode() {
        found_by_search(attempting(false), &lossy(), LEFT);
        attempting(true).explore(&lossy());
    }

    #[test]
    fn go_zookeeper_229_a_contender_waits_for_its_own() {
        found_by_search(creating_again(false), &lossy(), "");
        creating_again(true).explore(&lossy());
    }

    #[test]
    fn helix_44_a_predecessor_that_is_gone() {
        found_by_search(watching(Wakes::ByEventOnly), &free(), "");
        watching(Wakes::ByList).explore(&lossy());
    }

    /// A release with one more attempt than there are lost connections is known to have worked; one with as many
    /// attempts as losses is not.
    #[test]
    fn vault_4491_as_many_losses_as_attempts() {
        found_by_search(giving_back(1), &lossy(), TAKEN);
        giving_back(2).explore(&lossy());
        found_by_search(giving_back(2), &Exploration::new().lost(2).clients(1), TAKEN);
    }
}
