//! Named timers. A machine arms a timer by name and duration; the engine keeps the deadline, so no
//! state ever holds an instant. Arming an armed timer replaces its deadline.

use crate::vocabulary::id::{CallId, ClientId, LearnerConnection, ServerId, SessionId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A timer and whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// A server's.
    Server(ServerId, ServerTimer),
    /// A client machine's.
    Client(ClientId, ClientTimer),
    /// A program's `sleep`.
    Sleep(ClientId, CallId),
}

/// The timers of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ServerTimer {
    /// No notification came for a while: send mine again (rule 5.3.5; 200 ms, doubling to 60 s).
    Notification,
    /// A quorum agrees; no better vote came within 200 ms: decide (rule 5.3.3).
    Finalize,
    /// A learner's next attempt to connect to its leader (rule 5.5.2; 100 ms apart).
    ConnectLeader,
    /// Discovery and synchronisation have taken initLimit ticks (rule 5.5.2).
    InitLimit,
    /// A learner has read nothing from its leader for syncLimit ticks (rule 6.7.4).
    LeaderSilent,
    /// The leader has read nothing on this connection for initLimit ticks, or in broadcast for syncLimit ticks
    /// (rule 5.5.2).
    LearnerSilent(LearnerConnection),
    /// A learner that has just come was not heard from in broadcast for initLimit + syncLimit ticks (rule 6.7.3).
    AckDeadline(LearnerConnection),
    /// A learner has left a proposal without its ack for syncLimit ticks: one of the two that its handler watches
    /// (rule 6.7.7).
    Unacknowledged(LearnerConnection, Watched),
    /// The leader's ping round, every half tick (rule 6.7.3).
    Ping,
    /// A session's time is up at the leader (rule 2.3.1), or at the one server that knows of it
    /// (rule 2.6.1). The engine rounds its deadline up to the next tick boundary.
    SessionExpiry(SessionId),
    /// A server has been LOOKING for long: it serves reads (rule 2.7.1; max(2 s, tick)). Only where it may.
    ReadOnly,
    /// The leader looks for containers and TTL znodes to delete (rule 1.5.4; 60 s apart).
    Containers,
    /// The leader asks for the next deletion of those that it has found (rule 1.5.4; 6 ms apart).
    DeleteContainer,
}

/// Which one of the two proposals that a leader watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Watched {
    /// The one.
    One,
    /// The other.
    Other,
}

impl Watched {
    /// Both of them.
    pub const BOTH: [Watched; 2] = [Watched::One, Watched::Other];

    /// The other one.
    pub fn other(self) -> Watched {
        match self {
            Watched::One => Watched::Other,
            Watched::Other => Watched::One,
        }
    }
}

/// The timers of a client machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ClientTimer {
    /// Wait before the next server of the list is tried (rule 2.8.2).
    Reconnect,
    /// The handshake has taken too long (rule 2.8.1).
    Connect,
    /// Nothing was read for two thirds of the timeout (rule 2.8.1).
    Read,
    /// Nothing was sent for a third of the timeout: send a ping (rule 2.8.1).
    Ping,
    /// Nothing was read for four thirds of the timeout: the client gives its session up (rule 2.8.3).
    /// Only of clients that do so.
    Expiry,
    /// Connected to a read-only server: time to look for a better one (rule 2.7.3; 100 ms, doubling to 60 s).
    Probe,
}

impl Timer {
    /// Whether it fires only to keep connections alive.
    pub fn is_ping(&self) -> bool {
        matches!(self, Timer::Server(_, ServerTimer::Ping) | Timer::Client(_, ClientTimer::Ping))
    }
}

impl fmt::Display for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Timer::Server(server, timer) => write!(f, "{server} {timer}"),
            Timer::Client(client, timer) => write!(f, "{client} {timer}"),
            Timer::Sleep(client, call) => write!(f, "{client} sleep (call {})", call.0),
        }
    }
}

impl fmt::Display for ServerTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerTimer::Notification => f.write_str("no notification, sends its own again"),
            ServerTimer::Finalize => f.write_str("no better vote, the election ends"),
            ServerTimer::ConnectLeader => f.write_str("tries to connect to its leader again"),
            ServerTimer::InitLimit => f.write_str("initLimit"),
            ServerTimer::LeaderSilent => f.write_str("syncLimit, its leader is silent"),
            ServerTimer::LearnerSilent(connection) => {
                write!(f, "syncLimit, {connection} is silent")
            }
            ServerTimer::AckDeadline(connection) => {
                write!(f, "initLimit + syncLimit, {connection} is not synchronised")
            }
            ServerTimer::Unacknowledged(connection, _) => {
                write!(f, "syncLimit, {connection} has not acknowledged a proposal")
            }
            ServerTimer::Ping => f.write_str("ping round"),
            ServerTimer::Containers => f.write_str("looks for containers to delete"),
            ServerTimer::DeleteContainer => f.write_str("deletes the next container it has found"),
            ServerTimer::ReadOnly => f.write_str("no leader for long, serves reads"),
            ServerTimer::SessionExpiry(session) => write!(f, "session {session} expires"),
        }
    }
}

impl fmt::Display for ClientTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ClientTimer::Reconnect => "tries the next server",
            ClientTimer::Connect => "connect timeout",
            ClientTimer::Read => "read timeout",
            ClientTimer::Ping => "sends a ping",
            ClientTimer::Expiry => "gives its session up",
            ClientTimer::Probe => "looks for a server that is not read-only",
        })
    }
}
