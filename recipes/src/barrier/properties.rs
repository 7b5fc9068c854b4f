//! What a barrier promises, as a monitor.
//!
//! B1: whoever passes a barrier of which it knew that it was up passes it when that was over. What a program
//! knows is what it was shown ([`BarrierSeen::Found`]) and what somebody told it beside ZooKeeper
//! ([`BarrierSeen::Told`]): the transaction that raised it. A wait is justified by a moment of the committed
//! history behind that transaction at which the znode was absent. There is none exactly if the znode stands
//! and was created by that transaction or an earlier one; so the monitor looks at nothing but the tree of the
//! moment. A barrier that was lowered and raised again in between may be passed.

use super::BarrierSeen;
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::ClientId;
use vivarium_model::path;
use vivarium_model::property::{Asked, LooksBack, Monitor, Objection, View};
use vivarium_model::zxid::Zxid;

/// All monitors of the barriers in `directory`: the znodes right below it.
pub fn monitors(directory: &str) -> Vec<Box<dyn Monitor>> {
    vec![Box::new(Witness::new(directory))]
}

/// B1. See the module.
#[derive(Clone, Debug, Hash)]
pub struct Witness {
    directory: Arc<str>,
    /// What each program knows of each barrier that it has not passed yet: the last transaction that raised it.
    known: BTreeMap<(ClientId, Arc<str>), Zxid>,
}

impl Witness {
    /// Watches the barriers right below this directory.
    pub fn new(directory: &str) -> Witness {
        Witness { directory: directory.into(), known: BTreeMap::new() }
    }

    fn learns(&mut self, client: ClientId, node: &Arc<str>, raised: Zxid) {
        let known = self.known.entry((client, Arc::clone(node))).or_insert(raised);
        *known = raised.max(*known);
    }

    fn passes(
        &mut self,
        view: View<'_>,
        client: ClientId,
        node: &Arc<str>,
    ) -> Result<(), Objection> {
        let Some(known) = self.known.remove(&(client, Arc::clone(node))) else { return Ok(()) };
        match view.history.tree().node(node) {
            Some(stands) if stands.czxid <= known => {
                let saw = format!(
                    "{client} passes {node}, of which it knows that {known} raised it, and which has stood \
                     in the committed history ever since"
                );
                Err(Objection::new(self.name(), saw))
            }
            _ => Ok(()),
        }
    }
}

impl Monitor for Witness {
    fn name(&self) -> &'static str {
        "barrier B1 witness"
    }

    fn asked(&self) -> Asked {
        Asked::Everywhere
    }

    fn looks_back(&self) -> LooksBack {
        LooksBack::Tip
    }

    fn looks_for(&self) -> Vec<Arc<str>> {
        vec![Arc::from("passed")]
    }

    fn concerns(&self, event: &Event) -> bool {
        match event {
            Event::Observed { observation, .. } => observation.read::<BarrierSeen>().is_some(),
            Event::Killed { .. } | Event::Started { .. } => true,
            _ => false,
        }
    }

    /// A client's account is its own; only who passes is measured against what others did.
    fn minds_order(&self, event: &Event) -> bool {
        matches!(event.observed(), Some((_, BarrierSeen::Passed { .. })))
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        match event {
            Event::Killed { client } | Event::Started { client } => {
                self.known.retain(|(knows, _), _| knows != client);
                return Ok(());
            }
            _ => {}
        }
        let Some((client, seen)) = event.observed() else { return Ok(()) };
        let node = match seen {
            BarrierSeen::Told { node, .. }
            | BarrierSeen::Found { node, .. }
            | BarrierSeen::Passed { node } => node,
        };
        if path::parent(node) != Some(&*self.directory) {
            return Ok(());
        }
        match seen {
            BarrierSeen::Told { raised, .. } | BarrierSeen::Found { raised, .. } => {
                self.learns(client, node, *raised);
                Ok(())
            }
            BarrierSeen::Passed { .. } => self.passes(view, client, node),
        }
    }
}
