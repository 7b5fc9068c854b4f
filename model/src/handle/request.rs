//! The typed requests of [`ZooKeeper`], written once over any [`Transport`].

use super::ZooKeeper;
use super::transport::{Call, Unseen, with_waker};
use super::watch::Watch;
use crate::acl::AclList;
use crate::error::Error;
use crate::host::{Operation, Outcome};
use crate::op::{CreateMode, Data, Op, OpResult, Request, Response, Version};
use crate::stat::Stat;
use std::fmt;
use std::sync::Arc;

/// Why a multi failed. Nothing of it was applied, unless the error is `ConnectionLoss`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MultiError {
    /// Which operation failed, from 0; `None` when the request as a whole did.
    pub index: Option<usize>,
    /// With what.
    pub error: Error,
}

impl fmt::Display for MultiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            Some(index) => write!(f, "operation {index} of the multi: {}", self.error),
            None => self.error.fmt(f),
        }
    }
}

impl std::error::Error for MultiError {}

impl From<MultiError> for Error {
    fn from(failed: MultiError) -> Error {
        failed.error
    }
}

impl ZooKeeper {
    /// Creates a znode (`create2`): its path, with the sequence number if the mode appends one, and
    /// its Stat.
    ///
    /// # Errors
    /// As the server says (semantics 1.6): `NodeExists`, `NoNode` for the parent,
    /// `NoChildrenForEphemerals`, `BadArguments`. After `ConnectionLoss` the znode may exist, may
    /// never exist, or may appear later.
    pub async fn create(
        &self,
        path: &str,
        data: &[u8],
        mode: CreateMode,
    ) -> Result<(String, Stat), Error> {
        let (path, data) = (Arc::from(path), Data::from(data));
        let op = Op::Create { path, data, mode, acl: AclList::OPEN };
        match self.write(op).await? {
            OpResult::Created(path, stat) => Ok((path.to_string(), stat)),
            other => unreachable!("create was answered with {other:?}"),
        }
    }

    /// Deletes a znode without children.
    ///
    /// # Errors
    /// As the server says (semantics 1.6): `NoNode`, `BadVersion`, `NotEmpty`, `BadArguments`; or
    /// `ConnectionLoss`, which leaves the outcome open.
    pub async fn delete(&self, path: &str, version: Version) -> Result<(), Error> {
        match self.write(Op::Delete { path: Arc::from(path), version }).await? {
            OpResult::Deleted => Ok(()),
            other => unreachable!("delete was answered with {other:?}"),
        }
    }

    /// Replaces a znode's content; its new Stat.
    ///
    /// # Errors
    /// As the server says (semantics 1.6): `NoNode`, `BadVersion`, `BadArguments`; or
    /// `ConnectionLoss`, which leaves the outcome open.
    pub async fn set_data(&self, path: &str, data: &[u8], version: Version) -> Result<Stat, Error> {
        let op = Op::SetData { path: Arc::from(path), data: Data::from(data), version };
        match self.write(op).await? {
            OpResult::Set(stat) => Ok(stat),
            other => unreachable!("setData was answered with {other:?}"),
        }
    }

    /// The znode's Stat, `None` where there is no znode.
    ///
    /// # Errors
    /// `ConnectionLoss`, `SessionExpired`, `BadArguments`.
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
    /// `NoNode`, `ConnectionLoss`, `SessionExpired`, `BadArguments`.
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
    /// `NoNode`, `ConnectionLoss`, `SessionExpired`, `BadArguments`.
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

    /// Executes all of these or none, under one zxid (semantics 1.7).
    ///
    /// # Errors
    /// The first operation that failed, with its error; or the error of the request as a whole.
    pub async fn multi(&self, ops: Vec<Op>) -> Result<Vec<OpResult>, MultiError> {
        match self.request(Request::Multi(ops)).await {
            Ok(Response::Multi(results)) => multi_result(results),
            Ok(other) => unreachable!("multi was answered with {other:?}"),
            Err(error) => Err(MultiError { index: None, error }),
        }
    }

    /// Waits until this server has caught up with the leader (semantics 4.6; no quorum round, so no
    /// guarantee that the leader is still one).
    ///
    /// # Errors
    /// `ConnectionLoss`, `SessionExpired`.
    pub async fn sync(&self, path: &str) -> Result<(), Error> {
        self.request(Request::Sync { path: Arc::from(path) }).await.map(|_| ())
    }

    async fn write(&self, op: Op) -> Result<OpResult, Error> {
        match self.request(Request::Write(op)).await? {
            Response::Written(result) => Ok(result),
            other => unreachable!("a write was answered with {other:?}"),
        }
    }

    async fn request(&self, request: Request) -> Result<Response, Error> {
        self.request_for(request, Unseen::Nothing).await
    }

    /// A request whose caller keeps back some of the answer.
    async fn request_for(&self, request: Request, unseen: Unseen) -> Result<Response, Error> {
        let operation =
            Operation::Request { request: Arc::new(request), watch: None, scope: self.scope };
        let ticket = with_waker(|waker| {
            let ticket = self.transport.submit(operation, waker);
            self.transport.keep_back(ticket, unseen);
            ticket
        });
        response(Call::new(&*self.transport, ticket.await).await)
    }

    /// The watch is the second to go when this is dropped half-way: reply first, then watch.
    async fn request_watching(
        &self,
        request: Request,
        unseen: Unseen,
    ) -> (Result<Response, Error>, Watch) {
        let (reply, event) = with_waker(|waker| {
            let tickets = self.transport.submit_watching(Arc::new(request), self.scope, waker);
            self.transport.keep_back(tickets.0, unseen);
            tickets
        })
        .await;
        let watch = Watch::new(Arc::clone(&self.transport), event);
        let result = response(Call::new(&*self.transport, reply).await);
        (result, watch)
    }
}

fn response(outcome: Outcome) -> Result<Response, Error> {
    match outcome {
        Outcome::Response(result) => result,
        other => unreachable!("a request was answered with {other:?}"),
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

/// A failed multi has reply code 0 and the codes inside; the first non-zero one is raised.
fn multi_result(results: Vec<OpResult>) -> Result<Vec<OpResult>, MultiError> {
    let failed = results.iter().enumerate().find_map(|(index, result)| match result {
        OpResult::Failed(Some(error)) => Some(MultiError { index: Some(index), error: *error }),
        _ => None,
    });
    match failed {
        Some(failed) => Err(failed),
        None => Ok(results),
    }
}
