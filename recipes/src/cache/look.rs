//! A look: a read of a znode that sets a watch for later changes.

use super::{Mutant, Mutants};
use crate::helpers::until_known;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Watch, ZooKeeper};
use vivarium_model::op::Data;
use vivarium_model::stat::Stat;

/// The part of a znode that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Part {
    /// A znode's data.
    Data,
    /// The names of its children.
    Children,
}

/// A look that is to be taken.
#[derive(Clone, Debug)]
pub(super) struct Look {
    pub(super) path: Arc<str>,
    pub(super) part: Part,
    /// True if no parent is listed, so that only this look can notice the znode's creation.
    pub(super) is_first_of_all: bool,
    /// True if a watch of an earlier look has fired.
    pub(super) is_again: bool,
}

/// The result of a look. The watch is missing if a mutant sets none.
pub(super) enum Found {
    Data(Data, Stat, Option<Watch>),
    Children(Vec<String>, Option<Watch>),
    /// There is no such znode. Contains a watch for its creation, if requested.
    Nothing(Option<Watch>),
}

impl Look {
    /// Takes the look (recipe rule 2.16.1).
    ///
    /// # Errors
    /// Returns `SessionExpired`, or the server's refusal to let the znode be read.
    pub(super) async fn take(
        &self,
        zookeeper: &ZooKeeper,
        mutants: Mutants,
    ) -> Result<Found, Error> {
        loop {
            let found = match self.part {
                Part::Data => self.data(zookeeper, mutants).await,
                Part::Children => {
                    let list = || zookeeper.get_children_watch(&self.path);
                    let listed = until_known(zookeeper, list).await;
                    listed.map(|(names, watch)| Found::Children(names, Some(watch)))
                }
            };
            match found {
                Err(Error::NoNode) => {}
                found => return found,
            }
            if !self.is_first_of_all || mutants.has(Mutant::CacheStopsAtNoNode) {
                return Ok(Found::Nothing(None));
            }
            let exists = || zookeeper.exists_watch(&self.path);
            let (stat, watch) = until_known(zookeeper, exists).await?;
            if stat.is_none() {
                return Ok(Found::Nothing(Some(watch)));
            }
        }
    }

    async fn data(&self, zookeeper: &ZooKeeper, mutants: Mutants) -> Result<Found, Error> {
        let path = &*self.path;
        if self.is_again && mutants.has(Mutant::CacheWatchConsumed) {
            let (data, stat) = until_known(zookeeper, || zookeeper.get_data(path)).await?;
            return Ok(Found::Data(data, stat, None));
        }
        if self.is_again && mutants.has(Mutant::CacheWatchAfterRead) {
            let (data, stat) = until_known(zookeeper, || zookeeper.get_data(path)).await?;
            let watch = until_known(zookeeper, || zookeeper.exists_watch(path)).await?.1;
            return Ok(Found::Data(data, stat, Some(watch)));
        }
        let read = || zookeeper.get_data_watch(path);
        let (data, stat, watch) = until_known(zookeeper, read).await?;
        Ok(Found::Data(data, stat, Some(watch)))
    }
}
