//! Persistent watches, and the removal of watches (rule 3.3).

use super::ZooKeeper;
use super::request::response;
use super::transport::{Call, admitted, with_waker};
use super::watch::PersistentWatch;
use crate::program::host::Operation;
use crate::vocabulary::error::Error;
use crate::vocabulary::op::{AddWatchMode, Request, Response, WatcherType};
use std::sync::Arc;

impl ZooKeeper {
    /// Sets a persistent watch, whether or not the znode exists. It survives a lost connection, but does not report
    /// changes made meanwhile.
    ///
    /// # Errors
    /// `NoAuth`, `ConnectionLoss`, `SessionExpired`, `BadArguments`; then no watch is set.
    pub async fn add_watch(
        &self,
        path: &str,
        mode: AddWatchMode,
    ) -> Result<PersistentWatch, Error> {
        let request = Arc::new(Request::AddWatch { path: Arc::from(path), mode });
        admitted(&*self.transport, &request).await;
        let (reply, events) =
            with_waker(|waker| self.transport.submit_watching(request, self.scope, waker)).await;
        // If this future is dropped halfway, the watch is abandoned after the reply.
        let watch = PersistentWatch::new(Arc::clone(&self.transport), events);
        watches(response(Call::new(&*self.transport, reply).await)).map(|()| watch)
    }

    /// Removes all watches of this type on the path, whichever task awaits them: at the server, then in the client.
    /// Each gets its last event before this returns: a one-shot [`Watch`](super::Watch) DataWatchRemoved or
    /// ChildWatchRemoved, a [`PersistentWatch`] PersistentWatchRemoved and its end. With `local` the client removes
    /// them whatever the server answers, and returns success; otherwise only if the server succeeded.
    ///
    /// # Errors
    /// `NoWatcher` if there is no such watch, at the server or in the client; a watch that the program has dropped
    /// does not count. `ConnectionLoss`, `SessionExpired`, `BadArguments`.
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

    /// Asks the server whether this connection has a watch of this type on the path. A watch that the program has
    /// dropped still counts.
    ///
    /// # Errors
    /// `NoWatcher` if it has none; `ConnectionLoss`, `SessionExpired`, `BadArguments`.
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
