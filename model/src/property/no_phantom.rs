//! S5: no phantom.
//!
//! The tree of a serving server is that of the committed history up to its last processed zxid. The monitor compares
//! digests when a server begins to serve and after each transaction that it applies. Most divergences of replicas
//! violate this property first, whatever their cause.

use super::{Declaration, Declared, LooksBack, Objection, View};
use crate::minds;
use crate::vocabulary::event::Event;
use crate::vocabulary::fingerprint::Fingerprint;
use crate::vocabulary::id::ServerId;
use crate::vocabulary::zxid::Zxid;

/// The monitor of S5. It has no state of its own: the history has a digest for every prefix.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub struct NoPhantom;

impl NoPhantom {
    /// Returns the monitor.
    pub fn new() -> NoPhantom {
        NoPhantom
    }

    fn check(
        self,
        view: View<'_>,
        server: ServerId,
        zxid: Zxid,
        digest: Fingerprint,
    ) -> Result<(), Objection> {
        if view.history.whole().digest_at(zxid) == digest {
            return Ok(());
        }
        Err(self.objection(format!(
            "the tree of {server}, which serves with last processed zxid {zxid}, differs from \
                 the tree of the committed history up to there."
        )))
    }
}

impl Declared for NoPhantom {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "S5 no phantom",
        LooksBack::Whole,
        minds! { |this, view, event|
            Event::Applied { server, txn, digest } => this.check(view, *server, txn.zxid, *digest),
            Event::Serving { server, zxid, digest } => {
                // An opening zxid has no transaction, and stands for the prefix below it (rule 4.1.1).
                match zxid.is_opening() || view.history.get(*zxid).is_some() {
                    true => this.check(view, *server, *zxid, *digest),
                    false => {
                        Err(this.objection(format!("{server} began to serve at {zxid}, which is not committed.")))
                    }
                }
            },
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::testing::{ONE, TWO, Trial, z};
    use crate::tree::DataTree;
    use crate::vocabulary::error::Error;
    use crate::vocabulary::txn::TxnBody;

    /// Commits /a, /b and a failed request; returns the trial and a tree without /b.
    fn history() -> (Trial<NoPhantom>, DataTree) {
        let mut trial = Trial::new(NoPhantom::new());
        trial.create(z(1, 1), "/a", "x");
        let without_b = trial.history.tree().clone();
        trial.create(z(1, 2), "/b", "y");
        trial.commit(z(1, 3), 3, TxnBody::Error(Error::NodeExists));
        (trial, without_b)
    }

    fn serving(zxid: Zxid, tree: &DataTree) -> Event {
        Event::Serving { server: TWO, zxid, digest: tree.digest() }
    }

    #[test]
    fn a_server_that_lacks_a_transaction() {
        let (mut trial, without_b) = history();
        assert_eq!(
            trial.objects(serving(z(1, 3), &without_b)),
            "S5 no phantom: the tree of server 2, which serves with last processed zxid 1:3, \
             differs from the tree of the committed history up to there."
        );
    }

    #[test]
    fn a_server_that_applies_over_a_diverged_tree() {
        let (mut trial, _) = history();
        let txn = trial.history.get(z(1, 2)).expect("committed").clone();
        let mut diverged = DataTree::new();
        diverged.apply(&txn);
        let digest = diverged.digest();
        assert!(trial.objects(Event::Applied { server: TWO, txn, digest }).contains("zxid 1:2"));
    }

    #[test]
    fn a_server_that_serves_an_uncommitted_transaction() {
        let (mut trial, _) = history();
        // The digest is right, since an error transaction changes nothing, but the zxid is not committed.
        let tree = trial.history.tree().clone();
        assert_eq!(
            trial.objects(serving(z(1, 4), &tree)),
            "S5 no phantom: server 2 began to serve at 1:4, which is not committed."
        );
    }

    #[test]
    fn stale_replicas_errors_and_opening_zxids_are_legal() {
        let (mut trial, without_b) = history();
        let all = trial.history.tree().clone();
        trial.accepts(serving(z(1, 1), &without_b));
        // The error at 1:3 changes the zxid but not the tree.
        trial.accepts(serving(z(1, 2), &all));
        trial.accepts(serving(z(1, 3), &all));
        // An activated leader begins to serve at its opening zxid, and a server's first start at zero.
        trial.accepts(Event::Serving { server: ONE, zxid: z(2, 0), digest: all.digest() });
        trial.accepts(serving(Zxid::ZERO, &DataTree::new()));
        // A tree from a snapshot is compared by its content alone.
        let mut loaded = DataTree::empty();
        for (path, node) in all.nodes() {
            loaded.load_node(path.clone(), node.clone());
        }
        trial.accepts(serving(z(1, 3), &loaded));
    }
}
