//! LQ1: an item is deleted only by a transaction of the session that has claimed it.

use super::claims::Claims;
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection, View};
use vivarium_model::txn::Txn;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct GoneByClaimer {
    claims: Claims,
}

impl GoneByClaimer {
    /// Watches the queue in this directory, from the start of the history.
    pub fn new(directory: &str) -> GoneByClaimer {
        GoneByClaimer { claims: Claims::new(directory) }
    }
}

impl Declared for GoneByClaimer {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "ack-queue LQ1 gone by its claimer",
        LooksBack::Tip,
        minds! { |this, view, event|
            Committed(txn) => this.committed(view, txn),
        },
    );
}

impl GoneByClaimer {
    fn committed(&mut self, view: View<'_>, txn: &Txn) -> Result<(), Objection> {
        match self.claims.see(view, txn).iter().find(|gone| gone.claimer != Some(txn.session)) {
            None => Ok(()),
            Some(gone) => {
                let claimer =
                    gone.claimer.map_or("no session".to_string(), |owner| owner.to_string());
                let saw =
                    format!("{} was deleted by {txn}, but it was claimed by {claimer}", gone.item);
                let objection = self.objection(saw);
                Err(gone.claimer.into_iter().fold(objection, Objection::about))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contention::properties::scene::{S1, S2, Scene, path};
    use vivarium_model::tree::EphemeralType;
    use vivarium_model::txn::TxnBody;

    const ITEM: &str = "/lock/a-q-0000000000";
    const CLAIM: &str = "/lock.claims/a-q-0000000000";

    /// Returns a scene with an item that the first session has claimed.
    fn scene(item: EphemeralType) -> Scene<GoneByClaimer> {
        let mut scene = Scene::new(GoneByClaimer::new("/lock"));
        let nodes = [
            ("/lock.claims", EphemeralType::Void),
            (ITEM, item),
            (CLAIM, EphemeralType::Normal(S1)),
        ];
        for (node, kind) in nodes {
            scene.commit(S1, 2, TxnBody::create(path(node), [], kind, 1));
        }
        scene
    }

    fn done() -> TxnBody {
        let delete = |node: &str| TxnBody::Delete { path: path(node) };
        TxnBody::Multi(vec![delete(CLAIM), delete(ITEM)])
    }

    #[test]
    fn an_item_that_somebody_else_deletes_is_missed() {
        let mut scene = scene(EphemeralType::Void);
        scene.commit(S2, 3, done());
        assert!(scene.end().is_some_and(|saw| saw.contains("it was claimed by 0x1")));
    }

    #[test]
    fn so_is_one_that_goes_with_a_session() {
        let mut scene = scene(EphemeralType::Normal(S2));
        scene.close(S2);
        assert!(scene.end().is_some_and(|saw| saw.contains("claimed by no session")));
    }

    #[test]
    fn its_claimer_may_delete_it() {
        let mut scene = scene(EphemeralType::Void);
        scene.commit(S1, 3, done());
        assert_eq!(scene.end(), None);
    }
}
