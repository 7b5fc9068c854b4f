//! M6, no self-wait: the predecessor that an attempt waits for is not its own znode.
//!
//! A create whose reply was lost may have made a znode that its owner does not know. If it makes
//! another and waits for its predecessor, it waits for itself, and everybody behind it with it,
//! until its session ends. A znode is an attempt's own if its name carries the attempt's id, or if
//! the attempt's session made it by a request that came after the attempt's beginning.

use crate::lock::contender::Contender;
use std::sync::Arc;
use vivarium_model::event::{Event, Observation};
use vivarium_model::history::History;
use vivarium_model::id::{ClientId, SessionId, Xid};
use vivarium_model::property::{Class, Monitor, Objection, View};

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct NoSelfWait {
    lock: Arc<str>,
    running: Vec<Running>,
}

/// An attempt that has neither been granted nor given up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Running {
    client: ClientId,
    session: Option<SessionId>,
    id: Arc<str>,
    /// The number of its first request.
    first: Xid,
}

impl Running {
    /// Whether it made the znode `on`. One that is gone from the committed history already (the
    /// waiter's view is stale) is told by its name alone.
    fn made(&self, history: &History, on: &str) -> bool {
        let named = Contender::parse(vivarium_model::path::name(on))
            .is_some_and(|contender| contender.attempt() == Some(&*self.id));
        let requested = || {
            let txn = history.tree().node(on).and_then(|node| history.get(node.czxid))?;
            Some(Some(txn.session) == self.session && txn.cxid >= self.first)
        };
        named || requested().unwrap_or(false)
    }
}

impl NoSelfWait {
    /// Watches the lock in this directory.
    pub fn new(lock_directory: &str) -> NoSelfWait {
        NoSelfWait { lock: lock_directory.into(), running: Vec::new() }
    }

    fn waits(
        &self,
        view: View<'_>,
        client: ClientId,
        attempt: &Arc<str>,
        on: &str,
    ) -> Result<(), Objection> {
        let waiter =
            self.running.iter().find(|running| running.client == client && running.id == *attempt);
        match waiter.filter(|waiter| waiter.made(view.history, on)) {
            None => Ok(()),
            Some(_) => {
                let saw = format!("{client} waits for {on}, which attempt {attempt} made itself");
                Err(Objection::new(self.name(), saw))
            }
        }
    }
}

impl Monitor for NoSelfWait {
    fn name(&self) -> &'static str {
        "lock M6 no self-wait"
    }

    fn class(&self) -> Class {
        Class::Event
    }

    fn concerns(&self, event: &Event) -> bool {
        match event {
            Event::Observed { observation, .. } => matches!(
                observation,
                Observation::Attempt { .. }
                    | Observation::Waiting { .. }
                    | Observation::Granted { .. }
                    | Observation::GaveUp { .. }
            ),
            Event::Killed { .. }
            | Event::Started { .. }
            | Event::Finished { .. }
            | Event::Panicked { .. } => true,
            _ => false,
        }
    }

    /// A client is only ever measured against its own attempt and its own znode.
    fn minds_order(&self, _event: &Event) -> bool {
        false
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        match event {
            Event::Observed { client, session, next_xid, observation } => match observation {
                Observation::Attempt { lock, attempt } if *lock == self.lock => {
                    let new = Running {
                        client: *client,
                        session: *session,
                        id: Arc::clone(attempt),
                        first: *next_xid,
                    };
                    // By client, so that the order in which they began leaves no trace.
                    let place = self.running.partition_point(|other| other.client <= *client);
                    self.running.insert(place, new);
                }
                Observation::Waiting { lock, attempt, on } if *lock == self.lock => {
                    return self.waits(view, *client, attempt, on);
                }
                Observation::Granted { lock, attempt, .. }
                | Observation::GaveUp { lock, attempt }
                    if *lock == self.lock =>
                {
                    self.running
                        .retain(|running| running.client != *client || running.id != *attempt);
                }
                _ => {}
            },
            Event::Killed { client }
            | Event::Started { client }
            | Event::Finished { client, .. }
            | Event::Panicked { client, .. } => {
                self.running.retain(|running| running.client != *client);
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::properties::scene::*;

    fn scene() -> Scene<NoSelfWait> {
        Scene::new(NoSelfWait::new(LOCK))
    }

    #[test]
    fn waiting_for_a_znode_with_the_own_id_is_refused() {
        let mut scene = scene();
        scene.observe(1, S1, 2, attempt("a"));
        scene.create(S1, 2, &node("a", 0));
        scene.create(S1, 3, &node("a", 1));
        scene.observe(1, S1, 5, waiting("a", &node("a", 0)));
        insta::assert_snapshot!(scene.end().unwrap_or_default(), @"lock M6 no self-wait: client 1 waits for /lock/a-lock-0000000000, which attempt a made itself");
    }

    #[test]
    fn so_is_waiting_for_a_nameless_znode_of_an_own_request() {
        let mut scene = scene();
        scene.observe(1, S1, 2, attempt("a"));
        scene.create(S1, 2, "/lock/lock-0000000000");
        scene.create(S1, 3, "/lock/lock-0000000001");
        scene.observe(1, S1, 5, waiting("a", "/lock/lock-0000000000"));
        assert!(scene.end().is_some());
    }

    #[test]
    fn waiting_for_others_and_for_the_leftovers_of_earlier_attempts_is_legal_here() {
        let mut scene = scene();
        scene.create(S1, 2, "/lock/lock-0000000000");
        scene.create(S2, 7, "/lock/lock-0000000001");
        scene.observe(1, S1, 3, attempt("a"));
        scene.create(S1, 3, "/lock/lock-0000000002");
        scene.observe(1, S1, 5, waiting("a", "/lock/lock-0000000001"));
        // A leak of an earlier attempt is M5's affair.
        scene.observe(1, S1, 6, waiting("a", "/lock/lock-0000000000"));
        // Gone already: its deletion wakes the waiter.
        scene.delete(S2, 8, "/lock/lock-0000000001");
        scene.observe(1, S1, 7, waiting("a", "/lock/lock-0000000001"));
        assert_eq!(scene.end(), None);
    }

    #[test]
    fn an_attempt_that_ended_is_forgotten() {
        let mut scene = scene();
        let before = scene.fingerprint();
        scene.observe(1, S1, 2, attempt("a"));
        assert_ne!(scene.fingerprint(), before);
        scene.observe(1, S1, 2, gave_up("a"));
        assert_eq!(scene.fingerprint(), before);
    }
}
