//! PT2, shares: each member uses its share of the items, and no others. So every item is used by one member.
//!
//! This must hold once the members change no more: within a time; at rest. If the znode of another session is the
//! first in the line for an item, the member waits for it and owes nothing; instead, the owner of that znode owes its
//! deletion if the item is not in its share, even after it has left.

use crate::contention::contender::Contender;
use crate::membership::MembershipSeen;
use crate::obligations::Owed;
use crate::partitioner::{PartitionSeen, allocation, lock_of, members, set_of};
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::minds;
use vivarium_model::path;
use vivarium_model::property::{Minds, Saw, View};
use vivarium_model::tree::Znode;
use vivarium_model::txn::TxnBody;

/// The members, and the items that each uses. See the module.
#[derive(Clone, Debug, Hash)]
pub struct Shares {
    partition: Arc<str>,
    /// For each client, the session by which it is or was a member, and its id while it is one.
    members: BTreeMap<ClientId, (SessionId, Option<Arc<str>>)>,
    used: BTreeMap<ClientId, Vec<Arc<str>>>,
}

impl Shares {
    pub(super) fn new(directory: &str) -> Shares {
        let (members, used) = (BTreeMap::new(), BTreeMap::new());
        Shares { partition: directory.into(), members, used }
    }

    fn is_group(&self, group: &str) -> bool {
        *group == *members(&self.partition)
    }

    /// Returns the present members in the committed history.
    fn present(&self, view: View<'_>) -> Vec<Arc<str>> {
        view.history.tree().children(&members(&self.partition)).unwrap_or_default()
    }

    /// Returns the items that are divided, as stored in ZooKeeper.
    fn items(&self, view: View<'_>) -> Vec<Arc<str>> {
        let set = view.history.tree().node(&set_of(&self.partition));
        let text = set.map(|set| String::from_utf8_lossy(&set.data).into_owned());
        let text = text.unwrap_or_default();
        text.split('\n').filter(|item| !item.is_empty()).map(Arc::from).collect()
    }

    /// Returns the session whose znode is the first in the line for an item.
    fn first(&self, view: View<'_>, item: &str) -> Option<SessionId> {
        let lock = lock_of(&self.partition, item);
        let tree = view.history.tree();
        let names = tree.children(&lock).unwrap_or_default();
        let contenders = names.iter().filter(|name| Contender::parse(name).is_some());
        let nodes = contenders.filter_map(|name| tree.node(&format!("{lock}/{name}")));
        let first: Option<&Arc<Znode>> = nodes.min_by_key(|node| node.czxid);
        first.and_then(|node| node.ephemeral_owner())
    }
}

