//! CF3: the last setting delivered becomes the present one, once neither the value nor the connection changes any
//! more. This is checked for every subscriber to which a setting was delivered, until it unsubscribes.

use super::changes;
use crate::configuration::{ConfigurationSeen, Setting};
use crate::obligations::Owed;
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::ClientId;
use vivarium_model::minds;
use vivarium_model::property::{Minds, Saw, View};
use vivarium_model::txn::TxnBody;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct UpToDate {
    path: Arc<str>,
    delivered: BTreeMap<ClientId, Setting>,
}

impl UpToDate {
    pub(super) fn new(path: &str) -> UpToDate {
        UpToDate { path: path.into(), delivered: BTreeMap::new() }
    }
}

impl Owed for UpToDate {
    const NAMES: [&'static str; 2] =
        ["configuration CF3 up to date", "configuration CF3 up to date at rest"];

    const MINDS: Minds<Self> = minds! { |this, view, event|
        Event::Killed { client } => drop(this.delivered.remove(client)),
        Observed(client, seen: ConfigurationSeen) => match seen {
            ConfigurationSeen::Delivered { path, setting } if *path == this.path => {
                this.delivered.insert(client, setting.clone());
            }
            ConfigurationSeen::Unsubscribed { path } if *path == this.path => {
                this.delivered.remove(&client);
            }
            _ => {}
        },
    };

    fn is_changed_by(&self, body: &TxnBody) -> bool {
        let mut any = false;
        changes(&self.path, body, &mut |_| any = true);
        any
    }

    fn clients(&self) -> Vec<ClientId> {
        self.delivered.keys().copied().collect()
    }

    fn owes(&self, view: View<'_>, client: ClientId) -> Option<Saw> {
        let told = match self.delivered.get(&client)? {
            Setting::Absent => None,
            Setting::Value { mzxid, .. } => Some(*mzxid),
        };
        let is = view.history.tree().node(&self.path).map(|node| node.mzxid);
        if told == is {
            return None;
        }
        let zxids = [told, is];
        let [told, is] =
            zxids.map(|mzxid| mzxid.map_or("none".to_string(), |zxid| zxid.to_string()));
        let path = &self.path;
        let saw =
            format!("{client} uses the value of {path} as of {told}, but the last one is of {is}");
        Some(zxids.into_iter().flatten().fold(Saw::from(saw), Saw::about))
    }
}
