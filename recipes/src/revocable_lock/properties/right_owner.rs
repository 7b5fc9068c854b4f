//! RV3, right owner: a request is written to the znode of the first in line. The request rests on a list in which
//! this znode was the first, so every earlier contender is gone by then, however stale the list is.

use super::line::{Kind, Line};
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection};
use vivarium_model::txn::Txn;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct RightOwner {
    line: Line,
}

impl RightOwner {
    /// Watches the lock in this directory.
    pub fn new(directory: &str) -> RightOwner {
        RightOwner { line: Line::new(directory) }
    }
}

impl Declared for RightOwner {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "revocable lock RV3 right owner",
        LooksBack::Tip,
        minds! { |this, view, event|
            Committed(txn) => this.committed(txn),
        },
    );
}

impl RightOwner {
    fn committed(&mut self, txn: &Txn) -> Result<(), Objection> {
        for change in self.line.see(txn) {
            let first = self.line.first().filter(|(_, first)| first.czxid < change.node.czxid);
            if let (Kind::Asked, Some((path, first))) = (change.kind, first) {
                let saw = format!(
                    "a request was written into {} (czxid {}) while {path} (czxid {}) stands before it",
                    change.path, change.node.czxid, first.czxid
                );
                let objection = self.objection(saw).about(change.node.czxid).about(first.czxid);
                return Err(objection.about(path));
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
    fn a_request_to_somebody_who_waits_is_refused() {
        let asked = |which: &str, has_left: bool| {
            let mut scene = Scene::new(RightOwner::new(LOCK));
            scene.create(S1, 2, &node("b", 0));
            scene.create(S2, 2, &node("a", 1));
            if has_left {
                scene.delete(S1, 3, &node("b", 0));
            }
            ask(&mut scene, S2, which);
            scene.end()
        };
        assert_eq!(asked(&node("b", 0), false), None);
        assert_eq!(asked(&node("a", 1), true), None);
        insta::assert_snapshot!(asked(&node("a", 1), false).unwrap_or_default(), @"revocable lock RV3 right owner: a request was written into /lock/a-lock-0000000001 (czxid 1:5) while /lock/b-lock-0000000000 (czxid 1:4) stands before it");
    }
}
