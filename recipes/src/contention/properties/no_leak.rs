//! M5, no leak: an attempt that ended leaves no znode.
//!
//! A znode that its owner does not know blocks all later contenders for as long as its session lives, and its session
//! lives as long as its program. So once an attempt has given up, or its grant is being released, its znodes must be
//! deleted within a bound. The bound counts only time in which the session is connected without interruption: a
//! disconnected client still has to delete them, but cannot. The duty ends with the session (recipe rule 2.8.6), and
//! with the client's process.
//!
//! The bound must cover the time that one cleanup can take while the connection holds: a server that is cut off from
//! its leader keeps its clients for up to syncLimit ticks. A paused client can clean up nothing, although its session
//! seems to be connected; so a pause stops the time like a disconnection.

use crate::contention::LockSeen;
use crate::contention::properties::contenders;
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::{ClientId, SessionId, Xid};
use vivarium_model::minds;
use vivarium_model::op::SessionState;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection, View};
use vivarium_model::time::{Duration, Time};
use vivarium_model::txn::TxnBody;
use vivarium_model::zxid::Zxid;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct NoLeak {
    lock: Arc<str>,
    bound: Duration,
    attempts: Vec<Watched>,
    /// The session by which each client is connected at present.
    connected: BTreeMap<ClientId, SessionId>,
}

/// An attempt whose session may still be open.
#[derive(Clone, Debug, Hash)]
struct Watched {
    client: ClientId,
    session: Option<SessionId>,
    id: Arc<str>,
    /// The number of its first request.
    first: Xid,
    /// The number of the first request of the same session's next attempt, once that has begun.
    next: Option<Xid>,
    token: Option<Zxid>,
    /// True if the attempt has given up or released the lock.
    ended: bool,
    /// The start of the present period in which the attempt has ended and its session is connected.
    since: Option<Time>,
}

impl Watched {
    /// Returns true if the attempt made this contender: by the id in its name, or, for a name without id, by the
    /// session and number of the request that created it (a client makes one attempt at a time).
    fn made(&self, view: View<'_>, attempt: Option<&str>, czxid: Zxid) -> bool {
        if let Some(id) = attempt {
            return *id == *self.id;
        }
        view.history.get(czxid).is_some_and(|txn| {
            Some(txn.session) == self.session
                && txn.cxid >= self.first
                && self.next.is_none_or(|next| txn.cxid < next)
        })
    }
}

impl NoLeak {
    /// Watches the lock in this directory. A znode is a leak if its attempt has ended, and the attempt's session has
    /// then been connected for `bound`.
    pub fn new(lock_directory: &str, bound: Duration) -> NoLeak {
        let lock = lock_directory.into();
        NoLeak { lock, bound, attempts: Vec::new(), connected: BTreeMap::new() }
    }

    /// Fails if an attempt whose time is up has leaked a znode, and forgets the other attempts whose time is up.
    fn check(&mut self, view: View<'_>) -> Result<(), Objection> {
        let due = |attempt: &Watched| {
            attempt.since.is_some_and(|since| view.at().since(since) >= self.bound)
        };
        if !self.attempts.iter().any(due) {
            return Ok(());
        }
        for attempt in self.attempts.iter().filter(|attempt| due(attempt)) {
            let leak = contenders(view, &self.lock)
                .find(|(_, id, node)| attempt.made(view, id.as_deref(), node.czxid));
            if let Some((path, _, node)) = leak {
                let saw = format!(
                    "attempt {} of {} has ended and its session has been connected for {:?}, but \
                     {path} (czxid {}) still stands",
                    attempt.id, attempt.client, self.bound, node.czxid
                );
                let objection = self.objection(saw).about(attempt.client).about(&*attempt.id);
                return Err(objection.about(&*path).about(node.czxid));
            }
        }
        let bound = self.bound;
        self.attempts
            .retain(|attempt| attempt.since.is_none_or(|since| view.at().since(since) < bound));
        Ok(())
    }

