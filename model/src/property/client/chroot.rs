//! Translates between a program's paths and its servers' whole paths (rule 1.1.5).

use crate::vocabulary::error::Error;
use crate::vocabulary::op::{Op, OpResult, ReadOp, Request, Response};
use crate::vocabulary::path::ZnodePath;
use std::sync::Arc;

/// A client's chroot; empty if it has none.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Prefix(Arc<str>);

impl Prefix {
    pub(super) fn new(chroot: &str) -> Prefix {
        Prefix(chroot.trim_end_matches('/').into())
    }

    /// Returns the request that the server must receive for the program's request.
    ///
    /// # Errors
    /// `BadArguments`, if the program's own path is not valid.
    pub(super) fn whole(&self, request: &Arc<Request>) -> Result<Arc<Request>, Error> {
        if self.0.is_empty() {
            return Ok(Arc::clone(request));
        }
        let below = |path: &Arc<str>| self.below(path, false);
        let whole = match Request::clone(request) {
            // The client passes the real root, which no server deletes.
            Request::Write(Op::Delete { path, version }) if &*path == "/" => {
                Request::Write(Op::Delete { path, version })
            }
            Request::Write(op) => Request::Write(self.op(op)?),
            Request::Multi(ops) => {
                let ops: Result<_, _> = ops.into_iter().map(|op| self.op(op)).collect();
                Request::Multi(ops?)
            }
            Request::MultiRead(reads) => {
                let whole = |read| {
                    Ok(match read {
                        ReadOp::GetData { path } => ReadOp::GetData { path: below(&path)? },
                        ReadOp::GetChildren { path } => ReadOp::GetChildren { path: below(&path)? },
                    })
                };
                let reads: Result<_, Error> = reads.into_iter().map(whole).collect();
                Request::MultiRead(reads?)
            }
            Request::Exists { path, watch } => Request::Exists { path: below(&path)?, watch },
            Request::GetData { path, watch } => Request::GetData { path: below(&path)?, watch },
            Request::GetChildren { path, watch } => {
                Request::GetChildren { path: below(&path)?, watch }
            }
            Request::GetAcl { path } => Request::GetAcl { path: below(&path)? },
            Request::SetAcl { path, acl, version } => {
                Request::SetAcl { path: below(&path)?, acl, version }
            }
            Request::GetAllChildrenNumber { path } => {
                Request::GetAllChildrenNumber { path: below(&path)? }
            }
            Request::AddWatch { path, mode } => Request::AddWatch { path: below(&path)?, mode },
            Request::RemoveWatches { path, kind } => {
                Request::RemoveWatches { path: below(&path)?, kind }
            }
            Request::CheckWatches { path, kind } => {
                Request::CheckWatches { path: below(&path)?, kind }
            }
            Request::DeleteContainer { path } => Request::DeleteContainer { path: below(&path)? },
            Request::Sync { path } => Request::Sync { path: below(&path)? },
            // Apache's client leaves these unchanged.
            other @ (Request::GetEphemerals { .. }
            | Request::WhoAmI
            | Request::CloseSession
            | Request::Reconfig(_)) => other,
        };
        Ok(Arc::new(whole))
    }

    fn op(&self, op: Op) -> Result<Op, Error> {
        Ok(match op {
            Op::Create { path, data, mode, acl } => {
                Op::Create { path: self.below(&path, mode.is_sequential())?, data, mode, acl }
            }
            Op::Delete { path, version } => Op::Delete { path: self.below(&path, false)?, version },
            Op::SetData { path, data, version } => {
                Op::SetData { path: self.below(&path, false)?, data, version }
            }
            Op::Check { path, version } => Op::Check { path: self.below(&path, false)?, version },
        })
    }

    /// Returns the whole path. A server appends ten digits to the path of a sequential znode, so such a path may end
    /// with a slash.
    fn below(&self, path: &Arc<str>, sequential: bool) -> Result<Arc<str>, Error> {
        let digits = if sequential { "0000000000" } else { "" };
        let valid = ZnodePath::new(format!("{path}{digits}")).map_err(|_| Error::BadArguments)?;
        match (valid.as_str(), sequential) {
            ("/", false) => Ok(Arc::clone(&self.0)),
            _ => Ok([&*self.0, path].concat().into()),
        }
    }

    /// Returns the program's path of a whole one.
    pub(super) fn own(&self, path: &Arc<str>) -> Arc<str> {
        match path.strip_prefix(&*self.0) {
            Some("") => "/".into(),
            Some(_) if self.0.is_empty() => Arc::clone(path),
            Some(rest) => rest.into(),
            None => Arc::clone(path),
        }
    }

    /// Returns the result that the program must receive for the server's. Like Apache's client, it keeps the whole
    /// paths of znodes that a multi creates.
    pub(super) fn result(&self, result: &Result<Response, Error>) -> Result<Response, Error> {
        match result {
            Ok(Response::Written(OpResult::Created(path, stat))) if !self.0.is_empty() => {
                Ok(Response::Written(OpResult::Created(self.own(path), *stat)))
            }
            other => other.clone(),
        }
    }
}
