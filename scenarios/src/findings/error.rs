//! Why real servers could not be brought to the point at which a defect shows.

use crate::conform::ConformError;
use std::io;
use std::time::Duration;
use thiserror::Error;

/// What prevented the end of a run, which then proves nothing about the defect.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum FindingError {
    /// A server could not be started or used.
    #[error(transparent)]
    Server(#[from] ConformError),
    /// An event that the run waits for did not happen.
    #[error("{what} was waited for, and did not happen within {} s", patience.as_secs())]
    NotSeen { what: String, patience: Duration },
    /// A step of the run had another result than the following steps need.
    #[error("{0}")]
    Otherwise(String),
    /// strace is not installed.
    #[error("no `strace` was found; `apt-get install strace` installs it")]
    NoStrace,
    /// strace is installed but may not trace.
    #[error("strace could not attach to a server: {0}")]
    NotTraced(String),
    /// An operation of the machine failed.
    #[error("{what}: {source}")]
    Machine { what: &'static str, source: io::Error },
}

impl FindingError {
    /// Returns true if a program must be installed first.
    pub fn is_missing(&self) -> bool {
        matches!(
            self,
            FindingError::NoStrace
                | FindingError::Server(ConformError::NoJava | ConformError::NoZooKeeper(_))
        )
    }

    pub(super) fn machine(what: &'static str) -> impl FnOnce(io::Error) -> FindingError {
        move |source| FindingError::Machine { what, source }
    }
}
