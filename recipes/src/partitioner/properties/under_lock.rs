//! PT3, under the lock: whoever uses an item holds its lock, from before it begins until after it has stopped.

use crate::contention::LockSeen;
use crate::partitioner::{PartitionSeen, lock_of};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::ClientId;
use vivarium_model::property::{Asked, LooksBack, Monitor, Objection, View};

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct UnderLock {
    partition: Arc<str>,
    clients: BTreeMap<ClientId, Client>,
}

#[derive(Clone, Debug, Default, Hash)]
struct Client {
    /// The directories of the locks that it holds.
    held: BTreeSet<Arc<str>>,
    /// The items that it uses.
    used: Vec<Arc<str>>,
}

impl UnderLock {
    /// Watches the partition in this directory.
    pub fn new(directory: &str) -> UnderLock {
        UnderLock { partition: directory.into(), clients: BTreeMap::new() }
    }

    fn uses(&mut self, client: ClientId, items: &[Arc<str>]) -> Result<(), Objection> {
        let known = self.clients.entry(client).or_default();
        known.used = items.to_vec();
        let is_held = |item: &&Arc<str>| known.held.contains(&*lock_of(&self.partition, item));
        match items.iter().find(|item| !is_held(item)) {
            None => Ok(()),
            Some(item) => {
                let saw = format!("{client} uses {item} of {} without its lock", self.partition);
                Err(Objection::new(self.name(), saw))
            }
        }
    }

    fn lets_go(&mut self, client: ClientId, lock: &Arc<str>) -> Result<(), Objection> {
        let known = self.clients.entry(client).or_default();
        known.held.remove(lock);
        match known.used.iter().find(|item| *lock_of(&self.partition, item) == **lock) {
            None => Ok(()),
            Some(item) => {
                let saw = format!(
                    "{client} releases the lock of {item} of {}, and still uses it",
                    self.partition
                );
                Err(Objection::new(self.name(), saw))
            }
        }
    }
}

impl Monitor for UnderLock {
    fn name(&self) -> &'static str {
        "partitioner PT3 under the lock"
    }

    fn asked(&self) -> Asked {
        Asked::Everywhere
    }

    fn looks_back(&self) -> LooksBack {
        LooksBack::Nothing
    }

    fn looks_for(&self) -> Vec<Arc<str>> {
        vec![Arc::from("uses")]
    }

    fn concerns(&self, event: &Event) -> bool {
        match event {
            Event::Killed { .. } | Event::Finished { .. } | Event::Panicked { .. } => true,
            Event::Observed { observation, .. } => {
                matches!(
                    observation.read(),
                    Some(PartitionSeen::Uses { .. } | PartitionSeen::Stops { .. })
                ) || matches!(
                    observation.read(),
                    Some(LockSeen::Granted { .. } | LockSeen::Releasing { .. })
                )
            }
            _ => false,
        }
    }

    /// Each client's own account.
    fn minds_order(&self, _event: &Event) -> bool {
        false
    }

    fn event(&mut self, _view: View<'_>, event: &Event) -> Result<(), Objection> {
        let (client, observation) = match event {
            Event::Killed { client }
            | Event::Finished { client, .. }
            | Event::Panicked { client, .. } => {
                self.clients.remove(client);
                return Ok(());
            }
            Event::Observed { client, observation, .. } => (*client, observation),
            _ => return Ok(()),
        };
        match observation.read() {
            Some(PartitionSeen::Uses { partition, items }) if *partition == self.partition => {
                return self.uses(client, items);
            }
            Some(PartitionSeen::Stops { partition }) if *partition == self.partition => {
                self.clients.entry(client).or_default().used.clear();
            }
            _ => {}
        }
        match observation.read() {
            Some(LockSeen::Granted { lock, .. }) => {
                self.clients.entry(client).or_default().held.insert(Arc::clone(lock));
                Ok(())
            }
            Some(LockSeen::Releasing { lock, .. }) => self.lets_go(client, lock),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::one_user::tests::{seen, stops, uses};
    use super::*;
    use crate::lock::properties::scene::*;
    use vivarium_model::zxid::Zxid;

    const TOKEN: Zxid = Zxid(7);

    fn lock() -> Arc<str> {
        lock_of("/partition", "a").into()
    }

    fn scene() -> Scene<UnderLock> {
        let mut scene = Scene::new(UnderLock::new("/partition"));
        let granted = LockSeen::Granted {
            lock: lock(),
            attempt: "x".into(),
            node: "x-lock-0000000000".into(),
            token: TOKEN,
        };
        scene.observe(1, S1, 3, granted);
        seen(&mut scene, 1, S1, uses(&["a"]));
        scene
    }

    #[test]
    fn who_stops_first_is_fine() {
        let mut scene = scene();
        seen(&mut scene, 1, S1, stops());
        scene.observe(1, S1, 4, LockSeen::Releasing { lock: lock(), token: TOKEN });
        assert_eq!(scene.end(), None);
    }

    #[test]
    fn who_releases_what_it_uses_is_refused() {
        let mut scene = scene();
        scene.observe(1, S1, 4, LockSeen::Releasing { lock: lock(), token: TOKEN });
        insta::assert_snapshot!(scene.end().unwrap_or_default(), @"partitioner PT3 under the lock: client 1 releases the lock of a of /partition, and still uses it");
    }

    #[test]
    fn who_uses_what_it_does_not_hold_is_refused() {
        let mut scene = scene();
        seen(&mut scene, 1, S1, uses(&["a", "b"]));
        assert!(
            scene.end().is_some_and(|saw| saw.contains("uses b of /partition without its lock"))
        );
        let mut scene = self::scene();
        seen(&mut scene, 2, S2, uses(&["a"]));
        assert!(scene.end().is_some());
    }
}
