//! Why a run on real servers has no result.

use crate::conform::ConformError;
use thiserror::Error;
use vivarium_client::ConnectError;

/// Why a run has no result.
#[derive(Debug, Error)]
pub enum LiveError {
    /// There are no servers to run on.
    #[error(transparent)]
    Servers(#[from] ConformError),
    /// A client could not connect while nothing was at fault.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The scenario's znodes could not be created.
    #[error("the scenario's znodes cannot be created: {0}")]
    Setup(vivarium_client::Error),
    /// A file or a socket failed.
    #[error("{what}: {why}")]
    Machine {
        /// What failed.
        what: &'static str,
        /// The reason.
        why: String,
    },
    /// The servers' logs do not have the whole run.
    #[error("no server's log contains the whole run: {0}")]
    Log(String),
}

/// Returns the error of a machine's part.
pub(super) fn machine<E: std::fmt::Display>(what: &'static str) -> impl FnOnce(E) -> LiveError {
    move |why| LiveError::Machine { what, why: why.to_string() }
}
