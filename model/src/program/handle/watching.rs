//! Watches that stay, and the removal of watches (rule 3.3).

use super::ZooKeeper;
use super::request::response;
use super::transport::{Call, with_waker};
use super::watch::PersistentWatch;
use crate::program::host::Operation;
use crate::vocabulary::error::Error;
use crate::vocabulary::op::{AddWatchMode, Request, Response, WatcherType};
use std::sync::Arc;

impl ZooKeeper {
    /// Sets a watch that stays when it fires, whether the znode exists or not. It survives a lost
    /// connection; what changes meanwhile it does not tell.
    ///
    /// # Errors
    /// `NoAuth`, `ConnectionLoss`, `SessionExpired`, `BadArguments`; no watch is set then.
    pub async fn add_watch(
        &self,
        path: &str,
        mode: AddWatchMode,
    ) -> Result<PersistentWatch, Error> {
        let request = Arc::new(Request::AddWatch { path: Arc::from(path), mode });
        let (reply, events) =
            with_waker(|waker| self.transport.submit_watching(request, self.scope, waker)).await;
        // The watch is the second to go when this is dropped half-way.
        let watch = PersistentWatch::new(Arc::clone(&self.transport), events);
        watches(response(Call::new(&*self.transport, reply).await)).map(|()| watch)
    }

    /// Takes all watches of this type on the path away, whoever in the program awaits them: at the
    /// server, then here. Each is told before this returns: a one-shot [`Watch`](super::Watch) by
    /// DataWatchRemoved or ChildWatchRemoved, a [`PersistentWatch`] by PersistentWatchRemoved and its
    /// end. With `local` they are taken away here whatever the server says, and that is success;
    /// without it, only when the server did it.
    ///
    /// # Errors
    /// `NoWatcher` where there is none of them, at the server or here: one that the program has
    /// dropped is none. `ConnectionLoss`, `SessionExpired`, `BadArguments`.
    pub async fn remove_watches(
        &self,
        path: &str,
        kind: WatcherType,
        local: bool,
    ) -> Result<(), Error> {
        let (path, scope) = (Arc::from(path), self.scope);
        let operation = Operation::RemoveWatches { path, kind, local, scope };
        watches(response(Call::submit(&*self.transport, operation).await))
    }

    /// Asks the server whether this connection has a watch of this type on the path; one that the
    /// program has dropped still counts.
    ///
    /// # Errors
    /// `NoWatcher` where it has none; `ConnectionLoss`, `SessionExpired`, `BadArguments`.
    pub async fn check_watches(&self, path: &str, kind: WatcherType) -> Result<(), Error> {
        watches(self.request(Request::CheckWatches { path: Arc::from(path), kind }).await)
    }
}

fn watches(result: Result<Response, Error>) -> Result<(), Error> {
    match result? {
        Response::Watches => Ok(()),
        other => unreachable!("a request about watches was answered with {other:?}"),
    }
}
