//! Runs work in one session after the other.

use super::retry::next_session;
use std::future::Future;
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::id::SessionId;

/// Runs `work` in the present session, and each time that it ends with `SessionExpired`, again in the next session.
///
/// The handle that `work` receives is pinned to its session: when that is over, each of its requests and watches fails
/// with `SessionExpired`, and none continues in the next session. Work that waits for something else (a message, a
/// sleep) does not notice the end by itself.
///
/// # Errors
/// Returns the errors of `work`, except `SessionExpired`. This includes `ConnectionLoss`, because only the work knows
/// the meaning of a lost request (see [`until_known`](super::until_known) and [`settle`](super::settle)).
pub async fn in_sessions<T, F>(
    zookeeper: &ZooKeeper,
    mut work: impl FnMut(ZooKeeper, SessionId) -> F,
) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let mut session = zookeeper.connect().await;
    loop {
        match work(zookeeper.scope(session), session).await {
            Err(Error::SessionExpired) => session = next_session(zookeeper, session).await,
            result => return result,
        }
    }
}
