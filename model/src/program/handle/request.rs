//! The typed updates of [`ZooKeeper`], written once for any [`Transport`](super::Transport), and the code that all
//! requests share.

use super::ZooKeeper;
use super::transport::{Call, Unseen, admitted, with_waker};
use super::watch::Watch;
use crate::program::host::{Operation, Outcome};
use crate::vocabulary::acl::AclList;
use crate::vocabulary::error::Error;
use crate::vocabulary::op::{CreateMode, Data, Op, OpResult, Request, Response, Version};
use crate::vocabulary::stat::Stat;
use std::fmt;
use std::sync::Arc;

/// Why a multi failed. None of it was applied, unless the error is `ConnectionLoss`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MultiError {
    /// Index of the operation that failed, from 0; `None` if the whole request failed.
    pub index: Option<usize>,
    /// The error of that operation or request.
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
    /// Creates a znode (`create2`, `createContainer`, `createTTL`) with the open ACL. Returns its path, including the
    /// sequence number if the mode appends one, and its Stat.
    ///
    /// # Errors
    /// As the server says (rule 1.6): `NodeExists`, `NoNode` for the parent, `NoChildrenForEphemerals`, `NoAuth` for
    /// the parent, `QuotaExceeded`, `BadArguments`, `Unimplemented` for a TTL if servers do not support it. After
    /// `ConnectionLoss` the znode may exist, may never exist, or may appear later.
    pub async fn create(
        &self,
        path: &str,
        data: &[u8],
        mode: CreateMode,
    ) -> Result<(String, Stat), Error> {
        self.create_with_acl(path, data, mode, AclList::OPEN).await
    }

    /// Like [`ZooKeeper::create`], with an ACL. Children do not inherit it.
    ///
    /// # Errors
    /// As [`ZooKeeper::create`]; `InvalidAcl` for a list that is empty or that the server does not understand, and
    /// for [`AclList::creator_all`] if no identity was proven.
    pub async fn create_with_acl(
        &self,
        path: &str,
        data: &[u8],
        mode: CreateMode,
        acl: AclList,
    ) -> Result<(String, Stat), Error> {
        let (path, data) = (Arc::from(path), Data::from(data));
        let op = Op::Create { path, data, mode, acl };
        match self.write(op).await? {
            OpResult::Created(path, stat) => Ok((path.to_string(), stat)),
            other => unreachable!("create was answered with {other:?}"),
        }
    }

    /// Deletes a znode without children.
    ///
    /// # Errors
    /// As the server says (rule 1.6): `NoNode`, `NoAuth` for the parent, `BadVersion`, `NotEmpty`, `BadArguments`; or
    /// `ConnectionLoss`, after which the outcome is unknown.
    pub async fn delete(&self, path: &str, version: Version) -> Result<(), Error> {
        match self.write(Op::Delete { path: Arc::from(path), version }).await? {
            OpResult::Deleted => Ok(()),
            other => unreachable!("delete was answered with {other:?}"),
        }
    }

    /// Replaces a znode's content and returns the new Stat.
    ///
    /// # Errors
    /// As the server says (rule 1.6): `NoNode`, `NoAuth`, `BadVersion`, `QuotaExceeded`, `BadArguments`; or
    /// `ConnectionLoss`, after which the outcome is unknown.
    pub async fn set_data(&self, path: &str, data: &[u8], version: Version) -> Result<Stat, Error> {
        let op = Op::SetData { path: Arc::from(path), data: Data::from(data), version };
        match self.write(op).await? {
            OpResult::Set(stat) => Ok(stat),
            other => unreachable!("setData was answered with {other:?}"),
        }
    }

    /// Executes all of these operations or none, under one zxid (rule 1.7). With a chroot, the paths in the results
    /// are whole, as in Apache's client.
    ///
    /// # Errors
    /// The first operation that failed, with its error; or the error of the whole request.
    pub async fn multi(&self, ops: Vec<Op>) -> Result<Vec<OpResult>, MultiError> {
        match self.request(Request::Multi(ops)).await {
            Ok(Response::Multi(results)) => multi_result(results),
            Ok(other) => unreachable!("multi was answered with {other:?}"),
            Err(error) => Err(MultiError { index: None, error }),
        }
    }

    /// Deletes a container or TTL znode without children, as the leader eventually does. Servers accept this request
    /// from clients, although Apache's client has no method for it.
    ///
    /// # Errors
    /// As the server says (rule 1.6): `NoNode`, `NotEmpty`, `BadArguments`; or `ConnectionLoss`, after which the
    /// outcome is unknown.
    pub async fn delete_container(&self, path: &str) -> Result<(), Error> {
        match self.request(Request::DeleteContainer { path: Arc::from(path) }).await? {
            Response::ContainerDeleted => Ok(()),
            other => unreachable!("deleteContainer was answered with {other:?}"),
        }
    }

    /// Waits until this server has caught up with the leader (rule 4.6.4). There is no quorum round, so the leader
    /// may have been deposed.
    ///
    /// # Errors
    /// `ConnectionLoss`, `SessionExpired`.
    pub async fn sync(&self, path: &str) -> Result<(), Error> {
        self.request(Request::Sync { path: Arc::from(path) }).await.map(|_| ())
    }

    pub(super) async fn write(&self, op: Op) -> Result<OpResult, Error> {
        match self.request(Request::Write(op)).await? {
            Response::Written(result) => Ok(result),
            other => unreachable!("a write was answered with {other:?}"),
        }
    }

    pub(super) async fn request(&self, request: Request) -> Result<Response, Error> {
        self.request_for(request, Unseen::Nothing).await
    }

    /// Makes a request whose caller hides a part of the answer from the program.
    pub(super) async fn request_for(
        &self,
        request: Request,
        unseen: Unseen,
    ) -> Result<Response, Error> {
        admitted(&*self.transport, &request).await;
        let operation =
            Operation::Request { request: Arc::new(request), watch: None, scope: self.scope };
        let ticket = with_waker(|waker| {
            let ticket = self.transport.submit(operation, waker);
            self.transport.keep_back(ticket, unseen);
            ticket
        });
        response(Call::new(&*self.transport, ticket.await).await)
    }

    /// Makes a request with a watch. If the future is dropped halfway, it abandons the reply first, then the watch.
    pub(super) async fn request_watching(
        &self,
        request: Request,
        unseen: Unseen,
    ) -> (Result<Response, Error>, Watch) {
        admitted(&*self.transport, &request).await;
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

pub(super) fn response(outcome: Outcome) -> Result<Response, Error> {
    match outcome {
        Outcome::Response(result) => result,
        other => unreachable!("a request was answered with {other:?}"),
    }
}

/// Returns the first non-zero code of a failed multi as an error: its reply code is 0 and the codes are inside.
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
