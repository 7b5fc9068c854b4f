//! The chroot of a client: the prefix of every path that its program uses (rule 1.1.5; Apache's `client/Chroot.java`
//! and its use in `ZooKeeper.java`).
//!
//! Only the client knows of it: servers, monitors and the client's own watch table use whole paths, the program uses
//! paths relative to the chroot. The model has the same gaps as Apache's client:
//!
//! | Call | What it misses |
//! |---|---|
//! | multi | the paths of created znodes in its results are whole ones |
//! | getEphemerals | neither its prefix nor its results are changed |
//! | delete of `/` | asks for the real root, which is refused, and not for the chroot |
//!
//! Apache's client rejects invalid paths itself. Without a chroot the model leaves this to the server, which rejects
//! the same paths. With a chroot the client must do it, because `/app` and the invalid path `le` form a valid path.

use crate::vocabulary::error::Error;
use crate::vocabulary::op::{Op, OpResult, ReadOp, Request, Response, WatchedEvent};
use crate::vocabulary::path::ZnodePath;
use std::sync::Arc;

/// A chroot, or none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Chroot(Option<ZnodePath>);

impl Chroot {
    /// Returns the chroot of a client's configuration; there is none for the empty path and for `/`.
    ///
    /// # Panics
    /// If the path is invalid; the readers of configurations reject such a path.
    pub(super) fn new(chroot: &str) -> Chroot {
        if chroot.is_empty() || chroot == "/" {
            return Chroot(None);
        }
        let path = ZnodePath::new(chroot);
        Chroot(Some(path.unwrap_or_else(|_| panic!("the chroot {chroot:?} is not a valid path"))))
    }

    /// Converts a request from the program's paths to the server's.
    ///
    /// # Errors
    /// `BadArguments` for an invalid path.
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

    /// Converts a result from the server's paths to the program's.
    pub(super) fn result(&self, result: Result<Response, Error>) -> Result<Response, Error> {
        match result {
            Ok(Response::Written(OpResult::Created(path, stat))) => {
                Ok(Response::Written(OpResult::Created(self.strip(path), stat)))
            }
            other => other,
        }
    }

    /// Converts an event from the server's paths to the program's.
    pub(super) fn event(&self, event: WatchedEvent) -> WatchedEvent {
        WatchedEvent { path: self.strip(event.path), ..event }
    }

    fn strip(&self, path: Arc<str>) -> Arc<str> {
        let Some(chroot) = &self.0 else { return path };
        match path.strip_prefix(chroot.as_str()) {
            Some("") => Arc::from("/"),
            Some(rest) => Arc::from(rest),
            // Servers return only paths that were requested, so this does not happen.
            None => path,
        }
    }
}

/// Appends a program's path to the chroot. The path of a sequential znode is validated with a number appended.
fn below(chroot: &ZnodePath, path: &Arc<str>, sequential: bool) -> Result<Arc<str>, Error> {
    ZnodePath::new(if sequential { format!("{path}1") } else { path.to_string() })?;
    Ok(if &**path == "/" { chroot.shared() } else { format!("{chroot}{path}").into() })
}

/// Returns the paths of a request that the chroot applies to, each with whether a number will be appended.
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
        Request::GetEphemerals { .. }
        | Request::WhoAmI
        | Request::CloseSession
        | Request::Reconfig(_) => Vec::new(),
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
