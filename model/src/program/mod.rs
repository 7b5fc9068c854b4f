//! Programs: the handle that they are written over, the seam to whoever runs them, and the client machines that
//! carry out what they ask.

pub mod exchange;
pub mod handle;
pub mod host;
pub mod machines;
mod words;
