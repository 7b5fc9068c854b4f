//! What is under way between two machines.

use crate::vocabulary::id::{
    ClientConnection, ClientId, LearnerConnection, Machine, ServerId, SessionId,
};
use crate::vocabulary::packet::{
    ClientPacket, LeaderPacket, LearnerPacket, Notification, ServerPacket,
};
use crate::vocabulary::step::Step;
use crate::vocabulary::words::data;
use std::fmt;
use std::sync::Arc;

/// A way from one machine to another, first in first out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum Route {
    /// A client's connection, towards the server.
    ToServer(ClientConnection),
    /// A client's connection, towards the client.
    ToClient(ClientConnection),
    /// A learner's connection, towards the leader.
    ToLeader(LearnerConnection),
    /// A learner's connection, towards the learner.
    ToLearner(LearnerConnection),
    /// The mailbox of election notifications, which has one slot.
    Vote { from: ServerId, to: ServerId },
    /// Messages between two programs.
    Message { from: ClientId, to: ClientId },
    /// Writes of a lost connection that may still reach the leader; only at the service grain.
    Late(SessionId),
}

impl Route {
    /// Returns the route whose oldest parcel a step reads.
    pub fn read_by(step: &Step) -> Option<Route> {
        match *step {
            Step::ToServer(connection) => Some(Route::ToServer(connection)),
            Step::ToClient(connection) => Some(Route::ToClient(connection)),
            Step::ToLeader(connection) => Some(Route::ToLeader(connection)),
            Step::ToLearner(connection) => Some(Route::ToLearner(connection)),
            Step::Vote { from, to } => Some(Route::Vote { from, to }),
            Step::Message { from, to } => Some(Route::Message { from, to }),
            Step::Serve { client, .. } => {
                Some(Route::ToServer(ClientConnection { client, slot: 0 }))
            }
            Step::Late(session) => Some(Route::Late(session)),
            _ => None,
        }
    }
}

/// What is under way on a route, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// The sender.
    pub from: Machine,
    /// The receiver.
    pub to: Machine,
    /// The packets, and the end of the connection after them.
    pub parcels: Vec<Parcel>,
}

/// A packet, or the end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parcel {
    /// From a client machine to a server.
    ToServer(ClientPacket),
    /// From a server to a client machine.
    ToClient(ServerPacket),
    /// From a learner to its leader.
    ToLeader(LearnerPacket),
    /// From a leader to a learner.
    ToLearner(LeaderPacket),
    /// An election notification.
    Vote(Notification),
    /// A message between programs.
    Message(Arc<[u8]>),
    /// The end of the connection.
    End,
}

impl Parcel {
    /// Returns true if the parcel only keeps a connection alive.
    pub fn is_ping(&self) -> bool {
        matches!(
            self,
            Parcel::ToServer(ClientPacket::Ping)
                | Parcel::ToClient(ServerPacket::Pong)
                | Parcel::ToLeader(LearnerPacket::Ping { .. })
                | Parcel::ToLearner(LeaderPacket::Ping)
        )
    }
}

impl fmt::Display for Parcel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Parcel::ToServer(packet) => packet.fmt(f),
            Parcel::ToClient(packet) => packet.fmt(f),
            Parcel::ToLeader(packet) => packet.fmt(f),
            Parcel::ToLearner(packet) => packet.fmt(f),
            Parcel::Vote(notification) => notification.fmt(f),
            Parcel::Message(body) => write!(f, "message {}", data(body)),
            Parcel::End => f.write_str("end of the connection"),
        }
    }
}
