//! Limits on the number of servers and clients, one for each engine and grain. The command line, tests and the reader
//! of case files all use these constants.

/// The most programs of a search over the service grain. A state has a slot for each program; a search with this many
/// finishes for the smallest programs only.
pub const SEARCHED_CLIENTS: u8 = 8;

/// The most inputs that a search gives a program since it started, or since its round began
/// ([`rounds`](crate::handle::rounds)), and the most requests of a session in a search. A program's state is its list
/// of inputs, and requests are numbered, so a program that repeats a request never returns to an earlier state. A
/// search does not explore beyond this limit, and its verdict says so.
pub const SEARCHED_INPUTS: u32 = 2_000;

/// The most servers of a search over the ensemble grain. A state has two slots for each server, and three servers
/// with one crash already make millions of states.
pub const SEARCHED_SERVERS: u8 = 5;

/// The most client machines of a simulated run: client ids are one byte, from 1.
pub const SWEPT_CLIENTS: u8 = u8::MAX;

/// The most servers of a simulated run: a [`ServerSet`](crate::vocabulary::id::ServerSet) is one 64-bit word.
pub const SWEPT_SERVERS: u8 = 63;
