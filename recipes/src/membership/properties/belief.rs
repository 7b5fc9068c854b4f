//! GM1 and GM2: the belief of a member, compared with its session.
//!
//! GM1: a client joins by a znode that its own session has created. A znode that another session has created is
//! deleted with that session, whatever the client believes.
//!
//! GM2: a belief ends with its session. A client begins a new session only when its program can know that the last
//! one is over; a belief of the last session that remains then violates GM2.

use super::changes;
use crate::membership::MembershipSeen;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::minds;
use vivarium_model::op::SessionState;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection};
use vivarium_model::txn::Txn;
use vivarium_model::zxid::Zxid;

/// GM1. See the module.
#[derive(Clone, Debug, Hash)]
pub struct OwnNode {
    group: Arc<str>,
    /// The members' znodes, by czxid and creating session.
    created: BTreeSet<(Zxid, SessionId, Arc<str>)>,
}

impl OwnNode {
    /// Watches the group in this directory.
    pub fn new(directory: &str) -> OwnNode {
        OwnNode { group: directory.into(), created: BTreeSet::new() }
    }
}

impl Declared for OwnNode {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "group membership GM1 own znode",
        LooksBack::Tip,
        minds! { |this, view, event|
            Committed(txn) => this.committed(txn),
            #[needed]
            Observed(client, MembershipSeen::Joined { group, member, token, session })
                if *group == this.group =>
            {
                this.joined(client, member, *token, *session)
            },
        },
    );
}

impl OwnNode {
    fn committed(&mut self, txn: &Txn) {
        let (group, created) = (&self.group, &mut self.created);
        changes(group, &txn.body, &mut |path, is_there| {
            if is_there {
                created.insert((txn.zxid, txn.session, path.into()));
            }
        });
    }

    fn joined(
        &self,
        client: ClientId,
        member: &Arc<str>,
        token: Zxid,
        session: SessionId,
    ) -> Result<(), Objection> {
        if self.created.contains(&(token, session, Arc::clone(member))) {
            return Ok(());
        }
        let saw = format!(
            "{client} believes that it is a member by {member} (czxid {token}), which session {session} \
             did not create"
        );
        Err(self.objection(saw))
    }
}

/// GM2. See the module.
#[derive(Clone, Debug, Hash)]
pub struct Rejoined {
    group: Arc<str>,
    members: BTreeMap<ClientId, SessionId>,
}

impl Rejoined {
    /// Watches the group in this directory.
    pub fn new(directory: &str) -> Rejoined {
        Rejoined { group: directory.into(), members: BTreeMap::new() }
    }
}

impl Declared for Rejoined {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "group membership GM2 rejoined",
        LooksBack::Nothing,
        minds! { |this, view, event|
            #[unordered]
            Event::Session { client, session: Some(session), state: SessionState::SyncConnected, .. } => {
                this.connected(*client, *session)
            },
            #[unordered]
            Event::Killed { client } | Event::Finished { client, .. } | Event::Panicked { client, .. } => {
                this.members.remove(client);
            },
            #[needed]
            #[unordered]
            Observed(client, MembershipSeen::Joined { group, session, .. }) if *group == this.group => {
                this.members.insert(client, *session);
            },
            #[unordered]
            Observed(client, MembershipSeen::Leaving { group, .. }) if *group == this.group => {
                this.members.remove(&client);
            },
        },
    );
}

impl Rejoined {
    fn connected(&self, client: ClientId, session: SessionId) -> Result<(), Objection> {
        match self.members.get(&client).filter(|belief| **belief != session) {
            None => Ok(()),
            Some(belief) => {
                let saw = format!(
                    "{client} is connected by session {session} and still believes that it is a \
                     member by session {belief}"
                );
                Err(self.objection(saw).about(*belief))
            }
        }
    }
}
