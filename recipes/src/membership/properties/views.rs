//! GM3 and GM5: views.
//!
//! GM3: every view was the list of children at some zxid, however long ago. So a view contains no client that was not
//! a member.
//!
//! GM5: a view becomes equal to the present children, once neither the children nor the connection changes any more:
//! within a bound; at rest. This is checked for each client that looks at the group, until it looks away.

use super::{children, is_change};
use crate::membership::MembershipSeen;
use crate::obligations::Owed;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack, Minds, Saw, View};
use vivarium_model::txn::TxnBody;

/// GM3. See the module.
#[derive(Clone, Debug, Hash)]
pub struct RealViews {
    group: Arc<str>,
    /// All lists of children that have existed.
    were: BTreeSet<Vec<Arc<str>>>,
}

impl RealViews {
    /// Watches the group in this directory, which has no members at first.
    pub fn new(directory: &str) -> RealViews {
        RealViews { group: directory.into(), were: BTreeSet::from([Vec::new()]) }
    }
}

impl Declared for RealViews {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "group membership GM3 real views",
        LooksBack::Tip,
        minds! { |this, view, event|
            Committed(txn) if is_change(&this.group, &txn.body) => {
                this.were.insert(children(view, &this.group));
            },
            #[needed]
            Observed(client, MembershipSeen::View { group, members }) => {
                match *group == this.group && !this.were.contains(members) {
                    true => Err(this.objection(format!(
                        "{client} takes [{}] for the members of {group}, but the group never had these members",
                        members.join(", ")
                    ))),
                    false => Ok(()),
                }
            },
        },
    );
}

/// GM5: the view of each client that looks at the group. See the module.
#[derive(Clone, Debug, Hash)]
pub struct Converged {
    group: Arc<str>,
    /// For each client, the session in which it looks at the group, and its view.
    views: BTreeMap<ClientId, (Option<SessionId>, Vec<Arc<str>>)>,
}

impl Converged {
    pub(super) fn new(directory: &str) -> Converged {
        Converged { group: directory.into(), views: BTreeMap::new() }
    }
}

impl Owed for Converged {
    const NAMES: [&'static str; 2] =
        ["group membership GM5 views converge", "group membership GM5 views converge at rest"];

    const MINDS: Minds<Self> = minds! { |this, view, event|
        Event::Killed { client } | Event::Finished { client, .. } | Event::Panicked { client, .. } => {
            this.views.remove(client);
        },
        Observed(client in session, MembershipSeen::View { group, members }) if *group == this.group => {
            this.views.insert(client, (session, members.clone()));
        },
        Observed(client, MembershipSeen::LooksAway { group }) if *group == this.group => {
            this.views.remove(&client);
        },
    };

    fn is_changed_by(&self, body: &TxnBody) -> bool {
        is_change(&self.group, body)
    }

    fn clients(&self) -> Vec<ClientId> {
        self.views.keys().copied().collect()
    }

    fn owes(&self, view: View<'_>, client: ClientId) -> Option<Saw> {
        let (session, seen) = self.views.get(&client)?;
        // A client does not look by a session that has ended, as soon as it knows the end.
        let is_open = |session: &SessionId| view.history.tree().sessions().contains_key(session);
        let is = children(view, &self.group);
        if *seen == is || !session.is_some_and(|session| is_open(&session)) {
            return None;
        }
        let [seen, is] = [seen, &is].map(|members| members.join(", "));
        let group = &self.group;
        Some(
            format!(
                "{client} takes [{seen}] for the members of {group}, but the members are [{is}]"
            )
            .into(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contention::properties::scene::{LOCK, S1, S2, Scene};
    use vivarium_model::id::Xid;
    use vivarium_model::observation::Observed;

    #[test]
    fn a_view_that_never_was_is_refused() {
        let looks = |members: &[&str]| {
            let mut scene = Scene::new(RealViews::new(LOCK));
            scene.create(S1, 2, "/lock/a");
            scene.create(S2, 2, "/lock/b");
            scene.close(S1);
            let members = members.iter().copied().map(Arc::from).collect();
            let observation = Observed::new(MembershipSeen::View { group: LOCK.into(), members });
            let (client, session, next_xid) = (ClientId(2), Some(S2), Xid(3));
            scene.event(Event::Observed { client, session, next_xid, observation });
            scene.end()
        };
        // Lists of every age are allowed.
        for was in [&[][..], &["a"], &["a", "b"], &["b"]] {
            assert_eq!(looks(was), None);
        }
        assert!(looks(&["b", "c"]).is_some_and(|saw| saw.contains("never had these members")));
    }
}
