//! Writes whose result must be known, or does not matter.

use super::retry::until_known;
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::op::{CreateMode, Version};
use vivarium_model::path;

/// Waits until the outcome of all earlier writes of this session is settled: each of them has been applied and is
/// visible to every later read, or will never be applied. Call it after `ConnectionLoss`, before you read what the lost
/// write did.
///
/// A read alone proves nothing: the write may still be pending at the leader, while the session has moved to a server
/// that lags. Nor does `sync` suffice under every setting if the session has moved to the leader (recipe rule 1.1.4).
/// Another write does suffice, even one that is refused: it gets a zxid after everything proposed before, and its reply
/// comes from a server that has applied all of that (recipe rule 1.1.3). This function requests the deletion of `/`,
/// which ZooKeeper always refuses.
///
/// ```
/// use vivarium_model::error::Error;
/// use vivarium_model::handle::ZooKeeper;
/// use vivarium_model::op::CreateMode;
/// use vivarium_recipes::helpers::settle;
///
/// /// Returns true if this create made the znode. (No other client uses its name.)
/// async fn create(zookeeper: &ZooKeeper, own: &str) -> Result<bool, Error> {
///     match zookeeper.create(own, b"", CreateMode::Ephemeral).await {
///         Ok(_) => Ok(true),
///         Err(Error::ConnectionLoss) => {
///             settle(zookeeper).await?;
///             Ok(zookeeper.exists(own).await?.is_some())
///         }
///         Err(error) => Err(error),
///     }
/// }
/// # let _ = create;
/// ```
///
/// # Errors
/// `SessionExpired`: as a rule all writes of the session are then settled for a client that reads in its next session
/// (recipe rule 1.2.5 gives the exception), and its ephemeral znodes are deleted. `AuthFailed`, which ends the session
/// too.
pub async fn settle(zookeeper: &ZooKeeper) -> Result<(), Error> {
    match until_known(zookeeper, || zookeeper.delete("/", Version::Any)).await {
        // The refusal is the expected answer.
        Err(Error::BadArguments) => Ok(()),
        other => other,
    }
}

/// Creates this znode and all its parents, persistent and without data, if they are missing.
///
/// # Errors
/// Fails like [`ZooKeeper::create`], except with `NodeExists`, `NoNode` and `ConnectionLoss`; but with `NoNode` if the
/// chroot itself is missing.
pub async fn ensure_path(zookeeper: &ZooKeeper, path: &str) -> Result<(), Error> {
    // From the last component up: if only the last one is missing, no request is made for its ancestors, which may be
    // forbidden.
    let mut missing = vec![path];
    while let Some(path) = missing.last() {
        let create = || zookeeper.create(path, b"", CreateMode::Persistent);
        match until_known(zookeeper, create).await {
            Ok(_) | Err(Error::NodeExists) => drop(missing.pop()),
            Err(Error::NoNode) => match path::parent(path) {
                Some(parent) if parent != "/" => missing.push(parent),
                _ => return Err(Error::NoNode),
            },
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Deletes this znode if it exists, whatever its version.
///
/// This may delete a znode that another client has created meanwhile under the same name, because the delete is
/// repeated after `ConnectionLoss`.
///
/// # Errors
/// Fails like [`ZooKeeper::delete`], except with `NoNode` and `ConnectionLoss`.
pub async fn ensure_deleted(zookeeper: &ZooKeeper, path: &str) -> Result<(), Error> {
    match until_known(zookeeper, || zookeeper.delete(path, Version::Any)).await {
        Err(Error::NoNode) => Ok(()),
        other => other,
    }
}
