//! Requests of clients, their responses, create modes and watch events.

use crate::vocabulary::acl::AclList;
use crate::vocabulary::error::Error;
use crate::vocabulary::id::SessionId;
use crate::vocabulary::reconfiguration::Reconfiguration;
use crate::vocabulary::stat::Stat;
use crate::vocabulary::time::Duration;
use crate::vocabulary::zxid::Zxid;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub use super::data::Data;

/// The version that a conditional operation expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Version {
    /// No check (-1 in the wire format).
    Any,
    /// Exactly this version. `Is(-1)` means the same as [`Version::Any`], because the wire format cannot distinguish
    /// them.
    Is(i32),
}

impl Version {
    /// Returns true if a znode at version `current` satisfies the expectation (rule 1.6.3).
    pub fn accepts(self, current: i32) -> bool {
        match self {
            Version::Any => true,
            Version::Is(expected) => expected == -1 || expected == current,
        }
    }
}

/// How to create a znode (rule 1.5.1).
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
    /// Deleted by the leader some time after its last child was deleted.
    Container,
    /// Deleted by the leader when it has no children and its data has not changed for this long: 1 ms to 2^40 - 1 ms,
    /// in whole milliseconds.
    PersistentWithTtl(Duration),
    /// Like `PersistentWithTtl`, with the parent's create counter appended to the name.
    PersistentSequentialWithTtl(Duration),
}

impl CreateMode {
    /// Returns true if the znode belongs to a session.
    pub fn is_ephemeral(self) -> bool {
        matches!(self, CreateMode::Ephemeral | CreateMode::EphemeralSequential)
    }

    /// Returns true if the server appends a sequence number to the name.
    pub fn is_sequential(self) -> bool {
        matches!(
            self,
            CreateMode::PersistentSequential
                | CreateMode::EphemeralSequential
                | CreateMode::PersistentSequentialWithTtl(_)
        )
    }

    /// Returns the time to live, for the modes that have one.
    pub fn ttl(self) -> Option<Duration> {
        match self {
            CreateMode::PersistentWithTtl(ttl) | CreateMode::PersistentSequentialWithTtl(ttl) => {
                Some(ttl)
            }
            _ => None,
        }
    }
}

/// One operation of a multi (rule 1.7.1).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum Op {
    /// Create a znode.
    Create {
        /// The path before a sequence number is appended.
        path: Arc<str>,
        /// Initial content.
        data: Data,
        /// Kind of znode.
        mode: CreateMode,
        acl: AclList,
    },
    /// Delete a znode without children.
    Delete {
        path: Arc<str>,
        /// Expected data version.
        version: Version,
    },
    /// Replace a znode's content.
    SetData {
        path: Arc<str>,
        /// New content.
        data: Data,
        /// Expected data version.
        version: Version,
    },
    /// Fail the whole multi unless the znode exists with this version.
    Check {
        path: Arc<str>,
        /// Expected data version.
        version: Version,
    },
}

impl Op {
    /// Returns the create of a znode with the open ACL.
    pub fn create(path: impl Into<Arc<str>>, data: impl Into<Data>, mode: CreateMode) -> Op {
        Op::Create { path: path.into(), data: data.into(), mode, acl: AclList::OPEN }
    }

    /// Returns the delete of a znode.
    pub fn delete(path: impl Into<Arc<str>>, version: Version) -> Op {
        Op::Delete { path: path.into(), version }
    }

    /// Returns the replacement of a znode's content.
    pub fn set_data(path: impl Into<Arc<str>>, data: impl Into<Data>, version: Version) -> Op {
        Op::SetData { path: path.into(), data: data.into(), version }
    }

    /// Returns the check that a znode exists with this version.
    pub fn check(path: impl Into<Arc<str>>, version: Version) -> Op {
        Op::Check { path: path.into(), version }
    }

    /// Returns the path that it names.
    pub fn path(&self) -> &Arc<str> {
        match self {
            Op::Create { path, .. }
            | Op::Delete { path, .. }
            | Op::SetData { path, .. }
            | Op::Check { path, .. } => path,
        }
    }
}

/// A read inside a [`Request::MultiRead`] (rule 1.7.4).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum ReadOp {
    /// The znode's content and Stat.
    GetData { path: Arc<str> },
    /// Names of the children.
    GetChildren { path: Arc<str> },
}

impl ReadOp {
    /// Returns the path that it names.
    pub fn path(&self) -> &Arc<str> {
        let (ReadOp::GetData { path } | ReadOp::GetChildren { path }) = self;
        path
    }
}

/// The mode of a watch set by [`Request::AddWatch`]. Both modes keep the watch after it fires (rule 3.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum AddWatchMode {
    /// Watches the znode and the set of its children.
    Persistent,
    /// Watches the znode and all its descendants, but produces no NodeChildrenChanged.
    PersistentRecursive,
}

/// The watches that [`Request::RemoveWatches`] and [`Request::CheckWatches`] refer to (rule 3.3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum WatcherType {
    /// One-shot child watches.
    Children,
    /// One-shot data watches.
    Data,
    /// Every watch.
    Any,
    /// Watches of [`AddWatchMode::Persistent`].
    Persistent,
    /// Watches of [`AddWatchMode::PersistentRecursive`].
    PersistentRecursive,
}

