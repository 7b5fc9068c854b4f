//! The leader's table of live sessions (`SessionTrackerImpl` without its clock; rules 2.3 and 2.4).
//!
//! A session is *owned* by the way in which its requests reach the leader: one connection of a learner, or the
//! leader's own clients. A request that arrives in another way comes from a connection that the client has left, and
//! is refused with SessionMoved. A session that `prep` has begun to close answers nothing any more, but stays here
//! until its closeSession is applied.
//!
//! The caller measures the time: a method that returns a timeout has touched the session, and the caller restarts the
//! session's timer with it.

use crate::tree::DataTree;
use crate::vocabulary::error::Error;
use crate::vocabulary::id::{LearnerConnection, SessionId};
use crate::vocabulary::time::Duration;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The way in which a session's requests reach the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// A client connection to the leader itself.
    Leader,
    /// Forwarded by a learner. A learner that registers again is another owner: its sessions re-attach by
    /// revalidation.
    Learner(LearnerConnection),
    /// Passed on by a follower, on its connection, for an observer that is connected to it (rule 5.9.6). Only repaired (see
    /// [`Bug::MasterIsOneOwner`](crate::vocabulary::release::Bug::MasterIsOneOwner)).
    Observer {
        /// The follower's connection.
        master: LearnerConnection,
        /// The observer's connection to the follower.
        observer: LearnerConnection,
    },
}

/// The state of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct TrackedSession {
    timeout: Duration,
    /// `None` after a leader change, until the first request claims the session.
    owner: Option<Owner>,
    closing: bool,
}

/// The sessions that the leader considers alive or closing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SessionTracker {
    sessions: BTreeMap<SessionId, TrackedSession>,
}

impl SessionTracker {
    /// Returns the tracker of a new leader: every session of its tree, without an owner. Each gets its full timeout
    /// again (rule 2.3.3).
    pub fn new(tree: &DataTree) -> SessionTracker {
        let fresh = |(session, timeout): (&SessionId, &Duration)| {
            (*session, TrackedSession { timeout: *timeout, owner: None, closing: false })
        };
        SessionTracker { sessions: tree.sessions().iter().map(fresh).collect() }
    }

    /// Begins to track a session. One that is tracked already does not change.
    pub fn add(&mut self, session: SessionId, timeout: Duration) {
        if let Entry::Vacant(place) = self.sessions.entry(session) {
            place.insert(TrackedSession { timeout, owner: None, closing: false });
        }
    }

    /// Records a sign of life. Returns the session's timeout, with which its timer restarts; `None` for a session
    /// that is unknown or closing.
    pub fn touch(&self, session: SessionId) -> Option<Duration> {
        self.alive(session).map(|tracked| tracked.timeout)
    }

    /// Re-attaches a session: touches it and makes `owner` its owner (rule 2.4.1). Returns `None` if the session is
    /// over.
    pub fn revalidate(&mut self, session: SessionId, owner: Owner) -> Option<Duration> {
        self.set_owner(session, owner).ok()?;
        self.touch(session)
    }

    /// Sets the owner, whatever it was before.
    ///
    /// # Errors
    /// `SessionExpired` for a session that is unknown or closing.
    pub(crate) fn set_owner(&mut self, session: SessionId, owner: Owner) -> Result<(), Error> {
        let tracked = self.sessions.get_mut(&session).filter(|tracked| !tracked.closing);
        tracked.ok_or(Error::SessionExpired)?.owner = Some(owner);
        Ok(())
    }

    /// Makes the check before every write (rule 1.6.1); a session without an owner is claimed (rule 2.4.3).
    ///
    /// # Errors
    /// `SessionExpired` for a session that is unknown or closing, `SessionMoved` if it has another owner.
    pub fn check(&mut self, session: SessionId, owner: Owner) -> Result<(), Error> {
        let tracked = self.sessions.get_mut(&session).filter(|tracked| !tracked.closing);
        let tracked = tracked.ok_or(Error::SessionExpired)?;
        if *tracked.owner.get_or_insert(owner) != owner {
            return Err(Error::SessionMoved);
        }
        Ok(())
    }

    /// Returns true if the session is known, alive or closing.
    pub(crate) fn is_tracking(&self, session: SessionId) -> bool {
        self.sessions.contains_key(&session)
    }

