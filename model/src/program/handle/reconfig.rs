//! The ensemble's configuration (rule 5.8).

use super::ZooKeeper;
use crate::vocabulary::error::Error;
use crate::vocabulary::op::{Data, Request, Response};
use crate::vocabulary::path::CONFIG;
use crate::vocabulary::reconfiguration::Reconfiguration;
use crate::vocabulary::stat::Stat;
use std::sync::Arc;

impl ZooKeeper {
    /// Replaces the ensemble's configuration and returns the text of the new one, with the Stat of `/zookeeper/config`. By
    /// default only the superuser may, and only where `reconfigEnabled` is set.
    ///
    /// # Errors
    /// As the leader says (rule 5.8.3): `ReconfigDisabled`, `Unimplemented` at a standalone server, `ReconfigInProgress`,
    /// `BadVersion`, `BadArguments`, `NewConfigNoQuorum`, `NoAuth`; or `ConnectionLoss`, after which the outcome is unknown.
    /// The operator who removes the leader always meets it: the change of the leader closes all connections.
    pub async fn reconfig(&self, change: Reconfiguration) -> Result<(Data, Stat), Error> {
        match self.request(Request::Reconfig(change)).await? {
            Response::Reconfigured(text, stat) => Ok((text, stat)),
            other => unreachable!("reconfig was answered with {other:?}"),
        }
    }

    /// Returns the text of the configuration that the connected server has, with the Stat of `/zookeeper/config`. A
    /// chroot applies here as to every path, so only clients without one can ask (Apache's client leaves it out).
    /// [`QuorumVerifier::read`](crate::vocabulary::quorum::QuorumVerifier::read) reads the text.
    ///
    /// # Errors
    /// `ConnectionLoss`, `SessionExpired`, `NoAuth`.
    pub async fn get_config(&self) -> Result<(Data, Stat), Error> {
        match self.request(Request::GetData { path: Arc::from(CONFIG), watch: false }).await? {
            Response::Data(text, stat) => Ok((text, stat)),
            other => unreachable!("getConfig was answered with {other:?}"),
        }
    }
}
