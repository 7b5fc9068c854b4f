//! PT1, one user: two clients use an item at the same time only if the session of one of them is closed.
//!
//! A client learns of the end of its session after the servers have decided it, and uses its items until then. Such a
//! client is a zombie, which the item's fencing token keeps out.

use crate::contention::properties::is_closed;
use crate::partitioner::PartitionSeen;
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection, View};

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct OneUser {
    partition: Arc<str>,
    users: BTreeMap<ClientId, (Option<SessionId>, Vec<Arc<str>>)>,
}

impl OneUser {
    /// Watches the partition in this directory.
    pub fn new(directory: &str) -> OneUser {
        OneUser { partition: directory.into(), users: BTreeMap::new() }
    }

    fn begins(
        &mut self,
        view: View<'_>,
        client: ClientId,
        session: Option<SessionId>,
        items: &[Arc<str>],
    ) -> Result<(), Objection> {
        let is_open = |session: Option<SessionId>| session.is_some_and(|it| !is_closed(view, it));
        let mut others = self.users.iter().filter(|(other, _)| **other != client);
        let met = others.find_map(|(other, (of, used))| {
            let item = items.iter().find(|item| used.contains(item))?;
            (is_open(session) && is_open(*of)).then_some((*other, item))
        });
        if let Some((other, item)) = met {
            let saw = format!(
                "{client} uses {item} of {} together with {other}, and the sessions of both are open",
                self.partition
            );
            return Err(self.objection(saw));
        }
        self.users.insert(client, (session, items.to_vec()));
        Ok(())
    }
}

impl Declared for OneUser {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "partitioner PT1 one user",
        LooksBack::Tip,
        minds! { |this, view, event|
            Event::Killed { client } | Event::Finished { client, .. } | Event::Panicked { client, .. } => {
                this.users.remove(client);
            },
            #[needed]
            Observed(client in session, PartitionSeen::Uses { partition, items })
                if *partition == this.partition =>
            {
                this.begins(view, client, session, items)
            },
            Observed(client, PartitionSeen::Stops { partition }) if *partition == this.partition => {
                this.users.remove(&client);
            },
        },
    );
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::contention::properties::scene::*;
    use vivarium_model::id::Xid;
    use vivarium_model::observation::Observed;
    use vivarium_model::property::Monitor;

    /// Adds a program's observation.
    pub(crate) fn seen<M: Monitor>(
        scene: &mut Scene<M>,
        client: u8,
        session: SessionId,
        seen: PartitionSeen,
    ) {
        let (session, next_xid) = (Some(session), Xid(9));
        let observation = Observed::new(seen);
        scene.event(Event::Observed {
            client: ClientId(client.into()),
            session,
            next_xid,
            observation,
        });
    }

    /// [`PartitionSeen::Uses`].
    pub(crate) fn uses(items: &[&str]) -> PartitionSeen {
        let items = items.iter().copied().map(Arc::from).collect();
        PartitionSeen::Uses { partition: "/partition".into(), items }
    }

    /// [`PartitionSeen::Stops`].
    pub(crate) fn stops() -> PartitionSeen {
        PartitionSeen::Stops { partition: "/partition".into() }
    }

    fn scene() -> Scene<OneUser> {
        let mut scene = Scene::new(OneUser::new("/partition"));
        seen(&mut scene, 1, S1, uses(&["a", "b"]));
        scene
    }

    #[test]
    fn two_users_with_open_sessions_are_refused() {
        let mut scene = scene();
        seen(&mut scene, 2, S2, uses(&["c"]));
        seen(&mut scene, 2, S2, stops());
        seen(&mut scene, 2, S2, uses(&["b", "c"]));
        insta::assert_snapshot!(scene.end().unwrap_or_default(), @"partitioner PT1 one user: client 2 uses b of /partition together with client 1, and the sessions of both are open");
    }

    #[test]
    fn who_has_stopped_or_is_a_zombie_is_no_user() {
        let mut scene = self::scene();
        seen(&mut scene, 1, S1, stops());
        seen(&mut scene, 2, S2, uses(&["b"]));
        assert_eq!(scene.end(), None);
        for zombie in [S1, S2] {
            let mut scene = self::scene();
            scene.close(zombie);
            seen(&mut scene, 2, S2, uses(&["b"]));
            assert_eq!(scene.end(), None);
        }
        let mut scene = self::scene();
        scene.event(Event::Killed { client: ClientId(1) });
        seen(&mut scene, 2, S2, uses(&["b"]));
        assert_eq!(scene.end(), None);
    }
}
