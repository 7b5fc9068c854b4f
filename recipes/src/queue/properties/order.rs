//! Q3: each consumer takes items in the order in which they were put.
//!
//! The order is that of the czxids, for any state of the sequence counter. An older item cannot appear after a
//! consumer has taken a younger one: the list that contained the younger item also contained the older one, unless
//! that had been deleted.

use super::{Part, item_of, parts};
use crate::queue::QueueSeen;
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::ClientId;
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection};
use vivarium_model::txn::Txn;
use vivarium_model::zxid::Zxid;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct TakenInOrder {
    queue: Arc<str>,
    /// The transaction that put each item first.
    put: BTreeMap<Arc<str>, Zxid>,
    /// The youngest item that each consumer has taken.
    youngest: BTreeMap<ClientId, Zxid>,
}

impl TakenInOrder {
    /// Watches the queue in this directory.
    pub fn new(directory: &str) -> TakenInOrder {
        TakenInOrder { queue: directory.into(), put: BTreeMap::new(), youngest: BTreeMap::new() }
    }

    fn taken(&mut self, client: ClientId, item: &Arc<str>) -> Result<(), Objection> {
        let Some(put) = self.put.get(item).copied() else {
            let saw = format!("{client} has taken {item}, which no client has put");
            return Err(self.objection(saw));
        };
        let youngest = self.youngest.entry(client).or_insert(put);
        if put < *youngest {
            let saw = format!(
                "{client} has taken {item}, put at {put}, after one that was put at {youngest}"
            );
            return Err(self.objection(saw));
        }
        *youngest = put;
        Ok(())
    }
}

impl Declared for TakenInOrder {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "queue Q3 taken in order",
        LooksBack::Tip,
        minds! { |this, view, event|
            Committed(txn) => this.committed(txn),
            #[needed]
            Observed(client, QueueSeen::Taken { queue, item }) if *queue == this.queue => this.taken(client, item),
            // The next program counts as another consumer.
            Event::Killed { client } => {
                this.youngest.remove(client);
            },
        },
    );
}

impl TakenInOrder {
    fn committed(&mut self, txn: &Txn) {
        parts(&txn.body, &self.queue, &mut |part| {
            if let Part::Created { data, .. } = part {
                self.put.entry(item_of(data)).or_insert(txn.zxid);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contention::properties::scene::{S1, S2, Scene, path};
    use vivarium_model::id::{SessionId, Xid};
    use vivarium_model::observation::Observed;
    use vivarium_model::tree::EphemeralType;
    use vivarium_model::txn::TxnBody;

    const QUEUE: &str = "/lock";

    /// Returns a scene with the items `a` and `b`, put in this order.
    fn scene() -> Scene<TakenInOrder> {
        let mut scene = Scene::new(TakenInOrder::new(QUEUE));
        for (at, item) in (0..).zip(["a", "b"]) {
            let path = path(&format!("{QUEUE}/{item}-q-000000000{at}"));
            let create = TxnBody::create(path, item.as_bytes(), EphemeralType::Void, at + 1);
            scene.commit(S1, 2, create);
        }
        scene
    }

    fn take(scene: &mut Scene<TakenInOrder>, client: u8, session: SessionId, item: &str) {
        let seen = QueueSeen::Taken { queue: QUEUE.into(), item: item.into() };
        let observation = Observed::new(seen);
        let session = Some(session);
        let client = ClientId(client.into());
        scene.event(Event::Observed { client, session, next_xid: Xid(9), observation });
    }

    #[test]
    fn an_older_item_after_a_younger_one_is_refused() {
        let mut scene = scene();
        take(&mut scene, 1, S1, "b");
        take(&mut scene, 1, S1, "a");
        insta::assert_snapshot!(scene.end().unwrap_or_default(), @"queue Q3 taken in order: client 1 has taken a, put at 1:4, after one that was put at 1:5");
    }

    #[test]
    fn so_is_one_that_nobody_has_put() {
        let mut scene = scene();
        take(&mut scene, 1, S1, "c");
        assert!(scene.end().is_some_and(|saw| saw.contains("no client has put")));
    }

    #[test]
    fn consumers_and_programs_have_no_order_between_them() {
        let mut scene = scene();
        take(&mut scene, 1, S1, "b");
        take(&mut scene, 2, S2, "a");
        scene.event(Event::Killed { client: ClientId(1) });
        take(&mut scene, 1, S1, "a");
        assert_eq!(scene.end(), None);
    }
}
