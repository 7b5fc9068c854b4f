//! PT3, under the lock: a client that uses an item holds its lock, from before it begins until after it has stopped.

use crate::contention::LockSeen;
use crate::partitioner::{PartitionSeen, lock_of};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::ClientId;
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection};

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct UnderLock {
    partition: Arc<str>,
    clients: BTreeMap<ClientId, Client>,
}

#[derive(Clone, Debug, Default, Hash)]
struct Client {
    /// The directories of the locks that the client holds.
    held: BTreeSet<Arc<str>>,
    /// The items that the client uses.
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
                Err(self.objection(saw))
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
                Err(self.objection(saw))
            }
        }
    }
}

impl Declared for UnderLock {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "partitioner PT3 under the lock",
        LooksBack::Nothing,
        minds! { |this, view, event|
            #[unordered]
            Event::Killed { client } | Event::Finished { client, .. } | Event::Panicked { client, .. } => {
                this.clients.remove(client);
            },
            #[needed]
            #[unordered]
            Observed(client, PartitionSeen::Uses { partition, items })
                if *partition == this.partition =>
            {
                this.uses(client, items)
            },
            #[unordered]
            Observed(client, PartitionSeen::Stops { partition }) if *partition == this.partition => {
                this.clients.entry(client).or_default().used.clear();
            },
            #[unordered]
            Observed(client, LockSeen::Granted { lock, .. }) => {
                this.clients.entry(client).or_default().held.insert(Arc::clone(lock));
            },
            #[unordered]
            Observed(client, LockSeen::Releasing { lock, .. }) => this.lets_go(client, lock),
        },
    );
}

#[cfg(test)]
mod tests {
    use super::super::one_user::tests::{seen, stops, uses};
    use super::*;
    use crate::contention::properties::scene::*;
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
