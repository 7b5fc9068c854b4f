//! What a client asks and what it is told: requests, responses, create modes, watched events.

use crate::vocabulary::acl::AclList;
use crate::vocabulary::error::Error;
use crate::vocabulary::id::SessionId;
use crate::vocabulary::stat::Stat;
use crate::vocabulary::time::Duration;
use crate::vocabulary::zxid::Zxid;
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
    /// Whether a znode at `current` satisfies the expectation (rule 1.6.3).
    pub fn accepts(self, current: i32) -> bool {
        match self {
            Version::Any => true,
            Version::Is(expected) => expected == -1 || expected == current,
        }
    }
}

/// How a znode is created (rule 1.5.1).
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
    /// Deleted by the leader some time after its last child is gone.
    Container,
    /// Deleted by the leader when it has no children and was not changed for this long:
    /// 1 ms to 2^40 - 1 ms, in whole milliseconds.
    PersistentWithTtl(Duration),
    /// The same, with the parent's create counter appended to the name.
    PersistentSequentialWithTtl(Duration),
}

impl CreateMode {
    /// Whether the znode belongs to the session.
    pub fn is_ephemeral(self) -> bool {
        matches!(self, CreateMode::Ephemeral | CreateMode::EphemeralSequential)
    }

    /// Whether a sequence number is appended.
    pub fn is_sequential(self) -> bool {
        matches!(
            self,
            CreateMode::PersistentSequential
                | CreateMode::EphemeralSequential
                | CreateMode::PersistentSequentialWithTtl(_)
        )
    }

    /// The time to live, of the modes that have one.
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
        /// Path, before any sequence number is appended.
        path: Arc<str>,
        /// Initial content.
        data: Data,
        /// Kind of znode.
        mode: CreateMode,
        /// Who may do what with it.
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
    /// The create of a znode with which everybody may do everything.
    pub fn create(path: impl Into<Arc<str>>, data: impl Into<Data>, mode: CreateMode) -> Op {
        Op::Create { path: path.into(), data: data.into(), mode, acl: AclList::OPEN }
    }

    /// The delete of a znode.
    pub fn delete(path: impl Into<Arc<str>>, version: Version) -> Op {
        Op::Delete { path: path.into(), version }
    }

    /// The replacement of a znode's content.
    pub fn set_data(path: impl Into<Arc<str>>, data: impl Into<Data>, version: Version) -> Op {
        Op::SetData { path: path.into(), data: data.into(), version }
    }

    /// The check that a znode exists with this version.
    pub fn check(path: impl Into<Arc<str>>, version: Version) -> Op {
        Op::Check { path: path.into(), version }
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

/// How a watch set by [`Request::AddWatch`] watches. Both stay when they fire (rule 3.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum AddWatchMode {
    /// The znode and the set of its children.
    Persistent,
    /// The znode and all below it, but no NodeChildrenChanged.
    PersistentRecursive,
}

/// Which watches [`Request::RemoveWatches`] and [`Request::CheckWatches`] mean (rule 3.3.3).
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
    /// The znode's Stat; sets a data watch also where the znode is absent.
    Exists {
        path: Arc<str>,
        /// Whether to set a watch.
        watch: bool,
    },
    /// The znode's content and Stat; sets a data watch on success.
    GetData {
        path: Arc<str>,
        /// Whether to set a watch.
        watch: bool,
    },
    /// Names of the children, and the znode's Stat (`getChildren2`); sets a child watch on success.
    GetChildren {
        path: Arc<str>,
        /// Whether to set a watch.
        watch: bool,
    },
    /// The znode's ACL and Stat; without ADMIN, passwords in it are masked.
    GetAcl { path: Arc<str> },
    /// Replace the znode's ACL. Not possible inside a multi.
    SetAcl {
        path: Arc<str>,
        /// The new ACL.
        acl: AclList,
        /// Expected `aversion`.
        version: Version,
    },
    /// Reads, each with its own result, executed without a write between them.
    MultiRead(Vec<ReadOp>),
    /// The number of all descendants.
    GetAllChildrenNumber {
        /// Of which znode.
        path: Arc<str>,
    },
    /// The paths of this session's own ephemerals that begin with a text. No ACL is looked at.
    GetEphemerals {
        /// The text; nothing or `/` for all.
        prefix: Arc<str>,
    },
    /// The identities of the connection.
    WhoAmI,
    /// Set a watch that stays.
    AddWatch {
        /// Where; the znode need not exist.
        path: Arc<str>,
        mode: AddWatchMode,
    },
    /// Take watches of this connection away.
    RemoveWatches { path: Arc<str>, kind: WatcherType },
    /// Whether this connection has such a watch.
    CheckWatches { path: Arc<str>, kind: WatcherType },
    /// Delete a container or TTL znode without children. Made by the leader's own container manager,
    /// as session 0; servers take it from clients as well.
    DeleteContainer { path: Arc<str> },
    /// Wait until this server has caught up with the leader (no quorum round; rule 4.6.4).
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
            | Request::CloseSession => false,
        }
    }

    /// Whether the request becomes a transaction: with its reply lost, nobody knows whether it did.
    pub fn is_update(&self) -> bool {
        match self {
            Request::Write(_)
            | Request::Multi(_)
            | Request::SetAcl { .. }
            | Request::DeleteContainer { .. }
            | Request::CloseSession => true,
            Request::Sync { .. } => false,
            read => !read.is_read(),
        }
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

/// The result of one read of a [`Request::MultiRead`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ReadResult {
    /// Content and Stat.
    Data(Data, Stat),
    /// The names of the children.
    Children(Vec<Arc<str>>),
    /// This read failed; the others did not mind.
    Failed(Error),
}

