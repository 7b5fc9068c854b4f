//! RV1 for an owner that continues to hold the lock: if its znode contains a request, the owner has been notified;
//! and while the owner believes that it holds the lock, its znode exists. This must hold within a time, and at rest.

use crate::contention::LockSeen;
use crate::obligations::Owed;
use crate::revocable_lock::{RevocationSeen, is_request};
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::minds;
use vivarium_model::path;
use vivarium_model::property::{Minds, Saw, View};
use vivarium_model::txn::TxnBody;
use vivarium_model::zxid::Zxid;

/// The owners, and whether each was notified. See the module.
#[derive(Clone, Debug, Hash)]
pub struct Informed {
    lock: Arc<str>,
    owners: BTreeMap<ClientId, Owner>,
}

#[derive(Clone, Debug, Hash)]
struct Owner {
    node: Arc<str>,
    token: Zxid,
    session: Option<SessionId>,
    is_told: bool,
}

impl Informed {
    pub(super) fn new(directory: &str) -> Informed {
        Informed { lock: directory.into(), owners: BTreeMap::new() }
    }
}

impl Owed for Informed {
    const NAMES: [&'static str; 2] =
        ["revocable lock RV1 informed", "revocable lock RV1 informed at rest"];

    const MINDS: Minds<Self> = minds! { |this, view, event|
        Event::Killed { client } | Event::Finished { client, .. } | Event::Panicked { client, .. } => {
            this.owners.remove(client);
        },
        Observed(client in session, LockSeen::Granted { lock, node, token, .. }) if *lock == this.lock => {
            let (node, token) = (Arc::clone(node), *token);
            this.owners.insert(client, Owner { node, token, session, is_told: false });
        },
        Observed(client, LockSeen::Lost { lock, .. } | LockSeen::Releasing { lock, .. }) if *lock == this.lock => {
            this.owners.remove(&client);
        },
        Observed(client, RevocationSeen::Told { lock, token }) => {
            if *lock == this.lock && let Some(owner) = this.owners.get_mut(&client) {
                owner.is_told |= owner.token == *token;
            }
        },
    };

    fn is_changed_by(&self, body: &TxnBody) -> bool {
        let is_child = |path: &str| path::parent(path) == Some(&*self.lock);
        match body {
            TxnBody::Delete { path } | TxnBody::SetData { path, .. } => is_child(path),
            TxnBody::Multi(parts) => parts.iter().any(|part| self.is_changed_by(part)),
            _ => false,
        }
    }

    fn clients(&self) -> Vec<ClientId> {
        self.owners.keys().copied().collect()
    }

    fn owes(&self, view: View<'_>, client: ClientId) -> Option<Saw> {
        let Owner { node, token, session, is_told } = self.owners.get(&client)?;
        let tree = view.history.tree();
        if !session.is_some_and(|session| tree.sessions().contains_key(&session)) {
            // The session is over, and its client does not know yet.
            return None;
        }
        match tree.node(node).filter(|stands| stands.czxid == *token) {
            None => Some(
                Saw::from(format!(
                    "{client} believes that it holds {node}, although another client has deleted it"
                ))
                .about(Arc::clone(node))
                .about(*token),
            ),
            Some(stands) if is_request(&stands.data) && !is_told => Some(
                Saw::from(format!("{client} has not been notified of the request in {node}"))
                    .about(Arc::clone(node))
                    .about(*token),
            ),
            Some(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::consent::tests::{ask, seen};
    use super::*;
    use crate::contention::properties::scene::*;
    use crate::obligations::AtRest;

    fn scene() -> (Scene<AtRest<Informed>>, Zxid) {
        let mut scene = Scene::new(AtRest::new(Informed::new(LOCK)));
        let token = scene.create(S1, 2, &node("a", 0));
        scene.observe(1, S1, 4, granted("a", &node("a", 0), token));
        assert_eq!(scene.at_rest(), None);
        (scene, token)
    }

    #[test]
    fn an_owner_that_was_not_told_is_refused_until_it_is() {
        let (mut scene, token) = scene();
        ask(&mut scene, S2, &node("a", 0));
        insta::assert_snapshot!(scene.at_rest().unwrap_or_default(), @"revocable lock RV1 informed at rest: client 1 has not been notified of the request in /lock/a-lock-0000000000, and nothing else can happen");
        seen(&mut scene, 1, S1, RevocationSeen::Told { lock: LOCK.into(), token });
        assert_eq!(scene.at_rest(), None);
    }

    #[test]
    fn an_owner_whose_lock_was_taken_away_is_refused_until_it_knows() {
        let (mut scene, token) = scene();
        scene.delete(S2, 4, &node("a", 0));
        assert!(scene.at_rest().is_some_and(|saw| saw.contains("another client has deleted it")));
        scene.observe(1, S1, 5, lost(token));
        assert_eq!(scene.at_rest(), None);
        let (mut scene, _) = self::scene();
        scene.close(S1);
        assert_eq!(scene.at_rest(), None);
    }
}