/// A request of a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum Request {
    /// A single write: create, delete or setData (`check` alone is not a valid request).
    Write(Op),
    /// All of these or none, under one zxid.
    Multi(Vec<Op>),
    /// The znode's Stat. Sets a data watch even if the znode does not exist.
    Exists { path: Arc<str>, watch: bool },
    /// The znode's content and Stat; sets a data watch on success.
    GetData { path: Arc<str>, watch: bool },
    /// Names of the children, and the znode's Stat (`getChildren2`); sets a child watch on success.
    GetChildren { path: Arc<str>, watch: bool },
    /// The znode's ACL and Stat. Without the permission ADMIN, passwords in it are masked.
    GetAcl { path: Arc<str> },
    /// Replace the znode's ACL. Not allowed inside a multi.
    SetAcl {
        path: Arc<str>,
        /// The new ACL.
        acl: AclList,
        /// Expected `aversion`.
        version: Version,
    },
    /// Reads, each with its own result. The server executes no write between them.
    MultiRead(Vec<ReadOp>),
    /// The number of a znode's descendants.
    GetAllChildrenNumber { path: Arc<str> },
    /// The paths of this session's own ephemerals that begin with `prefix`. The server checks no ACL.
    GetEphemerals {
        /// Empty or `/` for all.
        prefix: Arc<str>,
    },
    /// The identities of the connection.
    WhoAmI,
    /// Set a watch that stays set after it fires.
    AddWatch {
        /// The znode need not exist.
        path: Arc<str>,
        mode: AddWatchMode,
    },
    /// Remove watches of this connection.
    RemoveWatches { path: Arc<str>, kind: WatcherType },
    /// Check whether this connection has such a watch.
    CheckWatches { path: Arc<str>, kind: WatcherType },
    /// Delete a container or TTL znode without children. The leader's container manager makes this request as session
    /// 0, but servers accept it from clients as well.
    DeleteContainer { path: Arc<str> },
    /// Wait until this server has caught up with the leader, without a quorum round (rule 4.6.4).
    Sync {
        /// Ignored by the server.
        path: Arc<str>,
    },
    /// End the session.
    CloseSession,
    /// Replace the ensemble's configuration (rule 5.8.3).
    Reconfig(Reconfiguration),
}

impl Request {
    /// Returns the name of the operation, as ZooKeeper's client calls it.
    pub fn name(&self) -> &'static str {
        match self {
            Request::Write(Op::Create { .. }) => "create",
            Request::Write(Op::Delete { .. }) => "delete",
            Request::Write(Op::SetData { .. }) => "setData",
            Request::Write(Op::Check { .. }) => "check",
            Request::Multi(_) => "multi",
            Request::Exists { .. } => "exists",
            Request::GetData { .. } => "getData",
            Request::GetChildren { .. } => "getChildren",
            Request::GetAcl { .. } => "getACL",
            Request::SetAcl { .. } => "setACL",
            Request::MultiRead(_) => "multiRead",
            Request::GetAllChildrenNumber { .. } => "getAllChildrenNumber",
            Request::GetEphemerals { .. } => "getEphemerals",
            Request::WhoAmI => "whoAmI",
            Request::AddWatch { .. } => "addWatch",
            Request::RemoveWatches { .. } => "removeWatches",
            Request::CheckWatches { .. } => "checkWatches",
            Request::DeleteContainer { .. } => "deleteContainer",
            Request::Sync { .. } => "sync",
            Request::CloseSession => "closeSession",
            Request::Reconfig(_) => "reconfig",
        }
    }

    /// Returns true if the connected server answers the request by itself.
    pub fn is_read(&self) -> bool {
        match self {
            Request::Exists { .. }
            | Request::GetData { .. }
            | Request::GetChildren { .. }
            | Request::GetAcl { .. }
            | Request::MultiRead(_)
            | Request::GetAllChildrenNumber { .. }
            | Request::GetEphemerals { .. }
            | Request::WhoAmI
            | Request::AddWatch { .. }
            | Request::RemoveWatches { .. }
            | Request::CheckWatches { .. } => true,
            Request::Write(_)
            | Request::Multi(_)
            | Request::SetAcl { .. }
            | Request::DeleteContainer { .. }
            | Request::Sync { .. }
            | Request::CloseSession
            | Request::Reconfig(_) => false,
        }
    }

    /// Returns true if the request becomes a transaction. If its reply is lost, its outcome is unknown.
    pub fn is_update(&self) -> bool {
        match self {
            Request::Write(_)
            | Request::Multi(_)
            | Request::SetAcl { .. }
            | Request::DeleteContainer { .. }
            | Request::CloseSession
            | Request::Reconfig(_) => true,
            Request::Sync { .. } => false,
            read => !read.is_read(),
        }
    }

    /// Calls `visit` with each path that the request names, in their order.
    pub fn each_path(&self, mut visit: impl FnMut(&Arc<str>)) {
        match self {
            Request::Write(op) => visit(op.path()),
            Request::Multi(ops) => ops.iter().for_each(|op| visit(op.path())),
            Request::MultiRead(reads) => reads.iter().for_each(|read| visit(read.path())),
            Request::Exists { path, .. }
            | Request::GetData { path, .. }
            | Request::GetChildren { path, .. }
            | Request::GetAcl { path }
            | Request::SetAcl { path, .. }
            | Request::GetAllChildrenNumber { path }
            | Request::GetEphemerals { prefix: path }
            | Request::AddWatch { path, .. }
            | Request::RemoveWatches { path, .. }
            | Request::CheckWatches { path, .. }
            | Request::DeleteContainer { path }
            | Request::Sync { path } => visit(path),
            Request::WhoAmI | Request::CloseSession | Request::Reconfig(_) => {}
        }
    }

    /// Returns true if the request creates a znode; these are the requests whose lost replies cause the most harm.
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

