//! M4, guarded writes: a multi that checks a lock's znode commits only while that znode exists.
//!
//! This fences state *inside* ZooKeeper: a `multi { check(node), .. }` of a holder that has lost its lock fails as a
//! whole. It requires that no name is used twice, because a check without a version accepts any znode of that name
//! (recipe rule 2.8.8); the attempt's id makes the names unique.

use crate::contention::contender::Contender;
use std::collections::BTreeSet;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::minds;
use vivarium_model::path::ZnodePath;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection, View};
use vivarium_model::txn::{Txn, TxnBody};

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct GuardedWrite {
    lock: Arc<str>,
    /// The contenders that exist after the last transaction. The history's tree cannot replace them: it is the tree
    /// *after* the multi, which may itself delete the znode that it checked.
    standing: BTreeSet<ZnodePath>,
}

impl GuardedWrite {
    /// Watches the lock in this directory from the start of the history.
    pub fn new(lock_directory: &str) -> GuardedWrite {
        GuardedWrite { lock: lock_directory.into(), standing: BTreeSet::new() }
    }

    fn is_contender(&self, path: &ZnodePath) -> bool {
        Contender::in_directory(&self.lock, path).is_some()
    }

    fn apply(&mut self, view: View<'_>, txn: &Txn, body: &TxnBody) -> Result<(), Objection> {
        match body {
            TxnBody::Create { path, .. } if self.is_contender(path) => {
                self.standing.insert(path.clone());
            }
            TxnBody::Delete { path } => {
                self.standing.remove(path);
            }
            TxnBody::Multi(parts) => {
                for part in parts {
                    self.apply(view, txn, part)?;
                }
            }
            // Includes ephemerals of the session that the transaction does not list (rule 2.5.2).
            TxnBody::CloseSession { .. } => {
                self.standing.retain(|path| view.history.tree().node(path).is_some());
            }
            TxnBody::Check { path } if self.is_contender(path) && !self.standing.contains(path) => {
                let saw = format!("{txn} committed although {path} was gone");
                return Err(self.objection(saw));
            }
            _ => {}
        }
        Ok(())
    }
}

/// Returns the committed transaction if it can change or check a contender; the start of a session cannot.
fn changing(event: &Event) -> Option<&Txn> {
    let Event::Committed { txn, .. } = event else { return None };
    (!matches!(txn.body, TxnBody::CreateSession { .. })).then_some(txn)
}

impl Declared for GuardedWrite {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "lock M4 guarded writes",
        LooksBack::Tip,
        minds! { |this, view, event|
            let Some(txn) = changing(event) => match view.history.is_new(txn) {
                true => this.apply(view, txn, &txn.body),
                false => Ok(()),
            },
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contention::properties::scene::*;
    use vivarium_model::op::Data;

    fn scene() -> Scene<GuardedWrite> {
        let mut scene = Scene::new(GuardedWrite::new(LOCK));
        scene.create(S1, 2, &node("a", 0));
        scene
    }

    /// A multi with `check(node)` and a write to another znode.
    fn guarded(node: &str) -> TxnBody {
        let write = TxnBody::SetData { path: path("/counter"), data: Data::from([]), version: 1 };
        TxnBody::Multi(vec![TxnBody::Check { path: path(node) }, write])
    }

    #[test]
    fn a_guarded_write_after_the_nodes_deletion_is_refused() {
        let mut scene = scene();
        scene.delete(S1, 3, &node("a", 0));
        scene.commit(S1, 4, guarded(&node("a", 0)));
        insta::assert_snapshot!(scene.end().unwrap_or_default(), @"lock M4 guarded writes: 1:6 multi [check /lock/a-lock-0000000000, setData /counter v1] by 0x1 committed although /lock/a-lock-0000000000 was gone");
    }

    #[test]
    fn so_is_one_after_the_sessions_end() {
        let mut scene = scene();
        scene.close(S1);
        scene.commit(S2, 4, guarded(&node("a", 0)));
        assert!(scene.end().is_some());
    }

    #[test]
    fn a_report_of_what_is_committed_already_changes_nothing() {
        let mut scene = scene();
        let create = scene.create(S2, 1, &node("b", 1));
        let write = scene.commit(S2, 2, guarded(&node("b", 1)));
        scene.delete(S2, 3, &node("b", 1));
        // The znode existed when this was committed.
        scene.report_again(write);
        // The repeated report does not make the znode exist again.
        scene.report_again(create);
        scene.commit(S2, 4, guarded(&node("b", 1)));
        insta::assert_snapshot!(scene.end().unwrap_or_default(), @"lock M4 guarded writes: 1:8 multi [check /lock/b-lock-0000000001, setData /counter v1] by 0x2 committed although /lock/b-lock-0000000001 was gone");
    }

    #[test]
    fn writes_while_the_node_stands_are_legal() {
        let mut scene = scene();
        scene.commit(S1, 3, guarded(&node("a", 0)));
        // A release that checks and deletes in one multi.
        let check = TxnBody::Check { path: path(&node("a", 0)) };
        let delete = TxnBody::Delete { path: path(&node("a", 0)) };
        scene.commit(S1, 4, TxnBody::Multi(vec![check, delete]));
        // The monitor ignores checks of other znodes.
        scene.commit(S1, 5, guarded("/config"));
        assert_eq!(scene.end(), None);
    }
}
