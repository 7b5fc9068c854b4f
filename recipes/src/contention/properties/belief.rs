//! M2, belief: two programs believe that they hold the lock only if the one with the smaller token is a zombie.
//!
//! A belief lasts from the grant until release is called, the loss is signalled, or the program ends. No algorithm
//! can prevent two beliefs from overlapping: a program learns that its session is over only after the server has
//! decided so, and a paused one even later (recipe rule 1.2.4). But the belief with the smaller token must belong to
//! a session that is closed in the committed history (recipe rule 2.8.7), whichever belief began first. Such *zombie
//! overlaps* are legal: this monitor counts and measures them.
//!
//! If a lock can be taken away by force ([`Belief::with_force`]), a holder whose znode another session has deleted is
//! a zombie as well (recipe rule 2.11.6).
//!
//! A belief must not outlive the notice of expiry. By the lock's policy it ends with that notice, and a client begins
//! a new session only after the notice. So a belief that remains when its client is connected by another session
//! violates M2 (`BeliefSurvivesExpiry`). The same is true of a belief that begins then, by a znode of the previous
//! session (`AdoptDeadSessionNode`, `NoOwnerCheckOnGrant`; recipe rule 2.8.6).

use crate::contention::LockSeen;
use crate::contention::properties::creations::Creations;
use crate::contention::properties::is_closed;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::minds;
use vivarium_model::op::SessionState;
use vivarium_model::property::{
    Declaration, Declared, LooksBack, Measure, Objection, Unhashed, View,
};
use vivarium_model::time::{Duration, Time};
use vivarium_model::zxid::Zxid;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct Belief {
    lock: Arc<str>,
    /// Whether another session may delete a holder's znode.
    by_force: bool,
    creations: Creations,
    held: Vec<Held>,
    // For measurements only; no verdict depends on these fields.
    open: Unhashed<Vec<Overlap>>,
    measured: Unhashed<ZombieOverlaps>,
}

/// The number and durations of legal overlaps of two beliefs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZombieOverlaps {
    /// Pairs of overlapping beliefs.
    pub count: u64,
    /// The sum of their durations, in virtual time.
    pub total: Duration,
    /// The longest duration, in virtual time.
    pub longest: Duration,
}

/// A program's belief.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Held {
    client: ClientId,
    token: Zxid,
    /// The session that created the znode, or the program's session if the history does not know the znode.
    session: Option<SessionId>,
}

/// Two overlapping beliefs, by their tokens.
#[derive(Clone, Copy, Debug)]
struct Overlap {
    tokens: [Zxid; 2],
    since: Time,
}

impl Belief {
    /// Watches the lock in this directory.
    pub fn new(lock_directory: &str) -> Belief {
        let lock = lock_directory.into();
        Belief {
            creations: Creations::new(&lock),
            lock,
            by_force: false,
            held: Vec::new(),
            open: Unhashed::default(),
            measured: Unhashed::default(),
        }
    }

    /// Watches a lock whose holders can lose it by force.
    pub fn with_force(lock_directory: &str) -> Belief {
        Belief { by_force: true, ..Belief::new(lock_directory) }
    }

    fn is_zombie(&self, view: View<'_>, held: &Held) -> bool {
        held.session.is_none_or(|session| is_closed(view, session))
            || self.by_force && self.creations.is_taken(held.token)
    }

    /// Returns the measurements so far; an overlap that has not ended is counted without its duration.
    #[cfg(test)]
    fn zombie_overlaps(&self) -> ZombieOverlaps {
        *self.measured
    }

    /// Returns true if the event's client has a belief that the event can end.
    fn is_held(&self, event: &Event) -> bool {
        self.held.iter().any(|held| event.client() == Some(held.client))
    }

    fn is_granted(
        &mut self,
        view: View<'_>,
        client: ClientId,
        session: Option<SessionId>,
        node: &str,
        token: Zxid,
    ) -> Result<(), Objection> {
        let owner = self.creations.owner(node, token);
        self.is_own(client, session, owner, token)?;
        self.granted(view, Held { client, token, session: owner.or(session) })
    }

