//! RV1, told: an owner is notified of each request that was written while its znode existed, before it deletes the
//! znode; and it is notified of nothing else.
//!
//! The monitor checks an owner that releases the lock, when the release is done: a notification that did not precede
//! the delete will never come. An owner that has dropped its guard, or whose session has ended, needs no
//! notification.

use super::line::{Kind, Line};
use crate::revocable_lock::RevocationSeen;
use std::collections::BTreeSet;
use std::sync::Arc;
use vivarium_model::id::ClientId;
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection};
use vivarium_model::txn::Txn;
use vivarium_model::zxid::Zxid;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct Notified {
    lock: Arc<str>,
    line: Line,
    /// The tokens of the owners that were notified and have not finished their release.
    told: BTreeSet<Zxid>,
    /// The tokens of the owners with a request in their znodes that have not finished their release.
    asked: BTreeSet<Zxid>,
    /// The tokens of the owners that have deleted a znode with a request without having been notified of it.
    missed: BTreeSet<Zxid>,
}

impl Notified {
    /// Watches the lock in this directory.
    pub fn new(directory: &str) -> Notified {
        let (told, asked, missed) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        Notified { lock: directory.into(), line: Line::new(directory), told, asked, missed }
    }
}

impl Declared for Notified {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "revocable lock RV1 told",
        LooksBack::Tip,
        minds! { |this, view, event|
            Committed(txn) => this.committed(txn),
            Observed(client, RevocationSeen::Told { lock, token }) if *lock == this.lock => this.told(client, *token),
            #[needed]
            Observed(client, RevocationSeen::LetGo { lock, token })
                if *lock == this.lock =>
            {
                this.let_go(client, *token)
            },
        },
    );
}

impl Notified {
    fn committed(&mut self, txn: &Txn) {
        for change in self.line.see(txn) {
            if change.kind == Kind::Asked {
                self.asked.insert(change.node.czxid);
            }
            let is_own = change.kind == Kind::Deleted(change.node.session);
            if is_own && change.node.is_asked && !self.told.contains(&change.node.czxid) {
                self.missed.insert(change.node.czxid);
            }
        }
    }

    fn told(&mut self, client: ClientId, token: Zxid) -> Result<(), Objection> {
        if !self.asked.contains(&token) {
            let saw = format!(
                "{client} is asked to release {} (token {token}), although no client has written a request",
                self.lock
            );
            return Err(self.objection(saw));
        }
        self.told.insert(token);
        Ok(())
    }

    fn let_go(&mut self, client: ClientId, token: Zxid) -> Result<(), Objection> {
        self.told.remove(&token);
        self.asked.remove(&token);
        if self.missed.remove(&token) {
            let saw = format!(
                "{client} has released {} (token {token}) without being notified of the request \
                 that it deleted with its znode",
                self.lock
            );
            return Err(self.objection(saw));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::consent::tests::{ask, seen};
    use super::*;
    use crate::contention::properties::scene::*;

    fn scene() -> (Scene<Notified>, Zxid) {
        let mut scene = Scene::new(Notified::new(LOCK));
        let token = scene.create(S1, 2, &node("a", 0));
        ask(&mut scene, S2, &node("a", 0));
        (scene, token)
    }

    fn told(token: Zxid) -> RevocationSeen {
        RevocationSeen::Told { lock: LOCK.into(), token }
    }

    fn let_go(token: Zxid) -> RevocationSeen {
        RevocationSeen::LetGo { lock: LOCK.into(), token }
    }

    #[test]
    fn a_request_that_is_told_in_time_is_fine() {
        let (mut scene, token) = scene();
        seen(&mut scene, 1, S1, told(token));
        scene.delete(S1, 4, &node("a", 0));
        seen(&mut scene, 1, S1, let_go(token));
        assert_eq!(scene.end(), None);
    }

    #[test]
    fn one_that_is_told_too_late_is_refused() {
        let (mut scene, token) = scene();
        scene.delete(S1, 4, &node("a", 0));
        seen(&mut scene, 1, S1, told(token));
        seen(&mut scene, 1, S1, let_go(token));
        insta::assert_snapshot!(scene.end().unwrap_or_default(), @"revocable lock RV1 told: client 1 has released /lock (token 1:4) without being notified of the request that it deleted with its znode");
    }

    #[test]
    fn whoever_is_told_of_what_nobody_has_asked_is_refused() {
        let mut scene = Scene::new(Notified::new(LOCK));
        let token = scene.create(S1, 2, &node("a", 0));
        // The owner's own note.
        super::super::consent::tests::set(&mut scene, S1, &node("a", 0), b"note");
        seen(&mut scene, 1, S1, told(token));
        insta::assert_snapshot!(scene.end().unwrap_or_default(), @"revocable lock RV1 told: client 1 is asked to release /lock (token 1:4), although no client has written a request");
    }

    #[test]
    fn so_is_one_that_was_written_over() {
        let (mut scene, token) = scene();
        super::super::consent::tests::set(&mut scene, S1, &node("a", 0), b"note");
        scene.delete(S1, 4, &node("a", 0));
        seen(&mut scene, 1, S1, let_go(token));
        assert!(scene.end().is_some());
    }

    #[test]
    fn whose_znode_goes_otherwise_owes_nothing() {
        let (mut scene, token) = scene();
        scene.delete(S2, 4, &node("a", 0));
        seen(&mut scene, 1, S1, let_go(token));
        assert_eq!(scene.end(), None);
        let (mut scene, token) = self::scene();
        scene.close(S1);
        seen(&mut scene, 1, S1, let_go(token));
        assert_eq!(scene.end(), None);
    }
}
