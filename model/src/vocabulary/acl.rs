//! Access control: permissions, identities, and the lists that znodes carry (rule 1.9.1).
//!
//! A connection carries a set of identities; a znode carries a list that grants permissions to
//! identities. CREATE and DELETE are looked up on the *parent*, and nothing is inherited.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::ops::BitOr;
use std::sync::Arc;

/// A set of permissions, as the bits of the wire format. Like servers, it keeps unknown bits.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Permissions(pub i32);

impl Permissions {
    /// Read the data, list the children, see the ACL.
    pub const READ: Permissions = Permissions(1);
    /// Set the data.
    pub const WRITE: Permissions = Permissions(2);
    /// Create children.
    pub const CREATE: Permissions = Permissions(4);
    /// Delete children.
    pub const DELETE: Permissions = Permissions(8);
    /// Set the ACL.
    pub const ADMIN: Permissions = Permissions(16);
    /// All five permissions.
    pub const ALL: Permissions = Permissions(31);

    /// Returns true if the two sets have a permission in common.
    pub fn intersects(self, other: Permissions) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for Permissions {
    type Output = Permissions;
    fn bitor(self, other: Permissions) -> Permissions {
        Permissions(self.0 | other.0)
    }
}

impl fmt::Display for Permissions {
    /// Writes the letters of ZooKeeper's command line: `cdrwa`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = [
            (Permissions::CREATE, 'c'),
            (Permissions::DELETE, 'd'),
            (Permissions::READ, 'r'),
            (Permissions::WRITE, 'w'),
            (Permissions::ADMIN, 'a'),
        ];
        letters
            .iter()
            .filter(|(bit, _)| self.intersects(*bit))
            .try_for_each(|(_, c)| write!(f, "{c}"))
    }
}

/// An identity: either one that a connection has proven, or one to which an ACL entry grants permissions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Id {
    /// The authentication scheme: `world`, `auth`, `digest`, `ip` or `super`.
    pub scheme: Cow<'static, str>,
    /// The identity within the scheme, such as `user:hash` for `digest`.
    pub id: Cow<'static, str>,
}

impl Id {
    /// Any client: `world:anyone`.
    pub const ANYONE: Id = Id { scheme: Cow::Borrowed("world"), id: Cow::Borrowed("anyone") };

    /// The creator: `auth`. The server replaces it by the identities that the connection has proven.
    pub const AUTH: Id = Id { scheme: Cow::Borrowed("auth"), id: Cow::Borrowed("") };

    /// Returns an identity of any scheme.
    pub fn new(scheme: impl Into<String>, id: impl Into<String>) -> Id {
        Id { scheme: Cow::Owned(scheme.into()), id: Cow::Owned(id.into()) }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.scheme, self.id)
    }
}

/// One entry of an ACL.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Acl {
    /// The permissions granted.
    pub permissions: Permissions,
    /// The identity that gets them.
    pub id: Id,
}

impl Acl {
    /// Returns an entry that grants `permissions` to `id`.
    pub fn new(permissions: Permissions, id: Id) -> Acl {
        Acl { permissions, id }
    }
}

impl fmt::Display for Acl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.id, self.permissions)
    }
}

/// `OPEN_ACL_UNSAFE`: any client has all permissions.
static OPEN: [Acl; 1] = [Acl { permissions: Permissions::ALL, id: Id::ANYONE }];

/// The ACL of a znode. The open ACL, which almost every znode has, takes no memory and costs nothing to hash.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "Vec<Acl>", into = "Vec<Acl>")]
pub struct AclList(Option<Arc<[Acl]>>);

impl AclList {
    /// `OPEN_ACL_UNSAFE`: any client has all permissions. The default.
    pub const OPEN: AclList = AclList(None);

    /// Returns an ACL with these entries, unchecked: servers may refuse it.
    pub fn new(entries: impl Into<Arc<[Acl]>>) -> AclList {
        let entries = entries.into();
        AclList((*entries != OPEN).then_some(entries))
    }

    /// `CREATOR_ALL_ACL`: all permissions for the client that creates the znode.
    pub fn creator_all() -> AclList {
        AclList::new([Acl::new(Permissions::ALL, Id::AUTH)])
    }

    /// `READ_ACL_UNSAFE`: any client may read.
    pub fn read_unsafe() -> AclList {
        AclList::new([Acl::new(Permissions::READ, Id::ANYONE)])
    }

    /// Returns true for `OPEN_ACL_UNSAFE`.
    pub fn is_open(&self) -> bool {
        self.0.is_none()
    }

    /// The entries, in order.
    pub fn entries(&self) -> &[Acl] {
        self.0.as_deref().unwrap_or(&OPEN)
    }
}

impl From<Vec<Acl>> for AclList {
    fn from(entries: Vec<Acl>) -> AclList {
        AclList::new(entries)
    }
}

impl From<AclList> for Vec<Acl> {
    fn from(list: AclList) -> Vec<Acl> {
        list.entries().to_vec()
    }
}

impl fmt::Debug for AclList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for AclList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[")?;
        for (at, entry) in self.entries().iter().enumerate() {
            write!(f, "{}{entry}", if at > 0 { ", " } else { "" })?;
        }
        write!(f, "]")
    }
}
