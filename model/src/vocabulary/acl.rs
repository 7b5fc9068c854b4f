//! Access control: permissions, identities, and the lists that znodes carry (rule 1.9.1).
//!
//! A connection carries a set of identities; a znode carries a list that grants permissions to
//! identities. CREATE and DELETE are looked up on the *parent*, and nothing is inherited.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::ops::BitOr;
use std::sync::Arc;

/// A set of permissions, as the bits that go over the wire. Servers keep bits that mean nothing.
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
    /// All of them.
    pub const ALL: Permissions = Permissions(31);

    /// Whether the two have a permission in common.
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
    /// As the command line of ZooKeeper writes them: `cdrwa`.
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

/// An identity: what a scheme says about a connection, or whom an entry of an ACL means.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Id {
    /// Who can tell: `world`, `auth`, `digest`, `ip`, `super`.
    pub scheme: Cow<'static, str>,
    /// Who it is, in the scheme's own words.
    pub id: Cow<'static, str>,
}

impl Id {
    /// Everybody: `world:anyone`.
    pub const ANYONE: Id = Id { scheme: Cow::Borrowed("world"), id: Cow::Borrowed("anyone") };

    /// Whoever asks: `auth`, which a server replaces by the identities that the connection has
    /// proven.
    pub const AUTH: Id = Id { scheme: Cow::Borrowed("auth"), id: Cow::Borrowed("") };

    /// An identity of any scheme.
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
    /// What is granted.
    pub permissions: Permissions,
    /// To whom.
    pub id: Id,
}

impl Acl {
    /// An entry.
    pub fn new(permissions: Permissions, id: Id) -> Acl {
        Acl { permissions, id }
    }
}

impl fmt::Display for Acl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.id, self.permissions)
    }
}

/// `OPEN_ACL_UNSAFE`: everybody may do everything.
static OPEN: [Acl; 1] = [Acl { permissions: Permissions::ALL, id: Id::ANYONE }];

/// The ACL of a znode. The open one, which nearly every znode has, takes no memory and is hashed at
/// no cost.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "Vec<Acl>", into = "Vec<Acl>")]
pub struct AclList(Option<Arc<[Acl]>>);

impl AclList {
    /// `OPEN_ACL_UNSAFE`: everybody may do everything. The default.
    pub const OPEN: AclList = AclList(None);

    /// A list, also one that servers refuse.
    pub fn new(entries: impl Into<Arc<[Acl]>>) -> AclList {
        let entries = entries.into();
        AclList((*entries != OPEN).then_some(entries))
    }

    /// `CREATOR_ALL_ACL`: everything for whoever creates the znode.
    pub fn creator_all() -> AclList {
        AclList::new([Acl::new(Permissions::ALL, Id::AUTH)])
    }

    /// `READ_ACL_UNSAFE`: everybody may read.
    pub fn read_unsafe() -> AclList {
        AclList::new([Acl::new(Permissions::READ, Id::ANYONE)])
    }

    /// Whether it is `OPEN_ACL_UNSAFE`.
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
