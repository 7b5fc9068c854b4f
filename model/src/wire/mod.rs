//! The client protocol as bytes: the form of [`ClientPacket`](crate::vocabulary::packet::ClientPacket) and
//! [`ServerPacket`](crate::vocabulary::packet::ServerPacket) between a real client and a real server (rules 2.1 and
//! 2.8).
//!
//! A connection carries frames: a length of four bytes, then a packet of that length. These modules convert between
//! packets and the content of frames; they use no sockets.
//!
//! * The first frame of each side is the handshake ([`handshake`]), which has no header.
//! * A frame of a client has a header of xid and opcode before the request ([`request`]).
//! * A frame of a server has a header of xid, zxid and error code before the reply ([`reply`]). It does not contain
//!   the kind of reply, so its reader must know the request with that xid.
//! * A multi is a list of operations each with a header of its own ([`multi`]).
//! * Transactions have their own records, in logs and between servers; [`txn`] computes their lengths, and
//!   [`log`] reads them.
//!
//! The numbers for kinds of packets (opcodes, flags, event types) are in [`record`] and `opcode`, those of errors in
//! [`Error`](crate::vocabulary::error::Error).

pub mod handshake;
pub mod jute;
pub mod log;
pub mod multi;
mod opcode;
pub mod record;
pub mod reply;
pub mod request;
#[cfg(test)]
mod tests;
pub mod txn;

pub use jute::WireError;

/// The opcodes for requests that have two. Replies to the older opcodes contain no Stat; the decoded response then
/// has `Stat::default()`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Opcodes {
    /// `create2` and `getChildren2`, whose replies have the Stat that this crate's semantics require.
    #[default]
    Newest,
    /// `create` and `getChildren`, which clients send if they want no Stat.
    Plain,
}

/// The secret of a session: the server issues it with the session and requires it when a client re-attaches. Sessions
/// of the model have none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Password(pub [u8; 16]);
