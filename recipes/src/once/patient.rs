//! A handle that goes on in the next session where one ends.

use crate::helpers::{ended, reconnected};
use std::future::Future;
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::id::SessionId;

/// Asks until there is an answer, however often the connection is lost and sessions end meanwhile. For
/// whoever has nothing that lives in a session, and requests that may be made twice.
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

    /// One that was in this session last: for who goes on where another one has stopped.
    #[cfg(feature = "checking")]
    pub(crate) fn of(zookeeper: ZooKeeper, session: SessionId) -> Patient {
        Patient { zookeeper, session }
    }

    /// The handle, which is pinned to no session.
    pub fn zookeeper(&self) -> &ZooKeeper {
        &self.zookeeper
    }

    /// Makes a request until it is answered. `lost` becomes true when it may have been applied without an
    /// answer; a request that is refused with SessionExpired was not (recipe rule 1.1.5).
    ///
    /// The handle that the request is made by is pinned to the present session, so that what is left of it
    /// (a watch) belongs to the session whose end it tells.
    ///
    /// Cancel-safe, if the request is.
    ///
    /// # Errors
    /// Those of the request, except ConnectionLoss and SessionExpired.
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
                    // If it does not come back, the next try says so.
                    let _ = reconnected(&mut events).await;
                }
                Some(Error::SessionExpired) => self.leave(self.session).await,
                _ => return answer,
            }
        }
    }

    /// The same where it does not matter how often the request is applied.
    ///
    /// # Errors
    /// As [`Patient::ask`].
    pub async fn repeat<T, E, F>(&mut self, request: impl Fn(ZooKeeper) -> F) -> Result<T, E>
    where
        E: Copy + Into<Error>,
        F: Future<Output = Result<T, E>>,
    {
        self.ask(&mut false, request).await
    }

    /// The present session.
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// Waits for the session behind this one, which is over, unless there it is already.
    pub async fn leave(&mut self, over: SessionId) {
        while self.session == over {
            // The servers may say so before the client itself knows: until then it gives the old one.
            let mut events = self.zookeeper.session_events();
            self.session = self.zookeeper.connect().await;
            if self.session == over {
                ended(&mut events).await;
            }
        }
    }
}
