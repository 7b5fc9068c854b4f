//! GM3 and GM5: views.
//!
//! GM3: every view is what the children were at some zxid, however long ago. So nobody is in one who was not
//! there.
//!
//! GM5: a view comes to be what is there, when neither that nor the connection changes any more: within a
//! bound; at rest. It is asked of whoever looks, until it looks away.

use super::{children, is_change};
use crate::calm::Owed;
use crate::membership::MembershipSeen;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::property::{Asked, LooksBack, Monitor, Objection, View};
use vivarium_model::txn::TxnBody;

/// GM3. See the module.
#[derive(Clone, Debug, Hash)]
pub struct RealViews {
    group: Arc<str>,
    /// What the children were.
    were: BTreeSet<Vec<Arc<str>>>,
}

impl RealViews {
    /// Watches the group in this directory, in which nobody is at first.
    pub fn new(directory: &str) -> RealViews {
        RealViews { group: directory.into(), were: BTreeSet::from([Vec::new()]) }
    }
}

impl Monitor for RealViews {
    fn name(&self) -> &'static str {
        "group membership GM3 real views"
    }

    fn asked(&self) -> Asked {
        Asked::Everywhere
    }

    fn looks_back(&self) -> LooksBack {
        LooksBack::Tip
    }

    fn looks_for(&self) -> Vec<Arc<str>> {
        vec![Arc::from("view")]
    }

    fn concerns(&self, event: &Event) -> bool {
        matches!(event, Event::Committed { .. })
            || matches!(event.observed(), Some((_, MembershipSeen::View { .. })))
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        if let Event::Committed { txn, .. } = event
            && view.history.is_new(txn)
            && is_change(&self.group, &txn.body)
        {
            self.were.insert(children(view, &self.group));
        }
        match event.observed() {
            Some((client, MembershipSeen::View { group, members }))
                if *group == self.group && !self.were.contains(members) =>
            {
                let members = members.join(", ");
                let saw = format!(
                    "{client} takes [{members}] for the members of {group}, which they were at no time"
                );
                Err(Objection::new(self.name(), saw))
            }
            _ => Ok(()),
        }
    }
}

/// GM5: who looks, and what it sees. See the module.
#[derive(Clone, Debug, Hash)]
pub struct Converged {
    group: Arc<str>,
    /// By the session that it looks by.
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

    fn concerns(event: &Event) -> bool {
        match event {
            Event::Killed { .. } | Event::Finished { .. } | Event::Panicked { .. } => true,
            _ => matches!(
                event.observed(),
                Some((_, MembershipSeen::View { .. } | MembershipSeen::LooksAway { .. }))
            ),
        }
    }

    fn event(&mut self, event: &Event) {
        match event {
            Event::Killed { client }
            | Event::Finished { client, .. }
            | Event::Panicked { client, .. } => drop(self.views.remove(client)),
            Event::Observed { client, session, observation, .. } => match observation.read() {
                Some(MembershipSeen::View { group, members }) if *group == self.group => {
                    self.views.insert(*client, (*session, members.clone()));
                }
                Some(MembershipSeen::LooksAway { group }) if *group == self.group => {
                    self.views.remove(client);
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn is_changed_by(&self, body: &TxnBody) -> bool {
        is_change(&self.group, body)
    }

    fn clients(&self) -> Vec<ClientId> {
        self.views.keys().copied().collect()
    }

    fn owes(&self, view: View<'_>, client: ClientId) -> Option<String> {
        let (session, seen) = self.views.get(&client)?;
        // One that has ended is looked by no more, as soon as that is known.
        let is_open = |session: &SessionId| view.history.tree().sessions().contains_key(session);
        let is = children(view, &self.group);
        if *seen == is || !session.is_some_and(|session| is_open(&session)) {
            return None;
        }
        let [seen, is] = [seen, &is].map(|members| members.join(", "));
        Some(format!("{client} takes [{seen}] for the members of {}, which are [{is}]", self.group))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::properties::scene::{LOCK, S1, S2, Scene};
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
        // However long ago.
        for was in [&[][..], &["a"], &["a", "b"], &["b"]] {
            assert_eq!(looks(was), None);
        }
        assert!(looks(&["b", "c"]).is_some_and(|saw| saw.contains("at no time")));
    }
}
