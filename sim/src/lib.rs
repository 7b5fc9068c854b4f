//! Placeholder of the workspace skeleton.

pub mod host;
