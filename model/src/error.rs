//! ZooKeeper's error codes with their numbers (semantics 1.12).

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why a call failed. The names and numbers are `KeeperException.Code`'s.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Error,
)]
#[non_exhaustive]
pub enum Error {
    /// A sub-operation of a failed multi after the one that failed.
    #[error("RuntimeInconsistency: an earlier operation of this multi failed")]
    RuntimeInconsistency,
    /// The connection broke while the call was in flight: a write may or may not have been applied,
    /// or may still be pending at the leader. Nothing may be concluded without looking.
    #[error("ConnectionLoss: the connection broke, the outcome is unknown")]
    ConnectionLoss,
    /// The request is of a kind that this server does not know.
    #[error("Unimplemented: the server does not know this operation")]
    Unimplemented,
    /// An invalid path or flag.
    #[error("BadArguments: the path or an argument is not valid")]
    BadArguments,
    /// The znode (or, for create, its parent) does not exist.
    #[error("NoNode: the znode does not exist")]
    NoNode,
    /// The expected version is not the current one.
    #[error("BadVersion: the znode's version is not the expected one")]
    BadVersion,
    /// An ephemeral znode cannot be a parent.
    #[error("NoChildrenForEphemerals: an ephemeral znode cannot have children")]
    NoChildrenForEphemerals,
    /// The znode exists already.
    #[error("NodeExists: the znode exists already")]
    NodeExists,
    /// The znode has children.
    #[error("NotEmpty: the znode has children")]
    NotEmpty,
    /// The session is unknown to the leader, closing, or was closed.
    #[error("SessionExpired: the session has ended")]
    SessionExpired,
    /// The request came by a connection that no longer owns the session. Servers answer it by
    /// closing the connection, so a program never sees it (semantics 9 rule 14).
    #[error("SessionMoved: the session is owned by another connection")]
    SessionMoved,
}

impl Error {
    /// The number that goes over the wire.
    pub fn code(self) -> i32 {
        match self {
            Error::RuntimeInconsistency => -2,
            Error::ConnectionLoss => -4,
            Error::Unimplemented => -6,
            Error::BadArguments => -8,
            Error::NoNode => -101,
            Error::BadVersion => -103,
            Error::NoChildrenForEphemerals => -108,
            Error::NodeExists => -110,
            Error::NotEmpty => -111,
            Error::SessionExpired => -112,
            Error::SessionMoved => -118,
        }
    }
}
