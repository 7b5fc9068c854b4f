//! Transactions: the leader's `prep` makes them from requests, logs hold them, trees apply them.

use crate::vocabulary::acl::AclList;
use crate::vocabulary::error::Error;
use crate::vocabulary::id::{SessionId, Xid};
use crate::vocabulary::op::Data;
use crate::vocabulary::path::{CONFIG, ZnodePath};
use crate::vocabulary::phrase::plural;
use crate::vocabulary::quorum::QuorumVerifier;
use crate::vocabulary::time::Duration;
use crate::vocabulary::znode::EphemeralType;
use crate::vocabulary::zxid::Zxid;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A transaction with its header (rule 4.3.2).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Txn {
    /// The transaction's place in the total order.
    pub zxid: Zxid,
    /// The session that sent the request; for an expiry, the expired session.
    pub session: SessionId,
    /// The request's number on that session; 0 for an expiry (rule 2.3.2).
    pub cxid: Xid,
    /// The leader's wall clock, milliseconds. Always 0 in the explorer.
    pub time: u64,
    /// The operation.
    pub body: TxnBody,
}

/// The operation of a transaction. `prep` has already decided everything that depends on state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum TxnBody {
    /// Create a znode.
    Create {
        /// The final path, sequence number included.
        path: ZnodePath,
        data: Data,
        /// Whether the znode is deleted automatically, and when.
        ephemeral_type: EphemeralType,
        /// The ACL after fix-up.
        acl: AclList,
        /// The parent's stored cversion after this create (rule 1.3.2).
        parent_cversion: i32,
    },
    /// Delete a znode.
    Delete { path: ZnodePath },
    /// Replace a znode's content.
    SetData {
        path: ZnodePath,
        /// New content.
        data: Data,
        /// The version after the change (absolute, so that replay is idempotent).
        version: i32,
    },
    /// Replace a znode's ACL.
    SetAcl {
        path: ZnodePath,
        /// The new ACL after fix-up.
        acl: AclList,
        /// The aversion after the change.
        aversion: i32,
    },
    /// Delete a container or TTL znode that is no longer needed.
    DeleteContainer { path: ZnodePath },
    /// A passed check; only inside a multi.
    Check { path: ZnodePath },
    /// All sub-operations under one zxid.
    Multi(Vec<TxnBody>),
    /// A multi that failed, with the error code of each operation (`None` is code 0).
    FailedMulti(Vec<Option<Error>>),
    /// Begin the session of the header.
    CreateSession {
        /// Negotiated timeout.
        timeout: Duration,
    },
    /// End the session of the header and delete these znodes (rule 2.5.1; with the list since 3.6.0).
    CloseSession {
        /// The session's ephemerals at `prep` time, in order.
        ephemerals: Vec<ZnodePath>,
    },
    /// A request that failed validation. It still takes a zxid and a quorum round (rule 1.6.4).
    Error(Error),
    /// Replace the ensemble's configuration, and the content of `/zookeeper/config` (rule 5.8.3).
    Reconfig(QuorumVerifier),
}

impl TxnBody {
    /// Returns the create of a znode with the open ACL.
    pub fn create(
        path: ZnodePath,
        data: impl Into<Data>,
        ephemeral_type: EphemeralType,
        parent_cversion: i32,
    ) -> TxnBody {
        let (data, acl) = (data.into(), AclList::OPEN);
        TxnBody::Create { path, data, ephemeral_type, acl, parent_cversion }
    }
}

impl fmt::Display for TxnBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TxnBody::Create { path, ephemeral_type, .. } => match ephemeral_type {
                EphemeralType::Void => write!(f, "create {path}"),
                EphemeralType::Normal(_) => write!(f, "create {path} (ephemeral)"),
                EphemeralType::Container => write!(f, "create {path} (container)"),
                EphemeralType::Ttl(ttl) => write!(f, "create {path} (TTL {ttl:?})"),
            },
            TxnBody::Delete { path } => write!(f, "delete {path}"),
            TxnBody::SetData { path, version, .. } => write!(f, "setData {path} v{version}"),
            TxnBody::SetAcl { path, acl, aversion } => {
                write!(f, "setACL {path} {acl} v{aversion}")
            }
            TxnBody::DeleteContainer { path } => write!(f, "deleteContainer {path}"),
            TxnBody::Check { path } => write!(f, "check {path}"),
            TxnBody::Multi(parts) => {
                write!(f, "multi [")?;
                for (at, part) in parts.iter().enumerate() {
                    write!(f, "{}{part}", if at > 0 { ", " } else { "" })?;
                }
                write!(f, "]")
            }
            TxnBody::FailedMulti(_) => write!(f, "error (multi)"),
            TxnBody::CreateSession { .. } => write!(f, "createSession"),
            TxnBody::CloseSession { ephemerals } => {
                write!(f, "closeSession ({})", plural(ephemerals.len(), "ephemeral"))
            }
            TxnBody::Error(error) => write!(f, "error {error:?}"),
            TxnBody::Reconfig(next) => write!(f, "reconfig to {}", next.members()),
        }
    }
}

impl TxnBody {
    /// Returns true if the transaction replaces the ensemble's configuration.
    pub fn reconfigures(&self) -> bool {
        matches!(self, TxnBody::Reconfig(_))
    }

    /// Returns true if the transaction changes this znode or the set of its children, as `prep` tracks them.
    pub fn concerns(&self, znode: &ZnodePath) -> bool {
        let is_it = |path: &ZnodePath| path == znode;
        let is_below = |path: &ZnodePath| path.parent() == Some(znode.as_str());
        match self {
            TxnBody::SetData { path, .. } | TxnBody::SetAcl { path, .. } => is_it(path),
            TxnBody::Create { path, .. }
            | TxnBody::Delete { path }
            | TxnBody::DeleteContainer { path } => is_it(path) || is_below(path),
            TxnBody::CloseSession { ephemerals } => {
                ephemerals.iter().any(|path| is_it(path) || is_below(path))
            }
            TxnBody::Multi(parts) => parts.iter().any(|part| part.concerns(znode)),
            TxnBody::Reconfig(_) => znode.as_str() == CONFIG,
            TxnBody::CreateSession { .. }
            | TxnBody::Check { .. }
            | TxnBody::FailedMulti(_)
            | TxnBody::Error(_) => false,
        }
    }
}

impl fmt::Display for Txn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} by {}", self.zxid, self.body, self.session)
    }
}
