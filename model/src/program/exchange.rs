//! What passes a client machine: between it and its program on one side, its server on the other.
//!
//! The code around a client machine tells of it, not the machine: so a monitor can judge what the machine makes of it
//! without trusting its word ([`Monitor::exchange`](crate::property::Monitor::exchange)).

use crate::program::host::{Input, Operation};
use crate::vocabulary::id::{CallId, ServerId};
use crate::vocabulary::packet::{ClientPacket, ServerPacket};
use crate::vocabulary::timer::ClientTimer;

/// Something that passed a client machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum Exchange {
    /// A process started.
    Started,
    /// Its process is over, one way or another. Nothing more passes until it starts again.
    Ended,
    /// It stands still.
    Paused,
    /// It goes on.
    Resumed,
    /// Its program began a call.
    Asked { call: CallId, operation: Operation },
    /// Its program dropped a call.
    Abandoned { call: CallId },
    /// Its program was told something.
    Told(Input),
    /// It opened a connection.
    Opened { server: ServerId },
    /// It sent a packet on its connection.
    Wrote(ClientPacket),
    /// It read a packet from its connection.
    Read(ServerPacket),
    /// It closed its connection.
    HungUp,
    /// It read the end of its connection: the server closed it, or it broke.
    Broke,
    /// One of its timers fired.
    Fired(ClientTimer),
}
