//! Where a client machine stands.

use crate::vocabulary::id::ServerId;
use crate::vocabulary::timer::ClientTimer;
use std::fmt;

/// Where a client machine stands (`ZooKeeper.States`, with CONNECTING split in two and CLOSED by
/// reason).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClientState {
    /// No process: it was never started, or it was killed. No timer is armed.
    NotStarted,
    /// CONNECTING, between two attempts: [`ClientTimer::Reconnect`] is armed.
    Waiting,
    /// CONNECTING to this server: [`ClientTimer::Connect`] is armed.
    Connecting(ServerId),
    /// CONNECTED to this server: [`ClientTimer::Read`] and [`ClientTimer::Ping`] are armed.
    Connected(ServerId),
    /// CONNECTEDREADONLY to this server: [`ClientTimer::Probe`] is armed as well (rule 2.7.3).
    ConnectedReadOnly(ServerId),
    /// CLOSED because the session is over: a server said so, or the client gave it up. Only
    /// `Connect` leads out of it.
    Expired,
    /// CLOSED because the program closed the session. Only `Connect` leads out of it.
    Closed,
    /// AUTH_FAILED: a server refused an identity. Only `Connect` leads out of it.
    AuthFailed,
}

impl ClientState {
    /// The timers that are armed in this state, whatever the client's configuration.
    pub fn timers(self) -> &'static [ClientTimer] {
        match self {
            ClientState::Waiting => &[ClientTimer::Reconnect],
            ClientState::Connecting(_) => &[ClientTimer::Connect],
            ClientState::Connected(_) => &[ClientTimer::Read, ClientTimer::Ping],
            ClientState::ConnectedReadOnly(_) => {
                &[ClientTimer::Read, ClientTimer::Ping, ClientTimer::Probe]
            }
            ClientState::NotStarted
            | ClientState::Expired
            | ClientState::Closed
            | ClientState::AuthFailed => &[],
        }
    }

    /// Whether a server has accepted the session on the connection in use (`States.isConnected`).
    pub fn is_connected(self) -> bool {
        matches!(self, ClientState::Connected(_) | ClientState::ConnectedReadOnly(_))
    }

    /// Whether a connection is in use: being opened, or open.
    pub fn has_connection(self) -> bool {
        matches!(self, ClientState::Connecting(_)) || self.is_connected()
    }

    /// Whether requests are taken (`States.isAlive`).
    pub fn is_alive(self) -> bool {
        self.has_connection() || self == ClientState::Waiting
    }

    /// Whether the session is over, and only `Connect` leads out of it.
    pub fn is_final(self) -> bool {
        matches!(self, ClientState::Expired | ClientState::Closed | ClientState::AuthFailed)
    }
}

impl fmt::Display for ClientState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientState::NotStarted => write!(f, "not started"),
            ClientState::Waiting => write!(f, "CONNECTING, between two attempts"),
            ClientState::Connecting(server) => write!(f, "CONNECTING to {server}"),
            ClientState::Connected(server) => write!(f, "CONNECTED to {server}"),
            ClientState::ConnectedReadOnly(server) => write!(f, "CONNECTEDREADONLY to {server}"),
            ClientState::Expired => write!(f, "CLOSED, expired"),
            ClientState::Closed => write!(f, "CLOSED by its program"),
            ClientState::AuthFailed => write!(f, "AUTH_FAILED"),
        }
    }
}