impl Owed for Shares {
    const NAMES: [&'static str; 2] = ["partitioner PT2 shares", "partitioner PT2 shares at rest"];

    const MINDS: Minds<Self> = minds! { |this, view, event|
        Event::Killed { client } | Event::Finished { client, .. } | Event::Panicked { client, .. } => {
            this.members.remove(client);
            this.used.remove(client);
        },
        Observed(client, MembershipSeen::Joined { group, member, session, .. }) if this.is_group(group) => {
            let id = path::name(member).into();
            this.members.insert(client, (*session, Some(id)));
        },
        Observed(client, MembershipSeen::Leaving { group, .. }) => {
            if this.is_group(group) && let Some((_, id)) = this.members.get_mut(&client) {
                *id = None;
            }
        },
        Observed(client, PartitionSeen::Uses { partition, items }) if *partition == this.partition => {
            this.used.insert(client, items.clone());
        },
        Observed(client, PartitionSeen::Stops { partition }) if *partition == this.partition => {
            this.used.remove(&client);
        },
    };

    fn is_changed_by(&self, body: &TxnBody) -> bool {
        let is_below = |path: &str| path.starts_with(&*self.partition);
        match body {
            TxnBody::Create { path, .. } | TxnBody::Delete { path } => is_below(path),
            TxnBody::CloseSession { ephemerals } => ephemerals.iter().any(|path| is_below(path)),
            TxnBody::Multi(parts) => parts.iter().any(|part| self.is_changed_by(part)),
            _ => false,
        }
    }

    fn clients(&self) -> Vec<ClientId> {
        self.members.keys().copied().collect()
    }

    fn owes(&self, view: View<'_>, client: ClientId) -> Option<Saw> {
        let (session, id) = self.members.get(&client)?;
        if !view.history.tree().sessions().contains_key(session) {
            // The session is over, and its client does not know yet.
            return None;
        }
        let items = self.items(view);
        let share = match id {
            Some(id) => allocation(&items, &self.present(view), id),
            None => Vec::new(),
        };
        let nothing = Vec::new();
        let used = self.used.get(&client).unwrap_or(&nothing);
        let partition = &self.partition;
        if let Some(item) = used.iter().find(|item| !share.contains(item)) {
            let saw = format!("{client} uses {item} of {partition}, which is not in its share");
            return Some(Saw::from(saw).about(Arc::clone(item)));
        }
        let is_own = |item: &&Arc<str>| self.first(view, item) == Some(*session);
        if let Some(item) = items.iter().filter(|item| !share.contains(item)).find(is_own) {
            let saw = format!(
                "{client} has the lock of {item} of {partition}, which is not in its share"
            );
            return Some(Saw::from(saw).about(Arc::clone(item)));
        }
        let is_owed = |item: &&Arc<str>| {
            let first = self.first(view, item);
            !used.contains(item) && first.is_none_or(|first| first == *session)
        };
        let item = share.iter().find(is_owed)?;
        let saw = format!("{client} does not use {item} of {partition}, which is in its share");
        Some(Saw::from(saw).about(Arc::clone(item)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::one_user::tests::seen;
    use super::*;
    use crate::contention::properties::scene::*;
    use crate::obligations::AtRest;
    use vivarium_model::id::Xid;
    use vivarium_model::observation::Observed;
    use vivarium_model::tree::EphemeralType;
    use vivarium_model::zxid::Zxid;

    /// Returns a scene with a set of two items and this number of members; the first is client 1.
    fn scene(members: u8) -> Scene<AtRest<Shares>> {
        let mut scene = Scene::new(AtRest::new(Shares::new(LOCK)));
        for (at, directory) in ["members", "locks", "locks/a", "locks/b"].iter().enumerate() {
            let path = path(&format!("{LOCK}/{directory}"));
            let cversion = at as i32 + 1;
            scene.commit(S1, 3, TxnBody::create(path, [], EphemeralType::Void, cversion));
        }
        let items = TxnBody::create(path(&set_of(LOCK)), *b"a\nb", EphemeralType::Void, 5);
        scene.commit(S1, 3, items);
        for (member, session) in (1..=members).zip([S1, S2]) {
            let path = format!("{LOCK}/members/{member}");
            let token = scene.create(session, 4, &path);
            joins(&mut scene, member, session, &path, token);
        }
        scene
    }

    fn joins(
        scene: &mut Scene<AtRest<Shares>>,
        client: u8,
        session: SessionId,
        member: &str,
        token: Zxid,
    ) {
        let (group, member) = (members(LOCK).into(), member.into());
        let joined = MembershipSeen::Joined { group, member, token, session };
        let observation = Observed::new(joined);
        let (client, session, next_xid) = (ClientId(client.into()), Some(session), Xid(5));
        scene.event(Event::Observed { client, session, next_xid, observation });
    }

    fn uses(scene: &mut Scene<AtRest<Shares>>, client: u8, items: &[&str]) -> Option<String> {
        let items = items.iter().copied().map(Arc::from).collect();
        let session = if client == 1 { S1 } else { S2 };
        seen(scene, client, session, PartitionSeen::Uses { partition: LOCK.into(), items });
        scene.at_rest()
    }

    #[test]
    fn one_member_owes_all_and_two_a_part_each() {
        let mut one = scene(1);
        assert!(one.at_rest().is_some());
        assert!(uses(&mut one, 1, &["a"]).is_some_and(|saw| saw.contains("does not use b")));
        assert_eq!(uses(&mut one, 1, &["a", "b"]), None);
        seen(&mut one, 1, S1, PartitionSeen::Stops { partition: LOCK.into() });
        assert!(one.at_rest().is_some());
        let mut two = scene(2);
        uses(&mut two, 1, &["a"]);
        assert_eq!(uses(&mut two, 2, &["b"]), None);
        insta::assert_snapshot!(uses(&mut two, 2, &["a", "b"]).unwrap_or_default(), @"partitioner PT2 shares at rest: client 2 uses a of /lock, which is not in its share, and nothing else can happen");
    }

    #[test]
    fn what_another_session_has_is_not_owed() {
        let mut scene = scene(1);
        let contender = |id: &str, at: i32| format!("{LOCK}/locks/b/{id}-lock-{at:010}");
        uses(&mut scene, 1, &["a"]);
        scene.create(S2, 6, &contender("x", 0));
        assert_eq!(scene.at_rest(), None);
        scene.create(S1, 6, &contender("y", 1));
        assert_eq!(scene.at_rest(), None);
        scene.delete(S2, 7, &contender("x", 0));
        assert!(scene.at_rest().is_some());
    }

    #[test]
    fn whose_session_is_over_owes_nothing() {
        let mut scene = scene(1);
        scene.close(S1);
        assert_eq!(scene.at_rest(), None);
    }

    #[test]
    fn a_lock_that_is_kept_is_refused_also_of_who_has_left() {
        let mut scene = scene(2);
        uses(&mut scene, 1, &["a"]);
        uses(&mut scene, 2, &["b"]);
        let kept = format!("{LOCK}/locks/b/x-lock-0000000000");
        scene.create(S1, 6, &kept);
        assert!(scene.at_rest().is_some_and(|saw| saw.contains("has the lock of b")));
        let left = MembershipSeen::Leaving {
            group: members(LOCK).into(),
            member: format!("{LOCK}/members/1").into(),
            token: Zxid(9),
        };
        seen(&mut scene, 1, S1, PartitionSeen::Stops { partition: LOCK.into() });
        let (client, session, next_xid) = (ClientId(1), Some(S1), Xid(7));
        let observation = Observed::new(left);
        scene.event(Event::Observed { client, session, next_xid, observation });
        scene.delete(S1, 7, &format!("{LOCK}/members/1"));
        uses(&mut scene, 2, &["a", "b"]);
        assert!(scene.at_rest().is_some_and(|saw| saw.contains("has the lock of b")));
        scene.delete(S1, 8, &kept);
        assert_eq!(scene.at_rest(), None);
    }
}
