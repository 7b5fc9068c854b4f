//! M3, fencing: tokens are unique, and only a zombie is granted a smaller token after a larger one.
//!
//! The token is the znode's czxid: creation order is grant order, even if the sequence counter restarts or wraps
//! (recipe rule 1.2.2). A program whose session has ended on the server may still be granted a lock that it no longer
//! has. Its token is then smaller than one already granted, and a resource that remembers the largest token it has
//! seen refuses it. This refusal is the other half of the property: a resource that accepts a smaller token after a
//! larger one does not fence.

use crate::contention::contender::Contender;
use crate::contention::properties::creations::Creations;
use crate::contention::properties::is_closed;
use crate::contention::{Kind, LockSeen};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::minds;
use vivarium_model::path;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection, View};
use vivarium_model::zxid::Zxid;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct Fencing {
    lock: Arc<str>,
    /// True if only the tokens of writers count: readers are granted the lock in any order.
    writers_only: bool,
    /// True if another session may delete a holder's znode; the holder is then a zombie (recipe rule 2.11.6).
    by_force: bool,
    /// The only resource to watch; `None` for all resources.
    resource: Option<Arc<str>>,
    creations: Creations,
    /// The tokens of all grants so far.
    granted: BTreeSet<Zxid>,
    /// The largest token that each resource has accepted.
    accepted: BTreeMap<Arc<str>, Zxid>,
}

impl Fencing {
    /// Watches the lock in this directory, and every resource outside of ZooKeeper.
    pub fn new(lock_directory: &str) -> Fencing {
        let lock = lock_directory.into();
        Fencing {
            creations: Creations::new(&lock),
            lock,
            writers_only: false,
            by_force: false,
            resource: None,
            granted: BTreeSet::new(),
            accepted: BTreeMap::new(),
        }
    }

    /// Watches the tokens of writers of the read-write lock in this directory.
    pub(crate) fn of_writers(lock_directory: &str) -> Fencing {
        Fencing { writers_only: true, ..Fencing::new(lock_directory) }
    }

    /// Watches the lock in this directory, whose holders can lose it by force.
    pub(crate) fn with_force(lock_directory: &str) -> Fencing {
        Fencing { by_force: true, ..Fencing::new(lock_directory) }
    }

    /// Watches the lock in this directory, and this one resource; other resources belong to other locks.
    pub(crate) fn of_resource(lock_directory: &str, resource: &str) -> Fencing {
        Fencing { resource: Some(resource.into()), ..Fencing::new(lock_directory) }
    }

    /// Returns true if the token of this znode's grant counts.
    fn counts(&self, lock: &Arc<str>, node: &str) -> bool {
        let is_reader =
            || Contender::parse(path::name(node)).is_some_and(|it| it.kind() == Kind::Read);
        *lock == self.lock && !(self.writers_only && is_reader())
    }

    fn grant(
        &mut self,
        view: View<'_>,
        client: ClientId,
        token: Zxid,
        session: Option<SessionId>,
    ) -> Result<(), Objection> {
        let largest = self.granted.last().copied();
        if !self.granted.insert(token) {
            let saw = format!("{client} was granted token {token}, which was granted before");
            return Err(self.objection(saw));
        }
        let zombie = session.is_none_or(|session| is_closed(view, session))
            || self.by_force && self.creations.is_taken(token);
        match largest.filter(|largest| *largest > token && !zombie) {
            None => Ok(()),
            Some(largest) => {
                let saw = format!(
                    "{client} was granted token {token} after token {largest} had been granted, \
                     and its session is open"
                );
                Err(self.objection(saw).about(largest))
            }
        }
    }

    fn accept(
        &mut self,
        client: ClientId,
        resource: &Arc<str>,
        token: Zxid,
    ) -> Result<(), Objection> {
        if self.resource.as_ref().is_some_and(|only| only != resource) {
            return Ok(());
        }
        let largest = self.accepted.entry(Arc::clone(resource)).or_insert(token);
        if token < *largest {
            let saw = format!(
                "resource {resource} accepted token {token} from {client} after token {largest}"
            );
            return Err(self.objection(saw));
        }
        *largest = token;
        Ok(())
    }
}