    fn granted(&mut self, view: View<'_>, new: Held) -> Result<(), Objection> {
        for old in &self.held {
            let (smaller, larger) = if old.token < new.token { (old, &new) } else { (&new, old) };
            if !self.is_zombie(view, smaller) {
                let saw = format!(
                    "{} (token {}) and {} (token {}) both believe that they hold {}, and the \
                     session of the smaller token is open",
                    smaller.client, smaller.token, larger.client, larger.token, self.lock
                );
                return Err(self.objection(saw).about(old.client).about(old.token));
            }
            self.measured.count += 1;
            self.open.push(Overlap { tokens: [old.token, new.token], since: view.clock() });
        }
        // Sorted by token, so that the order of the grants leaves no trace in the state.
        let place = self.held.partition_point(|held| held.token < new.token);
        self.held.insert(place, new);
        Ok(())
    }

    /// Fails if the znode of a grant belongs to another session than the one that its client has.
    fn is_own(
        &self,
        client: ClientId,
        session: Option<SessionId>,
        owner: Option<SessionId>,
        token: Zxid,
    ) -> Result<(), Objection> {
        match session.zip(owner) {
            Some((session, owner)) if session != owner => {
                let saw = format!(
                    "{client} has session {session}, and was granted {} by token {token} of an earlier \
                     session",
                    self.lock
                );
                Err(self.objection(saw))
            }
            _ => Ok(()),
        }
    }

    /// Ends the beliefs that `which` selects, and their overlaps.
    fn ended(&mut self, at: Time, which: impl Fn(&Held) -> bool) {
        let measured = &mut self.measured;
        for held in self.held.extract_if(.., |held| which(held)) {
            self.open.retain(|overlap| {
                let goes_on = !overlap.tokens.contains(&held.token);
                if !goes_on {
                    let span = at.since(overlap.since);
                    measured.total += span;
                    measured.longest = measured.longest.max(span);
                }
                goes_on
            });
        }
    }

    /// Fails if a client that is connected still has a belief of an earlier session.
    fn connected(&self, client: ClientId, session: SessionId) -> Result<(), Objection> {
        let stale = |held: &&Held| {
            held.client == client && held.session.is_some_and(|owner| owner != session)
        };
        match self.held.iter().find(stale) {
            None => Ok(()),
            Some(held) => {
                let saw = format!(
                    "{client} is connected by session {session} and still believes that it holds \
                     {} by token {} of an earlier session",
                    self.lock, held.token
                );
                Err(self.objection(saw).about(held.token))
            }
        }
    }
}

impl Declared for Belief {
    const DECLARATION: Declaration<Self> =
        Declaration::everywhere("lock M2 belief", LooksBack::Tip, minds! { |this, view, event|
            Committed(txn) => this.creations.see(txn),
            #[needed]
            Observed(client in session, LockSeen::Granted { lock, node, token, .. })
                if *lock == this.lock =>
            {
                this.is_granted(view, client, session, node, *token)
            },
            #[ordered_if(Self::is_held)]
            Observed(client, LockSeen::Lost { lock, token } | LockSeen::Releasing { lock, token })
                if *lock == this.lock =>
            {
                this.ended(view.clock(), |held| held.client == client && held.token == *token);
            },
            #[unordered]
            Event::Session { client, session: Some(session), state: SessionState::SyncConnected, .. } => {
                this.connected(*client, *session)
            },
            #[ordered_if(Self::is_held)]
            Event::Killed { client } | Event::Started { client }
            | Event::Finished { client, .. } | Event::Panicked { client, .. } => {
                this.ended(view.clock(), |held| held.client == *client);
            },
        })
        .end(Self::end)
        .measured(Self::measured);
}

impl Belief {
    fn end(&mut self, view: View<'_>) -> Result<(), Objection> {
        self.ended(view.clock(), |_| true);
        Ok(())
    }

