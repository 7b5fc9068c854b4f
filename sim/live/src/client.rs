//! A client of a real ensemble.

use super::connector::Connector;
use super::driver::{drive, keep_time};
use super::limits::Limits;
use super::settings::{ConnectError, Resumed, Settings};
use super::state::State;
use super::transport::{Handles, Shared};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use vivarium_model::client::{ClientInput, ClientState};
use vivarium_model::error::Error;
use vivarium_model::handle::{Either, ZooKeeper, race};
use vivarium_model::host::Message;
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::op::SessionState;

/// A client of a real ensemble: one session after the other, each over one connection at a time.
///
/// It is used through its [`ZooKeeper`] handle, to which it dereferences, and clones of that handle. The session ends
/// with [`Client::close`], which waits for it. Dropping the last handle closes it in the background, if the runtime
/// lives long enough; a process that ends before leaves the session to expire.
///
/// Tasks that a program spawns through its handle hold handles themselves. [`Client::close`] ends them.
#[derive(Clone)]
pub struct Client {
    zookeeper: ZooKeeper,
    shared: Arc<Shared>,
    /// Closed when the driver has ended.
    over: watch::Receiver<()>,
}

impl Client {
    pub(crate) fn start(settings: Settings) -> Client {
        let limits = Limits::new(settings.requests, settings.bytes);
        let (client, resumed) = (settings.client, settings.resumed);
        let connector = Connector::new(&settings);
        let shared = Shared::new(State::new(settings, limits.clone()), limits, client);
        shared.with(|state, after| match resumed {
            None => state.input(ClientInput::Start, after),
            Some(Resumed { session, password }) => {
                state.password = password;
                state.input(ClientInput::Resume(session), after);
            }
        });
        let (running, over) = watch::channel(());
        let driven = Arc::clone(&shared);
        tokio::spawn(async move {
            drive(Arc::clone(&driven), connector).await;
            drop(running);
            keep_time(driven).await;
        });
        let handles = Handles { shared: Arc::clone(&shared) };
        Client { zookeeper: ZooKeeper::new(Arc::new(handles)), shared, over }
    }

    /// Waits until a server has accepted the session of a client that has just started, and its identities if it
    /// `proves` some.
    pub(crate) async fn until_connected(&self, proves: bool) -> Result<(), ConnectError> {
        let mut changes = self.zookeeper.session_events();
        let resumed = self.session();
        let refused = async {
            loop {
                match changes.next().await {
                    SessionState::AuthFailed => return ConnectError::AuthFailed,
                    SessionState::Expired => {
                        if let Some(session) = resumed {
                            return ConnectError::Expired(session);
                        }
                    }
                    _ => {}
                }
            }
        };
        match race(refused, self.until_proven(proves)).await {
            Either::Left(error) => Err(error),
            Either::Right(()) => Ok(()),
        }
    }

    async fn until_proven(&self, proves: bool) {
        self.zookeeper.connect().await;
        // The server answers proofs before the requests after them, and a refusal ends the session.
        while proves && self.zookeeper.exists("/").await == Err(Error::ConnectionLoss) {
            self.zookeeper.connect().await;
        }
    }

    /// Returns the handle that programs and recipes use.
    pub fn zookeeper(&self) -> ZooKeeper {
        self.zookeeper.clone()
    }

    /// Returns the state of the client.
    pub fn state(&self) -> ClientState {
        self.shared.with(|state, _| state.machine.state())
    }

    /// Returns the session, once a server has accepted it.
    pub fn session(&self) -> Option<SessionId> {
        self.shared.with(|state, _| state.machine.session())
    }

    /// Returns the session and its secret, with which another process can re-attach it ([`Builder::resume`](crate::Builder::resume)).
    pub fn resumed(&self) -> Option<Resumed> {
        self.shared.with(|state, _| {
            let session = state.machine.session()?;
            Some(Resumed { session, password: state.password })
        })
    }

    /// Returns the session timeout: the negotiated one, or the requested one until a server has answered.
    pub fn session_timeout(&self) -> Duration {
        self.shared.with(|state, _| state.machine.timeout())
    }

    /// Returns the number of requests that wait for a connection or for their replies.
    pub fn outstanding(&self) -> usize {
        self.shared.with(|state, _| state.machine.outstanding())
    }

    /// Returns the number of calls, watches and sleeps whose answers have not arrived.
    pub fn pending_calls(&self) -> usize {
        self.shared.with(|state, _| state.calls.len())
    }

    /// Hands a message of another program to this one ([`Builder::surroundings`](crate::Builder::surroundings)).
    pub fn deliver(&self, from: ClientId, body: Arc<[u8]>) {
        self.shared.with(|state, after| state.deliver(Message { from, body }, after));
    }

    /// Cancels what the program lets an engine cancel, as a caller that no longer waits for it.
    pub fn cancel(&self) {
        self.shared.with(State::cancel);
    }

    /// Closes the session, which deletes its ephemeral znodes, and ends the tasks that were spawned through the handle.
    /// Waits until the server has confirmed that, or the connection is lost: then the server expires the session.
    ///
    /// Afterwards requests fail with `SessionExpired`, and [`ZooKeeper::connect`] never returns.
    pub async fn close(mut self) {
        self.shared.with(State::end);
        // The sender is dropped, which is the only change.
        let _ = self.over.changed().await;
    }

    /// Returns true once the client is closed.
    pub fn is_closed(&self) -> bool {
        self.over.has_changed().is_err()
    }
}

impl Deref for Client {
    type Target = ZooKeeper;

    fn deref(&self) -> &ZooKeeper {
        &self.zookeeper
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("state", &self.state())
            .field("session", &self.session())
            .finish_non_exhaustive()
    }
}
