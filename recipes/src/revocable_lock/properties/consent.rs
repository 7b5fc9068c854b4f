//! RV2, consent: a contender's znode is deleted by its own session; another session deletes it only if force is
//! agreed on and a request was written to the znode.

use super::Force;
use super::line::{Kind, Line};
use std::sync::Arc;
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection};
use vivarium_model::txn::Txn;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct Consent {
    lock: Arc<str>,
    line: Line,
    force: Force,
}

impl Consent {
    /// Watches the lock in this directory.
    pub fn new(directory: &str, force: Force) -> Consent {
        Consent { lock: directory.into(), line: Line::new(directory), force }
    }
}

impl Declared for Consent {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "revocable lock RV2 consent",
        LooksBack::Tip,
        minds! { |this, view, event|
            Committed(txn) => this.committed(txn),
        },
    );
}

impl Consent {
    fn committed(&mut self, txn: &Txn) -> Result<(), Objection> {
        for change in self.line.see(txn) {
            let Kind::Deleted(by) = change.kind else { continue };
            if by == change.node.session || self.force != Force::None && change.node.is_asked {
                continue;
            }
            let asked =
                if change.node.is_asked { "asked, but has not agreed" } else { "not asked" };
            let saw = format!(
                "session {by} has deleted {} (czxid {}) at {}, whose session {} was {asked}",
                change.path, change.node.czxid, self.lock, change.node.session
            );
            let objection = self.objection(saw).about(change.node.czxid);
            return Err(objection.about(change.node.session));
        }
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::contention::properties::scene::*;
    use crate::revocable_lock::{REQUEST, RevocationSeen};
    use vivarium_model::event::Event;
    use vivarium_model::id::{ClientId, SessionId, Xid};
    use vivarium_model::observation::Observed;
    use vivarium_model::property::Monitor;
    use vivarium_model::time::Duration;
    use vivarium_model::txn::TxnBody;

    /// Commits a write of a contender's znode.
    pub(crate) fn set<M: Monitor>(
        scene: &mut Scene<M>,
        session: SessionId,
        node: &str,
        data: &[u8],
    ) {
        let body = TxnBody::SetData { path: path(node), data: data.into(), version: 1 };
        scene.commit(session, 8, body);
    }

    /// Commits a request.
    pub(crate) fn ask<M: Monitor>(scene: &mut Scene<M>, session: SessionId, node: &str) {
        set(scene, session, node, REQUEST);
    }

    /// Adds a program's observation.
    pub(crate) fn seen<M: Monitor>(
        scene: &mut Scene<M>,
        client: u8,
        session: SessionId,
        seen: RevocationSeen,
    ) {
        let (session, next_xid) = (Some(session), Xid(9));
        let observation = Observed::new(seen);
        scene.event(Event::Observed {
            client: ClientId(client.into()),
            session,
            next_xid,
            observation,
        });
    }

    /// Returns the objection if session `by` deletes the first session's znode, with or without a request.
    fn refused(force: Force, is_asked: bool, by: SessionId) -> Option<String> {
        let mut scene = Scene::new(Consent::new(LOCK, force));
        scene.create(S1, 2, &node("a", 0));
        if is_asked {
            ask(&mut scene, S2, &node("a", 0));
        }
        scene.delete(by, 3, &node("a", 0));
        scene.end()
    }

    #[test]
    fn who_takes_without_consent_is_refused() {
        let force = Force::After(Duration::from_secs(1));
        for is_asked in [false, true] {
            assert_eq!(refused(Force::None, is_asked, S1), None);
            assert_eq!(refused(force, is_asked, S1), None);
            assert!(refused(Force::None, is_asked, S2).is_some());
            assert_eq!(refused(force, is_asked, S2).is_some(), !is_asked);
        }
        insta::assert_snapshot!(refused(Force::None, true, S2).unwrap_or_default(), @"revocable lock RV2 consent: session 0x2 has deleted /lock/a-lock-0000000000 (czxid 1:4) at /lock, whose session 0x1 was asked, but has not agreed");
    }

    #[test]
    fn the_end_of_a_session_needs_no_consent() {
        let mut scene = Scene::new(Consent::new(LOCK, Force::None));
        scene.create(S1, 2, &node("a", 0));
        scene.close(S1);
        assert_eq!(scene.end(), None);
    }
}
