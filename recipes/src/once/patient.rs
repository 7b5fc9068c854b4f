//! A handle that continues in the next session when one ends.

use crate::helpers::{ended, reconnected};
use std::future::Future;
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::id::SessionId;

/// Repeats requests until there is an answer, however often the connection is lost and sessions end meanwhile. For
/// programs with no state in a session, and requests that may be made twice.
#[derive(Clone, Debug)]
pub struct Patient {
    zookeeper: ZooKeeper,
    session: SessionId,
}

impl Patient {
    /// Waits for a session.
    pub async fn connect(zookeeper: ZooKeeper) -> Patient {
        let session = zookeeper.connect().await;
        Patient { zookeeper, session }
    }

    /// Creates a handle whose last session was this one, to continue where another handle has stopped.
    #[cfg(feature = "checking")]
    pub(crate) fn of(zookeeper: ZooKeeper, session: SessionId) -> Patient {
        Patient { zookeeper, session }
    }

    /// Returns the handle, which is not pinned to a session.
    pub fn zookeeper(&self) -> &ZooKeeper {
        &self.zookeeper
    }

    /// Repeats a request until it is answered. `lost` becomes true if the request may have been applied without an
    /// answer; a request that is refused with SessionExpired was not applied (recipe rule 1.1.5).
    ///
    /// The request receives a handle that is pinned to the present session, so that anything left of it (a watch)
    /// belongs to the session whose end it reports.
    ///
    /// Cancel-safe, if the request is.
    ///
    /// # Errors
    /// Returns the errors of the request, except ConnectionLoss and SessionExpired.
    pub async fn ask<T, E, F>(
        &mut self,
        lost: &mut bool,
        request: impl Fn(ZooKeeper) -> F,
    ) -> Result<T, E>
    where
        E: Copy + Into<Error>,
        F: Future<Output = Result<T, E>>,
    {
        loop {
            let mut events = self.zookeeper.session_events();
            let answer = request(self.zookeeper.scope(self.session)).await;
            match answer.as_ref().err().map(|error| (*error).into()) {
                Some(Error::ConnectionLoss) => {
                    *lost = true;
                    // If the session does not come back, the next attempt detects this.
                    let _ = reconnected(&mut events).await;
                }
                Some(Error::SessionExpired) => self.leave(self.session).await,
                _ => return answer,
            }
        }
    }

    /// Like [`Patient::ask`], if it does not matter how often the request is applied.
    ///
    /// # Errors
    /// Fails like [`Patient::ask`].
    pub async fn repeat<T, E, F>(&mut self, request: impl Fn(ZooKeeper) -> F) -> Result<T, E>
    where
        E: Copy + Into<Error>,
        F: Future<Output = Result<T, E>>,
    {
        self.ask(&mut false, request).await
    }

    /// Returns the present session.
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// Waits for a session after `over`, which has ended, unless there is one already.
    pub async fn leave(&mut self, over: SessionId) {
        while self.session == over {
            // The servers may report the end before the client itself knows: until then, it returns the old session.
            let mut events = self.zookeeper.session_events();
            self.session = self.zookeeper.connect().await;
            if self.session == over {
                ended(&mut events).await;
            }
        }
    }
}
