//! How many servers and clients there can be: one number for each way to use them, asked by the command
//! line, by tests and by whoever reads a case file.

/// The most programs of a search over the service grain: a state has a place for each of them, and a search
/// of as many as these ends for the smallest programs only.
pub const SEARCHED_CLIENTS: u8 = 8;

/// The most inputs that a search gives a program since it started, or since its round began
/// ([`rounds`](crate::handle::rounds)), and the most requests of a session in a search. A program in a search is its
/// inputs, and requests are numbered, so one that asks again and again is never the same twice. What lies beyond is
/// left out, and the verdict says so.
pub const SEARCHED_INPUTS: u32 = 2_000;

/// The most servers of a search over the ensemble grain: a state has two places for each of them, and three
/// servers with a crash are millions of states already.
pub const SEARCHED_SERVERS: u8 = 5;

/// The most client machines of a run that is simulated: their ids are one byte, from 1 on.
pub const SWEPT_CLIENTS: u8 = u8::MAX;

/// The most servers of a run that is simulated: a set of them is one word of bits, by their ids.
pub const SWEPT_SERVERS: u8 = 63;
