//! Deletes one claim, and no later claim of the same name.

use crate::helpers::{settle, until_known};
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::op::Version;
use vivarium_model::zxid::Zxid;

/// Deletes the znode that was created at `czxid`, unless an earlier request of this session has done so.
pub(super) async fn delete_what_is_left(
    zookeeper: &ZooKeeper,
    path: &str,
    czxid: Zxid,
) -> Result<(), Error> {
    match is_left(zookeeper, path, czxid).await? {
        true => delete_exactly(zookeeper, path, czxid).await.map(drop),
        false => Ok(()),
    }
}

/// Returns true if the znode that was created at `czxid` still exists after all earlier requests of this session are
/// settled.
async fn is_left(zookeeper: &ZooKeeper, path: &str, czxid: Zxid) -> Result<bool, Error> {
    settle(zookeeper).await?;
    let stat = until_known(zookeeper, || zookeeper.exists(path)).await?;
    Ok(stat.is_some_and(|stat| stat.czxid == czxid))
}

/// Deletes a claim with this id, even if its create is still in flight.
pub(super) async fn sweep(zookeeper: &ZooKeeper, path: &str, id: &str) -> Result<(), Error> {
    settle(zookeeper).await?;
    match until_known(zookeeper, || zookeeper.get_data(path)).await {
        Ok((data, stat)) if *data == *id.as_bytes() => {
            delete_exactly(zookeeper, path, stat.czxid).await.map(drop)
        }
        Ok(_) | Err(Error::NoNode) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Deletes the znode that was created at `czxid`, and no other of its name, however often the connection is lost.
/// Returns whether this call deleted it, if that is known. The caller has not sent a delete of it before.
///
/// Another client may have claimed the item again meanwhile, and a delete that is simply repeated would remove that
/// claim (recipe rule 2.6.4). So a lost delete is settled first, and repeated only while the znode of `czxid` exists.
pub(super) async fn delete_exactly(
    zookeeper: &ZooKeeper,
    path: &str,
    czxid: Zxid,
) -> Result<Option<bool>, Error> {
    let mut lost = false;
    loop {
        match zookeeper.delete(path, Version::Any).await {
            Ok(()) => return Ok(Some(true)),
            Err(Error::NoNode) => return Ok((!lost).then_some(false)),
            Err(Error::ConnectionLoss) => {
                lost = true;
                if !is_left(zookeeper, path, czxid).await? {
                    return Ok(None);
                }
            }
            Err(error) => return Err(error),
        }
    }
}
