//! ZooKeeper's error codes with their numbers (rule 1.12.1).

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The reason why a call failed. The names and numbers are those of `KeeperException.Code`.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Error,
)]
#[non_exhaustive]
pub enum Error {
    /// An error of the server itself. The base of the codes above -100; never raised.
    #[error("SystemError: the server failed")]
    SystemError,
    /// An operation of a failed multi, after the operation that failed.
    #[error("RuntimeInconsistency: an earlier operation of this multi failed")]
    RuntimeInconsistency,
    /// Never raised.
    #[error("DataInconsistency: the server's data contradict each other")]
    DataInconsistency,
    /// The connection broke while the call was in flight. A write may have been applied or not, or it may still be
    /// pending at the leader; only a later look at the znodes can tell.
    #[error("ConnectionLoss: the connection broke, the outcome is unknown")]
    ConnectionLoss,
    /// The server could not read the request or could not write the reply.
    #[error("MarshallingError: the server could not read the request")]
    MarshallingError,
    /// The server does not know this kind of request, or it is disabled.
    #[error("Unimplemented: the server does not know this operation")]
    Unimplemented,
    /// The client stopped waiting. Used only by clients in other languages.
    #[error("OperationTimeout: the client gave up waiting")]
    OperationTimeout,
    /// The path or a flag is invalid.
    #[error("BadArguments: the path or an argument is not valid")]
    BadArguments,
    /// Never raised.
    #[error("UnknownSession: the server does not know the session")]
    UnknownSession,
    /// No quorum of the new configuration is connected and synchronised.
    #[error("NewConfigNoQuorum: no quorum of the new configuration is in step")]
    NewConfigNoQuorum,
    /// Another reconfiguration is in progress.
    #[error("ReconfigInProgress: another reconfiguration is under way")]
    ReconfigInProgress,
    /// The znode, or the parent of a znode to create, does not exist.
    #[error("NoNode: the znode does not exist")]
    NoNode,
    /// The ACL does not grant the permission that the operation needs.
    #[error("NoAuth: the ACL does not permit this")]
    NoAuth,
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
    /// The session is unknown to the leader, is closing, or was closed.
    #[error("SessionExpired: the session has ended")]
    SessionExpired,
    /// Used only by clients in other languages.
    #[error("InvalidCallback: the callback is not valid")]
    InvalidCallback,
    /// The ACL is empty, names an unknown scheme, or contains an id that its scheme refuses.
    #[error("InvalidACL: the ACL is not valid")]
    InvalidAcl,
    /// The server refused an identity; the client treats its session as over.
    #[error("AuthFailed: the server refused the identity")]
    AuthFailed,
    /// The request arrived on a connection that no longer owns the session. Servers close the connection in response,
    /// so a program never sees this error (rule 2.4.4).
    #[error("SessionMoved: the session is owned by another connection")]
    SessionMoved,
    /// A write or sync was sent to a server without a quorum (rule 2.7.2).
    #[error("NotReadOnly: the server is read-only")]
    NotReadOnly,
    /// An ephemeral create on a local session that cannot be upgraded to a global one (rule 2.6.2).
    #[error("EphemeralOnLocalSession: a local session cannot own ephemerals")]
    EphemeralOnLocalSession,
    /// The watch to remove does not exist.
    #[error("NoWatcher: there is no such watch")]
    NoWatcher,
    /// The client's `requestTimeout` passed; the outcome is unknown.
    #[error("RequestTimeout: the client gave up waiting, the outcome is unknown")]
    RequestTimeout,
    /// Reconfiguration is disabled.
    #[error("ReconfigDisabled: reconfiguration is switched off")]
    ReconfigDisabled,
    /// The server accepts only clients that authenticate with SASL.
    #[error("SessionClosedRequireSaslAuth: the server requires SASL")]
    SessionClosedRequireSaslAuth,
    /// The write would exceed a hard quota (rule 1.10.1).
    #[error("QuotaExceeded: a quota would be exceeded")]
    QuotaExceeded,
    /// The server is overloaded and refused the request before `prep`.
    #[error("ThrottledOp: the server is overloaded")]
    ThrottledOp,
}

impl Error {
    /// Every error with its number (rule 1.12.1).
    pub const CODES: [(Error, i32); 30] = [
        (Error::SystemError, -1),
        (Error::RuntimeInconsistency, -2),
        (Error::DataInconsistency, -3),
        (Error::ConnectionLoss, -4),
        (Error::MarshallingError, -5),
        (Error::Unimplemented, -6),
        (Error::OperationTimeout, -7),
        (Error::BadArguments, -8),
        (Error::UnknownSession, -12),
        (Error::NewConfigNoQuorum, -13),
        (Error::ReconfigInProgress, -14),
        (Error::NoNode, -101),
        (Error::NoAuth, -102),
        (Error::BadVersion, -103),
        (Error::NoChildrenForEphemerals, -108),
        (Error::NodeExists, -110),
        (Error::NotEmpty, -111),
        (Error::SessionExpired, -112),
        (Error::InvalidCallback, -113),
        (Error::InvalidAcl, -114),
        (Error::AuthFailed, -115),
        (Error::SessionMoved, -118),
        (Error::NotReadOnly, -119),
        (Error::EphemeralOnLocalSession, -120),
        (Error::NoWatcher, -121),
        (Error::RequestTimeout, -122),
        (Error::ReconfigDisabled, -123),
        (Error::SessionClosedRequireSaslAuth, -124),
        (Error::QuotaExceeded, -125),
        (Error::ThrottledOp, -127),
    ];

    /// Returns the number of the wire format.
    pub fn code(self) -> i32 {
        Error::CODES[self as usize].1
    }

    /// Returns the error with this number.
    pub fn from_code(code: i32) -> Option<Error> {
        Error::CODES.iter().find(|(_, its)| *its == code).map(|(error, _)| *error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_declaration() {
        for (error, code) in Error::CODES {
            assert_eq!(error.code(), code, "{error:?}");
            assert_eq!(Error::from_code(code), Some(error));
        }
        assert_eq!(Error::from_code(0), None);
    }
}
