//! The settings of a client, and what becomes of connecting with them.

use super::address::{Address, AddressError};
use super::hooks::{EventSink, Metrics, Recorder, Surroundings};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use vivarium_model::config::ClientConfig;
use vivarium_model::id::{ClientId, ServerId, SessionId};
use vivarium_model::op::Data;
use vivarium_model::wire::Password;

/// `jute.maxbuffer` of a server that sets none: the largest packet.
const LARGEST_PACKET: usize = 0x000f_ffff;

/// The session timeouts that a packet can ask for.
const SESSION_TIMEOUTS: (Duration, Duration) =
    (Duration::from_millis(1), Duration::from_millis(0x7fff_ffff));

/// A session that another process has begun, to be re-attached. Its `Debug` leaves the secret out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Resumed {
    /// The session.
    pub session: SessionId,
    /// Its secret.
    pub password: Password,
}

impl fmt::Debug for Resumed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resumed").field("session", &self.session).finish_non_exhaustive()
    }
}

/// All settings of a client.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) servers: Vec<Address>,
    pub(crate) chroot: String,
    pub(crate) session_timeout: Duration,
    pub(crate) connect_limit: Duration,
    pub(crate) back_off: Duration,
    pub(crate) reconnect_limit: Duration,
    pub(crate) can_be_read_only: bool,
    pub(crate) expires_locally: bool,
    pub(crate) identities: Vec<(Arc<str>, Data)>,
    pub(crate) resumed: Option<Resumed>,
    pub(crate) client: ClientId,
    pub(crate) seed: Option<u64>,
    pub(crate) largest_packet: usize,
    pub(crate) requests: u32,
    pub(crate) bytes: u32,
    pub(crate) unread_events: usize,
    pub(crate) metrics: Option<Arc<dyn Metrics>>,
    pub(crate) events: Option<Arc<dyn EventSink>>,
    pub(crate) recorder: Option<Arc<dyn Recorder>>,
    pub(crate) surroundings: Option<Arc<dyn Surroundings>>,
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<Arc<tokio_rustls::rustls::ClientConfig>>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            servers: Vec::new(),
            chroot: String::new(),
            session_timeout: Duration::from_secs(10),
            connect_limit: Duration::MAX,
            back_off: Duration::from_secs(2),
            reconnect_limit: Duration::MAX,
            can_be_read_only: false,
            expires_locally: false,
            identities: Vec::new(),
            resumed: None,
            client: ClientId(1),
            seed: None,
            largest_packet: LARGEST_PACKET,
            requests: 10_000,
            bytes: 64 * 1024 * 1024,
            unread_events: 100_000,
            metrics: None,
            events: None,
            recorder: None,
            surroundings: None,
            #[cfg(feature = "tls")]
            tls: None,
        }
    }
}

impl Settings {
    /// Returns the configuration of the client machine, with its servers shuffled.
    pub(crate) fn config(&self) -> ClientConfig {
        let mut servers: Vec<ServerId> = (0..self.servers.len()).map(ServerId::at).collect();
        self.random().shuffle(&mut servers);
        ClientConfig {
            session_timeout: self.session_timeout.clamp(SESSION_TIMEOUTS.0, SESSION_TIMEOUTS.1),
            servers,
            address: Arc::from("127.0.0.1"),
            can_be_read_only: self.can_be_read_only,
            expires_locally: self.expires_locally,
            disable_auto_watch_reset: false,
            serves: true,
            chroot: Arc::from(&*self.chroot),
        }
    }

    pub(crate) fn random(&self) -> fastrand::Rng {
        self.seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed)
    }
}

/// Why there is no connected client.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConnectError {
    /// The connect string is wrong.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// No server has accepted the session within the limit of [`Builder::connect_within`](crate::Builder::connect_within).
    #[error("no server of {servers} has accepted the session within {limit:?}")]
    TimedOut {
        /// The servers.
        servers: String,
        /// The limit.
        limit: Duration,
    },
    /// A server has refused an identity.
    #[error("a server has refused an identity")]
    AuthFailed,
    /// The session to be resumed has expired.
    #[error("the session {0} has expired")]
    Expired(SessionId),
}
