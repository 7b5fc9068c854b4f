//! The state of a client machine.

use crate::vocabulary::id::ServerId;
use crate::vocabulary::timer::ClientTimer;
use std::fmt;

/// The state of a client machine (`ZooKeeper.States`, with CONNECTING split in two, and CLOSED split by reason).
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
    /// CLOSED because the session is over: a server reported it, or the client gave up. Only `Connect` leaves this
    /// state.
    Expired,
    /// CLOSED because the program closed the session. Only `Connect` leaves this state.
    Closed,
    /// AUTH_FAILED: a server refused an identity. Only `Connect` leaves this state.
    AuthFailed,
}

impl ClientState {
    /// Returns the timers that are armed in this state, whatever the client's configuration.
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

    /// Returns true if a server has accepted the session on the connection in use (`States.isConnected`).
    pub fn is_connected(self) -> bool {
        matches!(self, ClientState::Connected(_) | ClientState::ConnectedReadOnly(_))
    }

    /// Returns true if a connection is open or being opened.
    pub fn has_connection(self) -> bool {
        matches!(self, ClientState::Connecting(_)) || self.is_connected()
    }

    /// Returns true if the machine accepts requests (`States.isAlive`).
    pub fn is_alive(self) -> bool {
        self.has_connection() || self == ClientState::Waiting
    }

    /// Returns true if the session is over and only `Connect` leaves this state.
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
