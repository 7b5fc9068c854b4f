//! M1, exclusion: the lock is not granted while a smaller contender exists in the committed history.
//!
//! A grant rests on a list, read at some zxid, in which the program's own znode is the smallest contender. Every
//! znode with a smaller czxid must have been deleted at or before that zxid, so it is absent from the committed
//! history at the moment of the grant, however stale the list was. This holds for every schedule, for zombies too.
//! Smaller means a smaller czxid, which is the order of the contenders' arrival for any state of the sequence counter
//! (recipe rule 1.2.1).

use crate::contention::LockSeen;
use crate::contention::properties::contenders;
use crate::contention::properties::creations::Creations;
use std::sync::Arc;
use vivarium_model::id::ClientId;
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection, View};
use vivarium_model::zxid::Zxid;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct Exclusion {
    lock: Arc<str>,
    creations: Creations,
}

impl Exclusion {
    /// Watches the lock in this directory.
    pub fn new(lock_directory: &str) -> Exclusion {
        let lock = lock_directory.into();
        Exclusion { creations: Creations::new(&lock), lock }
    }
}

impl Declared for Exclusion {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "lock M1 exclusion",
        LooksBack::Tip,
        minds! { |this, view, event|
            Committed(txn) => this.creations.see(txn),
            #[needed]
            Observed(client, LockSeen::Granted { lock, node, token, .. })
                if *lock == this.lock =>
            {
                this.granted(view, client, node, *token)
            },
        },
    );
}

impl Exclusion {
    fn granted(
        &self,
        view: View<'_>,
        client: ClientId,
        node: &str,
        token: Zxid,
    ) -> Result<(), Objection> {
        if self.creations.owner(node, token).is_none() {
            let saw = format!("{client} was granted {node}, which {token} did not create");
            return Err(self.objection(saw));
        }
        let smaller = contenders(view, &self.lock)
            .filter(|(_, _, other)| other.czxid < token)
            .min_by_key(|(_, _, other)| other.czxid);
        match smaller {
            None => Ok(()),
            Some((path, _, other)) => {
                let saw = format!(
                    "{client} was granted {node} (czxid {token}) while {path} (czxid {}) stands \
                     in the committed history as of {}",
                    other.czxid,
                    view.history.last()
                );
                Err(self.objection(saw).about(&*path).about(other.czxid))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contention::properties::scene::*;
    use vivarium_model::zxid::Zxid;

    fn scene() -> Scene<Exclusion> {
        Scene::new(Exclusion::new(LOCK))
    }

    #[test]
    fn a_grant_past_a_standing_predecessor_is_refused() {
        let mut scene = scene();
        scene.create(S1, 2, &node("a", 0));
        let token = scene.create(S2, 1, &node("b", 1));
        scene.observe(2, S2, 3, granted("b", &node("b", 1), token));
        insta::assert_snapshot!(scene.end().unwrap_or_default(), @"lock M1 exclusion: client 2 was granted /lock/b-lock-0000000001 (czxid 1:5) while /lock/a-lock-0000000000 (czxid 1:4) stands in the committed history as of 1:5");
    }

    #[test]
    fn the_newcomer_after_a_wrap_of_the_counter_comes_last() {
        let mut scene = scene();
        scene.create(S1, 2, &node("a", i32::MAX));
        let token = scene.create(S2, 1, &node("b", i32::MIN));
        scene.observe(2, S2, 3, granted("b", &node("b", i32::MIN), token));
        assert!(scene.end().is_some());
    }

    #[test]
    fn a_token_that_did_not_create_the_node_is_refused() {
        let mut scene = scene();
        let token = scene.create(S1, 2, &node("a", 0));
        scene.observe(1, S1, 3, granted("a", &node("a", 0), Zxid(token.0 + 7)));
        assert!(scene.end().is_some_and(|saw| saw.contains("did not create")));

        let mut others = self::scene();
        let first = others.create(S1, 2, &node("a", 0));
        others.create(S2, 1, &node("b", 1));
        others.observe(2, S2, 3, granted("b", &node("b", 1), first));
        assert!(others.end().is_some_and(|saw| saw.contains("did not create")));
    }

    #[test]
    fn a_znode_that_is_gone_is_remembered_with_its_czxid() {
        for off in [0, 1] {
            let mut scene = scene();
            let token = scene.create(S1, 2, &node("a", 0));
            let deleted = scene.delete(S1, 3, &node("a", 0));
            scene.report_again(token);
            scene.report_again(deleted);
            scene.observe(1, S1, 4, granted("a", &node("a", 0), Zxid(token.0 + off)));
            assert_eq!(scene.end().is_some(), off == 1);
        }
    }

    #[test]
    fn grants_in_order_and_a_zombies_grant_are_legal() {
        let mut scene = scene();
        let first = scene.create(S1, 2, &node("a", 0));
        let second = scene.create(S2, 1, &node("b", 1));
        scene.create(S1, 3, &format!("{LOCK}/not-a-contender"));
        // The first session ends; its program does not know yet and is granted the lock after the other one.
        scene.close(S1);
        scene.observe(2, S2, 3, granted("b", &node("b", 1), second));
        scene.observe(1, S1, 4, granted("a", &node("a", 0), first));
        assert_eq!(scene.end(), None);
    }
}
