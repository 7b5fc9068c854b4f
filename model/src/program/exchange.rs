//! The traffic of a client machine: with its program on one side, and its server on the other.
//!
//! The code around a client machine records the traffic, not the machine itself, so a monitor can judge the machine
//! without trusting it ([`Monitor::exchange`](crate::property::Monitor::exchange)).

use crate::program::host::{Input, Operation};
use crate::vocabulary::id::{CallId, ServerId};
use crate::vocabulary::packet::{ClientPacket, ServerPacket};
use crate::vocabulary::timer::ClientTimer;

/// An item of a client machine's traffic.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum Exchange {
    /// The machine's process started.
    Started,
    /// The process ended, for whatever reason. There is no more traffic until it starts again.
    Ended,
    /// The machine was paused.
    Paused,
    /// The paused machine continues.
    Resumed,
    /// The program began a call.
    Asked { call: CallId, operation: Operation },
    /// The program dropped a call.
    Abandoned { call: CallId },
    /// The program received an input.
    Told(Input),
    /// The machine opened a connection.
    Opened { server: ServerId },
    /// The machine sent a packet on its connection.
    Wrote(ClientPacket),
    /// The machine read a packet from its connection.
    Read(ServerPacket),
    /// The machine closed its connection.
    HungUp,
    /// The machine read the end of its connection: the server closed it, or it broke.
    Broke,
    /// One of the machine's timers fired.
    Fired(ClientTimer),
}
