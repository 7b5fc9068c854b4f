//! RV4, grace: a lock is taken away only after the grace time since the request is over.

use super::line::{Kind, Line};
use std::collections::BTreeMap;
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection, View};
use vivarium_model::time::{Duration, Time};
use vivarium_model::txn::Txn;
use vivarium_model::zxid::Zxid;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct Grace {
    line: Line,
    grace: Duration,
    /// The time of the first request to each znode, by czxid.
    asked: BTreeMap<Zxid, Time>,
}

impl Grace {
    /// Watches the lock in this directory.
    pub fn new(directory: &str, grace: Duration) -> Grace {
        Grace { line: Line::new(directory), grace, asked: BTreeMap::new() }
    }
}

impl Declared for Grace {
    const DECLARATION: Declaration<Self> = Declaration::in_sweeps(
        "revocable lock RV4 grace",
        LooksBack::Whole,
        minds! { |this, view, event|
            Committed(txn) => this.committed(view, txn),
        },
    );
}

impl Grace {
    fn committed(&mut self, view: View<'_>, txn: &Txn) -> Result<(), Objection> {
        for change in self.line.see(txn) {
            match change.kind {
                Kind::Asked => {
                    self.asked.entry(change.node.czxid).or_insert(view.at());
                }
                Kind::Deleted(by) if by != change.node.session => {
                    let Some(at) = self.asked.get(&change.node.czxid) else { continue };
                    let had = view.at().since(*at);
                    if had < self.grace {
                        let saw = format!(
                            "session {by} has deleted {} {had:?} after the request, before the \
                             grace time of {:?} was over",
                            change.path, self.grace
                        );
                        return Err(self.objection(saw));
                    }
                }
                Kind::Deleted(_) => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::consent::tests::ask;
    use super::*;
    use crate::contention::properties::scene::*;

    #[test]
    fn who_takes_too_early_is_refused() {
        let grace = Duration::from_secs(5);
        let taken = |after| {
            let mut scene = Scene::new(Grace::new(LOCK, grace));
            scene.create(S1, 2, &node("a", 0));
            ask(&mut scene, S2, &node("a", 0));
            scene.pass(after);
            ask(&mut scene, S2, &node("a", 0));
            scene.delete(S2, 4, &node("a", 0));
            scene.end()
        };
        assert_eq!(taken(grace), None);
        insta::assert_snapshot!(taken(grace / 2).unwrap_or_default(), @"revocable lock RV4 grace: session 0x2 has deleted /lock/a-lock-0000000000 2.5s after the request, before the grace time of 5s was over");
    }
}
