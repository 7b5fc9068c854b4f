//! A znode as servers keep it (rules 1.3 and 1.5).

use crate::vocabulary::acl::AclList;
use crate::vocabulary::id::SessionId;
use crate::vocabulary::op::{CreateMode, Data};
use crate::vocabulary::stat::Stat;
use crate::vocabulary::time::Duration;
use crate::vocabulary::zxid::Zxid;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What the field `ephemeralOwner` of a stored znode says (`EphemeralType`). Clients see only
/// owners; the marks of containers and TTL znodes are hidden from them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum EphemeralType {
    /// It stays until it is deleted.
    #[default]
    Void,
    /// It goes with this session.
    Normal(SessionId),
    /// It goes some time after its last child.
    Container,
    /// It goes when it has no children and its data were not changed for this long.
    Ttl(Duration),
}

impl EphemeralType {
    /// What a create of this mode makes, for this session.
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

    /// The session with which it goes.
    pub fn owner(self) -> Option<SessionId> {
        match self {
            EphemeralType::Normal(session) => Some(session),
            EphemeralType::Void | EphemeralType::Container | EphemeralType::Ttl(_) => None,
        }
    }

    /// Whether the leader's container manager looks after it.
    pub fn is_reaped(self) -> bool {
        matches!(self, EphemeralType::Container | EphemeralType::Ttl(_))
    }
}

/// A znode as stored (`DataNode` and `StatPersisted`). Its children are in the tree, not here, as
/// in a serialized snapshot.
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
    /// Changes of the data.
    pub version: i32,
    /// Creations of children: the stored counter, from which sequence numbers are taken. Clients
    /// see twice this less the number of children (rule 1.3.4).
    pub cversion: i32,
    /// Changes of the ACL.
    pub aversion: i32,
    /// Whether and when it goes away by itself.
    pub ephemeral_type: EphemeralType,
    /// Who may do what with it.
    pub acl: AclList,
}

impl Znode {
    /// A znode that has stood there from the start, with zxid 0 and time 0.
    pub(crate) fn primordial(acl: AclList) -> Znode {
        Znode::created(Zxid::ZERO, 0, Arc::from([]), EphemeralType::Void, acl)
    }

    /// A znode as a create leaves it.
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

    /// The owner of an ephemeral.
    pub fn ephemeral_owner(&self) -> Option<SessionId> {
        self.ephemeral_type.owner()
    }

    /// The Stat that clients get, for this number of children.
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
