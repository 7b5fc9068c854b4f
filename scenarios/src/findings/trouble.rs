//! Why real servers could not be brought to where a defect shows.

use crate::conform::ConformError;
use std::io;
use std::time::Duration;
use thiserror::Error;

/// What kept a run from its end: it says nothing about the defect.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum Trouble {
    /// A server could not be started or talked to.
    #[error(transparent)]
    Server(#[from] ConformError),
    /// What the run waits for did not come.
    #[error("{what} was waited for, and did not happen within {} s", patience.as_secs())]
    NotSeen { what: String, patience: Duration },
    /// A step of the run came out otherwise than it must for what follows.
    #[error("{0}")]
    Otherwise(String),
    /// strace is not there.
    #[error("no `strace` was found; `apt-get install strace` installs it")]
    NoStrace,
    /// strace is there and may not do its work.
    #[error("strace could not attach to a server: {0}")]
    NotTraced(String),
    /// The machine failed.
    #[error("{what}: {source}")]
    Machine { what: &'static str, source: io::Error },
}

impl Trouble {
    /// Whether something has to be installed first.
    pub fn is_missing(&self) -> bool {
        matches!(
            self,
            Trouble::NoStrace
                | Trouble::Server(ConformError::NoJava | ConformError::NoZooKeeper(_))
        )
    }

    pub(super) fn machine(what: &'static str) -> impl FnOnce(io::Error) -> Trouble {
        move |source| Trouble::Machine { what, source }
    }
}
