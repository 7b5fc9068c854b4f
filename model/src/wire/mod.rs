//! The client protocol as bytes: what [`ClientPacket`](crate::vocabulary::packet::ClientPacket) and
//! [`ServerPacket`](crate::vocabulary::packet::ServerPacket) look like between a real client and a real server
//! (rules 2.1 and 2.8).
//!
//! A connection carries frames: a length of four bytes, then so many bytes of a packet. Everything
//! here turns packets into the inside of a frame and back; there are no sockets.
//!
//! * The first frame of each side is the handshake ([`handshake`]), which has no header.
//! * A frame of a client has a header of xid and opcode before the request ([`request`]).
//! * A frame of a server has a header of xid, zxid and error code before the answer ([`reply`]). It
//!   does not say what it answers, so whoever reads it must know what was asked under that xid.
//! * A multi is a list of operations each with a header of its own ([`multi`]).
//! * Transactions have records of their own, in logs and between servers; here is how long they are ([`txn`]).
//!
//! Numbers that say what a packet is (opcodes, flags, event types) are in [`record`] and `opcode`,
//! those of errors with [`Error`](crate::vocabulary::error::Error).

pub mod handshake;
pub mod jute;
pub mod multi;
mod opcode;
pub mod record;
pub mod reply;
pub mod request;
#[cfg(test)]
mod tests;
pub mod txn;

pub use jute::WireError;

/// Which opcodes to use for the requests that have two. The older ones answer without a Stat, which
/// is then `Stat::default()` in a decoded response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Opcodes {
    /// `create2` and `getChildren2`, as this crate's semantics have it.
    #[default]
    Newest,
    /// `create` and `getChildren`, as clients that ask for no Stat send them.
    Plain,
}

/// What proves to a server that a session is one's own: it gives it out with the session, and wants
/// it back from whoever re-attaches. The model's sessions have none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Password(pub [u8; 16]);
