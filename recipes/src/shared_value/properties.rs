//! What a shared value promises, as monitors (recipe rule 2.15.5).
//!
//! | | property | class |
//! |---|---|---|
//! | SV1 | no write is made twice; who is told that it has written has, who is told that it has not never does | event |
//! | SV2 | a write over an expected value replaces that one | event |
//!
//! Beside these, what a cache of the znode promises ([`cache::properties`]).

use super::SharedValueSeen;
use crate::cache;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::op::Data;
use vivarium_model::property::{Asked, LooksBack, Monitor, Objection, View};
use vivarium_model::time::Duration;
use vivarium_model::txn::TxnBody;

/// All monitors of the shared value in this znode. `bound` is as for caches ([`cache::monitors`]).
pub fn monitors(path: &str, bound: Duration) -> Vec<Box<dyn Monitor>> {
    let own: [Box<dyn Monitor>; 2] =
        [Box::new(ToldTruly::new(path)), Box::new(OverExpected::new(path))];
    own.into_iter().chain(cache::monitors(path, bound)).collect()
}

/// Each write of the znode: the id in it, and the version that it leaves.
fn writes(znode: &str, body: &TxnBody, each: &mut impl FnMut(&str, i32)) {
    match body {
        TxnBody::SetData { path, data, version } if path.as_str() == znode => {
            if let Some(id) = id_of(data) {
                each(id, *version);
            }
        }
        TxnBody::Multi(parts) => parts.iter().for_each(|part| writes(znode, part, each)),
        _ => {}
    }
}

/// The id of the latest change: the first one in the last line.
fn id_of(data: &Data) -> Option<&str> {
    let start = data.iter().rposition(|byte| *byte == b'\n')? + 1;
    std::str::from_utf8(&data[start..]).ok()?.split_ascii_whitespace().next()
}

/// SV1. See the module.
#[derive(Clone, Debug, Hash)]
pub struct ToldTruly {
    path: Arc<str>,
    written: BTreeSet<Arc<str>>,
    refused: BTreeSet<Arc<str>>,
}

impl ToldTruly {
    /// Watches the shared value in this znode.
    pub fn new(path: &str) -> ToldTruly {
        ToldTruly { path: path.into(), written: BTreeSet::new(), refused: BTreeSet::new() }
    }

    fn committed(&mut self, body: &TxnBody) -> Result<(), Objection> {
        let ToldTruly { path, written, refused } = self;
        let mut wrong = None;
        writes(path, body, &mut |id, version| {
            if refused.contains(id) {
                wrong = Some(format!("{path} is written by {id}, which was told as refused"));
            } else if !written.insert(id.into()) {
                wrong = Some(format!("{path} is written once more by {id}, as version {version}"));
            }
        });
        wrong.map_or(Ok(()), |saw| Err(Objection::new(self.name(), saw)))
    }
}

impl Monitor for ToldTruly {
    fn name(&self) -> &'static str {
        "shared value SV1 told truly"
    }

    fn asked(&self) -> Asked {
        Asked::Everywhere
    }

    fn looks_back(&self) -> LooksBack {
        LooksBack::Tip
    }

    fn looks_for(&self) -> Vec<Arc<str>> {
        vec![Arc::from("writing")]
    }

    fn concerns(&self, event: &Event) -> bool {
        matches!(event, Event::Committed { .. })
            || matches!(
                event.observed(),
                Some((_, SharedValueSeen::Written { .. } | SharedValueSeen::Refused { .. }))
            )
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        if let Event::Committed { txn, .. } = event
            && view.history.is_new(txn)
        {
            return self.committed(&txn.body);
        }
        let (client, id, is_told) = match event.observed() {
            Some((client, SharedValueSeen::Written { path, id })) if *path == self.path => {
                (client, id, true)
            }
            Some((client, SharedValueSeen::Refused { path, id })) if *path == self.path => {
                self.refused.insert(Arc::clone(id));
                (client, id, false)
            }
            _ => return Ok(()),
        };
        if self.written.contains(id) == is_told {
            return Ok(());
        }
        let (told, is) =
            if is_told { ("has written", "has not") } else { ("has not written", "has") };
        let saw = format!("{client} is told that {id} {told} {}, and it {is}", self.path);
        Err(Objection::new(self.name(), saw))
    }
}

/// SV2. See the module.
#[derive(Clone, Debug, Hash)]
pub struct OverExpected {
    path: Arc<str>,
    /// The version over which each write is to be made.
    expected: BTreeMap<Arc<str>, i32>,
}

impl OverExpected {
    /// Watches the shared value in this znode.
    pub fn new(path: &str) -> OverExpected {
        OverExpected { path: path.into(), expected: BTreeMap::new() }
    }
}

impl Monitor for OverExpected {
    fn name(&self) -> &'static str {
        "shared value SV2 over what was expected"
    }

    fn asked(&self) -> Asked {
        Asked::Everywhere
    }

    fn looks_back(&self) -> LooksBack {
        LooksBack::Tip
    }

    fn looks_for(&self) -> Vec<Arc<str>> {
        vec![Arc::from("writing")]
    }

    fn concerns(&self, event: &Event) -> bool {
        matches!(event, Event::Committed { .. })
            || matches!(event.observed(), Some((_, SharedValueSeen::Writing { .. })))
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        if let Some((_, SharedValueSeen::Writing { path, id, expected: Some(version) })) =
            event.observed()
            && *path == self.path
        {
            self.expected.insert(Arc::clone(id), *version);
        }
        let Event::Committed { txn, .. } = event else { return Ok(()) };
        if !view.history.is_new(txn) {
            return Ok(());
        }
        let (path, expected) = (&self.path, &self.expected);
        let mut wrong = None;
        writes(path, &txn.body, &mut |id, version| {
            if let Some(expected) = expected.get(id)
                && version != expected.wrapping_add(1)
            {
                wrong = Some(format!(
                    "{path} is written by {id}, which expected version {expected}, as version {version}"
                ));
            }
        });
        wrong.map_or(Ok(()), |saw| Err(Objection::new(self.name(), saw)))
    }
}
