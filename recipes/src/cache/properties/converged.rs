//! CA1: the copy becomes equal to the tree, once neither the tree nor the connection changes any more. This is
//! checked for every cache until the cache ends.

use super::is_change;
use super::replay::Replays;
use crate::obligations::Owed;
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::id::ClientId;
use vivarium_model::minds;
use vivarium_model::property::{Minds, Saw, View};
use vivarium_model::txn::TxnBody;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct Converged(Replays);

impl Converged {
    pub(super) fn new(root: &str) -> Converged {
        Converged(Replays::new(root))
    }
}

impl Owed for Converged {
    const NAMES: [&'static str; 2] = ["cache CA1 convergence", "cache CA1 convergence at rest"];

    const MINDS: Minds<Self> = minds! { |this, view, event|
        // CA2 checks whether the event fits; its result is ignored here.
        let Some(of) = Replays::read(event) => drop(this.0.take(&of)),
    };

    fn is_changed_by(&self, body: &TxnBody) -> bool {
        is_change(&self.0.root, body)
    }

    fn clients(&self) -> Vec<ClientId> {
        self.0.caches.keys().copied().collect()
    }

    fn owes(&self, view: View<'_>, client: ClientId) -> Option<Saw> {
        let cache = self.0.caches.get(&client)?;
        let root = &self.0.root;
        let there = view.history.tree().nodes();
        let held = there.filter(|(path, _)| cache.extent.holds(root, path.as_str()));
        let mut is: BTreeMap<&str, _> = held.map(|(path, node)| (path.as_str(), node)).collect();
        for (path, copy) in &cache.content {
            let same = is.remove(&**path).is_some_and(|node| {
                node.czxid == copy.czxid && node.mzxid == copy.mzxid && node.data == copy.data
            });
            if !same {
                let node = view.history.tree().node(path);
                let is = node.map_or("gone".to_string(), |node| format!("of {}", node.mzxid));
                let had = copy.mzxid;
                let saw =
                    format!("{client} has {path} as of {had} in its copy, but the znode is {is}");
                let saw = Saw::from(saw).about(Arc::clone(path)).about(had);
                return Some(node.into_iter().fold(saw, |saw, node| saw.about(node.mzxid)));
            }
        }
        let (path, node) = is.into_iter().next()?;
        let mzxid = node.mzxid;
        let saw = format!("{client} has no {path} in its copy, but the znode exists as of {mzxid}");
        Some(Saw::from(saw).about(path).about(mzxid))
    }
}
