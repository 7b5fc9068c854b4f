//! The settings of a client, one by one.

use super::address::parse;
use super::client::Client;
use super::hooks::{EventSink, Metrics, Recorder, Surroundings};
use super::settings::{ConnectError, Resumed, Settings};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use vivarium_model::id::ClientId;
use vivarium_model::op::Data;

/// The settings of a client, from [`Client::builder`].
#[derive(Clone)]
#[must_use = "a client starts with `connect` or `start`"]
pub struct Builder {
    servers: String,
    within: Option<Duration>,
    pub(crate) settings: Settings,
}

impl Client {
    /// Returns the settings of a client for a connect string: `host1:2181,host2:2181/chroot`.
    pub fn builder(servers: &str) -> Builder {
        Builder::new(servers)
    }

    /// Connects with the settings of [`Client::builder`], and waits until a server has accepted the session.
    ///
    /// # Errors
    /// If the connect string is wrong. It tries for ever if no server accepts the session.
    ///
    /// # Panics
    /// Outside of a tokio runtime whose time and IO are enabled.
    pub async fn connect(servers: &str) -> Result<Client, ConnectError> {
        Client::builder(servers).connect().await
    }
}

impl Builder {
    fn new(servers: &str) -> Builder {
        Builder { servers: servers.to_owned(), within: None, settings: Settings::default() }
    }

    /// Sets the session timeout to request, from 1 ms to 24 days; 10 s if it is not set. Servers clamp it, by default to
    /// 2 to 20 ticks.
    pub fn session_timeout(mut self, timeout: Duration) -> Builder {
        self.settings.session_timeout = timeout;
        self
    }

    /// Limits the time of [`Builder::connect`]. Without a limit it tries until a server accepts the session.
    pub fn connect_within(mut self, limit: Duration) -> Builder {
        self.within = Some(limit);
        self
    }

    /// Limits the time of one attempt to connect to one server, which is otherwise the session timeout divided by the
    /// number of servers.
    pub fn attempt_within(mut self, limit: Duration) -> Builder {
        self.settings.connect_limit = limit;
        self
    }

    /// Limits the time to wait after all servers were tried in vain, which doubles with each round; 2 s if it is not
    /// set. A quarter of the session timeout is a limit as well.
    pub fn back_off(mut self, limit: Duration) -> Builder {
        self.settings.back_off = limit;
        self
    }

    /// Limits the random wait before a client whose connection is lost connects again; 1 s if it is not set, as in Apache's
    /// client. Without a wait, all clients of a server that ends move to the others at the same moment.
    pub fn reconnect_within(mut self, limit: Duration) -> Builder {
        self.settings.reconnect_limit = limit;
        self
    }

    /// Accepts servers without a quorum, which only read (`canBeReadOnly`).
    pub fn read_only(mut self, accepted: bool) -> Builder {
        self.settings.can_be_read_only = accepted;
        self
    }

    /// Gives the session up after nothing was received for 4/3 of its timeout, as Apache's client does since 3.9.3
    /// (ZOOKEEPER-4508). Otherwise only a server ends a session.
    pub fn expires_locally(mut self, expires: bool) -> Builder {
        self.settings.expires_locally = expires;
        self
    }

    /// Adds an identity that is proven to each server in each session, such as `("digest", b"user:password")`.
    pub fn identity(mut self, scheme: &str, auth: &[u8]) -> Builder {
        self.settings.identities.push((Arc::from(scheme), Data::from(auth)));
        self
    }

    /// Re-attaches a session that another process has begun.
    pub fn resume(mut self, resumed: Resumed) -> Builder {
        self.settings.resumed = Some(resumed);
        self
    }

    /// Sets the largest packet that is read, in bytes (`jute.maxbuffer`); 1,048,575 if it is not set. A larger one ends
    /// the connection.
    pub fn largest_packet(mut self, bytes: usize) -> Builder {
        self.settings.largest_packet = bytes;
        self
    }

    /// Limits the requests that wait for a connection or for their replies (10,000), and their bytes (64 MiB). More
    /// requests wait in their callers until there is room.
    pub fn outstanding(mut self, requests: u32, bytes: u32) -> Builder {
        self.settings.requests = requests;
        self.settings.bytes = bytes;
        self
    }

    /// Limits the events of a persistent watch that its reader has not taken; 100,000 if it is not set. One more ends
    /// the connection: the reader learns that it has missed events from the session's Disconnected, as after any
    /// lost connection.
    pub fn unread_events(mut self, events: usize) -> Builder {
        self.settings.unread_events = events;
        self
    }

    /// Draws the order of the servers, the delays and the program's random numbers from a seed, for tests.
    pub fn seed(mut self, seed: u64) -> Builder {
        self.settings.seed = Some(seed);
        self
    }

    /// Sets the number by which events and programs know this client; 1 if it is not set.
    pub fn client_id(mut self, client: ClientId) -> Builder {
        self.settings.client = client;
        self
    }

    /// Reports what the client does, for a service's metrics.
    pub fn metrics(mut self, metrics: impl Metrics + 'static) -> Builder {
        self.settings.metrics = Some(Arc::new(metrics));
        self
    }

    /// Reports the client's events, such as its program's observations.
    pub fn events(mut self, sink: impl EventSink + 'static) -> Builder {
        self.settings.events = Some(Arc::new(sink));
        self
    }

    /// Reports each input of the client machine with its effects.
    pub fn recorder(mut self, recorder: impl Recorder + 'static) -> Builder {
        self.settings.recorder = Some(Arc::new(recorder));
        self
    }

    /// Lets a program that was written for an engine write to resources outside ZooKeeper, and send messages. Without
    /// it both panic.
    pub fn surroundings(mut self, surroundings: impl Surroundings + 'static) -> Builder {
        self.settings.surroundings = Some(Arc::new(surroundings));
        self
    }

    /// Encrypts connections.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, config: Arc<tokio_rustls::rustls::ClientConfig>) -> Builder {
        self.settings.tls = Some(config);
        self
    }

    /// Starts the client, and waits until a server has accepted its session and its identities.
    ///
    /// # Errors
    /// See [`ConnectError`]. Without [`Builder::connect_within`] it waits for ever if no server accepts the session.
    ///
    /// # Panics
    /// Outside of a tokio runtime whose time and IO are enabled.
    pub async fn connect(self) -> Result<Client, ConnectError> {
        let (within, servers) = (self.within, self.servers.clone());
        let proves = !self.settings.identities.is_empty();
        let client = self.start()?;
        match within {
            None => client.until_connected(proves).await?,
            Some(limit) => {
                let connected = tokio::time::timeout(limit, client.until_connected(proves)).await;
                connected.map_err(|_| ConnectError::TimedOut { servers, limit })??;
            }
        }
        Ok(client)
    }

    /// Starts the client without waiting for a server.
    ///
    /// # Errors
    /// If the connect string is wrong.
    ///
    /// # Panics
    /// Outside of a tokio runtime whose time and IO are enabled.
    pub fn start(mut self) -> Result<Client, ConnectError> {
        let (servers, chroot) = parse(&self.servers)?;
        (self.settings.servers, self.settings.chroot) = (servers, chroot);
        Ok(Client::start(self.settings))
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("servers", &self.servers).finish_non_exhaustive()
    }
}
