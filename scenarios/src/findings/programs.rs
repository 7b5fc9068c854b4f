//! Programs for findings that no scenario of the catalogue shows: each is a test as a user would write it.

use crate::prelude::*;

/// The znode whose writer loses its right.
const CONFIG: &str = "/config";

/// The paths of containers that are replaced by persistent znodes.
const JOBS: [&str; 4] = ["/job-0", "/job-1", "/job-2", "/job-3"];

/// The interval at which the leader checks for empty containers.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// The lock's directory.
const LOCK: &str = "/lock";

/// One client writes, and another revokes its right to write. The bridge objects to a write that is committed although
/// the ACL in force refuses it.
pub(super) fn revoked_writer() -> Test {
    Test::of_roles("revoked writer", [Role::new("owner", revoke), Role::new("writer", write_on)])
        .setup(CONFIG)
        .faults(Faults::INTERLEAVINGS)
        .release(Release::Head)
}

async fn revoke(zk: ZooKeeper) -> Result<(), String> {
    zk.connect().await;
    zk.sleep(Duration::from_millis(200)).await;
    let read_only = AclList::new([Acl::new(Permissions::READ, Id::ANYONE)]);
    let revoked = zk.set_acl(CONFIG, read_only, Version::Any).await;
    revoked.map(|_stat| ()).map_err(|error| error.to_string())
}

async fn write_on(zk: ZooKeeper) -> Result<(), String> {
    zk.connect().await;
    loop {
        // Several writes are always under way.
        let writes = (0..5).map(|_| zk.set_data(CONFIG, b"x", Version::Any));
        match join_all(writes).await.into_iter().find_map(Result::err) {
            None => {}
            Some(Error::NoAuth) => return Ok(()),
            Some(error) => return Err(error.to_string()),
        }
    }
}

/// One client empties containers and replaces them by persistent znodes. No client deletes these before their existence
/// is checked.
pub(super) fn replaced_container() -> Test {
    let options =
        ServerOptions { container_check_interval: CHECK_INTERVAL, ..ServerOptions::default() };
    Test::new("replaced container", replace)
        .clients(1)
        .server_options(options)
        .faults(Faults::INTERLEAVINGS)
        .release(Release::Head)
}

async fn replace(zk: ZooKeeper) -> Result<(), String> {
    zk.connect().await;
    for _again in 0..20 {
        for job in JOBS {
            let part = format!("{job}/part");
            zk.create(job, b"", CreateMode::Container).await.map_err(|error| error.to_string())?;
            zk.create(&part, b"", CreateMode::Persistent)
                .await
                .map_err(|error| error.to_string())?;
            zk.delete(&part, Version::Any).await.map_err(|error| error.to_string())?;
        }
        let pause = zk.random().await % CHECK_INTERVAL.as_millis() as u64;
        zk.sleep(Duration::from_millis(pause)).await;
        for job in JOBS {
            match zk.delete(job, Version::Any).await {
                Ok(()) | Err(Error::NoNode) => {}
                Err(error) => return Err(error.to_string()),
            }
            zk.create(job, b"", CreateMode::Persistent).await.map_err(|error| error.to_string())?;
        }
        zk.sleep(Duration::from_secs(1)).await;
        for job in JOBS {
            zk.delete(job, Version::Any).await.map_err(|error| {
                format!("{job} was created, and no client has deleted it: {error}")
            })?;
        }
    }
    Ok(())
}

/// Locks whose contenders look for smaller numbers, with a counter near its end.
pub(super) fn numbered_locks() -> Test {
    let hold = |zk: ZooKeeper| async move {
        in_sessions(&zk, |zk, _session| hold_once(zk)).await.map_err(|error| error.to_string())
    };
    Test::new("numbered locks", hold)
        .clients(2)
        .container(LOCK)
        .faults(Faults::INTERLEAVINGS.with_rate(Fault::CounterWrap, Rate::ALWAYS))
        .monitor(never_two_at_once("holds", "gives back"))
}

async fn hold_once(zk: ZooKeeper) -> Result<(), Error> {
    match zk.create(LOCK, b"", CreateMode::Container).await {
        Ok(_) | Err(Error::NodeExists) => {}
        Err(error) => return Err(error),
    }
    let prefix = format!("{LOCK}/{}-lock-", zk.client());
    let (own, _stat) = zk.create(&prefix, b"", CreateMode::EphemeralSequential).await?;
    loop {
        let names = zk.get_children(LOCK).await?;
        let Some(before) = predecessor(&names, number(&own)) else { break };
        let (stat, mut gone) = zk.exists_watch(&format!("{LOCK}/{before}")).await?;
        if stat.is_some() {
            gone.changed().await?;
        }
    }
    zk.custom("holds", &[]);
    zk.sleep(Duration::from_millis(500)).await;
    zk.custom("gives back", &[]);
    zk.delete(&own, Version::Any).await
}

/// Returns the name with the greatest number below the client's own, compared as text. Clients in several languages
/// find their predecessor like this.
pub(super) fn predecessor<'a>(names: &'a [String], own: &str) -> Option<&'a str> {
    let smaller = names.iter().filter(|name| number(name) < own);
    smaller.max_by_key(|name| number(name)).map(String::as_str)
}

/// Returns the number at the end of a name, as text.
pub(super) fn number(name: &str) -> &str {
    name.rsplit_once("lock-").map_or(name, |(_, number)| number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeds::SeedRange;

    /// The number of seeds for each finding.
    const SEEDS: u64 = 200;

    fn is_violated(test: Test) -> bool {
        let seeds = SeedRange::count(SEEDS).expect("some");
        test.run_seeds(&seeds).is_err_and(|failure| failure.finding().is_some())
    }

    /// The tests find the defect, and nothing else: without the defect, they find nothing.
    #[test]
    fn without_the_defect_nothing_is_found() {
        assert!(is_violated(revoked_writer()));
        assert!(!is_violated(revoked_writer().release(Release::Repaired)));
        assert!(is_violated(replaced_container()));
        assert!(!is_violated(replaced_container().release(Release::Repaired)));
        assert!(is_violated(numbered_locks()));
        assert!(!is_violated(numbered_locks().faults(Faults::INTERLEAVINGS)));
    }
}
