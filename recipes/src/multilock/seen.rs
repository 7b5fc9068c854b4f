//! What a multi-lock tells the monitors, beside what each of its locks does.

use serde::Serialize;
use std::sync::Arc;
use vivarium_model::observation::Observation;
use vivarium_model::zxid::Zxid;

/// What can be seen of a program at a multi-lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum MultiLockSeen {
    /// The program believes that it holds all of these.
    GrantedAll {
        /// Each of them.
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
