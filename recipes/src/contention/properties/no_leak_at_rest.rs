//! M5 where no time passes: when nothing but the passing of time can happen any more, an attempt that ended has left
//! no znode.
//!
//! [`NoLeak`](super::NoLeak) gives a cleanup a bound in time, which a search does not have. But a search knows when a
//! state is at rest: every request is answered, and every task waits for an event that is not about to happen. A
//! cleanup that is not done by then will never be done.
//!
//! The duty lasts as long as the program; a session that is over has no znodes. The id in a znode's name says which
//! attempt it belongs to. A znode without id belongs to its session, and is a leak if all of that session's attempts
//! have ended. The monitor keeps no request numbers, so that different paths to one state remain equal.

use crate::contention::LockSeen;
use crate::contention::properties::contenders;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection, View};
use vivarium_model::zxid::Zxid;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct NoLeakAtRest {
    lock: Arc<str>,
    /// Sorted by client, and each client's attempts in the order in which they began.
    attempts: Vec<Watched>,
}

/// An attempt of a program that is running.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Watched {
    client: ClientId,
    session: Option<SessionId>,
    id: Arc<str>,
    stage: Stage,
}

/// The stage of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Running,
    Holding(Zxid),
    /// The attempt gave up or failed, or its grant was lost or released.
    Ended,
}

impl NoLeakAtRest {
    /// Watches the lock in this directory.
    pub fn new(lock_directory: &str) -> NoLeakAtRest {
        NoLeakAtRest { lock: lock_directory.into(), attempts: Vec::new() }
    }

    fn begin(&mut self, client: ClientId, session: Option<SessionId>, id: &Arc<str>) {
        // A client begins a session only when it knows that the previous one is over.
        self.attempts.retain(|other| other.client != client || other.session == session);
        let new = Watched { client, session, id: Arc::clone(id), stage: Stage::Running };
        let place = self.attempts.partition_point(|other| other.client <= client);
        self.attempts.insert(place, new);
    }

    fn move_to(&mut self, stage: Stage, client: ClientId, which: impl Fn(&Watched) -> bool) {
        let own = self.attempts.iter_mut().filter(|known| known.client == client);
        own.filter(|known| which(known)).for_each(|known| known.stage = stage);
    }

    /// Returns the attempt that should have deleted this contender, which still exists.
    fn leaked(&self, id: Option<&str>, owner: Option<SessionId>) -> Option<&Watched> {
        let is_its = |known: &&Watched| match id {
            Some(id) => *known.id == *id,
            None => owner.is_some() && known.session == owner,
        };
        let mut makers = self.attempts.iter().filter(is_its).peekable();
        let first = *makers.peek()?;
        makers.all(|known| known.stage == Stage::Ended).then_some(first)
    }

    fn check(&self, view: View<'_>) -> Result<(), Objection> {
        for (path, id, node) in contenders(view, &self.lock) {
            if let Some(attempt) = self.leaked(id.as_deref(), node.ephemeral_owner()) {
                let saw = format!(
                    "attempt {} of {} has ended and no client is about to delete {path} (czxid \
                     {}), which still exists",
                    attempt.id, attempt.client, node.czxid
                );
                return Err(self.objection(saw));
            }
        }
        Ok(())
    }
}

impl Declared for NoLeakAtRest {
    const DECLARATION: Declaration<Self> =
        Declaration::everywhere("lock M5 no leak at rest", LooksBack::Tip, minds! { |this, view, event|
            #[unordered]
            Observed(client in session, LockSeen::Attempt { lock, attempt }) if *lock == this.lock => {
                this.begin(client, session, attempt);
            },
            #[unordered]
            Observed(client, LockSeen::Granted { lock, attempt, token, .. }) if *lock == this.lock => {
                this.move_to(Stage::Holding(*token), client, |known| known.id == *attempt);
            },
            #[unordered]
            Observed(client, LockSeen::GaveUp { lock, attempt }) if *lock == this.lock => {
                this.move_to(Stage::Ended, client, |known| known.id == *attempt);
            },
            #[unordered]
            Observed(client, LockSeen::Lost { lock, token } | LockSeen::Releasing { lock, token }
                | LockSeen::Released { lock, token }) =>
            {
                if *lock == this.lock {
                    this.move_to(Stage::Ended, client, |known| known.stage == Stage::Holding(*token));
                }
            },
            #[unordered]
            Event::Killed { client } | Event::Started { client }
            | Event::Finished { client, .. } | Event::Panicked { client, .. } => {
                this.attempts.retain(|known| known.client != *client);
            },
        })
        .at_rest(Self::at_rest)
        .end(Self::end);
}

