//! M6, no self-wait: the predecessor that an attempt waits for is not its own znode.
//!
//! A create whose reply was lost may have made a znode that its owner does not know. If the owner makes another one
//! and waits for its predecessor, it waits for itself until its session ends, and so do all later contenders. A znode
//! is an attempt's own if its name carries the attempt's id, or if the attempt's session made it by a request that
//! followed the beginning of the attempt.

use crate::contention::LockSeen;
use crate::contention::contender::Contender;
use crate::contention::properties::creations::created;
use std::collections::BTreeSet;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::{ClientId, SessionId, Xid};
use vivarium_model::minds;
use vivarium_model::path::{self, ZnodePath};
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection, View};
use vivarium_model::txn::Txn;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct NoSelfWait {
    lock: Arc<str>,
    running: Vec<Running>,
}

/// An attempt that has neither been granted the lock nor given up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Running {
    client: ClientId,
    session: Option<SessionId>,
    id: Arc<str>,
    /// The number of its first request.
    first: Xid,
    /// The existing znodes in the lock's directory that its requests have created, and whose names do not carry an
    /// id.
    made: BTreeSet<ZnodePath>,
}

impl Running {
    /// Returns the attempt that a program begins, and its lock.
    fn begun(event: &Event) -> Option<(&Arc<str>, Running)> {
        let Event::Observed { client, session, next_xid, observation } = event else { return None };
        let LockSeen::Attempt { lock, attempt } = observation.read()? else { return None };
        let (client, session, id, first) = (*client, *session, Arc::clone(attempt), *next_xid);
        Some((lock, Running { client, session, id, first, made: BTreeSet::new() }))
    }

    /// Returns true if this attempt made the znode `on`. A znode that is already gone from the committed history (the
    /// waiter's view is stale) is recognised only by its name.
    fn has_made(&self, on: &str) -> bool {
        self.names(on) || self.made.contains(on)
    }

    /// Returns true if a znode has this attempt's id in its name.
    fn names(&self, node: &str) -> bool {
        let contender = Contender::parse(path::name(node));
        contender.is_some_and(|contender| contender.attempt() == Some(&*self.id))
    }

    /// Returns true if a transaction is one of its requests.
    fn has_sent(&self, txn: &Txn) -> bool {
        Some(txn.session) == self.session && txn.cxid >= self.first
    }
}

impl NoSelfWait {
    /// Watches the lock in this directory.
    pub fn new(lock_directory: &str) -> NoSelfWait {
        NoSelfWait { lock: lock_directory.into(), running: Vec::new() }
    }

    /// Applies a new transaction: a znode that it deletes is no attempt's any more, and a znode that it creates is
    /// made by the attempts that sent it.
    fn committed(&mut self, view: View<'_>, txn: &Txn) {
        let tree = view.history.tree();
        for running in &mut self.running {
            // A znode that a multi has deleted and created again counts as new.
            let stood = |path: &ZnodePath| tree.node(path).is_some_and(|it| it.czxid < txn.zxid);
            running.made.retain(stood);
        }
        created(&txn.body, &mut |path| {
            if path::parent(path) != Some(&*self.lock) || tree.node(path).is_none() {
                return;
            }
            for running in self.running.iter_mut().filter(|running| running.has_sent(txn)) {
                if !running.names(path) {
                    running.made.insert(path.clone());
                }
            }
        });
    }

    fn waits(&self, client: ClientId, attempt: &Arc<str>, on: &str) -> Result<(), Objection> {
        let waiter =
            self.running.iter().find(|running| running.client == client && running.id == *attempt);
        match waiter.filter(|waiter| waiter.has_made(on)) {
            None => Ok(()),
            Some(_) => {
                let saw = format!("{client} waits for {on}, which attempt {attempt} made itself");
                Err(self.objection(saw))
            }
        }
    }
}

impl Declared for NoSelfWait {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "lock M6 no self-wait",
        LooksBack::Tip,
        minds! { |this, view, event|
            Committed(txn) => this.committed(view, txn),
            #[unordered]
            let Some(new) = Running::begun(event) => this.begin(new),
            #[ordered_if(Self::has_made)]
            Observed(client, LockSeen::Waiting { lock, attempt, on })
                if *lock == this.lock =>
            {
                this.waits(client, attempt, on)
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

impl NoSelfWait {
    fn begin(&mut self, (lock, new): (&Arc<str>, Running)) {
        if *lock == self.lock {
            // Sorted by client, so that the order in which attempts began leaves no trace in the state.
            let place = self.running.partition_point(|other| other.client <= new.client);
            self.running.insert(place, new);
        }
    }

    /// Returns true if the event's client has an attempt that has made a znode. A transaction can delete that znode,
    /// so the order of the transaction and the event matters.
    fn has_made(&self, event: &Event) -> bool {
        let mut own = self.running.iter().filter(|running| event.client() == Some(running.client));
        own.any(|running| !running.made.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contention::properties::scene::*;
    use vivarium_model::observation::Observed;
    use vivarium_model::property::Monitor;
    use vivarium_model::txn::TxnBody;

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
    fn a_znode_that_was_made_anew_is_whoevers_made_it_last() {
        let nameless = "/lock/lock-0000000000";
        let mut others = scene();
        others.observe(1, S1, 2, attempt("a"));
        others.create(S1, 2, nameless);
        let replace =
            TxnBody::Multi(vec![TxnBody::Delete { path: path(nameless) }, create(S2, nameless)]);
        others.commit(S2, 1, replace);
        others.observe(1, S1, 5, waiting("a", nameless));
        assert_eq!(others.end(), None);

        let mut own = scene();
        own.observe(1, S1, 2, attempt("a"));
        own.create(S2, 1, nameless);
        own.delete(S2, 2, nameless);
        let made = own.create(S1, 2, nameless);
        own.report_again(made);
        own.observe(1, S1, 5, waiting("a", nameless));
        assert!(own.end().is_some());
    }

    #[test]
    fn the_order_matters_where_somebody_else_could_delete_what_is_waited_for() {
        let waits = |on: &str| Event::Observed {
            client: ClientId(1),
            session: Some(S1),
            next_xid: Xid(5),
            observation: Observed::new(waiting("a", on)),
        };
        let mut scene = scene();
        scene.observe(1, S1, 2, attempt("a"));
        scene.create(S1, 2, &node("a", 0));
        assert!(!scene.monitor.minds_order(&waits(&node("a", 0))), "its name says it");
        scene.create(S1, 3, "/lock/lock-0000000001");
        assert!(scene.monitor.minds_order(&waits("/lock/lock-0000000001")));
        scene.delete(S2, 1, "/lock/lock-0000000001");
        assert!(!scene.monitor.minds_order(&waits("/lock/lock-0000000001")));
    }

    #[test]
    fn waiting_for_others_and_for_the_leftovers_of_earlier_attempts_is_legal_here() {
        let mut scene = scene();
        scene.create(S1, 2, "/lock/lock-0000000000");
        scene.create(S2, 7, "/lock/lock-0000000001");
        scene.observe(1, S1, 3, attempt("a"));
        scene.create(S1, 3, "/lock/lock-0000000002");
        scene.observe(1, S1, 5, waiting("a", "/lock/lock-0000000001"));
        // M5, not M6, covers a leak of an earlier attempt.
        scene.observe(1, S1, 6, waiting("a", "/lock/lock-0000000000"));
        // The znode is already gone: its deletion wakes the waiter.
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
