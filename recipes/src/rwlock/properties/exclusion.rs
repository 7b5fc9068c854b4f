//! RW1: at every zxid, of the granted znodes that stand, one is a writer's or all are readers'.
//!
//! It goes by what the committed history has, so it holds for zombies too: whoever is granted the lock while
//! the znode of somebody else stands, whom it excludes, has read a list that cannot have been, or has gone by
//! something else than the list.

use crate::contention::contender::Contender;
use crate::contention::{Kind, LockSeen};
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::ClientId;
use vivarium_model::path;
use vivarium_model::property::{Asked, LooksBack, Monitor, Objection, View};
use vivarium_model::zxid::Zxid;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct RwExclusion {
    lock: Arc<str>,
    /// Those that stand, by token.
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
    /// Whether its znode is there, and no other one of the same name.
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
            return Err(Objection::new(self.name(), saw));
        }
        let place = self.granted.partition_point(|other| other.token < new.token);
        self.granted.insert(place, new);
        Ok(())
    }
}

impl Monitor for RwExclusion {
    fn name(&self) -> &'static str {
        "read-write lock RW1 exclusion"
    }

    fn asked(&self) -> Asked {
        Asked::Everywhere
    }

    fn looks_back(&self) -> LooksBack {
        LooksBack::Tip
    }

    fn looks_for(&self) -> Vec<Arc<str>> {
        vec![Arc::from("granted")]
    }

    fn concerns(&self, event: &Event) -> bool {
        matches!(event.observed(), Some((_, LockSeen::Granted { .. })))
            || matches!(event, Event::Committed { .. })
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        self.granted.retain(|granted| granted.stands(view));
        let Some((client, LockSeen::Granted { lock, node, token, .. })) = event.observed() else {
            return Ok(());
        };
        let Some(contender) = Contender::parse(path::name(node)).filter(|_| *lock == self.lock)
        else {
            return Ok(());
        };
        let (node, kind) = (Arc::clone(node), contender.kind());
        self.grant(view, Granted { client, node, kind, token: *token })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::properties::scene::*;

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
