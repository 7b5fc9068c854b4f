//! Repeating what a lost connection left undone.
//!
//! A request that failed with ConnectionLoss is repeated only when the client is connected again.
//! To repeat it at once would spin where every request is refused by ConnectionLoss for the time
//! being, as behind a closeSession that has no reply yet.

use std::future::Future;
use vivarium_model::error::Error;
use vivarium_model::handle::{SessionEvents, ZooKeeper};
use vivarium_model::id::SessionId;
use vivarium_model::op::SessionState;

/// Waits for the next connection. `events` must have been subscribed to before the request that
/// failed was made, so that no change is missed.
///
/// # Errors
/// `SessionExpired` when the session ends first.
pub async fn reconnected(events: &mut SessionEvents) -> Result<(), Error> {
    loop {
        match events.next().await {
            SessionState::SyncConnected => return Ok(()),
            state if state.is_final() => return Err(Error::SessionExpired),
            // Disconnected, or connected to a server that only reads.
            _ => {}
        }
    }
}

/// Waits until the client itself knows that its session is over. `events` must have been subscribed
/// to while it did not. A server may answer SessionExpired some time before, and until then
/// [`ZooKeeper::connect`] gives the old session.
pub async fn ended(events: &mut SessionEvents) {
    while reconnected(events).await.is_ok() {}
}

/// Waits until another session than `old` is connected, and says which.
///
/// A leader may refuse a session's requests some time before the session's client is told that it is
/// over. Whoever connects again at once gets the old session until then, and is refused again.
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

/// Makes a request that does no harm when it is made twice, until its outcome is known: each time that the
/// connection is lost, once more in the next one of the same session.
///
/// What the request borrows lives outside of the closure, or moves into the future that it makes:
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
