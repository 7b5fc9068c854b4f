//! A znode as servers store it (rules 1.3 and 1.5).

use crate::vocabulary::acl::AclList;
use crate::vocabulary::id::SessionId;
use crate::vocabulary::op::{CreateMode, Data};
use crate::vocabulary::stat::Stat;
use crate::vocabulary::time::Duration;
use crate::vocabulary::zxid::Zxid;
use serde::{Deserialize, Serialize};

/// The meaning of the field `ephemeralOwner` of a stored znode (`EphemeralType`). Clients see session ids only;
/// servers hide the marks of containers and TTL znodes from them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum EphemeralType {
    /// The znode exists until a client deletes it.
    #[default]
    Void,
    /// The znode is deleted when this session ends.
    Normal(SessionId),
    /// The leader deletes the znode some time after its last child was deleted.
    Container,
    /// The leader deletes the znode when it has no children and its data has not changed for this long.
    Ttl(Duration),
}

impl EphemeralType {
    /// Returns the type of a znode that `session` creates in this mode.
    pub fn of(mode: CreateMode, session: SessionId) -> EphemeralType {
        match mode {
            CreateMode::Persistent | CreateMode::PersistentSequential => EphemeralType::Void,
            CreateMode::Ephemeral | CreateMode::EphemeralSequential => {
                EphemeralType::Normal(session)
            }
            CreateMode::Container => EphemeralType::Container,
            CreateMode::PersistentWithTtl(ttl) | CreateMode::PersistentSequentialWithTtl(ttl) => {
                EphemeralType::Ttl(ttl)
            }
        }
    }

    /// Returns the session that owns the znode, if it is ephemeral.
    pub fn owner(self) -> Option<SessionId> {
        match self {
            EphemeralType::Normal(session) => Some(session),
            EphemeralType::Void | EphemeralType::Container | EphemeralType::Ttl(_) => None,
        }
    }

    /// Returns true if the leader's container manager may delete the znode.
    pub fn is_reaped(self) -> bool {
        matches!(self, EphemeralType::Container | EphemeralType::Ttl(_))
    }
}

/// A znode as stored (`DataNode` and `StatPersisted`). The tree holds the lists of children, as in a serialised
/// snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Znode {
    /// Content.
    pub data: Data,
    /// Zxid of the create.
    pub czxid: Zxid,
    /// Zxid of the last change of the data.
    pub mzxid: Zxid,
    /// Zxid of the last create or delete of a child.
    pub pzxid: Zxid,
    /// Creation time, milliseconds.
    pub ctime: u64,
    /// Time of the last change of the data, milliseconds.
    pub mtime: u64,
    /// Number of changes of the data.
    pub version: i32,
    /// Number of children created so far. This stored counter gives sequential znodes their numbers. Clients see
    /// twice the counter minus the number of children (rule 1.3.4).
    pub cversion: i32,
    /// Number of changes of the ACL.
    pub aversion: i32,
    /// Whether the znode is deleted automatically, and when.
    pub ephemeral_type: EphemeralType,
    /// The access control list.
    pub acl: AclList,
}

impl Znode {
    /// Returns a znode that exists before the first transaction, with zxid 0 and time 0.
    pub(crate) fn primordial(acl: AclList) -> Znode {
        Znode::created(Zxid::ZERO, 0, Data::from([]), EphemeralType::Void, acl)
    }

    /// Returns a znode as it is right after its creation.
    pub fn created(
        zxid: Zxid,
        time: u64,
        data: Data,
        ephemeral_type: EphemeralType,
        acl: AclList,
    ) -> Znode {
        Znode {
            data,
            czxid: zxid,
            mzxid: zxid,
            pzxid: zxid,
            ctime: time,
            mtime: time,
            version: 0,
            cversion: 0,
            aversion: 0,
            ephemeral_type,
            acl,
        }
    }

    /// Returns the session that owns the znode, if it is ephemeral.
    pub fn ephemeral_owner(&self) -> Option<SessionId> {
        self.ephemeral_type.owner()
    }

    /// Returns the `Stat` that clients see if the znode has `num_children` children.
    pub fn stat(&self, num_children: u32) -> Stat {
        Stat {
            czxid: self.czxid,
            mzxid: self.mzxid,
            pzxid: self.pzxid,
            ctime: self.ctime,
            mtime: self.mtime,
            version: self.version,
            cversion: self.cversion.wrapping_mul(2).wrapping_sub(num_children as i32),
            aversion: self.aversion,
            ephemeral_owner: self.ephemeral_owner(),
            data_length: self.data.len() as u32,
            num_children,
        }
    }
}
