//! Programs: the handle that they use, the interface to their hosts, and the client machines that carry out their
//! calls.

pub mod exchange;
pub mod handle;
pub mod host;
#[cfg(feature = "world")]
pub mod machines;
mod words;
