//! What a client asks and what it is told: requests, responses, create modes, watched events.

use crate::error::Error;
use crate::stat::Stat;
use crate::zxid::Zxid;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A znode's content.
pub type Data = Arc<[u8]>;

/// The version that a conditional operation expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Version {
    /// No check (-1 over the wire).
    Any,
    /// Exactly this version; -1 is [`Version::Any`], because over the wire it is the same.
    Is(i32),
}

impl Version {
    /// Whether a znode at `current` satisfies the expectation.
    pub fn accepts(self, current: i32) -> bool {
        match self {
            Version::Any => true,
            Version::Is(expected) => expected == -1 || expected == current,
        }
    }
}

/// How a znode is created (semantics 1.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CreateMode {
    /// Stays until deleted.
    Persistent,
    /// Deleted when the creating session ends.
    Ephemeral,
    /// Persistent, with the parent's create counter appended to the name.
    PersistentSequential,
    /// Ephemeral, with the parent's create counter appended to the name.
    EphemeralSequential,
}

impl CreateMode {
    /// Whether the znode belongs to the session.
    pub fn is_ephemeral(self) -> bool {
        matches!(self, CreateMode::Ephemeral | CreateMode::EphemeralSequential)
    }

    /// Whether a sequence number is appended.
    pub fn is_sequential(self) -> bool {
        matches!(self, CreateMode::PersistentSequential | CreateMode::EphemeralSequential)
    }
}

/// One operation of a multi (semantics 1.7).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Op {
    /// Create a znode.
    Create {
        /// Path, before any sequence number is appended.
        path: Arc<str>,
        /// Initial content.
        data: Data,
        /// Kind of znode.
        mode: CreateMode,
    },
    /// Delete a znode without children.
    Delete {
        /// Which.
        path: Arc<str>,
        /// Expected data version.
        version: Version,
    },
    /// Replace a znode's content.
    SetData {
        /// Which.
        path: Arc<str>,
        /// New content.
        data: Data,
        /// Expected data version.
        version: Version,
    },
    /// Fail the whole multi unless the znode exists with this version.
    Check {
        /// Which.
        path: Arc<str>,
        /// Expected data version.
        version: Version,
    },
}

/// A request of a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Request {
    /// A single write: create, delete or setData (`check` alone is not a valid request).
    Write(Op),
    /// All of these or none, under one zxid.
    Multi(Vec<Op>),
    /// The znode's Stat; sets a data watch also where the znode is absent.
    Exists {
        /// Which.
        path: Arc<str>,
        /// Whether to set a watch.
        watch: bool,
    },
    /// The znode's content and Stat; sets a data watch on success.
    GetData {
        /// Which.
        path: Arc<str>,
        /// Whether to set a watch.
        watch: bool,
    },
    /// Names of the children, and the znode's Stat (`getChildren2`); sets a child watch on success.
    GetChildren {
        /// Which.
        path: Arc<str>,
        /// Whether to set a watch.
        watch: bool,
    },
    /// Wait until this server has caught up with the leader (no quorum round; semantics 4.6).
    Sync {
        /// Ignored by the server.
        path: Arc<str>,
    },
    /// End the session.
    CloseSession,
}

impl Request {
    /// Whether the request is answered by the connected server alone.
    pub fn is_read(&self) -> bool {
        matches!(
            self,
            Request::Exists { .. } | Request::GetData { .. } | Request::GetChildren { .. }
        )
    }

    /// Whether the request creates a znode (the one whose lost reply hurts most).
    pub fn is_create(&self) -> bool {
        match self {
            Request::Write(Op::Create { .. }) => true,
            Request::Multi(ops) => ops.iter().any(|op| matches!(op, Op::Create { .. })),
            _ => false,
        }
    }
}

/// The result of one operation of a multi.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum OpResult {
    /// The created path and its Stat.
    Created(Arc<str>, Stat),
    /// Deleted.
    Deleted,
    /// The new Stat.
    Set(Stat),
    /// The check passed.
    Checked,
    /// In a failed multi: `None` (code 0) before the failing operation, its error at it,
    /// `RuntimeInconsistency` after it.
    Failed(Option<Error>),
}

/// A successful answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Response {
    /// To [`Request::Write`].
    Written(OpResult),
    /// To [`Request::Multi`], when it succeeded or failed: a failed multi has reply code 0 and the
    /// codes inside (semantics 1.7); the handle raises the first non-zero one.
    Multi(Vec<OpResult>),
    /// To [`Request::Exists`].
    Exists(Stat),
    /// To [`Request::GetData`].
    Data(Data, Stat),
    /// To [`Request::GetChildren`]; the names in lexical order, though ZooKeeper promises none.
    Children(Vec<Arc<str>>, Stat),
    /// To [`Request::Sync`].
    Synced,
    /// To [`Request::CloseSession`].
    Closed,
}

/// What happened to a watched znode (semantics 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum EventType {
    /// The watched, absent znode was created.
    NodeCreated,
    /// The znode was deleted.
    NodeDeleted,
    /// The znode's data changed.
    NodeDataChanged,
    /// The set of children changed.
    NodeChildrenChanged,
}

/// A watch notification.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WatchedEvent {
    /// What happened.
    pub kind: EventType,
    /// Where.
    pub path: Arc<str>,
    /// The transaction that caused it (in the header since 3.9.0, ZOOKEEPER-4655); the server's
    /// last processed zxid for an event made up by SetWatches.
    pub zxid: Zxid,
}

/// State of a client's session as its program is told (semantics 2.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SessionState {
    /// A server accepted the session.
    SyncConnected,
    /// The connection was lost; the session may live on.
    Disconnected,
    /// A server said that the session is over. Final.
    Expired,
    /// The program closed the session. Final.
    Closed,
}
