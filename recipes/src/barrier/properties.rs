//! The property of a barrier, as a monitor.
//!
//! B1: a program that knows that a barrier was raised passes it only after it was lowered. A program knows the
//! transaction that raised the barrier from its own reads ([`BarrierSeen::Found`]) or from a message outside of
//! ZooKeeper ([`BarrierSeen::Told`]). A wait is justified if the znode was absent at some moment of the committed
//! history after that transaction. There is no such moment exactly if the znode exists and was created by that
//! transaction or an earlier one; so the monitor needs only the current tree. A barrier that was lowered and raised
//! again in between may be passed.

use super::BarrierSeen;
use crate::herd::Herd;
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::ClientId;
use vivarium_model::minds;
use vivarium_model::path;
use vivarium_model::property::{Declaration, Declared, LooksBack, Monitor, Objection, View};
use vivarium_model::zxid::Zxid;

/// Returns all monitors of the barriers in `directory`: its children.
pub fn monitors(directory: &str) -> Vec<Box<dyn Monitor>> {
    vec![Box::new(Witness::new(directory)), Box::new(Herd::unbounded(directory))]
}

/// B1. See the module.
#[derive(Clone, Debug, Hash)]
pub struct Witness {
    directory: Arc<str>,
    /// For each program and barrier that it has not passed yet, the last transaction known to it that raised the
    /// barrier.
    known: BTreeMap<(ClientId, Arc<str>), Zxid>,
}

impl Witness {
    /// Watches the barriers that are children of this directory.
    pub fn new(directory: &str) -> Witness {
        Witness { directory: directory.into(), known: BTreeMap::new() }
    }

    fn is_ours(&self, node: &str) -> bool {
        path::parent(node) == Some(&*self.directory)
    }

    fn learns(&mut self, client: ClientId, node: &Arc<str>, raised: Zxid) {
        if !self.is_ours(node) {
            return;
        }
        let known = self.known.entry((client, Arc::clone(node))).or_insert(raised);
        *known = raised.max(*known);
    }

    fn passes(
        &mut self,
        view: View<'_>,
        client: ClientId,
        node: &Arc<str>,
    ) -> Result<(), Objection> {
        if !self.is_ours(node) {
            return Ok(());
        }
        let Some(known) = self.known.remove(&(client, Arc::clone(node))) else { return Ok(()) };
        match view.history.tree().node(node) {
            Some(stands) if stands.czxid <= known => {
                let saw = format!(
                    "{client} passes {node}, although it knows that {known} raised it and the znode has \
                     existed in the committed history ever since"
                );
                Err(self.objection(saw).about(known))
            }
            _ => Ok(()),
        }
    }
}

impl Declared for Witness {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "barrier B1 witness",
        LooksBack::Tip,
        minds! { |this, view, event|
            #[unordered]
            Event::Killed { client } | Event::Started { client } => this.known.retain(|(knows, _), _| knows != client),
            #[unordered]
            Observed(client, BarrierSeen::Told { node, raised } | BarrierSeen::Found { node, raised }) => {
                this.learns(client, node, *raised);
            },
            #[needed]
            Observed(client, BarrierSeen::Passed { node }) => this.passes(view, client, node),
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use vivarium_model::history::History;
    use vivarium_model::id::{ServerId, SessionId, Xid};
    use vivarium_model::observation::Observed;
    use vivarium_model::path::ZnodePath;
    use vivarium_model::property::Monitors;
    use vivarium_model::time::Time;
    use vivarium_model::tree::EphemeralType;
    use vivarium_model::txn::{Txn, TxnBody};
    use vivarium_model::zxid::Epoch;

    const NODE: &str = "/barriers/one";

    /// The monitor and the run that it watches.
    struct Scene {
        monitor: Witness,
        history: History,
        objection: Option<String>,
    }

    impl Scene {
        /// Returns a scene in which a barrier is raised.
        fn new() -> (Scene, Zxid) {
            let (monitor, history) = (Witness::new("/barriers"), History::new());
            let mut scene = Scene { monitor, history, objection: None };
            scene.create("/barriers");
            let raised = scene.create(NODE);
            (scene, raised)
        }

        fn commit(&mut self, body: TxnBody) -> Zxid {
            let zxid = Zxid(self.history.last().0.max(Epoch(1).opening().0) + 1);
            let (session, cxid) = (SessionId(1), Xid(1));
            let txn = Arc::new(Txn { zxid, session, cxid, time: 0, body });
            self.history.commit(Arc::clone(&txn));
            self.tell(&Event::Committed { leader: ServerId(1), txn });
            zxid
        }

        fn create(&mut self, path: &str) -> Zxid {
            let path = ZnodePath::new(path).expect("a path in a test is valid");
            self.commit(TxnBody::create(path, [], EphemeralType::Void, 1))
        }

        fn lower(&mut self) {
            let path = ZnodePath::new(NODE).expect("a path in a test is valid");
            self.commit(TxnBody::Delete { path });
        }

        fn says(&mut self, observation: BarrierSeen) {
            self.tell(&Event::Observed {
                client: ClientId(2),
                session: Some(SessionId(2)),
                next_xid: Xid(1),
                observation: Observed::new(observation),
            });
        }

        fn passes(mut self) -> Option<String> {
            self.says(BarrierSeen::Passed { node: NODE.into() });
            self.objection
        }

        fn tell(&mut self, event: &Event) {
            let view = View::new(Time::ZERO, &self.history).within(self.monitor.looks_back());
            if self.monitor.concerns(event) {
                let told = self.monitor.event(view, event).map_err(|it| it.to_string());
                self.objection = self.objection.take().or(told.err());
            }
        }
    }

    #[test]
    fn a_search_for_the_barrier_need_not_tell_pasts_apart() {
        assert_eq!(Monitors::new(monitors("/barriers")).look_back(), LooksBack::Tip);
    }

    #[test]
    fn one_that_knows_of_the_barrier_and_passes_it_is_refused() {
        let (mut scene, raised) = Scene::new();
        scene.says(BarrierSeen::Told { node: NODE.into(), raised });
        insta::assert_snapshot!(scene.passes().unwrap_or_default(), @"barrier B1 witness: client 2 passes /barriers/one, although it knows that 1:2 raised it and the znode has existed in the committed history ever since");
        let (mut scene, raised) = Scene::new();
        scene.says(BarrierSeen::Found { node: NODE.into(), raised });
        assert!(scene.passes().is_some());
    }

    #[test]
    fn one_that_does_not_know_may_pass_and_so_may_one_behind_the_deletion() {
        let (scene, _) = Scene::new();
        assert_eq!(scene.passes(), None);

        let (mut scene, raised) = Scene::new();
        scene.says(BarrierSeen::Told { node: NODE.into(), raised });
        scene.lower();
        // Raised again: it was absent in between.
        scene.create(NODE);
        assert_eq!(scene.passes(), None);
    }

    #[test]
    fn a_process_that_is_started_anew_knows_nothing() {
        let (mut scene, raised) = Scene::new();
        scene.says(BarrierSeen::Told { node: NODE.into(), raised });
        scene.tell(&Event::Killed { client: ClientId(2) });
        assert_eq!(scene.passes(), None);
    }
}
