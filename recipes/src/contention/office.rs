//! A znode that stands for the holder: what others look at to know who it is (recipe rule 2.13.2).

use super::{FencedError, Guard, Loss};
use crate::helpers::{ensure_deleted, settle, until_known};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::op::{CreateMode, Op};

impl Guard {
    /// Creates `office`, ephemeral, with this content, while the lock is held; from then on it goes together
    /// with the lock's own znode. Waits until the one of an earlier holder has gone.
    ///
    /// Cancel-safe: what was created by then is deleted with the lock.
    ///
    /// # Errors
    /// How the lock was lost; or the server's refusal of the path.
    pub(crate) async fn take_office(
        &mut self,
        office: &str,
        data: &[u8],
    ) -> Result<(), FencedError> {
        // From here on, since the reply to a create may never come.
        self.office = Some(Arc::from(office));
        loop {
            let create = Op::create(office, data, CreateMode::Ephemeral);
            match self.fenced(vec![create]).await {
                Ok(_) => return Ok(()),
                Err(FencedError::Failed(Error::ConnectionLoss)) => {
                    self.settle_office().await?;
                    if self.owner_of(office).await? == Owner::Own {
                        return Ok(());
                    }
                }
                Err(FencedError::Operation { error: Error::NodeExists, .. }) => {
                    self.vacated(office).await?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Leaves the office behind when the lock is released (a mutant).
    pub(crate) fn forget_office(&mut self) {
        self.office = None;
    }

    async fn settle_office(&self) -> Result<(), FencedError> {
        settle(&self.zookeeper)
            .await
            .map_err(|_| self.refused(Loss::SessionEnded, Error::SessionExpired))
    }

    async fn owner_of(&self, office: &str) -> Result<Owner, FencedError> {
        let exists = until_known(&self.zookeeper, || self.zookeeper.exists(office)).await;
        let stat = exists.map_err(|error| self.refused(Loss::SessionEnded, error))?;
        Ok(match stat {
            None => Owner::Nobody,
            Some(stat) if stat.ephemeral_owner == Some(self.session) => Owner::Own,
            Some(_) => Owner::Other,
        })
    }

    /// Waits until an earlier holder's znode has gone. One of this very session was left by a holder whose own
    /// znode somebody deleted: nobody else will do it.
    async fn vacated(&self, office: &str) -> Result<(), FencedError> {
        let ended = |error| self.refused(Loss::SessionEnded, error);
        let watch = || self.zookeeper.exists_watch(office);
        let (stat, mut watch) = until_known(&self.zookeeper, watch).await.map_err(ended)?;
        match stat {
            None => Ok(()),
            Some(stat) if stat.ephemeral_owner == Some(self.session) => {
                ensure_deleted(&self.zookeeper, office).await.map_err(ended)
            }
            Some(_) => match self.while_held(watch.changed()).await {
                Ok(event) => event.map(drop).map_err(ended),
                Err(loss) => Err(FencedError::Lost(loss)),
            },
        }
    }
}

/// Whose an office is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Nobody,
    Own,
    Other,
}
