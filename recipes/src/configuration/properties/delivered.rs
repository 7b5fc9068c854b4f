//! CF1 and CF2: the settings that a subscription delivers.
//!
//! CF1: a subscription delivers values of strictly growing mzxid, for as long as it lasts, across sessions. CF2: a
//! value that is delivered with an mzxid was written by the transaction with that zxid.

use super::changes;
use crate::configuration::{ConfigurationSeen, Setting};
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::ClientId;
use vivarium_model::minds;
use vivarium_model::op::Data;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection};
use vivarium_model::txn::Txn;
use vivarium_model::zxid::Zxid;

/// CF1. See the module.
#[derive(Clone, Debug, Hash)]
pub struct Increasing {
    path: Arc<str>,
    last: BTreeMap<ClientId, Zxid>,
}

impl Increasing {
    /// Watches the configuration of this path, to which each client has one subscription at a time.
    pub fn new(path: &str) -> Increasing {
        Increasing { path: path.into(), last: BTreeMap::new() }
    }
}

impl Declared for Increasing {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "configuration CF1 increasing",
        LooksBack::Nothing,
        minds! { |this, view, event|
            #[unordered]
            Event::Killed { client } => {
                this.last.remove(client);
            },
            #[needed]
            #[unordered]
            Observed(client, ConfigurationSeen::Delivered { path, setting: Setting::Value { mzxid, .. } }) => {
                this.delivered(client, path, *mzxid)
            },
            #[unordered]
            Observed(client, ConfigurationSeen::Unsubscribed { path }) if *path == this.path => {
                this.last.remove(&client);
            },
        },
    );
}

impl Increasing {
    fn delivered(
        &mut self,
        client: ClientId,
        path: &Arc<str>,
        mzxid: Zxid,
    ) -> Result<(), Objection> {
        if *path != self.path {
            return Ok(());
        }
        match self.last.insert(client, mzxid) {
            Some(last) if last >= mzxid => {
                let saw = format!("{client} is notified of {path} as of {mzxid} after {last}");
                Err(self.objection(saw))
            }
            _ => Ok(()),
        }
    }
}

/// CF2. See the module.
#[derive(Clone, Debug, Hash)]
pub struct RealValues {
    path: Arc<str>,
    written: BTreeMap<Zxid, Data>,
}

impl RealValues {
    /// Watches the configuration of this path. A znode that exists from the start has zxid 0 and no data.
    pub fn new(path: &str) -> RealValues {
        RealValues { path: path.into(), written: BTreeMap::from([(Zxid::ZERO, Data::default())]) }
    }
}

impl Declared for RealValues {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "configuration CF2 real values",
        LooksBack::Tip,
        minds! { |this, view, event|
            Committed(txn) => this.committed(txn),
            #[needed]
            Observed(client, ConfigurationSeen::Delivered { path, setting }) => this.delivered(client, path, setting),
        },
    );
}

impl RealValues {
    fn committed(&mut self, txn: &Txn) {
        let (path, written) = (&self.path, &mut self.written);
        changes(path, &txn.body, &mut |content| {
            if let Some(data) = content {
                written.insert(txn.zxid, data.clone());
            }
        });
    }

    fn delivered(
        &self,
        client: ClientId,
        path: &Arc<str>,
        setting: &Setting,
    ) -> Result<(), Objection> {
        match setting {
            Setting::Value { mzxid, data }
                if *path == self.path && self.written.get(mzxid) != Some(data) =>
            {
                let saw = format!(
                    "{client} is notified of a value of {path} that transaction {mzxid} did not write"
                );
                Err(self.objection(saw))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contention::properties::scene::{S1, Scene, path};
    use vivarium_model::id::Xid;
    use vivarium_model::observation::Observed;
    use vivarium_model::tree::EphemeralType;
    use vivarium_model::txn::TxnBody;

    const PATH: &str = "/config";

    fn delivered(mzxid: Zxid, value: &str) -> Event {
        let setting = Setting::Value { mzxid, data: value.as_bytes().into() };
        let seen = ConfigurationSeen::Delivered { path: PATH.into(), setting };
        Event::Observed {
            client: ClientId(1),
            session: Some(S1),
            next_xid: Xid(1),
            observation: Observed::new(seen),
        }
    }

    #[test]
    fn a_value_that_is_not_newer_is_refused() {
        let deliver = |second: u64| {
            let mut scene = Scene::new(Increasing::new(PATH));
            scene.event(delivered(Zxid(7), "a"));
            scene.event(delivered(Zxid(second), "b"));
            scene.end()
        };
        assert_eq!(deliver(8), None);
        assert!(deliver(7).is_some_and(|saw| saw.contains("as of 0:7 after 0:7")));
        assert!(deliver(6).is_some());
    }

    #[test]
    fn a_value_that_was_not_written_is_refused() {
        let deliver = |value: &str| {
            let mut scene = Scene::new(RealValues::new(PATH));
            let create = TxnBody::create(path(PATH), "a".as_bytes(), EphemeralType::Void, 1);
            let zxid = scene.commit(S1, 1, create);
            scene.event(delivered(zxid, value));
            scene.end()
        };
        assert_eq!(deliver("a"), None);
        assert!(deliver("b").is_some_and(|saw| saw.contains("did not write")));
    }
}
