//! The properties of a shared value, as monitors (recipe rule 2.15.5).
//!
//! | | property | class |
//! |---|---|---|
//! | SV1 | no write is made twice; a write that is reported as made was made, and one that is reported as refused is never made | event |
//! | SV2 | a write that expects a value replaces that value | event |
//!
//! In addition, the properties of a cache of the znode hold ([`cache::properties`]).

use super::SharedValueSeen;
use crate::cache;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vivarium_model::id::ClientId;
use vivarium_model::minds;
use vivarium_model::op::Data;
use vivarium_model::property::{Declaration, Declared, LooksBack, Monitor, Objection};
use vivarium_model::time::Duration;
use vivarium_model::txn::{Txn, TxnBody};

/// Returns all monitors of the shared value in this znode. `bound` is as for caches ([`cache::monitors`]).
pub fn monitors(path: &str, bound: Duration) -> Vec<Box<dyn Monitor>> {
    let own: [Box<dyn Monitor>; 2] =
        [Box::new(ToldTruly::new(path)), Box::new(OverExpected::new(path))];
    own.into_iter().chain(cache::monitors(path, bound)).collect()
}

/// Calls `each` with each write of the znode: the id in its data, and the resulting version.
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

/// Returns the id of the latest change: the first one in the last line.
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
                wrong = Some(format!(
                    "{path} is written by {id}, although its client had learned \
                     that this write was refused"
                ));
            } else if !written.insert(id.into()) {
                wrong = Some(format!("{path} is written once more by {id}, as version {version}"));
            }
        });
        wrong.map_or(Ok(()), |saw| Err(self.objection(saw)))
    }
}

impl Declared for ToldTruly {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "shared value SV1 told truly",
        LooksBack::Tip,
        minds! { |this, view, event|
            Committed(txn) => this.committed(&txn.body),
            #[needed("writing")]
            Observed(client, SharedValueSeen::Written { path, id })
                if *path == this.path =>
            {
                this.told(client, id, true)
            },
            Observed(client, SharedValueSeen::Refused { path, id }) if *path == this.path => {
                this.refused.insert(Arc::clone(id));
                this.told(client, id, false)
            },
        },
    );
}

impl ToldTruly {
    fn told(&self, client: ClientId, id: &Arc<str>, is_told: bool) -> Result<(), Objection> {
        if self.written.contains(id) == is_told {
            return Ok(());
        }
        let (told, is) =
            if is_told { ("has written", "has not") } else { ("has not written", "has") };
        let saw = format!("{client} learns that {id} {told} {}, but it {is}", self.path);
        Err(self.objection(saw))
    }
}

/// SV2. See the module.
#[derive(Clone, Debug, Hash)]
pub struct OverExpected {
    path: Arc<str>,
    /// The version that each write expects to replace.
    expected: BTreeMap<Arc<str>, i32>,
}

impl OverExpected {
    /// Watches the shared value in this znode.
    pub fn new(path: &str) -> OverExpected {
        OverExpected { path: path.into(), expected: BTreeMap::new() }
    }
}

impl Declared for OverExpected {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "shared value SV2 over what was expected",
        LooksBack::Tip,
        minds! { |this, view, event|
            #[needed]
            Observed(_, SharedValueSeen::Writing { path, id, expected }) => {
                if *path == this.path && let Some(version) = expected {
                    this.expected.insert(Arc::clone(id), *version);
                }
            },
            Committed(txn) => this.committed(txn),
        },
    );
}

impl OverExpected {
    fn committed(&self, txn: &Txn) -> Result<(), Objection> {
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
        wrong.map_or(Ok(()), |saw| Err(self.objection(saw)))
    }
}
