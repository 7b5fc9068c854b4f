//! RW2: two programs whose beliefs exclude each other (one writes, the other reads or writes) believe at the same
//! time only if the session of one of them is closed.
//!
//! As with the exclusive lock, a belief can outlive its znode (recipe rule 1.2.4). The tokens do not say which of the
//! two may be the zombie: a writer that was downgraded to a reader has a newer token than a writer that waits for it.

use crate::contention::contender::Contender;
use crate::contention::properties::creations::Creations;
use crate::contention::properties::is_closed;
use crate::contention::{Kind, LockSeen};
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::minds;
use vivarium_model::op::SessionState;
use vivarium_model::path;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection, View};
use vivarium_model::zxid::Zxid;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct RwBelief {
    lock: Arc<str>,
    creations: Creations,
    /// Sorted by token.
    held: Vec<Held>,
}

#[derive(Clone, Debug, Hash)]
struct Held {
    client: ClientId,
    kind: Kind,
    token: Zxid,
    session: Option<SessionId>,
}

impl Held {
    fn is_live(&self, view: View<'_>) -> bool {
        self.session.is_some_and(|session| !is_closed(view, session))
    }
}

impl RwBelief {
    /// Watches the lock in this directory.
    pub fn new(directory: &str) -> RwBelief {
        let lock: Arc<str> = directory.into();
        RwBelief { creations: Creations::new(&lock), lock, held: Vec::new() }
    }

    fn granted(&mut self, view: View<'_>, new: Held) -> Result<(), Objection> {
        let excluded = |old: &&Held| old.kind.conflicts(new.kind) && old.is_live(view);
        if let Some(old) = self.held.iter().find(excluded).filter(|_| new.is_live(view)) {
            let saw = format!(
                "{} ({:?}, token {}) and {} ({:?}, token {}) both believe that they hold {}, and both \
                 sessions are open",
                old.client, old.kind, old.token, new.client, new.kind, new.token, self.lock
            );
            return Err(self.objection(saw).about(old.client).about(old.token));
        }
        let place = self.held.partition_point(|held| held.token < new.token);
        self.held.insert(place, new);
        Ok(())
    }

    /// Fails if a client that is connected still has a belief of an earlier session.
    fn connected(&self, client: ClientId, session: SessionId) -> Result<(), Objection> {
        let is_stale = |held: &&Held| {
            held.client == client && held.session.is_some_and(|owner| owner != session)
        };
        match self.held.iter().find(is_stale) {
            None => Ok(()),
            Some(held) => {
                let saw = format!(
                    "{client} is connected by session {session} and still believes that it holds {} by \
                     token {} of an earlier session",
                    self.lock, held.token
                );
                Err(self.objection(saw).about(held.token))
            }
        }
    }
}

impl Declared for RwBelief {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "read-write lock RW2 belief",
        LooksBack::Tip,
        minds! { |this, view, event|
            Committed(txn) => this.creations.see(txn),
            #[needed]
            Observed(client in session, LockSeen::Granted { lock, node, token, .. }) => {
                match Contender::parse(path::name(node)).filter(|_| *lock == this.lock) {
                    Some(contender) => {
                        let session = this.creations.owner(node, *token).or(session);
                        this.granted(view, Held { client, kind: contender.kind(), token: *token, session })
                    }
                    None => Ok(()),
                }
            },
            Observed(client, LockSeen::Lost { lock, token } | LockSeen::Releasing { lock, token })
                if *lock == this.lock =>
            {
                this.held.retain(|held| held.client != client || held.token != *token);
            },
            Event::Session { client, session: Some(session), state: SessionState::SyncConnected, .. } => {
                this.connected(*client, *session)
            },
            Event::Killed { client } | Event::Started { client }
            | Event::Finished { client, .. } | Event::Panicked { client, .. } => {
                this.held.retain(|held| held.client != *client);
            },
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contention::properties::scene::*;

    fn node(name: &str) -> String {
        format!("{LOCK}/{name}")
    }

    /// Returns a scene with two programs and their znodes; the first program has been granted the lock.
    fn both(first: &str, second: &str) -> (Scene<RwBelief>, [Zxid; 2]) {
        let mut scene = Scene::new(RwBelief::new(LOCK));
        let [one, other] = [node(first), node(second)];
        let tokens = [scene.create(S1, 2, &one), scene.create(S2, 2, &other)];
        scene.observe(1, S1, 5, granted("a", &one, tokens[0]));
        (scene, tokens)
    }

    const READER: &str = "a-read-0000000000";
    const WRITER: &str = "b-write-0000000001";
    const SECOND_READER: &str = "b-read-0000000001";

    #[test]
    fn a_writer_beside_a_reader_with_both_sessions_open_is_refused() {
        let (mut scene, tokens) = both(READER, WRITER);
        scene.observe(2, S2, 6, granted("b", &node(WRITER), tokens[1]));
        insta::assert_snapshot!(scene.end().unwrap_or_default(), @"read-write lock RW2 belief: client 1 (Read, token 1:4) and client 2 (Write, token 1:5) both believe that they hold /lock, and both sessions are open");
        let (mut scene, tokens) = both(READER, SECOND_READER);
        scene.observe(2, S2, 6, granted("b", &node(SECOND_READER), tokens[1]));
        assert_eq!(scene.end(), None, "readers share");
    }

    #[test]
    fn beside_a_zombie_or_behind_a_release_it_is_legal() {
        let (mut scene, tokens) = both(READER, WRITER);
        scene.close(S1);
        scene.observe(2, S2, 6, granted("b", &node(WRITER), tokens[1]));
        assert_eq!(scene.end(), None);
        let (mut scene, tokens) = both(READER, WRITER);
        scene.observe(1, S1, 6, releasing(tokens[0]));
        scene.observe(2, S2, 6, granted("b", &node(WRITER), tokens[1]));
        assert_eq!(scene.end(), None);
    }

    #[test]
    fn a_belief_of_an_earlier_session_is_refused() {
        let (mut scene, _) = both(READER, WRITER);
        scene.close(S1);
        scene.session(1, S3, SessionState::SyncConnected);
        insta::assert_snapshot!(scene.end().unwrap_or_default(), @"read-write lock RW2 belief: client 1 is connected by session 0x3 and still believes that it holds /lock by token 1:4 of an earlier session");
    }
}