    fn observed(
        &mut self,
        at: Time,
        client: ClientId,
        session: Option<SessionId>,
        next_xid: Xid,
        seen: &LockSeen,
    ) {
        match seen {
            LockSeen::Attempt { lock, attempt } if *lock == self.lock => {
                self.begin(client, session, next_xid, attempt);
            }
            LockSeen::Granted { lock, attempt, token, .. } if *lock == self.lock => {
                let same = |known: &&mut Watched| known.client == client && known.id == *attempt;
                if let Some(known) = self.attempts.iter_mut().find(same) {
                    known.token = Some(*token);
                }
            }
            LockSeen::GaveUp { lock, attempt } if *lock == self.lock => {
                self.ended(at, |known| known.client == client && known.id == *attempt);
            }
            LockSeen::Releasing { lock, token } | LockSeen::Released { lock, token }
                if *lock == self.lock =>
            {
                self.ended(at, |known| known.client == client && known.token == Some(*token));
            }
            _ => {}
        }
    }

    fn begin(&mut self, client: ClientId, session: Option<SessionId>, first: Xid, id: &Arc<str>) {
        for earlier in &mut self.attempts {
            if earlier.session == session && earlier.next.is_none() {
                earlier.next = Some(first);
            }
        }
        self.attempts.push(Watched {
            client,
            session,
            id: Arc::clone(id),
            first,
            next: None,
            token: None,
            ended: false,
            since: None,
        });
    }

    /// Marks attempts as ended; their time starts if their session is connected.
    fn ended(&mut self, at: Time, which: impl Fn(&Watched) -> bool) {
        for attempt in self.attempts.iter_mut().filter(|attempt| which(attempt)) {
            attempt.ended = true;
            let connected = self.connected.get(&attempt.client).copied();
            if attempt.since.is_none() && connected.is_some() && connected == attempt.session {
                attempt.since = Some(at);
            }
        }
    }

    /// Stops the times of a client that is paused.
    fn stop(&mut self, client: ClientId) {
        for attempt in self.attempts.iter_mut().filter(|attempt| attempt.client == client) {
            attempt.since = None;
        }
    }

    /// Starts or stops the times of a client whose connection has changed.
    fn session(&mut self, at: Time, client: ClientId, connected: Option<SessionId>) {
        match connected {
            Some(session) => self.connected.insert(client, session),
            None => self.connected.remove(&client),
        };
        for attempt in self.attempts.iter_mut().filter(|attempt| attempt.client == client) {
            let runs = attempt.ended && connected.is_some() && connected == attempt.session;
            attempt.since = runs.then_some(at);
        }
    }
}

impl Declared for NoLeak {
    const DECLARATION: Declaration<Self> = Declaration::in_sweeps(
        "lock M5 no leak",
        LooksBack::Whole,
        minds! { |this, view, event|
            // This comes first, because any event may end a period of being connected.
            _ => this.check(view),
            Event::Observed { client, session, next_xid, observation } => {
                if let Some(seen) = observation.read() {
                    this.observed(view.at(), *client, *session, *next_xid, seen);
                }
            },
            Event::Session { client, session, state, .. } => {
                let connected = session.filter(|_| *state == SessionState::SyncConnected);
                this.session(view.at(), *client, connected);
            },
            Event::Paused { client } => this.stop(*client),
            Event::Resumed { client } => {
                let connected = this.connected.get(client).copied();
                this.session(view.at(), *client, connected);
            },
            // Only new commits count: a slow program may begin attempts under a session that is over, and a repeated
            // report of the close must not drop them.
            Committed(txn) if matches!(txn.body, TxnBody::CloseSession { .. }) => {
                this.attempts.retain(|attempt| attempt.session != Some(txn.session));
            },
            Event::Killed { client } | Event::Started { client }
            | Event::Finished { client, .. } | Event::Panicked { client, .. } => {
                this.attempts.retain(|attempt| attempt.client != *client);
            },
        },
    )
    .end(Self::end);
}

