//! Transaction ids: `epoch << 32 | counter` (rule 4.1.1).

use serde::{Deserialize, Serialize};
use std::fmt;

/// A leader's term. Epoch 0 precedes the first leader.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Epoch(pub u32);

impl Epoch {
    /// Returns the next epoch: a new leader proposes it if `self` is the largest epoch that a quorum has accepted.
    pub fn next(self) -> Epoch {
        Epoch(self.0 + 1)
    }

    /// The zxid with counter 0 that opens this epoch: the NEWLEADER zxid, which belongs to no
    /// transaction (rule 4.1.1).
    pub fn opening(self) -> Zxid {
        Zxid(u64::from(self.0) << 32)
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A ZooKeeper transaction id, totally ordered.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename = "zookeeper.Zxid")] // Zxid::WRITTEN_AS
pub struct Zxid(pub u64);

impl Zxid {
    /// The type's name for serde. It distinguishes a zxid from a number in observations. JSON has no type names and
    /// shows a number.
    pub(crate) const WRITTEN_AS: &'static str = "zookeeper.Zxid";

    /// The zxid of an empty database.
    pub const ZERO: Zxid = Zxid(0);

    /// Builds a zxid from its two halves.
    pub fn new(epoch: Epoch, counter: u32) -> Zxid {
        Zxid(u64::from(epoch.0) << 32 | u64::from(counter))
    }

    /// The epoch, the upper 32 bits.
    pub fn epoch(self) -> Epoch {
        Epoch((self.0 >> 32) as u32)
    }

    /// The counter, the lower 32 bits.
    pub fn counter(self) -> u32 {
        self.0 as u32
    }

    /// Returns true if this zxid opens an epoch (its counter is 0) and so belongs to no transaction.
    pub fn is_opening(self) -> bool {
        self.counter() == 0
    }

    /// The next zxid of the same epoch, or `None` when the counter is exhausted: the leader then
    /// steps down to force a new epoch (ZOOKEEPER-1277).
    pub fn next(self) -> Option<Zxid> {
        (self.counter() != u32::MAX).then_some(Zxid(self.0 + 1))
    }

    /// Returns the zxid before this one in the same epoch. An opening zxid has none; the result is then meaningless.
    pub fn previous(self) -> Zxid {
        Zxid(self.0.saturating_sub(1))
    }
}

impl fmt::Display for Zxid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.epoch(), self.counter())
    }
}