/// An identity as `whoAmI` tells it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClientInfo {
    /// The scheme.
    pub scheme: Arc<str>,
    /// The user, without what proves it.
    pub user: Arc<str>,
}

/// A successful answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Response {
    /// To [`Request::Write`].
    Written(OpResult),
    /// To [`Request::Multi`], when it succeeded or failed: a failed multi has reply code 0 and the
    /// codes inside (rule 1.7.2); the handle raises the first non-zero one.
    Multi(Vec<OpResult>),
    /// To [`Request::Exists`].
    Exists(Stat),
    /// To [`Request::GetData`].
    Data(Data, Stat),
    /// To [`Request::GetChildren`]; the names in lexical order, though ZooKeeper promises none.
    Children(Vec<Arc<str>>, Stat),
    /// To [`Request::GetAcl`].
    Acl(AclList, Stat),
    /// To [`Request::SetAcl`]: the new Stat.
    AclSet(Stat),
    /// To [`Request::MultiRead`], one for each read.
    MultiRead(Vec<ReadResult>),
    /// To [`Request::GetAllChildrenNumber`].
    AllChildrenNumber(u32),
    /// To [`Request::GetEphemerals`]; in lexical order, though ZooKeeper promises none.
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
    /// The set of children changed.
    NodeChildrenChanged,
    /// A one-shot data or exist watch was removed by `removeWatches`. Made by the client itself.
    DataWatchRemoved,
    /// A one-shot child watch was removed by `removeWatches`. Made by the client itself.
    ChildWatchRemoved,
    /// A persistent watch was removed by `removeWatches`. Made by the client itself.
    PersistentWatchRemoved,
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

/// State of a client's session as its program is told (rule 2.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SessionState {
    /// A server accepted the session.
    SyncConnected,
    /// A server that has no quorum behind it took the connection: reads only (rule 2.7.3).
    ConnectedReadOnly,
    /// A server refused an identity. Final.
    AuthFailed,
    /// The connection was lost; the session may live on.
    Disconnected,
    /// A server said that the session is over, or the client gave it up (rule 2.8.3). Final.
    Expired,
    /// The program closed the session. Final.
    Closed,
}

/// A change of a session's state, with the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SessionChange {
    /// What it is now.
    pub state: SessionState,
    /// The session that is connected, has lost its connection, or is over; none if the client had none yet.
    pub session: Option<SessionId>,
}

/// Of no session that is known.
impl From<SessionState> for SessionChange {
    fn from(state: SessionState) -> SessionChange {
        SessionChange { state, session: None }
    }
}

impl SessionState {
    /// Whether the session is over for this client.
    pub fn is_final(self) -> bool {
        matches!(self, SessionState::Expired | SessionState::Closed | SessionState::AuthFailed)
    }
}