    fn measured(&self) -> Vec<Measure> {
        vec![
            Measure::count("zombie overlaps", self.measured.count),
            Measure::total("zombie overlap, together", self.measured.total),
            Measure::longest("zombie overlap, longest", self.measured.longest),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contention::properties::scene::*;

    /// Returns a scene with two contenders; the first is granted the lock.
    fn scene() -> (Scene<Belief>, Zxid, Zxid) {
        let mut scene = Scene::new(Belief::new(LOCK));
        let first = scene.create(S1, 2, &node("a", 0));
        let second = scene.create(S2, 1, &node("b", 1));
        scene.observe(1, S1, 4, granted("a", &node("a", 0), first));
        (scene, first, second)
    }

    #[test]
    fn overlap_with_both_sessions_open_is_refused() {
        let (mut scene, _, second) = scene();
        scene.delete(S1, 5, &node("a", 0));
        scene.observe(2, S2, 4, granted("b", &node("b", 1), second));
        insta::assert_snapshot!(scene.end().unwrap_or_default(), @"lock M2 belief: client 1 (token 1:4) and client 2 (token 1:5) both believe that they hold /lock, and the session of the smaller token is open");
    }

    /// The second session has deleted the first one's znode: the first holder is a zombie only if force is allowed.
    #[test]
    fn a_lock_that_was_taken_by_force_makes_a_zombie_where_that_is_agreed() {
        for (by_force, by, is_refused) in [(false, S2, true), (true, S2, false), (true, S1, true)] {
            let belief = if by_force { Belief::with_force(LOCK) } else { Belief::new(LOCK) };
            let mut scene = Scene::new(belief);
            let first = scene.create(S1, 2, &node("a", 0));
            let second = scene.create(S2, 1, &node("b", 1));
            scene.observe(1, S1, 4, granted("a", &node("a", 0), first));
            scene.delete(by, 5, &node("a", 0));
            scene.observe(2, S2, 4, granted("b", &node("b", 1), second));
            assert_eq!(scene.end().is_some(), is_refused, "{by_force} {by}");
        }
    }

    #[test]
    fn it_is_the_smaller_token_that_must_be_a_zombie() {
        let (mut scene, _, second) = scene();
        scene.close(S2);
        scene.observe(2, S2, 4, granted("b", &node("b", 1), second));
        assert!(scene.end().is_some());
    }

    #[test]
    fn a_zombie_overlap_is_legal_and_measured_in_either_order() {
        let (mut scene, first, second) = scene();
        scene.close(S1);
        scene.observe(2, S2, 4, granted("b", &node("b", 1), second));
        scene.pass(Duration::from_secs(3));
        scene.observe(1, S1, 5, lost(first));
        scene.pass(Duration::from_secs(1));
        // A zombie can also be granted the lock while the other program believes that it holds it.
        scene.observe(1, S1, 5, granted("a", &node("a", 0), first));
        scene.pass(Duration::from_secs(2));
        scene.event(Event::Killed { client: ClientId(1) });
        let measured = scene.monitor.zombie_overlaps();
        assert_eq!((measured.count, measured.total), (2, Duration::from_secs(5)));
        assert_eq!(measured.longest, Duration::from_secs(3));
        assert_eq!(scene.monitor.measured()[0], Measure::count("zombie overlaps", 2));
        assert_eq!(scene.end(), None);
    }

    #[test]
    fn a_grant_by_a_znode_of_an_earlier_session_is_refused() {
        let mut scene = Scene::new(Belief::new(LOCK));
        let token = scene.create(S1, 2, &node("a", 0));
        scene.session(1, S3, SessionState::SyncConnected);
        scene.observe(1, S3, 4, granted("a", &node("a", 0), token));
        insta::assert_snapshot!(scene.end().unwrap_or_default(), @"lock M2 belief: client 1 has session 0x3, and was granted /lock by token 1:4 of an earlier session");
    }

    #[test]
    fn a_belief_ends_when_release_is_called() {
        let (mut scene, first, second) = scene();
        scene.observe(1, S1, 5, releasing(first));
        scene.delete(S1, 5, &node("a", 0));
        scene.observe(2, S2, 4, granted("b", &node("b", 1), second));
        assert_eq!(scene.monitor.zombie_overlaps(), ZombieOverlaps::default());
        assert_eq!(scene.end(), None);
    }

    #[test]
    fn a_belief_that_outlives_the_notice_of_expiry_is_refused() {
        let (mut scene, _, _) = scene();
        scene.session(1, S1, SessionState::Disconnected);
        scene.session(1, S1, SessionState::SyncConnected);
        scene.close(S1);
        scene.session(1, S1, SessionState::Expired);
        scene.session(1, S3, SessionState::SyncConnected);
        insta::assert_snapshot!(scene.end().unwrap_or_default(), @"lock M2 belief: client 1 is connected by session 0x3 and still believes that it holds /lock by token 1:4 of an earlier session");
    }

    #[test]
    fn measurements_do_not_tell_states_apart() {
        let (mut one, _, _) = scene();
        let (other, _, _) = scene();
        one.pass(Duration::from_secs(1));
        assert_eq!(one.fingerprint(), other.fingerprint());
        one.event(Event::Killed { client: ClientId(1) });
        assert_ne!(one.fingerprint(), other.fingerprint());
    }
}
