//! S10: an ephemeral has a live owner.
//!
//! In the tree of the committed history, every ephemeral belongs to a session that is open in that tree; an ephemeral
//! of a session that is over would stay for ever (rule 2.5.1). S5 detects servers whose trees differ from this one.

use super::{Declaration, Declared, LooksBack};
use crate::minds;

/// The monitor of S10. It has no state of its own.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub struct LiveOwners;

impl Declared for LiveOwners {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "S10 ephemerals have live owners",
        LooksBack::Tip,
        minds! { |this, view, event|
            Committed(txn) => match view.history.tree().orphan() {
                None => Ok(()),
                Some((path, session)) => {
                    let saw = format!(
                        "after {txn}, the ephemeral {path} stands, and its session {session} is not open."
                    );
                    Err(this.objection(saw).about(path).about(session))
                },
            },
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::testing::{Bodies, Trial, committed, path, txn, z};
    use crate::vocabulary::txn::TxnBody;

    #[test]
    fn an_ephemeral_behind_its_closed_session() {
        let mut trial = Trial::new(LiveOwners);
        trial.create_session(z(1, 1));
        let body = Bodies(&trial.history).create_as("/e", "", true);
        trial.commit(z(1, 2), 1, body.clone());
        let deleted = TxnBody::CloseSession { ephemerals: vec![path("/e")] };
        trial.commit(z(1, 3), 2, deleted);
        let late = committed(txn(z(1, 4), 3, body));
        assert!(trial.objects(late).contains("the ephemeral /e stands"));
    }

    #[test]
    fn other_znodes_need_no_owner() {
        let mut trial = Trial::new(LiveOwners);
        trial.create(z(1, 1), "/a", "");
    }
}
