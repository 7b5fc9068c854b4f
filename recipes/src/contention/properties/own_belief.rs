//! M2 as one client sees it: a program that is connected by a session does not believe that it holds the lock by a grant
//! of an earlier session.
//!
//! [`Belief`](super::Belief) judges this too, besides beliefs that overlap, but needs the committed transactions, which a
//! service does not see. This part judges by the events of a client alone, and a service can watch itself by it.

use crate::contention::LockSeen;
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::minds;
use vivarium_model::op::SessionState;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection};
use vivarium_model::zxid::Zxid;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct OwnBelief {
    lock: Arc<str>,
    /// The session of each grant whose holder believes in it.
    held: BTreeMap<(ClientId, Zxid), SessionId>,
}

impl OwnBelief {
    /// Watches the lock in this directory.
    pub fn new(lock_directory: &str) -> OwnBelief {
        OwnBelief { lock: lock_directory.into(), held: BTreeMap::new() }
    }

    fn connected(&self, client: ClientId, session: SessionId) -> Result<(), Objection> {
        let own = self.held.iter().filter(|((holder, _), _)| *holder == client);
        match own.into_iter().find(|(_, of)| **of != session) {
            None => Ok(()),
            Some(((_, token), of)) => {
                let saw = format!(
                    "{client} is connected by session {session} and still believes that it holds {} by token \
                     {token} of session {of}",
                    self.lock
                );
                Err(self.objection(saw).about(*token))
            }
        }
    }
}

impl Declared for OwnBelief {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "lock M2 belief",
        LooksBack::Nothing,
        minds! { |this, view, event|
            #[needed]
            #[unordered]
            Observed(client in session, LockSeen::Granted { lock, token, .. }) if *lock == this.lock => {
                if let Some(session) = session {
                    this.held.insert((client, *token), session);
                }
            },
            #[unordered]
            Observed(client, LockSeen::Lost { lock, token } | LockSeen::Releasing { lock, token })
                if *lock == this.lock =>
            {
                this.held.remove(&(client, *token));
            },
            #[unordered]
            Event::Session { client, session: Some(session), state: SessionState::SyncConnected, .. } => {
                this.connected(*client, *session)
            },
            #[unordered]
            Event::Killed { client } | Event::Started { client }
            | Event::Finished { client, .. } | Event::Panicked { client, .. } => {
                this.held.retain(|(holder, _), _| holder != client);
            },
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contention::properties::scene::*;

    /// Returns a scene in which client 1 was granted the lock in its first session.
    fn scene() -> (Scene<OwnBelief>, Zxid) {
        let mut scene = Scene::new(OwnBelief::new(LOCK));
        let token = scene.create(S1, 2, &node("a", 0));
        scene.observe(1, S1, 4, granted("a", &node("a", 0), token));
        scene.session(1, S1, SessionState::Disconnected);
        scene.session(1, S1, SessionState::SyncConnected);
        (scene, token)
    }

    #[test]
    fn a_belief_that_outlives_its_session_is_refused() {
        let (mut scene, _) = scene();
        scene.session(1, S1, SessionState::Expired);
        scene.session(1, S3, SessionState::SyncConnected);
        insta::assert_snapshot!(scene.end().unwrap_or_default(), @"lock M2 belief: client 1 is connected by session 0x3 and still believes that it holds /lock by token 1:4 of session 0x1");
    }

    #[test]
    fn a_belief_that_ends_before_and_that_of_another_client_are_legal() {
        let (mut scene, token) = scene();
        scene.session(2, S2, SessionState::SyncConnected);
        scene.session(1, S1, SessionState::Expired);
        scene.observe(1, S1, 5, lost(token));
        scene.session(1, S3, SessionState::SyncConnected);
        assert_eq!(scene.end(), None);
    }

    #[test]
    fn a_program_that_ended_believes_nothing() {
        let (mut scene, _) = scene();
        scene.event(Event::Killed { client: ClientId(1) });
        scene.session(1, S3, SessionState::SyncConnected);
        assert_eq!(scene.end(), None);
    }
}
