//! GM4, exactness: a client that believes to be a member has its znode, and no client without that belief has one.
//!
//! A belief begins after the create and ends before the delete, and a client learns only some time later that another
//! client has deleted its znode. So belief and znode may differ while the member's client is disconnected or paused,
//! and for a bound after that; at rest they may not differ. A znode of a session without a running program is deleted
//! with that session.

use super::{children, is_change};
use crate::membership::MembershipSeen;
use crate::obligations::Owed;
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::minds;
use vivarium_model::op::SessionState;
use vivarium_model::property::{Minds, Saw, View};
use vivarium_model::txn::TxnBody;
use vivarium_model::zxid::Zxid;

/// The belief of each client, and the session by which it is connected. See the module.
#[derive(Clone, Debug, Hash)]
pub struct Exact {
    group: Arc<str>,
    members: BTreeMap<ClientId, (Arc<str>, Zxid)>,
    sessions: BTreeMap<ClientId, SessionId>,
}

impl Exact {
    pub(super) fn new(directory: &str) -> Exact {
        let (members, sessions) = (BTreeMap::new(), BTreeMap::new());
        Exact { group: directory.into(), members, sessions }
    }
}

impl Owed for Exact {
    const NAMES: [&'static str; 2] =
        ["group membership GM4 exact", "group membership GM4 exact at rest"];

    const MINDS: Minds<Self> = minds! { |this, view, event|
        Event::Session { client, session: Some(session), state: SessionState::SyncConnected, .. } => {
            this.sessions.insert(*client, *session);
        },
        Event::Killed { client } | Event::Finished { client, .. } | Event::Panicked { client, .. } => {
            this.members.remove(client);
            this.sessions.remove(client);
        },
        Observed(client, MembershipSeen::Joined { group, member, token, .. }) if *group == this.group => {
            this.members.insert(client, (Arc::clone(member), *token));
        },
        Observed(client, MembershipSeen::Leaving { group, .. }) if *group == this.group => {
            this.members.remove(&client);
        },
    };

    fn is_changed_by(&self, body: &TxnBody) -> bool {
        is_change(&self.group, body)
    }

    fn clients(&self) -> Vec<ClientId> {
        self.sessions.keys().copied().collect()
    }

    fn owes(&self, view: View<'_>, client: ClientId) -> Option<Saw> {
        let session = *self.sessions.get(&client)?;
        let tree = view.history.tree();
        if !tree.sessions().contains_key(&session) {
            // The session is over, and its client does not know yet.
            return None;
        }
        let belief = self.members.get(&client);
        if let Some((member, token)) = belief
            && tree.node(member).is_none_or(|node| node.czxid != *token)
        {
            let saw = format!(
                "{client} believes that it is a member by {member} (czxid {token}), which does not stand"
            );
            return Some(Saw::from(saw).about(Arc::clone(member)).about(*token));
        }
        let own = children(view, &self.group).into_iter().find_map(|name| {
            let path = format!("{}/{name}", self.group);
            let node = tree.node(&path)?;
            let is_believed =
                belief.is_some_and(|(member, token)| **member == *path && node.czxid == *token);
            let is_own = node.ephemeral_owner() == Some(session);
            (is_own && !is_believed).then_some((path, node.czxid))
        });
        let (path, czxid) = own?;
        let saw = format!(
            "{client} does not believe that it is a member by {path} (czxid {czxid}), although its \
             session owns this znode"
        );
        Some(Saw::from(saw).about(&*path).about(czxid))
    }
}
