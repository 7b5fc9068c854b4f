//! The properties of a name service, as monitors (recipe rule 2.1).
//!
//! | | property | class |
//! |---|---|---|
//! | NS1 | a client that considers a name its own wrote the first content of its znode; one that considers the name taken did not | event |
//! | NS2 | only the binding that has bound a name changes its address | event |
//! | NS3 | an address that is resolved was the name's address at that mzxid | event |
//!
//! Each monitor takes one directory and ignores everything else. The first sixteen characters of a content identify
//! the binding that wrote it.

use super::{NONCE, NameSeen, address};
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::id::ClientId;
use vivarium_model::minds;
use vivarium_model::op::Data;
use vivarium_model::path;
use vivarium_model::property::{Declaration, Declared, LooksBack, Monitor, Objection};
use vivarium_model::txn::{Txn, TxnBody};
use vivarium_model::zxid::Zxid;

/// Returns all monitors of the names in this directory.
pub fn monitors(directory: &str) -> Vec<Box<dyn Monitor>> {
    let written = Written { directory: directory.into(), contents: BTreeMap::new() };
    vec![
        Box::new(Truth { written: written.clone() }),
        Box::new(OwnAddress { directory: directory.into(), bound: BTreeMap::new() }),
        Box::new(RealAddress { written }),
    ]
}

/// The contents that were written to names, by zxid.
#[derive(Clone, Debug, Hash)]
struct Written {
    directory: Arc<str>,
    contents: BTreeMap<(Zxid, Arc<str>), Data>,
}

impl Written {
    fn see(&mut self, txn: &Txn) {
        let contents = &mut self.contents;
        changes(&self.directory, &txn.body, &mut |path, content| {
            if let Some(content) = content {
                contents.insert((txn.zxid, path.into()), content.clone());
            }
        });
    }

    fn at(&self, zxid: Zxid, name: &Arc<str>) -> Option<&Data> {
        self.contents.get(&(zxid, Arc::clone(name)))
    }
}

/// Calls `each` with each content that a transaction gives a name; `None` for a deletion.
fn changes(directory: &str, body: &TxnBody, each: &mut impl FnMut(&str, Option<&Data>)) {
    let mut name = |path: &str, content: Option<&Data>| {
        if path::parent(path) == Some(directory) {
            each(path, content);
        }
    };
    match body {
        TxnBody::Create { path, data, .. } | TxnBody::SetData { path, data, .. } => {
            name(path, Some(data));
        }
        TxnBody::Delete { path } => name(path, None),
        TxnBody::Multi(parts) => parts.iter().for_each(|part| changes(directory, part, each)),
        _ => {}
    }
}

/// NS1. See the module.
#[derive(Clone, Debug, Hash)]
pub struct Truth {
    written: Written,
}

impl Declared for Truth {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "name service NS1 truth",
        LooksBack::Tip,
        minds! { |this, view, event|
            Committed(txn) => this.written.see(txn),
            Observed(client, NameSeen::Bound { name, czxid, content }) => this.told(client, name, *czxid, content, true),
            Observed(client, NameSeen::Taken { name, czxid, own }) => this.told(client, name, *czxid, own, false),
        },
    );
}

impl Truth {
    fn told(
        &self,
        client: ClientId,
        name: &Arc<str>,
        czxid: Zxid,
        own: &Data,
        takes_it: bool,
    ) -> Result<(), Objection> {
        let is_own = self.written.at(czxid, name) == Some(own);
        if is_own == takes_it || path::parent(name) != Some(&*self.written.directory) {
            return Ok(());
        }
        let saw = match takes_it {
            true => {
                format!("{client} takes {name} (czxid {czxid}) for its own, but has not bound it")
            }
            false => {
                format!(
                    "{client} takes {name} (czxid {czxid}) for another client's, but has bound it itself"
                )
            }
        };
        Err(self.objection(saw))
    }
}

/// NS2. See the module.
#[derive(Clone, Debug, Hash)]
pub struct OwnAddress {
    directory: Arc<str>,
    /// For each bound name, the characters that identify its binding.
    bound: BTreeMap<Arc<str>, Data>,
}

impl Declared for OwnAddress {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "name service NS2 own address",
        LooksBack::Tip,
        minds! { |this, view, event|
            Committed(txn) => this.committed(txn),
        },
    );
}

impl OwnAddress {
    fn committed(&mut self, txn: &Txn) -> Result<(), Objection> {
        let (bound, mut stolen) = (&mut self.bound, None);
        changes(&self.directory, &txn.body, &mut |path, content| match content {
            None => drop(bound.remove(path)),
            Some(content) => {
                let owner: Data = content.get(..NONCE).unwrap_or(content).into();
                let before = bound.insert(path.into(), owner.clone());
                if before.is_some_and(|before| before != owner) {
                    stolen = Some(path.to_string());
                }
            }
        });
        match stolen {
            None => Ok(()),
            Some(name) => {
                let saw = format!("{name} is bound, but another client writes its address");
                Err(self.objection(saw))
            }
        }
    }
}

/// NS3. See the module.
#[derive(Clone, Debug, Hash)]
pub struct RealAddress {
    written: Written,
}

impl Declared for RealAddress {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "name service NS3 real address",
        LooksBack::Tip,
        minds! { |this, view, event|
            Committed(txn) => this.written.see(txn),
            Observed(client, NameSeen::Resolved { name, address: told, mzxid }) => {
                this.resolved(client, name, told, *mzxid)
            },
        },
    );
}

impl RealAddress {
    fn resolved(
        &self,
        client: ClientId,
        name: &Arc<str>,
        told: &Arc<str>,
        mzxid: Zxid,
    ) -> Result<(), Objection> {
        if path::parent(name) != Some(&*self.written.directory) {
            return Ok(());
        }
        let was = self.written.at(mzxid, name).map(|content| address(content));
        if was.as_ref() == Some(told) {
            return Ok(());
        }
        let saw = format!(
            "{client} takes {told} for the address of {name}, but transaction {mzxid} did not write it"
        );
        Err(self.objection(saw))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contention::properties::scene::{S1, Scene, path};
    use vivarium_model::event::Event;
    use vivarium_model::id::{ClientId, Xid};
    use vivarium_model::observation::Observed;
    use vivarium_model::tree::EphemeralType;

    #[test]
    fn an_address_that_was_never_given_is_refused() {
        let resolve = |told: &str| {
            let written = Written { directory: "/names".into(), contents: BTreeMap::new() };
            let mut scene = Scene::new(RealAddress { written });
            let content = "0123456789abcdefhere".as_bytes();
            let create = TxnBody::create(path("/names/a"), content, EphemeralType::Void, 1);
            let mzxid = scene.commit(S1, 1, create);
            let (name, address) = ("/names/a".into(), told.into());
            let observation = Observed::new(NameSeen::Resolved { name, address, mzxid });
            let (client, session, next_xid) = (ClientId(1), Some(S1), Xid(2));
            scene.event(Event::Observed { client, session, next_xid, observation });
            scene.end()
        };
        assert_eq!(resolve("here"), None);
        assert!(resolve("there").is_some_and(|saw| saw.contains("did not write it")));
    }
}
