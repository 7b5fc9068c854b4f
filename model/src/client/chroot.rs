//! The chroot of a client: what every path of its program is put behind (rule 1.1.5; Apache's
//! `client/Chroot.java` and its use in `ZooKeeper.java`).
//!
//! It is the client's affair alone: servers, monitors and the client's own table of watches know
//! whole paths, the program knows those below the chroot. What Apache's client leaves out is left
//! out here:
//!
//! | Call | What it misses |
//! |---|---|
//! | multi | the paths of created znodes in its results are whole ones |
//! | getEphemerals | neither its prefix nor its results are changed |
//! | delete of `/` | asks for the real root, which is refused, and not for the chroot |
//!
//! Apache's client refuses invalid paths itself. Without a chroot this is left to the server, which
//! refuses the same ones. With one it must happen here, since `/app` and `le` make a valid path.

use crate::vocabulary::error::Error;
use crate::vocabulary::op::{Op, OpResult, ReadOp, Request, Response, WatchedEvent};
use crate::vocabulary::path::ZnodePath;
use std::sync::Arc;

/// A chroot, or none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Chroot(Option<ZnodePath>);

impl Chroot {
    /// From a client's configuration: none for nothing and for `/`.
    ///
    /// # Panics
    /// If it is no valid path, which whoever reads configurations has refused.
    pub(super) fn new(chroot: &str) -> Chroot {
        if chroot.is_empty() || chroot == "/" {
            return Chroot(None);
        }
        let path = ZnodePath::new(chroot);
        Chroot(Some(path.unwrap_or_else(|_| panic!("the chroot {chroot:?} is not a valid path"))))
    }

    /// The request as the server is to see it.
    ///
    /// # Errors
    /// `BadArguments` for a path that is not valid.
    pub(super) fn request(&self, request: Arc<Request>) -> Result<Arc<Request>, Error> {
        let Some(chroot) = &self.0 else { return Ok(request) };
        if matches!(&*request, Request::Write(Op::Delete { path, .. }) if &**path == "/") {
            return Ok(request);
        }
        let mut request = Request::clone(&request);
        for (path, sequential) in paths(&mut request) {
            *path = below(chroot, path, sequential)?;
        }
        Ok(Arc::new(request))
    }

    /// The result as the program is to see it.
    pub(super) fn result(&self, result: Result<Response, Error>) -> Result<Response, Error> {
        match result {
            Ok(Response::Written(OpResult::Created(path, stat))) => {
                Ok(Response::Written(OpResult::Created(self.strip(path), stat)))
            }
            other => other,
        }
    }

    /// The event as the program is to see it.
    pub(super) fn event(&self, event: WatchedEvent) -> WatchedEvent {
        WatchedEvent { path: self.strip(event.path), ..event }
    }

    fn strip(&self, path: Arc<str>) -> Arc<str> {
        let Some(chroot) = &self.0 else { return path };
        match path.strip_prefix(chroot.as_str()) {
            Some("") => Arc::from("/"),
            Some(rest) => Arc::from(rest),
            // No server answers with what was not asked for.
            None => path,
        }
    }
}

/// A program's path behind the chroot. That of a sequential znode is whole only with its number.
fn below(chroot: &ZnodePath, path: &Arc<str>, sequential: bool) -> Result<Arc<str>, Error> {
    ZnodePath::new(if sequential { format!("{path}1") } else { path.to_string() })?;
    Ok(if &**path == "/" { chroot.shared() } else { format!("{chroot}{path}").into() })
}

/// The paths of a request that a chroot is for, each with whether a number will be appended.
fn paths(request: &mut Request) -> Vec<(&mut Arc<str>, bool)> {
    match request {
        Request::Write(op) => vec![path_of(op)],
        Request::Multi(ops) => ops.iter_mut().map(path_of).collect(),
        Request::MultiRead(ops) => ops.iter_mut().map(path_of_read).collect(),
        Request::Exists { path, .. }
        | Request::GetData { path, .. }
        | Request::GetChildren { path, .. }
        | Request::GetAcl { path }
        | Request::SetAcl { path, .. }
        | Request::GetAllChildrenNumber { path }
        | Request::AddWatch { path, .. }
        | Request::RemoveWatches { path, .. }
        | Request::CheckWatches { path, .. }
        | Request::DeleteContainer { path }
        | Request::Sync { path } => vec![(path, false)],
        Request::GetEphemerals { .. } | Request::WhoAmI | Request::CloseSession => Vec::new(),
    }
}

fn path_of(op: &mut Op) -> (&mut Arc<str>, bool) {
    match op {
        Op::Create { path, mode, .. } => (path, mode.is_sequential()),
        Op::Delete { path, .. } | Op::SetData { path, .. } | Op::Check { path, .. } => {
            (path, false)
        }
    }
}

fn path_of_read(op: &mut ReadOp) -> (&mut Arc<str>, bool) {
    let (ReadOp::GetData { path } | ReadOp::GetChildren { path }) = op;
    (path, false)
}