impl NoLeak {
    fn end(&mut self, view: View<'_>) -> Result<(), Objection> {
        self.check(view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contention::properties::scene::*;

    const BOUND: Duration = Duration::from_secs(12);

    fn scene() -> Scene<NoLeak> {
        Scene::new(NoLeak::new(LOCK, BOUND))
    }

    /// Returns a scene in which an attempt gave up although the server has created its znode.
    fn abandoned(node: &str) -> Scene<NoLeak> {
        let mut scene = scene();
        scene.observe(1, S1, 2, attempt("a"));
        scene.create(S1, 2, node);
        scene.observe(1, S1, 3, gave_up("a"));
        scene
    }

    #[test]
    fn a_znode_left_behind_is_refused() {
        let mut scene = abandoned(&node("a", 0));
        scene.pass(BOUND);
        insta::assert_snapshot!(scene.end().unwrap_or_default(), @"lock M5 no leak: attempt a of client 1 has ended and its session has been connected for 12s, but /lock/a-lock-0000000000 (czxid 1:4) still stands");
    }

    #[test]
    fn so_is_one_whose_name_has_no_id_but_whose_request_was_the_attempts() {
        let mut scene = abandoned("/lock/lock-0000000000");
        scene.pass(BOUND);
        scene.observe(1, S1, 9, attempt("b"));
        assert!(scene.end().is_some());
    }

    #[test]
    fn a_later_attempts_znode_is_not_the_earlier_ones_leak() {
        let mut scene = scene();
        scene.observe(1, S1, 2, attempt("a"));
        scene.observe(1, S1, 2, gave_up("a"));
        scene.observe(1, S1, 2, attempt("b"));
        scene.create(S1, 2, "/lock/lock-0000000000");
        scene.pass(BOUND);
        assert_eq!(scene.end(), None);
    }

    #[test]
    fn a_release_that_never_deletes_is_refused() {
        let mut scene = scene();
        scene.observe(1, S1, 2, attempt("a"));
        let token = scene.create(S1, 2, &node("a", 0));
        scene.observe(1, S1, 4, granted("a", &node("a", 0), token));
        scene.pass(BOUND);
        scene.observe(1, S1, 4, releasing(token));
        scene.pass(BOUND);
        scene.session(1, S1, SessionState::Disconnected);
        assert!(scene.end().is_some());
    }

    #[test]
    fn the_time_starts_again_with_each_connection() {
        let mut scene = abandoned(&node("a", 0));
        for _ in 0..3 {
            scene.pass(BOUND / 2);
            scene.session(1, S1, SessionState::Disconnected);
            scene.pass(BOUND * 2);
            scene.session(1, S1, SessionState::SyncConnected);
        }
        scene.pass(BOUND / 2);
        scene.delete(S1, 7, &node("a", 0));
        scene.pass(BOUND);
        assert_eq!(scene.end(), None);

        let mut leak = abandoned(&node("a", 0));
        leak.session(1, S1, SessionState::Disconnected);
        leak.session(1, S1, SessionState::SyncConnected);
        leak.pass(BOUND);
        assert!(leak.end().is_some());
    }

    #[test]
    fn a_pause_stops_the_time_and_its_end_starts_it_again() {
        let client = ClientId(1);
        let mut clean = abandoned(&node("a", 0));
        clean.event(Event::Paused { client });
        clean.pass(BOUND * 3);
        clean.event(Event::Resumed { client });
        clean.pass(BOUND / 2);
        clean.delete(S1, 7, &node("a", 0));
        clean.pass(BOUND);
        assert_eq!(clean.end(), None);

        let mut leak = abandoned(&node("a", 0));
        leak.event(Event::Paused { client });
        leak.event(Event::Resumed { client });
        leak.pass(BOUND);
        assert!(leak.end().is_some());
    }

    #[test]
    fn the_duty_ends_with_the_session_and_with_the_process() {
        let mut closed = abandoned(&node("a", 0));
        closed.close(S1);
        closed.pass(BOUND);
        assert_eq!(closed.end(), None);

        let mut killed = abandoned(&node("a", 0));
        killed.event(Event::Killed { client: ClientId(1) });
        killed.pass(BOUND);
        assert_eq!(killed.end(), None);

        // The session, and the znode with it, lasts until its timeout, but no program is left that could delete the
        // znode.
        let mut finished = abandoned(&node("a", 0));
        finished.event(Event::Finished { client: ClientId(1), result: Ok(()) });
        finished.pass(BOUND);
        assert_eq!(finished.end(), None);
    }

    #[test]
    fn a_holder_leaks_nothing() {
        let mut scene = scene();
        scene.observe(1, S1, 2, attempt("a"));
        let token = scene.create(S1, 2, &node("a", 0));
        scene.observe(1, S1, 4, granted("a", &node("a", 0), token));
        scene.pass(BOUND * 3);
        assert_eq!(scene.end(), None);
    }
}
