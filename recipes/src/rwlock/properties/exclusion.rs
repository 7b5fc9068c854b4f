//! RW1: at every zxid, the existing znodes that were granted the lock are either one writer's or all readers'.
//!
//! The property concerns the committed history, so it holds for zombies too. A client that is granted the lock while
//! a conflicting znode exists has read an impossible list, or has not followed the list.

use crate::contention::contender::Contender;
use crate::contention::{Kind, LockSeen};
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::ClientId;
use vivarium_model::minds;
use vivarium_model::path;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection, View};
use vivarium_model::zxid::Zxid;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct RwExclusion {
    lock: Arc<str>,
    /// The granted znodes that exist, sorted by token.
    granted: Vec<Granted>,
}

#[derive(Clone, Debug, Hash)]
struct Granted {
    client: ClientId,
    node: Arc<str>,
    kind: Kind,
    token: Zxid,
}

impl Granted {
    /// Returns true if the znode exists, with this token as its czxid.
    fn stands(&self, view: View<'_>) -> bool {
        view.history.tree().node(&self.node).is_some_and(|znode| znode.czxid == self.token)
    }
}

impl RwExclusion {
    /// Watches the lock in this directory.
    pub fn new(directory: &str) -> RwExclusion {
        RwExclusion { lock: directory.into(), granted: Vec::new() }
    }

    fn grant(&mut self, view: View<'_>, new: Granted) -> Result<(), Objection> {
        if !new.stands(view) {
            return Ok(());
        }
        if let Some(other) = self.granted.iter().find(|other| other.kind.conflicts(new.kind)) {
            let saw = format!(
                "{} was granted {} (token {}) while {}, granted to {} (token {}), stands in the \
                 committed history",
                new.client, new.node, new.token, other.node, other.client, other.token
            );
            let objection = self.objection(saw).about(other.client).about(other.token);
            return Err(objection.about(&*other.node));
        }
        let place = self.granted.partition_point(|other| other.token < new.token);
        self.granted.insert(place, new);
        Ok(())
    }
}

impl Declared for RwExclusion {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "read-write lock RW1 exclusion",
        LooksBack::Tip,
        minds! { |this, view, event|
            Event::Committed { .. } => this.granted.retain(|granted| granted.stands(view)),
            #[needed]
            Observed(client, LockSeen::Granted { lock, node, token, .. }) => {
                this.granted.retain(|granted| granted.stands(view));
                match Contender::parse(path::name(node)).filter(|_| *lock == this.lock) {
                    Some(contender) => {
                        let (node, kind) = (Arc::clone(node), contender.kind());
                        this.grant(view, Granted { client, node, kind, token: *token })
                    }
                    None => Ok(()),
                }
            },
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contention::properties::scene::*;

    fn node(name: &str) -> String {
        format!("{LOCK}/{name}")
    }

    fn judged(first: &str, second: &str, released: bool) -> Option<String> {
        let mut scene = Scene::new(RwExclusion::new(LOCK));
        let [one, other] = [node(first), node(second)];
        let tokens = [scene.create(S1, 2, &one), scene.create(S2, 2, &other)];
        scene.observe(1, S1, 5, granted("a", &one, tokens[0]));
        if released {
            scene.delete(S1, 3, &one);
        }
        scene.observe(2, S2, 6, granted("b", &other, tokens[1]));
        scene.end()
    }

    #[test]
    fn readers_share_and_writers_do_not() {
        let (reader, writer) = (
            ["a-read-0000000000", "b-read-0000000001"],
            ["a-write-0000000000", "b-write-0000000001"],
        );
        assert_eq!(judged(reader[0], reader[1], false), None);
        insta::assert_snapshot!(judged(reader[0], writer[1], false).unwrap_or_default(), @"read-write lock RW1 exclusion: client 2 was granted /lock/b-write-0000000001 (token 1:5) while /lock/a-read-0000000000, granted to client 1 (token 1:4), stands in the committed history");
        for (first, second) in
            [(reader[0], writer[1]), (writer[0], reader[1]), (writer[0], writer[1])]
        {
            assert!(judged(first, second, false).is_some(), "{first}, {second}");
            assert_eq!(judged(first, second, true), None, "{first}, {second}");
        }
    }
}
