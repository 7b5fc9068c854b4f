//! The modelled ensemble behind real sockets.

pub mod words;
