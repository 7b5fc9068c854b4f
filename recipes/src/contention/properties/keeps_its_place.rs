//! M8, keeps its place: an attempt that has not ended does not delete its znode.
//!
//! An attempt that gives up its place and lines up again wakes its successor, and then follows contenders that
//! arrived later. Two attempts that do so when their predecessor has gone do it for each other, without end. An
//! attempt may delete one of its znodes only if a lost create has made two of them, and it keeps the first (recipe
//! rule 2.8.6).
//!
//! Deletions by other sessions and by the end of the session do not violate M8. The id in a znode's name says which
//! attempt it belongs to.

use crate::contention::LockSeen;
use crate::contention::contender::Contender;
use crate::contention::properties::contenders;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection, View};
use vivarium_model::txn::{Txn, TxnBody};

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct KeepsItsPlace {
    lock: Arc<str>,
    /// Sorted by client.
    running: Vec<Running>,
}

/// An attempt that has neither been granted the lock nor given up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Running {
    client: ClientId,
    session: Option<SessionId>,
    id: Arc<str>,
}

impl KeepsItsPlace {
    /// Watches the lock in this directory.
    pub fn new(lock_directory: &str) -> KeepsItsPlace {
        KeepsItsPlace { lock: lock_directory.into(), running: Vec::new() }
    }

    fn begin(&mut self, client: ClientId, session: Option<SessionId>, id: &Arc<str>) {
        let new = Running { client, session, id: Arc::clone(id) };
        let place = self.running.partition_point(|other| other.client <= client);
        self.running.insert(place, new);
    }

    fn committed(&self, view: View<'_>, txn: &Txn) -> Result<(), Objection> {
        let TxnBody::Delete { path } = &txn.body else { return Ok(()) };
        let Some(deleted) = Contender::in_directory(&self.lock, path) else { return Ok(()) };
        let is_its = |running: &&Running| {
            running.session == Some(txn.session) && deleted.attempt() == Some(&*running.id)
        };
        let Some(running) = self.running.iter().find(is_its) else { return Ok(()) };
        let mut left = contenders(view, &self.lock);
        if left.any(|(_, attempt, _)| attempt.as_deref() == Some(&*running.id)) {
            return Ok(());
        }
        let saw = format!(
            "{} deletes {path}, and attempt {} to acquire the lock by it has not ended",
            running.client, running.id
        );
        Err(self.objection(saw).about(running.client).about(&*running.id))
    }
}

impl Declared for KeepsItsPlace {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "lock M8 keeps its place",
        LooksBack::Tip,
        minds! { |this, view, event|
            Committed(txn) => this.committed(view, txn),
            #[unordered]
            Observed(client in session, LockSeen::Attempt { lock, attempt }) if *lock == this.lock => {
                this.begin(client, session, attempt);
            },
            #[unordered]
            Observed(client, LockSeen::Granted { lock, attempt, .. } | LockSeen::GaveUp { lock, attempt })
                if *lock == this.lock =>
            {
                this.running.retain(|running| running.client != client || running.id != *attempt);
            },
            #[unordered]
            Event::Killed { client } | Event::Started { client }
            | Event::Finished { client, .. } | Event::Panicked { client, .. } => {
                this.running.retain(|running| running.client != *client);
            },
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contention::properties::scene::*;
    use vivarium_model::zxid::Zxid;

    /// Returns a scene with an attempt that has lined up, and the czxid of its znode.
    fn scene() -> (Scene<KeepsItsPlace>, Zxid) {
        let mut scene = Scene::new(KeepsItsPlace::new(LOCK));
        scene.observe(1, S1, 2, attempt("a"));
        let token = scene.create(S1, 2, &node("a", 0));
        (scene, token)
    }

    #[test]
    fn who_gives_its_place_up_while_it_waits_is_refused() {
        let (mut scene, _) = scene();
        scene.delete(S1, 3, &node("a", 0));
        insta::assert_snapshot!(scene.end().unwrap_or_default(), @"lock M8 keeps its place: client 1 deletes /lock/a-lock-0000000000, and attempt a to acquire the lock by it has not ended");
    }

    #[test]
    fn a_duplicate_may_go_and_so_may_whatever_has_ended() {
        let (mut scene, token) = scene();
        scene.create(S1, 3, &node("a", 1));
        scene.delete(S1, 4, &node("a", 1));
        scene.observe(1, S1, 5, granted("a", &node("a", 0), token));
        scene.delete(S1, 5, &node("a", 0));
        assert_eq!(scene.end(), None);
    }

    #[test]
    fn what_others_delete_or_a_session_takes_along_is_no_fault_of_the_attempt() {
        let (mut others, _) = scene();
        others.delete(S2, 1, &node("a", 0));
        assert_eq!(others.end(), None);
        let (mut closed, _) = scene();
        closed.close(S1);
        assert_eq!(closed.end(), None);
    }
}
