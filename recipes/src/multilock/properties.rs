//! The properties of a multi-lock, as monitors (recipe rule 2.18.2).
//!
//! | | property |
//! |---|---|
//! | ML1 | one session created the znodes of all locks that are granted together |
//! | M1 to M6, M8 | of each lock, as of the exclusive lock |

use super::{HeldLock, MultiLockSeen};
use crate::contention::properties::creations::Creations;
use std::sync::Arc;
use vivarium_model::id::ClientId;
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack, Monitor, Objection};
use vivarium_model::time::Duration;

/// Returns all monitors of the multi-lock of these directories. `bound` is that of M5, as in
/// [`lock::monitors`](crate::lock::monitors).
pub fn monitors(directories: &[&str], bound: Duration) -> Vec<Box<dyn Monitor>> {
    let of_each = directories.iter().flat_map(|it| crate::lock::monitors(it, bound));
    let mut monitors: Vec<Box<dyn Monitor>> = of_each.collect();
    monitors.push(Box::new(AllOrNone::new(directories)));
    monitors
}

/// ML1: one session created the znodes of all locks that are granted together.
#[derive(Clone, Debug, Hash)]
pub struct AllOrNone {
    creations: Vec<Creations>,
}

impl AllOrNone {
    /// Watches the locks in these directories.
    pub fn new(directories: &[&str]) -> AllOrNone {
        let of = |directory: &&str| Creations::new(&Arc::from(*directory));
        AllOrNone { creations: directories.iter().map(of).collect() }
    }
}

impl Declared for AllOrNone {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "multi-lock ML1 all or none",
        LooksBack::Tip,
        minds! { |this, view, event|
            Committed(txn) => this.creations.iter_mut().for_each(|creations| creations.see(txn)),
            #[needed]
            Observed(client, MultiLockSeen::GrantedAll { locks }) => this.granted(client, locks),
        },
    );
}

impl AllOrNone {
    fn granted(&self, client: ClientId, locks: &[HeldLock]) -> Result<(), Objection> {
        let mut owners = locks.iter().map(|lock| {
            let of = |creations: &Creations| creations.owner(&lock.node, lock.token);
            (&lock.node, self.creations.iter().find_map(of))
        });
        let Some((first, owner)) = owners.next() else { return Ok(()) };
        match owners.find(|(_, other)| owner.is_none() || *other != owner) {
            None => Ok(()),
            Some((node, other)) => {
                let of = |owner: Option<_>| owner.map_or("nobody".into(), |it| format!("{it}"));
                let saw = format!(
                    "{client} was granted {first} of session {} together with {node} of {}",
                    of(owner),
                    of(other)
                );
                Err(self.objection(saw))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contention::properties::scene::*;
    use crate::multilock::HeldLock;
    use vivarium_model::event::Event;
    use vivarium_model::id::{ClientId, SessionId, Xid};
    use vivarium_model::observation::Observed;

    fn judged(second: SessionId) -> Option<String> {
        let mut scene = Scene::new(AllOrNone::new(&[LOCK]));
        let nodes = [node("a", 0), node("b", 1)];
        let tokens = [scene.create(S1, 2, &nodes[0]), scene.create(second, 3, &nodes[1])];
        let held = |at: usize| HeldLock { node: nodes[at].as_str().into(), token: tokens[at] };
        let seen = MultiLockSeen::GrantedAll { locks: vec![held(0), held(1)] };
        scene.event(Event::Observed {
            client: ClientId(1),
            session: Some(S1),
            next_xid: Xid(4),
            observation: Observed::new(seen),
        });
        scene.end()
    }

    #[test]
    fn locks_of_two_sessions_are_refused() {
        assert_eq!(judged(S1), None);
        insta::assert_snapshot!(judged(S2).unwrap_or_default(), @"multi-lock ML1 all or none: client 1 was granted /lock/a-lock-0000000000 of session 0x1 together with /lock/b-lock-0000000001 of 0x2");
    }
}
