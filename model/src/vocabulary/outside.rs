//! Inputs from clients outside of the run: programs of any language that speak the client protocol.
//!
//! An input from outside is a step like any other ([`Step::Outside`](crate::vocabulary::step::Step::Outside)): it is
//! recorded, replayed and judged. Steps are small and copied often, so a step names its input by the index in a list,
//! which the world keeps and a case records.

use crate::vocabulary::id::{ClientConnection, ClientId, ServerId, SessionId};
use crate::vocabulary::observation::{Custom, Observed};
use crate::vocabulary::packet::ClientPacket;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// One input from outside.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Outside {
    /// Opens a connection, from the loopback address.
    Opens {
        /// A client that has connected before, or the next number. The numbers begin after the configuration's machines.
        client: ClientId,
        /// The server that it connects to.
        server: ServerId,
    },
    /// Sends a packet.
    Sends {
        /// One of its connections.
        connection: ClientConnection,
        /// The packet.
        packet: ClientPacket,
    },
    /// Closes its end of a connection.
    HangsUp {
        /// One of its connections.
        connection: ClientConnection,
    },
    /// Reports to the monitors what a program believes.
    Observes {
        /// The number of the observer. Its programs may have any connections, which have numbers of their own.
        client: ClientId,
        /// The name that the program gives to the observer.
        observer: Arc<str>,
        /// The session by which the program acts, if it says one.
        session: Option<SessionId>,
        /// The observation.
        observation: Custom,
    },
    /// The program of an observer ends, and with it all that it believes.
    Ends {
        /// The number of the observer.
        client: ClientId,
    },
}

impl Outside {
    /// Returns the client that acts.
    pub fn client(&self) -> ClientId {
        match self {
            Outside::Opens { client, .. }
            | Outside::Observes { client, .. }
            | Outside::Ends { client } => *client,
            Outside::Sends { connection, .. } | Outside::HangsUp { connection } => {
                connection.client
            }
        }
    }
}

impl fmt::Display for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outside::Opens { client, server } => write!(f, "{client} connects to {server}"),
            Outside::Sends { connection, packet } => write!(f, "{connection}: sends {packet}"),
            Outside::HangsUp { connection } => write!(f, "{connection}: hangs up"),
            Outside::Observes { client, observer, session, observation } => {
                write!(f, "{client} ({observer}")?;
                if let Some(session) = session {
                    write!(f, ", session {session}")?;
                }
                write!(f, ") {}", Observed::new(observation.clone()))
            }
            Outside::Ends { client } => write!(f, "the program of {client} ends"),
        }
    }
}
