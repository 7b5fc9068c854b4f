//! `Stat`: a znode's metadata as clients see it (rules 1.3.1 and 1.3.6).

use crate::vocabulary::id::SessionId;
use crate::vocabulary::zxid::Zxid;
use serde::{Deserialize, Serialize};

/// A znode's `Stat` as clients see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stat {
    /// Zxid of the create. The fencing token of lock and election recipes.
    pub czxid: Zxid,
    /// Zxid of the last change of the data.
    pub mzxid: Zxid,
    /// Zxid of the last change of the set of children.
    pub pzxid: Zxid,
    /// Creation time in milliseconds, by the clock of the leader that made the transaction.
    pub ctime: u64,
    /// Time of the last change of the data, in milliseconds, by that leader's clock.
    pub mtime: u64,
    /// Number of changes of the data.
    pub version: i32,
    /// Creations plus deletions of children: twice the stored counter minus the number of children.
    pub cversion: i32,
    /// Number of changes of the ACL.
    pub aversion: i32,
    /// The owning session of an ephemeral znode.
    pub ephemeral_owner: Option<SessionId>,
    /// Length of the data, bytes.
    pub data_length: u32,
    /// Number of children.
    pub num_children: u32,
}

impl Stat {
    /// Returns the czxid, unless a server has left the Stat out of an answer and all of it is 0: those before 3.9.0 do in
    /// the answer to a create inside a multi (rule 1.7.3).
    pub fn known_czxid(&self) -> Option<Zxid> {
        (self.czxid != Zxid::ZERO).then_some(self.czxid)
    }
}