impl Declared for Fencing {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "lock M3 fencing",
        LooksBack::Tip,
        minds! { |this, view, event|
            Committed(txn) => this.creations.see(txn),
            #[needed]
            Observed(client in session, LockSeen::Granted { lock, node, token, .. })
                if this.counts(lock, node) =>
            {
                let session = this.creations.owner(node, *token).or(session);
                this.grant(view, client, *token, session)
            },
            Event::ResourceWrite { client, resource, token, accepted } => match token {
                Some(token) if *accepted => this.accept(*client, resource, *token),
                _ => Ok(()),
            },
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contention::properties::scene::*;

    fn scene() -> (Scene<Fencing>, Zxid, Zxid) {
        let mut scene = Scene::new(Fencing::new(LOCK));
        let first = scene.create(S1, 2, &node("a", 0));
        let second = scene.create(S2, 1, &node("b", 1));
        (scene, first, second)
    }

    fn write(client: u8, token: Zxid, accepted: bool) -> Event {
        let client = ClientId(client.into());
        Event::ResourceWrite { client, resource: "ledger".into(), token: Some(token), accepted }
    }

    #[test]
    fn a_token_granted_twice_is_refused() {
        let (mut scene, first, _) = scene();
        scene.observe(1, S1, 3, granted("a", &node("a", 0), first));
        scene.observe(1, S1, 9, granted("a", &node("a", 0), first));
        insta::assert_snapshot!(scene.end().unwrap_or_default(), @"lock M3 fencing: client 1 was granted token 1:4, which was granted before");
    }

    #[test]
    fn tokens_go_backwards_only_for_a_zombie() {
        let (mut scene, first, second) = scene();
        scene.observe(2, S2, 3, granted("b", &node("b", 1), second));
        let mut zombie = Scene::new(Fencing::new(LOCK));
        zombie.create(S1, 2, &node("a", 0));
        zombie.create(S2, 1, &node("b", 1));
        zombie.close(S1);
        zombie.observe(2, S2, 3, granted("b", &node("b", 1), second));

        for scene in [&mut scene, &mut zombie] {
            scene.observe(1, S1, 3, granted("a", &node("a", 0), first));
        }
        insta::assert_snapshot!(scene.end().unwrap_or_default(), @"lock M3 fencing: client 1 was granted token 1:4 after token 1:5 had been granted, and its session is open");
        assert_eq!(zombie.end(), None);
    }

    #[test]
    fn tokens_go_backwards_for_who_has_lost_the_lock_by_force() {
        for (by_force, by, is_refused) in [(false, S2, true), (true, S2, false), (true, S1, true)] {
            let fencing = if by_force { Fencing::with_force(LOCK) } else { Fencing::new(LOCK) };
            let mut scene = Scene::new(fencing);
            let first = scene.create(S1, 2, &node("a", 0));
            let second = scene.create(S2, 1, &node("b", 1));
            scene.delete(by, 5, &node("a", 0));
            scene.observe(2, S2, 3, granted("b", &node("b", 1), second));
            scene.observe(1, S1, 3, granted("a", &node("a", 0), first));
            assert_eq!(scene.end().is_some(), is_refused, "{by_force} {by}");
        }
    }

    #[test]
    fn a_resource_that_accepts_a_stale_token_is_refused() {
        let (mut scene, first, second) = scene();
        scene.event(write(1, first, true));
        scene.event(write(1, first, true));
        scene.event(write(2, second, true));
        scene.event(write(1, first, false));
        scene.event(write(1, first, true));
        insta::assert_snapshot!(scene.end().unwrap_or_default(), @"lock M3 fencing: resource ledger accepted token 1:4 from client 1 after token 1:5");
    }

    #[test]
    fn refused_and_unfenced_writes_are_legal() {
        let (mut scene, first, second) = scene();
        scene.event(write(2, second, true));
        scene.event(write(1, first, false));
        scene.event(Event::ResourceWrite {
            client: ClientId(1),
            resource: "ledger".into(),
            token: None,
            accepted: true,
        });
        assert_eq!(scene.end(), None);
    }
}