/// The result of one read of a [`Request::MultiRead`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ReadResult {
    /// Content and Stat.
    Data(Data, Stat),
    /// The names of the children.
    Children(Vec<Arc<str>>),
    /// This read failed; the other reads are unaffected.
    Failed(Error),
}

/// An identity in the answer to `whoAmI`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClientInfo {
    /// The scheme.
    pub scheme: Arc<str>,
    /// The user, without the secret part of the id.
    pub user: Arc<str>,
}

/// A successful answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Response {
    /// To [`Request::Write`].
    Written(OpResult),
    /// To [`Request::Multi`], successful or not: a failed multi has reply code 0 and the error codes inside (rule
    /// 1.7.2). The handle returns the first non-zero one.
    Multi(Vec<OpResult>),
    /// To [`Request::Exists`].
    Exists(Stat),
    /// To [`Request::GetData`].
    Data(Data, Stat),
    /// To [`Request::GetChildren`]. The names are in lexical order, which ZooKeeper does not promise.
    Children(Vec<Arc<str>>, Stat),
    /// To [`Request::GetAcl`].
    Acl(AclList, Stat),
    /// To [`Request::SetAcl`]: the new Stat.
    AclSet(Stat),
    /// To [`Request::MultiRead`], one result for each read.
    MultiRead(Vec<ReadResult>),
    /// To [`Request::GetAllChildrenNumber`].
    AllChildrenNumber(u32),
    /// To [`Request::GetEphemerals`]. The paths are in lexical order, which ZooKeeper does not promise.
    Ephemerals(Vec<Arc<str>>),
    /// To [`Request::WhoAmI`].
    WhoAmI(Vec<ClientInfo>),
    /// To [`Request::AddWatch`], [`Request::RemoveWatches`] and [`Request::CheckWatches`].
    Watches,
    /// To [`Request::DeleteContainer`].
    ContainerDeleted,
    /// To [`Request::Sync`].
    Synced,
    /// To [`Request::CloseSession`].
    Closed,
    /// To [`Request::Reconfig`]: the text of the configuration, and the Stat of `/zookeeper/config`.
    Reconfigured(Data, Stat),
}

/// What happened to a watched znode (rule 3.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum EventType {
    /// The watched, absent znode was created.
    NodeCreated,
    /// The znode was deleted.
    NodeDeleted,
    /// The znode's data changed.
    NodeDataChanged,
    /// A child was created or deleted.
    NodeChildrenChanged,
    /// `removeWatches` removed a one-shot data or exist watch. The client makes this event itself.
    DataWatchRemoved,
    /// `removeWatches` removed a one-shot child watch. The client makes this event itself.
    ChildWatchRemoved,
    /// `removeWatches` removed a persistent watch. The client makes this event itself.
    PersistentWatchRemoved,
}

/// A watch notification.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WatchedEvent {
    /// What happened to the znode.
    pub kind: EventType,
    /// The znode's path.
    pub path: Arc<str>,
    /// The transaction that caused the event (in the header since 3.9.0, ZOOKEEPER-4655). For an event that
    /// SetWatches produces, the server's last processed zxid.
    pub zxid: Zxid,
}

/// The state of a client's session as its program sees it (rule 2.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SessionState {
    /// A server accepted the session.
    SyncConnected,
    /// A server without a quorum accepted the connection: reads only (rule 2.7.3).
    ConnectedReadOnly,
    /// A server refused an identity. Final.
    AuthFailed,
    /// The connection was lost; the session may still be alive.
    Disconnected,
    /// A server reported that the session is over, or the client gave it up (rule 2.8.3). Final.
    Expired,
    /// The program closed the session. Final.
    Closed,
}

/// A new state and the session that it concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SessionChange {
    /// The new state.
    pub state: SessionState,
    /// The session that is connected, has lost its connection, or is over; `None` if the client had none yet.
    pub session: Option<SessionId>,
}

/// A change without a known session.
impl From<SessionState> for SessionChange {
    fn from(state: SessionState) -> SessionChange {
        SessionChange { state, session: None }
    }
}

impl SessionState {
    /// Returns true if the session is over for this client.
    pub fn is_final(self) -> bool {
        matches!(self, SessionState::Expired | SessionState::Closed | SessionState::AuthFailed)
    }
}
