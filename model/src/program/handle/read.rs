//! The typed reads of [`ZooKeeper`]. The server that the session is connected to answers them alone:
//! what they show may be old, but is never older than what the session was shown before
//! (rule 4.6.2).

use super::ZooKeeper;
use super::transport::Unseen;
use super::watch::Watch;
use crate::vocabulary::error::Error;
use crate::vocabulary::op::{Data, ReadOp, ReadResult, Request, Response};
use crate::vocabulary::stat::Stat;
use std::sync::Arc;

impl ZooKeeper {
    /// The znode's Stat, `None` where there is no znode.
    ///
    /// # Errors
    /// `NoAuth`, `ConnectionLoss`, `SessionExpired`, `BadArguments`.
    pub async fn exists(&self, path: &str) -> Result<Option<Stat>, Error> {
        exists_result(self.request(Request::Exists { path: Arc::from(path), watch: false }).await)
    }

    /// As [`ZooKeeper::exists`], and a watch for its creation, change or deletion, set whether it
    /// exists or not.
    ///
    /// # Errors
    /// As [`ZooKeeper::exists`]; no watch is set then.
    pub async fn exists_watch(&self, path: &str) -> Result<(Option<Stat>, Watch), Error> {
        let request = Request::Exists { path: Arc::from(path), watch: true };
        let (result, watch) = self.request_watching(request, Unseen::Nothing).await;
        Ok((exists_result(result)?, watch))
    }

    /// The znode's content and Stat.
    ///
    /// # Errors
    /// `NoNode`, `NoAuth`, `ConnectionLoss`, `SessionExpired`, `BadArguments`.
    pub async fn get_data(&self, path: &str) -> Result<(Data, Stat), Error> {
        data_result(self.request(Request::GetData { path: Arc::from(path), watch: false }).await)
    }

    /// As [`ZooKeeper::get_data`], and a watch for its change or deletion.
    ///
    /// # Errors
    /// As [`ZooKeeper::get_data`]; no watch is set then, not even for `NoNode`.
    pub async fn get_data_watch(&self, path: &str) -> Result<(Data, Stat, Watch), Error> {
        let request = Request::GetData { path: Arc::from(path), watch: true };
        let (result, watch) = self.request_watching(request, Unseen::Nothing).await;
        data_result(result).map(|(data, stat)| (data, stat, watch))
    }

    /// A watch for a znode's change or deletion, where the znode exists: `getData` for who does not
    /// want to know what is in it. The event does not tell its zxid.
    ///
    /// # Errors
    /// As [`ZooKeeper::get_data`]; no watch is set then, not even for `NoNode`.
    pub async fn watch_data(&self, path: &str) -> Result<Watch, Error> {
        let request = Request::GetData { path: Arc::from(path), watch: true };
        let (result, watch) = self.request_watching(request, Unseen::Content).await;
        result.map(|_| watch.timeless())
    }

    /// The names of the children. ZooKeeper promises no order of them.
    ///
    /// # Errors
    /// `NoNode`, `NoAuth`, `ConnectionLoss`, `SessionExpired`, `BadArguments`.
    pub async fn get_children(&self, path: &str) -> Result<Vec<String>, Error> {
        let request = Request::GetChildren { path: Arc::from(path), watch: false };
        children_result(self.request_for(request, Unseen::Stats).await).map(|(names, _)| names)
    }

    /// The names of the children, and the znode's Stat.
    ///
    /// # Errors
    /// As [`ZooKeeper::get_children`].
    pub async fn get_children2(&self, path: &str) -> Result<(Vec<String>, Stat), Error> {
        let request = Request::GetChildren { path: Arc::from(path), watch: false };
        children_result(self.request(request).await)
    }

    /// As [`ZooKeeper::get_children`], and a watch for a change of the set of children, or the
    /// deletion of the znode itself.
    ///
    /// # Errors
    /// As [`ZooKeeper::get_children`]; no watch is set then, not even for `NoNode`.
    pub async fn get_children_watch(&self, path: &str) -> Result<(Vec<String>, Watch), Error> {
        let request = Request::GetChildren { path: Arc::from(path), watch: true };
        let (result, watch) = self.request_watching(request, Unseen::Stats).await;
        children_result(result).map(|(names, _)| (names, watch))
    }

    /// As [`ZooKeeper::get_children2`], with the watch of [`ZooKeeper::get_children_watch`].
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

    /// Reads, each with its own result, that the server executes without a write between them. None of
    /// them sets a watch.
    ///
    /// # Errors
    /// Those of the request as a whole: `ConnectionLoss`, `SessionExpired`. A read that fails is one of
    /// the results.
    pub async fn multi_read(&self, ops: Vec<ReadOp>) -> Result<Vec<ReadResult>, Error> {
        match self.request(Request::MultiRead(ops)).await? {
            Response::MultiRead(results) => Ok(results),
            other => unreachable!("multiRead was answered with {other:?}"),
        }
    }

    /// The number of all descendants.
    ///
    /// # Errors
    /// `NoNode`, `NoAuth`, `ConnectionLoss`, `SessionExpired`, `BadArguments`.
    pub async fn get_all_children_number(&self, path: &str) -> Result<u32, Error> {
        match self.request(Request::GetAllChildrenNumber { path: Arc::from(path) }).await? {
            Response::AllChildrenNumber(number) => Ok(number),
            other => unreachable!("getAllChildrenNumber was answered with {other:?}"),
        }
    }

    /// The paths of this session's own ephemerals that begin with a text; nothing or `/` for all.
    /// ZooKeeper promises no order of them. A chroot is not looked at, neither in what is asked nor
    /// in what is answered: Apache's client has forgotten it here.
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
