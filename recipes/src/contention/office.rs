//! An office: a znode that represents the holder, by which others learn which client it is (recipe rule 2.13.2).

use super::{FencedError, Guard, Loss};
use crate::helpers::{ensure_deleted, settle, until_known};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::op::{CreateMode, Op};

impl Guard {
    /// Creates the ephemeral `office` with this content while the lock is held; from then on, it is deleted together
    /// with the lock's own znode. Waits until an earlier holder's office is gone.
    ///
    /// Cancel-safe: what was created by then is deleted with the lock.
    ///
    /// # Errors
    /// Returns how the lock was lost, or the server's refusal of the path.
    pub(crate) async fn take_office(
        &mut self,
        office: &str,
        data: &[u8],
    ) -> Result<(), FencedError> {
        // Set before the create, because its reply may be lost.
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

    /// Leaves the office behind when the lock is released (for a mutant).
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

    /// Waits until an earlier holder's znode is gone. If it belongs to this very session, its holder's own znode was
    /// deleted by another client, and this call must delete it.
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

/// The owner of an office.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Nobody,
    Own,
    Other,
}
