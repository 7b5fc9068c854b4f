//! M9, names once: no name with an attempt's id is created twice.
//!
//! A name is used later than it was read: by a transaction that checks a lock's znode (M4), by a request that is
//! enforced (recipe rule 2.11.5), by a delete that is repeated. If a counter restarts or has reached its end, only
//! the id makes names unique (recipe rule 1.2.2). So an attempt must not line up twice under its id, once its znode
//! may have been deleted. The monitor ignores names without an id, which can repeat.

use super::creations::created;
use crate::contention::contender::Contender;
use std::collections::BTreeSet;
use std::sync::Arc;
use vivarium_model::minds;
use vivarium_model::path::ZnodePath;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection};
use vivarium_model::txn::Txn;

/// See the module. Checked in sweeps only: the names that it remembers would keep a search from ending.
#[derive(Clone, Debug, Hash)]
pub struct NamesOnce {
    lock: Arc<str>,
    seen: BTreeSet<ZnodePath>,
}

impl NamesOnce {
    /// Watches the lock in this directory.
    pub fn new(lock_directory: &str) -> NamesOnce {
        NamesOnce { lock: lock_directory.into(), seen: BTreeSet::new() }
    }
}

impl Declared for NamesOnce {
    const DECLARATION: Declaration<Self> = Declaration::in_sweeps(
        "lock M9 names once",
        LooksBack::Nothing,
        minds! { |this, view, event|
            Committed(txn) => this.committed(txn),
        },
    );
}

impl NamesOnce {
    fn committed(&mut self, txn: &Txn) -> Result<(), Objection> {
        let mut again = None;
        created(&txn.body, &mut |path| {
            let contender = Contender::in_directory(&self.lock, path);
            let has_id = contender.is_some_and(|contender| contender.attempt().is_some());
            if has_id && !self.seen.insert(path.clone()) {
                again = Some(path.clone());
            }
        });
        let Some(path) = again else { return Ok(()) };
        let saw = format!("{path} is created by transaction {}, and was there before", txn.zxid);
        Err(self.objection(saw))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contention::properties::scene::*;

    #[test]
    fn a_name_that_comes_again_is_refused() {
        let mut scene = Scene::new(NamesOnce::new(LOCK));
        scene.create(S1, 1, &node("a", i32::MAX));
        scene.create(S2, 1, &node("b", i32::MAX));
        scene.delete(S2, 2, &node("a", i32::MAX));
        scene.create(S1, 2, &node("a", i32::MAX));
        insta::assert_snapshot!(scene.end().unwrap_or_default(), @"lock M9 names once: /lock/a-lock-2147483647 is created by transaction 1:7, and was there before");
    }

    #[test]
    fn a_commit_that_is_reported_again_is_no_second_one_nor_is_another_number() {
        let mut scene = Scene::new(NamesOnce::new(LOCK));
        let first = scene.create(S1, 1, &node("a", 0));
        scene.report_again(first);
        scene.create(S1, 2, &node("a", 1));
        assert_eq!(scene.end(), None);
    }
}
