//! The observations of a multi-lock, in addition to those of its locks.

use serde::Serialize;
use std::sync::Arc;
use vivarium_model::observation::Observation;
use vivarium_model::zxid::Zxid;

/// An observation of a program at a multi-lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum MultiLockSeen {
    /// The program believes that it holds all of these locks.
    GrantedAll {
        /// The held locks.
        locks: Vec<HeldLock>,
    },
}

/// One of the locks.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct HeldLock {
    /// Full path of its znode.
    pub node: Arc<str>,
    /// Its fencing token.
    pub token: Zxid,
}

impl Observation for MultiLockSeen {
    fn words(&self) -> String {
        let MultiLockSeen::GrantedAll { locks } = self;
        let nodes: Vec<&str> = locks.iter().map(|lock| &*lock.node).collect();
        format!("believes that it holds ALL of {}", nodes.join(" and "))
    }
}
