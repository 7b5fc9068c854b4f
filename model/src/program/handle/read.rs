//! The typed reads of [`ZooKeeper`]. The server that the session is connected to answers them by itself: the result
//! may be stale, but is never older than what the session has seen before (rule 4.6.2).

use super::ZooKeeper;
use super::transport::Unseen;
use super::watch::Watch;
use crate::vocabulary::error::Error;
use crate::vocabulary::op::{Data, ReadOp, ReadResult, Request, Response};
use crate::vocabulary::stat::Stat;
use std::sync::Arc;

impl ZooKeeper {
    /// Returns the znode's Stat, or `None` if it does not exist.
    ///
    /// # Errors
    /// `NoAuth`, `ConnectionLoss`, `SessionExpired`, `BadArguments`.
    pub async fn exists(&self, path: &str) -> Result<Option<Stat>, Error> {
        exists_result(self.request(Request::Exists { path: Arc::from(path), watch: false }).await)
    }

    /// Like [`ZooKeeper::exists`], with a watch for the znode's creation, change or deletion, which is set whether or
    /// not it exists.
    ///
    /// # Errors
    /// As [`ZooKeeper::exists`]; then no watch is set.
    pub async fn exists_watch(&self, path: &str) -> Result<(Option<Stat>, Watch), Error> {
        let request = Request::Exists { path: Arc::from(path), watch: true };
        let (result, watch) = self.request_watching(request, Unseen::Nothing).await;
        Ok((exists_result(result)?, watch))
    }

    /// Returns the znode's content and Stat.
    ///
    /// # Errors
    /// `NoNode`, `NoAuth`, `ConnectionLoss`, `SessionExpired`, `BadArguments`.
    pub async fn get_data(&self, path: &str) -> Result<(Data, Stat), Error> {
        data_result(self.request(Request::GetData { path: Arc::from(path), watch: false }).await)
    }

    /// Like [`ZooKeeper::get_data`], with a watch for the znode's change or deletion.
    ///
    /// # Errors
    /// As [`ZooKeeper::get_data`]; then no watch is set, not even after `NoNode`.
    pub async fn get_data_watch(&self, path: &str) -> Result<(Data, Stat, Watch), Error> {
        let request = Request::GetData { path: Arc::from(path), watch: true };
        let (result, watch) = self.request_watching(request, Unseen::Nothing).await;
        data_result(result).map(|(data, stat)| (data, stat, watch))
    }

    /// Sets a watch for a znode's change or deletion if the znode exists: `getData` for a program that does not need
    /// the content. The event contains no zxid.
    ///
    /// # Errors
    /// As [`ZooKeeper::get_data`]; then no watch is set, not even after `NoNode`.
    pub async fn watch_data(&self, path: &str) -> Result<Watch, Error> {
        let request = Request::GetData { path: Arc::from(path), watch: true };
        let (result, watch) = self.request_watching(request, Unseen::Content).await;
        result.map(|_| watch.timeless())
    }

    /// Returns the names of the children. ZooKeeper promises no order.
    ///
    /// # Errors
    /// `NoNode`, `NoAuth`, `ConnectionLoss`, `SessionExpired`, `BadArguments`.
    pub async fn get_children(&self, path: &str) -> Result<Vec<String>, Error> {
        let request = Request::GetChildren { path: Arc::from(path), watch: false };
        children_result(self.request_for(request, Unseen::Stats).await).map(|(names, _)| names)
    }

    /// Returns the names of the children and the znode's Stat.
    ///
    /// # Errors
    /// As [`ZooKeeper::get_children`].
    pub async fn get_children2(&self, path: &str) -> Result<(Vec<String>, Stat), Error> {
        let request = Request::GetChildren { path: Arc::from(path), watch: false };
        children_result(self.request(request).await)
    }

    /// Like [`ZooKeeper::get_children`], with a watch for a change of the set of children or the deletion of the
    /// znode.
    ///
    /// # Errors
    /// As [`ZooKeeper::get_children`]; then no watch is set, not even after `NoNode`.
    pub async fn get_children_watch(&self, path: &str) -> Result<(Vec<String>, Watch), Error> {
        let request = Request::GetChildren { path: Arc::from(path), watch: true };
        let (result, watch) = self.request_watching(request, Unseen::Stats).await;
        children_result(result).map(|(names, _)| (names, watch))
    }

    /// Like [`ZooKeeper::get_children2`], with the watch of [`ZooKeeper::get_children_watch`].
    ///
    /// # Errors
    /// As [`ZooKeeper::get_children_watch`].
    pub async fn get_children2_watch(
        &self,
        path: &str,
    ) -> Result<(Vec<String>, Stat, Watch), Error> {
        let request = Request::GetChildren { path: Arc::from(path), watch: true };
        let (result, watch) = self.request_watching(request, Unseen::Nothing).await;
        children_result(result).map(|(names, stat)| (names, stat, watch))
    }

    /// Executes reads, each with its own result. The server executes no write between them. No watch is set.
    ///
    /// # Errors
    /// Errors of the whole request: `ConnectionLoss`, `SessionExpired`. The error of a single read is its result.
    pub async fn multi_read(&self, ops: Vec<ReadOp>) -> Result<Vec<ReadResult>, Error> {
        match self.request(Request::MultiRead(ops)).await? {
            Response::MultiRead(results) => Ok(results),
            other => unreachable!("multiRead was answered with {other:?}"),
        }
    }

    /// Returns the number of descendants.
    ///
    /// # Errors
    /// `NoNode`, `NoAuth`, `ConnectionLoss`, `SessionExpired`, `BadArguments`.
    pub async fn get_all_children_number(&self, path: &str) -> Result<u32, Error> {
        match self.request(Request::GetAllChildrenNumber { path: Arc::from(path) }).await? {
            Response::AllChildrenNumber(number) => Ok(number),
            other => unreachable!("getAllChildrenNumber was answered with {other:?}"),
        }
    }

    /// Returns the paths of this session's own ephemerals that begin with `prefix`; empty or `/` for all. ZooKeeper
    /// promises no order. The chroot applies neither to the prefix nor to the result, as in Apache's client, which
    /// overlooks it here.
    ///
    /// # Errors
    /// `ConnectionLoss`, `SessionExpired`.
    pub async fn get_ephemerals(&self, prefix: &str) -> Result<Vec<String>, Error> {
        match self.request(Request::GetEphemerals { prefix: Arc::from(prefix) }).await? {
            Response::Ephemerals(paths) => Ok(paths.iter().map(|path| path.to_string()).collect()),
            other => unreachable!("getEphemerals was answered with {other:?}"),
        }
    }
}

fn exists_result(result: Result<Response, Error>) -> Result<Option<Stat>, Error> {
    match result {
        Ok(Response::Exists(stat)) => Ok(Some(stat)),
        Ok(other) => unreachable!("exists was answered with {other:?}"),
        Err(Error::NoNode) => Ok(None),
        Err(error) => Err(error),
    }
}

fn data_result(result: Result<Response, Error>) -> Result<(Data, Stat), Error> {
    match result? {
        Response::Data(data, stat) => Ok((data, stat)),
        other => unreachable!("getData was answered with {other:?}"),
    }
}

fn children_result(result: Result<Response, Error>) -> Result<(Vec<String>, Stat), Error> {
    match result? {
        Response::Children(names, stat) => {
            Ok((names.iter().map(|name| name.to_string()).collect(), stat))
        }
        other => unreachable!("getChildren was answered with {other:?}"),
    }
}