    /// Marks a session as closing: it answers nothing any more. No effect on an unknown session.
    pub(crate) fn set_closing(&mut self, session: SessionId) {
        if let Some(tracked) = self.sessions.get_mut(&session) {
            tracked.closing = true;
        }
    }

    /// Forgets a session whose closeSession was applied.
    pub fn remove(&mut self, session: SessionId) {
        self.sessions.remove(&session);
    }

    /// Returns all tracked sessions with their timeouts, including closing ones, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (SessionId, Duration)> {
        self.sessions.iter().map(|(session, tracked)| (*session, tracked.timeout))
    }

    /// Returns a session's timeout, alive or closing.
    pub fn timeout(&self, session: SessionId) -> Option<Duration> {
        self.sessions.get(&session).map(|tracked| tracked.timeout)
    }

    fn alive(&self, session: SessionId) -> Option<&TrackedSession> {
        self.sessions.get(&session).filter(|tracked| !tracked.closing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::id::ServerId;

    const SESSION: SessionId = SessionId(7);
    const TIMEOUT: Duration = Duration::from_secs(6);
    const LATER: Duration = Duration::from_secs(9);

    fn learner(slot: u8) -> Owner {
        Owner::Learner(LearnerConnection { learner: ServerId(2), slot })
    }

    #[test]
    fn an_unknown_session_is_expired() {
        let mut tracker = SessionTracker::default();
        assert_eq!(tracker.check(SESSION, Owner::Leader), Err(Error::SessionExpired));
        assert_eq!(tracker.set_owner(SESSION, Owner::Leader), Err(Error::SessionExpired));
        assert_eq!(tracker.touch(SESSION), None);
        assert_eq!(tracker.revalidate(SESSION, Owner::Leader), None);
        tracker.set_closing(SESSION);
        assert_eq!(tracker, SessionTracker::default());
    }

    #[test]
    fn the_first_request_after_a_leader_change_claims_the_session() {
        let mut tree = DataTree::new();
        tree.load_session(SESSION, TIMEOUT);
        let mut tracker = SessionTracker::new(&tree);
        assert_eq!(tracker.iter().collect::<Vec<_>>(), [(SESSION, TIMEOUT)]);

        assert_eq!(tracker.check(SESSION, learner(0)), Ok(()));
        assert_eq!(tracker.check(SESSION, learner(0)), Ok(()));
        assert_eq!(tracker.check(SESSION, Owner::Leader), Err(Error::SessionMoved));
    }

    #[test]
    fn a_revalidated_session_belongs_to_its_new_way_alone() {
        let mut tracker = SessionTracker::default();
        tracker.add(SESSION, TIMEOUT);
        assert_eq!(tracker.check(SESSION, Owner::Leader), Ok(()));
        assert_eq!(tracker.revalidate(SESSION, learner(0)), Some(TIMEOUT));
        assert_eq!(tracker.check(SESSION, Owner::Leader), Err(Error::SessionMoved));
        // The same learner on another connection is another owner.
        assert_eq!(tracker.check(SESSION, learner(1)), Err(Error::SessionMoved));
        assert_eq!(tracker.check(SESSION, learner(0)), Ok(()));
    }

    #[test]
    fn a_closing_session_answers_nothing_until_it_is_gone() {
        let mut tracker = SessionTracker::default();
        tracker.add(SESSION, TIMEOUT);
        assert_eq!(tracker.touch(SESSION), Some(TIMEOUT));
        tracker.set_closing(SESSION);
        assert_eq!(tracker.touch(SESSION), None);
        assert_eq!(tracker.revalidate(SESSION, Owner::Leader), None);
        assert_eq!(tracker.set_owner(SESSION, Owner::Leader), Err(Error::SessionExpired));
        assert_eq!(tracker.check(SESSION, Owner::Leader), Err(Error::SessionExpired));
        assert_eq!(tracker.iter().count(), 1);
        tracker.remove(SESSION);
        assert_eq!(tracker.iter().count(), 0);
    }

    #[test]
    fn adding_twice_keeps_the_first() {
        let mut tracker = SessionTracker::default();
        tracker.add(SESSION, TIMEOUT);
        tracker.set_closing(SESSION);
        tracker.add(SESSION, LATER);
        assert_eq!(tracker.iter().collect::<Vec<_>>(), [(SESSION, TIMEOUT)]);
        assert_eq!(tracker.touch(SESSION), None);
    }
}