impl NoLeakAtRest {
    fn at_rest(&mut self, view: View<'_>) -> Result<(), Objection> {
        self.check(view)
    }

    fn end(&mut self, view: View<'_>) -> Result<(), Objection> {
        self.check(view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contention::properties::scene::*;

    fn scene() -> Scene<NoLeakAtRest> {
        Scene::new(NoLeakAtRest::new(LOCK))
    }

    /// Returns a scene in which an attempt gave up although the server has created its znode.
    fn abandoned(node: &str) -> Scene<NoLeakAtRest> {
        let mut scene = scene();
        scene.observe(1, S1, 2, attempt("a"));
        scene.create(S1, 2, node);
        scene.observe(1, S1, 3, gave_up("a"));
        scene
    }

    /// Returns a scene with a holder of the lock, and the token of its znode.
    fn holder() -> (Scene<NoLeakAtRest>, Zxid) {
        let mut scene = scene();
        scene.observe(1, S1, 2, attempt("a"));
        let token = scene.create(S1, 2, &node("a", 0));
        scene.observe(1, S1, 4, granted("a", &node("a", 0), token));
        (scene, token)
    }

    #[test]
    fn a_znode_left_behind_is_refused_at_rest() {
        let mut scene = abandoned(&node("a", 0));
        insta::assert_snapshot!(scene.at_rest().unwrap_or_default(), @"lock M5 no leak at rest: attempt a of client 1 has ended and no client is about to delete /lock/a-lock-0000000000 (czxid 1:4), which still exists");
        assert!(scene.end().is_some());
    }

    #[test]
    fn until_then_it_may_be_deleted() {
        let mut scene = abandoned(&node("a", 0));
        scene.delete(S1, 3, &node("a", 0));
        assert_eq!(scene.at_rest(), None);
        assert_eq!(scene.end(), None);
    }

    #[test]
    fn a_name_without_id_is_its_sessions() {
        let mut leak = abandoned("/lock/lock-0000000000");
        assert!(leak.at_rest().is_some());
        // The znode could be the next attempt's.
        leak.observe(1, S1, 9, attempt("b"));
        assert_eq!(leak.at_rest(), None);
        leak.observe(1, S1, 10, gave_up("b"));
        assert!(leak.at_rest().is_some());

        let mut others = abandoned("/lock/lock-0000000000");
        others.delete(S1, 3, "/lock/lock-0000000000");
        others.create(S2, 1, "/lock/lock-0000000001");
        assert_eq!(others.at_rest(), None);
    }

    #[test]
    fn a_release_that_never_deletes_is_refused_and_a_holder_is_not() {
        let (mut scene, token) = holder();
        assert_eq!(scene.at_rest(), None);
        scene.observe(1, S1, 4, releasing(token));
        assert!(scene.at_rest().is_some());
    }

    #[test]
    fn so_is_a_loss_that_was_none() {
        let (mut scene, token) = holder();
        scene.observe(1, S1, 4, lost(token));
        assert!(scene.at_rest().is_some());
    }

    #[test]
    fn the_duty_ends_with_the_session_and_with_the_program() {
        let mut closed = abandoned(&node("a", 0));
        closed.close(S1);
        assert_eq!(closed.at_rest(), None);

        let client = ClientId(1);
        let killed = Event::Killed { client };
        let finished = Event::Finished { client, result: Ok(()) };
        for end in [killed, finished] {
            let mut scene = abandoned(&node("a", 0));
            scene.event(end);
            assert_eq!(scene.at_rest(), None);
        }
    }

    #[test]
    fn the_next_session_begins_a_new_account() {
        let mut scene = scene();
        scene.observe(1, S3, 1, attempt("b"));
        let fresh = scene.fingerprint();
        let mut later = self::scene();
        later.observe(1, S1, 1, attempt("a"));
        later.observe(1, S1, 1, gave_up("a"));
        later.observe(1, S3, 1, attempt("b"));
        assert_eq!(later.fingerprint(), fresh);
    }

    #[test]
    fn who_began_first_leaves_no_trace() {
        let order = |clients: [u8; 2]| {
            let mut scene = scene();
            for client in clients {
                let session = if client == 1 { S1 } else { S2 };
                scene.observe(client, session, 1, attempt(&format!("attempt {client}")));
            }
            scene.fingerprint()
        };
        assert_eq!(order([1, 2]), order([2, 1]));
        assert_ne!(order([1, 2]), scene().fingerprint());
    }
}
