//! Repeats what a lost connection left undone.
//!
//! A request that failed with ConnectionLoss is repeated only after the client has reconnected. An immediate repetition
//! would spin where every request is refused with ConnectionLoss for the time being, as after a closeSession that has
//! no reply yet.

use std::future::Future;
use vivarium_model::error::Error;
use vivarium_model::handle::{SessionEvents, ZooKeeper};
use vivarium_model::id::SessionId;
use vivarium_model::op::SessionState;

/// Waits for the next connection. Subscribe to `events` before the request that failed was made, so that no change is
/// missed.
///
/// # Errors
/// Returns `SessionExpired` if the session ends first.
pub async fn reconnected(events: &mut SessionEvents) -> Result<(), Error> {
    loop {
        match events.next().await {
            SessionState::SyncConnected => return Ok(()),
            state if state.is_final() => return Err(Error::SessionExpired),
            // Disconnected, or connected to a read-only server.
            _ => {}
        }
    }
}

/// Waits until the client itself knows that its session is over. Subscribe to `events` before it does. A server may
/// answer SessionExpired some time before, and until then [`ZooKeeper::connect`] returns the old session.
pub async fn ended(events: &mut SessionEvents) {
    while reconnected(events).await.is_ok() {}
}

/// Waits until a session other than `old` is connected, and returns it.
///
/// A leader may refuse a session's requests some time before the client learns that the session is over. A caller that
/// connects immediately gets the old session until then, and is refused again.
pub async fn next_session(zookeeper: &ZooKeeper, old: SessionId) -> SessionId {
    loop {
        let mut events = zookeeper.session_events();
        let session = zookeeper.connect().await;
        if session != old {
            return session;
        }
        ended(&mut events).await;
    }
}

/// Repeats a request until its result is known: after each lost connection, once more in the next connection of the
/// same session. The request must do no harm when it is made twice.
///
/// What the request borrows must live outside of the closure, or move into the future that it makes:
///
/// ```
/// # use vivarium_model::error::Error;
/// # use vivarium_model::handle::ZooKeeper;
/// # use vivarium_recipes::helpers::until_known;
/// async fn is_there(zookeeper: &ZooKeeper, name: &str) -> Result<bool, Error> {
///     let look = || async move { zookeeper.exists(&format!("/members/{name}")).await };
///     Ok(until_known(zookeeper, look).await?.is_some())
/// }
/// # let _ = is_there;
/// ```
///
/// # Errors
/// Those of the request, except ConnectionLoss.
pub async fn until_known<T, F>(zookeeper: &ZooKeeper, request: impl Fn() -> F) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    loop {
        let mut events = zookeeper.session_events();
        match request().await {
            Err(Error::ConnectionLoss) => reconnected(&mut events).await?,
            known => return known,
        }
    }
}
