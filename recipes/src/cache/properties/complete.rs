//! CA4: a synchronisation is reported as complete once, and only when the copy is complete.
//!
//! At that moment, each znode in the copy is as it was at some moment since the synchronisation began, and each znode
//! that is missing was absent at some such moment. [`Initialized`] checks that a cache becomes complete: within a
//! time, and at rest.

use super::changes;
use super::replay::{OfCache, Replay, Replays};
use crate::cache::{CacheEvent, CacheSeen};
use crate::obligations::Owed;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vivarium_model::id::ClientId;
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack, Minds, Objection, Saw, View};
use vivarium_model::txn::TxnBody;
use vivarium_model::zxid::Zxid;

/// A znode's czxid and mzxid; `None` if the znode is absent.
type State = Option<(Zxid, Zxid)>;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct Complete {
    replays: Replays,
    /// For each synchronisation in progress: all states since its beginning of each path that existed at any time.
    /// All other paths were absent throughout.
    open: BTreeMap<ClientId, BTreeMap<Arc<str>, BTreeSet<State>>>,
}

impl Complete {
    /// Watches caches of this znode.
    pub fn new(root: &str) -> Complete {
        Complete { replays: Replays::new(root), open: BTreeMap::new() }
    }

    fn committed(&mut self, view: View<'_>, body: &TxnBody) {
        let Complete { replays, open } = self;
        changes(&replays.root, body, &mut |path| {
            let node = view.history.tree().node(path);
            let state = node.map(|node| (node.czxid, node.mzxid));
            for states in open.values_mut() {
                let absent = || BTreeSet::from([None]);
                states.entry(path.into()).or_insert_with(absent).insert(state);
            }
        });
    }

    fn begun(&mut self, view: View<'_>, client: ClientId) {
        let Some(cache) = self.replays.caches.get(&client) else { return };
        let there = view.history.tree().nodes();
        let held = there.filter(|(path, _)| cache.extent.holds(&self.replays.root, path.as_str()));
        let states = held
            .map(|(path, node)| {
                (Arc::from(path.as_str()), BTreeSet::from([Some((node.czxid, node.mzxid))]))
            })
            .collect();
        self.open.insert(client, states);
    }

    /// Says why the content is not complete.
    fn missing(&self, client: ClientId, cache: &Replay) -> Option<Saw> {
        let root = &self.replays.root;
        let Some(states) = self.open.get(&client) else {
            return Some(
                format!("{client} is notified twice that its copy of {root} is complete").into(),
            );
        };
        let held = states.keys().filter(|path| cache.extent.holds(root, path));
        held.chain(cache.content.keys()).find_map(|path| {
            let copy = cache.content.get(path).map(|znode| (znode.czxid, znode.mzxid));
            let was = states.get(path).map_or(copy.is_none(), |states| states.contains(&copy));
            let what = match copy {
                Some((_, mzxid)) => format!("{path} as of {mzxid}"),
                None => format!("no {path}"),
            };
            let saw = || {
                let saw = Saw::from(format!(
                    "{client} has {what} in its complete copy of {root}, but this was true at no time \
                     since it began to copy"
                ));
                let saw = saw.about(Arc::clone(path));
                copy.into_iter().fold(saw, |saw, (_, mzxid)| saw.about(mzxid))
            };
            (!was).then(saw)
        })
    }
}

impl Declared for Complete {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "cache CA4 complete",
        LooksBack::Tip,
        minds! { |this, view, event|
            Committed(txn) => this.committed(view, &txn.body),
            let Some(of) = Replays::read(event) => this.replayed(&of),
            #[needed]
            Observed(client, CacheSeen::Begun { root, .. }) if *root == this.replays.root => {
                this.begun(view, client);
            },
            #[needed]
            Observed(client, CacheSeen::Delivered { root, event }) => match event {
                CacheEvent::Initialized if *root == this.replays.root => this.initialized(client),
                _ => Ok(()),
            },
        },
    );
}

impl Complete {
    fn replayed(&mut self, of: &OfCache<'_>) {
        // CA2 checks whether the event fits; its result is ignored here.
        let _ = self.replays.take(of);
        let caches = &self.replays.caches;
        self.open.retain(|client, _| caches.contains_key(client));
    }

    fn initialized(&mut self, client: ClientId) -> Result<(), Objection> {
        let cache = self.replays.caches.get(&client);
        if let Some(saw) = cache.and_then(|cache| self.missing(client, cache)) {
            return Err(self.objection(saw));
        }
        self.open.remove(&client);
        Ok(())
    }
}

/// CA4: each copy becomes complete. See the module.
#[derive(Clone, Debug, Hash)]
pub struct Initialized(Replays);

impl Initialized {
    pub(super) fn new(root: &str) -> Initialized {
        Initialized(Replays::new(root))
    }
}

impl Owed for Initialized {
    const NAMES: [&'static str; 2] = ["cache CA4 initialized", "cache CA4 initialized at rest"];

    const MINDS: Minds<Self> = minds! { |this, view, event|
        // CA2 checks whether the event fits; its result is ignored here.
        let Some(of) = Replays::read(event) => drop(this.0.take(&of)),
    };

    fn is_changed_by(&self, body: &TxnBody) -> bool {
        super::is_change(&self.0.root, body)
    }

    fn clients(&self) -> Vec<ClientId> {
        self.0.caches.keys().copied().collect()
    }

    fn owes(&self, _view: View<'_>, client: ClientId) -> Option<Saw> {
        let cache = self.0.caches.get(&client)?;
        let root = &self.0.root;
        (!cache.is_initialized).then(|| {
            format!("{client} has not been notified that its copy of {root} is complete").into()
        })
    }
}
