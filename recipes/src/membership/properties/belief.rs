//! GM1 and GM2: what a member believes, held against its session.
//!
//! GM1: who joins does so by a znode that its own session has created. One that another session has created
//! goes with that one, whatever its new owner believes.
//!
//! GM2: a belief ends with its session. A client machine begins a new session only when its program could
//! know that the last one is over; a belief of the last one that is still there then is refused.

use super::changes;
use crate::membership::MembershipSeen;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::op::SessionState;
use vivarium_model::property::{Asked, LooksBack, Monitor, Objection, View};
use vivarium_model::zxid::Zxid;

/// GM1. See the module.
#[derive(Clone, Debug, Hash)]
pub struct OwnNode {
    group: Arc<str>,
    /// Which session has created what.
    created: BTreeSet<(Zxid, SessionId, Arc<str>)>,
}

impl OwnNode {
    /// Watches the group in this directory.
    pub fn new(directory: &str) -> OwnNode {
        OwnNode { group: directory.into(), created: BTreeSet::new() }
    }
}

impl Monitor for OwnNode {
    fn name(&self) -> &'static str {
        "group membership GM1 own znode"
    }

    fn asked(&self) -> Asked {
        Asked::Everywhere
    }

    fn looks_back(&self) -> LooksBack {
        LooksBack::Tip
    }

    fn looks_for(&self) -> Vec<Arc<str>> {
        vec![Arc::from("joined")]
    }

    fn concerns(&self, event: &Event) -> bool {
        matches!(event, Event::Committed { .. })
            || matches!(event.observed(), Some((_, MembershipSeen::Joined { .. })))
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        if let Event::Committed { txn, .. } = event
            && view.history.is_new(txn)
        {
            let (group, created) = (&self.group, &mut self.created);
            changes(group, &txn.body, &mut |path, is_there| {
                if is_there {
                    created.insert((txn.zxid, txn.session, path.into()));
                }
            });
        }
        let Some((client, MembershipSeen::Joined { group, member, token, session })) =
            event.observed()
        else {
            return Ok(());
        };
        let is_own = self.created.contains(&(*token, *session, Arc::clone(member)));
        if *group != self.group || is_own {
            return Ok(());
        }
        let saw = format!(
            "{client} believes to be a member by {member} (czxid {token}), which session {session} has not \
             created"
        );
        Err(Objection::new(self.name(), saw))
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

impl Monitor for Rejoined {
    fn name(&self) -> &'static str {
        "group membership GM2 rejoined"
    }

    fn asked(&self) -> Asked {
        Asked::Everywhere
    }

    fn looks_back(&self) -> LooksBack {
        LooksBack::Nothing
    }

    fn looks_for(&self) -> Vec<Arc<str>> {
        vec![Arc::from("joined")]
    }

    fn concerns(&self, event: &Event) -> bool {
        match event {
            Event::Session { state, .. } => *state == SessionState::SyncConnected,
            Event::Killed { .. } | Event::Finished { .. } | Event::Panicked { .. } => true,
            _ => matches!(
                event.observed(),
                Some((_, MembershipSeen::Joined { .. } | MembershipSeen::Leaving { .. }))
            ),
        }
    }

    /// Each client's own account.
    fn minds_order(&self, _event: &Event) -> bool {
        false
    }

    fn event(&mut self, _view: View<'_>, event: &Event) -> Result<(), Objection> {
        match event {
            Event::Session { client, session: Some(session), state, .. }
                if *state == SessionState::SyncConnected =>
            {
                let belief = self.members.get(client).filter(|belief| *belief != session);
                if let Some(belief) = belief {
                    let saw = format!(
                        "{client} is connected by session {session} and still believes that it is a \
                         member by session {belief}"
                    );
                    return Err(Objection::new(self.name(), saw));
                }
            }
            Event::Killed { client }
            | Event::Finished { client, .. }
            | Event::Panicked { client, .. } => drop(self.members.remove(client)),
            _ => match event.observed() {
                Some((client, MembershipSeen::Joined { group, session, .. }))
                    if *group == self.group =>
                {
                    self.members.insert(client, *session);
                }
                Some((client, MembershipSeen::Leaving { group, .. })) if *group == self.group => {
                    self.members.remove(&client);
                }
                _ => {}
            },
        }
        Ok(())
    }
}
