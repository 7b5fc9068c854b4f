//! Q4: no item is in the queue twice: neither at the same time nor one after the other.
//!
//! An item that is moved (deleted and created by one transaction, as by a requeue) remains the same item.

use super::{Part, item_of, parts};
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::minds;
use vivarium_model::path::ZnodePath;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection};
use vivarium_model::txn::Txn;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct OncePut {
    queue: Arc<str>,
    /// The present or last znode of each item.
    put: BTreeMap<Arc<str>, ZnodePath>,
}

impl OncePut {
    /// Watches the queue in this directory.
    pub fn new(directory: &str) -> OncePut {
        OncePut { queue: directory.into(), put: BTreeMap::new() }
    }

    fn committed(&mut self, txn: &Txn) -> Result<(), Objection> {
        let mut deleted = Vec::new();
        parts(&txn.body, &self.queue, &mut |part| {
            if let Part::Deleted { path } = part {
                deleted.push(path);
            }
        });
        let mut twice = None;
        parts(&txn.body, &self.queue, &mut |part| {
            if let Part::Created { path, data, .. } = part
                && !data.is_empty()
            {
                let before = self.put.insert(item_of(data), path.clone());
                if let Some(before) = before.filter(|before| !deleted.contains(&before)) {
                    twice.get_or_insert((item_of(data), path.clone(), before));
                }
            }
        });
        match twice {
            None => Ok(()),
            Some((item, path, before)) => {
                let saw =
                    format!("{} put {item} as {path}; it was put before, as {before}", txn.session);
                Err(self.objection(saw))
            }
        }
    }
}

impl Declared for OncePut {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "queue Q4 put once",
        LooksBack::Tip,
        minds! { |this, view, event|
            Committed(txn) => this.committed(txn),
        },
    );
}
