//! Why a program that waits for a watch will not be woken, as far as the tree shows.

use crate::client::Awaited;
use crate::tree::DataTree;
use crate::vocabulary::id::SessionId;
use std::sync::Arc;

/// Explains why a session that waits for these watches will not be woken: the znode is its own, so no other client
/// will delete it (a self-wait), or the awaited change has already happened (a lost wake-up). Returns `None` if it
/// may still be woken, or waits for something else.
pub(super) fn reason<'a>(
    own: Option<SessionId>,
    awaited: impl Iterator<Item = (&'a Arc<str>, Awaited)>,
    tree: &DataTree,
) -> Option<String> {
    let mut reasons = Vec::new();
    for (path, awaits) in awaited {
        let znode = tree.node(path);
        let owner = znode.and_then(|znode| znode.ephemeral_owner());
        if own.is_some() && owner == own {
            reasons.push(format!("{path} is its own znode, so it waits for itself"));
        } else if awaits.its_creation && znode.is_some() {
            reasons.push(format!("{path} already exists, so the wake-up was lost"));
        } else if awaits.its_change && znode.is_none() {
            reasons.push(format!("{path} was already deleted, so the wake-up was lost"));
        }
    }
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::LiveOwners;
    use crate::property::testing::{Bodies, SESSION, Trial, z};

    const CREATION: Awaited = Awaited { its_creation: true, its_change: false };
    const CHANGE: Awaited = Awaited { its_creation: false, its_change: true };
    const EITHER: Awaited = Awaited { its_creation: false, its_change: false };

    /// Returns the reason for a session whose ephemeral is `/own`, in a tree that also has `/there`.
    fn told(session: SessionId, path: &str, awaits: Awaited) -> Option<String> {
        let mut trial = Trial::new(LiveOwners);
        trial.create_session(z(1, 1));
        let own = Bodies(&trial.history).create_as("/own", "", true);
        trial.commit(z(1, 2), 1, own);
        trial.create(z(1, 3), "/there", "");
        reason(Some(session), [(&Arc::from(path), awaits)].into_iter(), trial.history.tree())
    }

    #[test]
    fn its_own_znode() {
        let saw = told(SESSION, "/own", CHANGE);
        assert_eq!(saw.as_deref(), Some("/own is its own znode, so it waits for itself"));
        assert_eq!(told(SessionId(0x77), "/own", CHANGE), None);
    }

    #[test]
    fn a_change_that_has_happened_already() {
        let saw = told(SESSION, "/there", CREATION);
        assert_eq!(saw.as_deref(), Some("/there already exists, so the wake-up was lost"));
        let saw = told(SESSION, "/gone", CHANGE);
        assert_eq!(saw.as_deref(), Some("/gone was already deleted, so the wake-up was lost"));
    }

    #[test]
    fn a_change_that_may_still_happen() {
        assert_eq!(told(SESSION, "/there", CHANGE), None);
        assert_eq!(told(SESSION, "/gone", CREATION), None);
        assert_eq!(told(SESSION, "/there", EITHER), None);
    }
}
