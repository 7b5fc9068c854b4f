//! Named timers. A machine arms a timer by name and duration, and the engine keeps the deadline, so no state holds an
//! instant. Arming an armed timer replaces its deadline.

use crate::vocabulary::id::{CallId, ClientId, LearnerConnection, ServerId, SessionId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A timer and its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// A timer of a server.
    Server(ServerId, ServerTimer),
    /// A timer of a client machine.
    Client(ClientId, ClientTimer),
    /// A program's `sleep`.
    Sleep(ClientId, CallId),
}

/// The timers of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ServerTimer {
    /// Resends the server's notification after none arrived for a while (rule 5.3.5; 200 ms, doubling to 60 s).
    Notification,
    /// Ends the election: a quorum agrees, and no better vote arrived within 200 ms (rule 5.3.3).
    Finalize,
    /// Starts a learner's next attempt to connect to its leader (rule 5.5.2; 100 ms apart).
    ConnectLeader,
    /// Ends a role whose discovery and synchronisation took longer than initLimit ticks (rule 5.5.2).
    InitLimit,
    /// Ends a learner's role after it has read nothing from its leader for syncLimit ticks (rule 6.7.4).
    LeaderSilent,
    /// Closes a learner's connection after the leader has read nothing on it for initLimit ticks, or in broadcast for
    /// syncLimit ticks (rule 5.5.2).
    LearnerSilent(LearnerConnection),
    /// Closes the connection of a new learner that has not acknowledged in broadcast within initLimit + syncLimit
    /// ticks (rule 6.7.3).
    AckDeadline(LearnerConnection),
    /// Closes the connection of a learner that has not acknowledged a proposal for syncLimit ticks. The leader
    /// watches at most two proposals per learner (rule 6.7.7).
    Unacknowledged(LearnerConnection, Watched),
    /// Starts the ping round of a leader (rule 6.7.3), or of a follower for its observers (rule 5.9.9), every half tick.
    Ping,
    /// Expires a session at the leader (rule 2.3.1), or a local session at its server (rule 2.6.1). The engine rounds
    /// the deadline up to the next tick boundary.
    SessionExpiry(SessionId),
    /// Makes a server that has been LOOKING for max(2 s, tick) serve reads (rule 2.7.1). Only if read-only mode is
    /// enabled.
    ReadOnly,
    /// Makes the leader search for containers and TTL znodes to delete (rule 1.5.4; 60 s apart).
    Containers,
    /// Makes the leader request the next of the deletions that it found (rule 1.5.4; 6 ms apart).
    DeleteContainer,
    /// Makes an observer connect to this voter's observer master (rule 5.9.1). It is armed for every voter at once, and the
    /// first one to fire disarms the others, so the engine's draw chooses the voter.
    ConnectMaster(ServerId),
}

/// One of the two proposals per learner that a leader watches (rule 6.7.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Watched {
    /// The first slot.
    One,
    /// The second slot.
    Other,
}

impl Watched {
    /// Both slots.
    pub const BOTH: [Watched; 2] = [Watched::One, Watched::Other];

    /// Returns the other slot.
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
    /// Ends the wait before the client tries the next server of its list (rule 2.8.2).
    Reconnect,
    /// Ends a handshake that has taken too long (rule 2.8.1).
    Connect,
    /// Closes the connection after nothing was read for two thirds of the timeout (rule 2.8.1).
    Read,
    /// Sends a ping after nothing was sent for a third of the timeout (rule 2.8.1).
    Ping,
    /// Gives up the session after nothing was read for four thirds of the timeout (rule 2.8.3). Only for clients with
    /// `expires_locally`.
    Expiry,
    /// Makes a client of a read-only server search for one that is not (rule 2.7.3; 100 ms, doubling to 60 s).
    Probe,
}

impl Timer {
    /// Returns true if the timer only keeps connections alive.
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
            ServerTimer::ConnectMaster(voter) => {
                write!(f, "tries the observer master of {voter}")
            }
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
