//! ZooKeeper's own properties, some of which a test can leave out.

use super::Test;
use vivarium_model::property::{self, AskedOfServers, Monitor};

/// The properties that are checked without a monitor.
const DURABLE: &str = "S3";
const RECOVERY: &str = "S6";
const LOG: &str = "S7";
const TIMEOUT: &str = "S15";
const ELECTIONS: &str = "S17";
const VOTES: &str = "S21";
/// This property cannot be left out, because the history itself checks it at each commit.
const PREFIX: &str = "S2";

impl Test {
    /// Leaves out one of ZooKeeper's own properties, selected by the first word of its name: `S7` for `S7 contiguous
    /// log`. A run ends with the first property violated, so a defect of the servers ([`Test::release`]) can hide a
    /// violation of your own property. Searches never check ZooKeeper's own properties.
    ///
    /// ```
    /// use vivarium::prelude::*;
    ///
    /// Test::new("connects", |zookeeper: ZooKeeper| async move {
    ///     zookeeper.connect().await;
    ///     Ok(())
    /// })
    /// .release(Release::Head)
    /// .without("S7")
    /// .seeds(10)
    /// .run();
    /// ```
    #[must_use]
    pub fn without(mut self, property: &str) -> Test {
        self.left_out.add(property);
        self
    }
}

/// The first words of the names of properties that are left out.
#[derive(Clone, Debug, Default)]
pub(super) struct LeftOut(Vec<String>);

impl LeftOut {
    pub(super) fn add(&mut self, property: &str) {
        self.0.push(property.to_string());
    }

    fn has(&self, id: &str) -> bool {
        self.0.iter().any(|left_out| left_out == id)
    }

    /// Checks that these properties exist.
    ///
    /// # Errors
    /// Returns one sentence about the first that does not.
    pub(super) fn check(&self) -> Result<(), String> {
        let mut ids: Vec<String> = all().map(|monitor| id(&*monitor).to_string()).collect();
        ids.extend([DURABLE, RECOVERY, LOG, TIMEOUT, ELECTIONS, VOTES].map(str::to_string));
        ids.retain(|id| id != PREFIX);
        ids.sort();
        match self.0.iter().find(|left_out| !ids.contains(left_out)) {
            None => Ok(()),
            Some(unknown) => Err(format!(
                "`without({unknown:?})`: there is no such property of ZooKeeper; these can be left out: {}",
                ids.join(", ")
            )),
        }
    }

    /// Selects the properties that are checked without a monitor.
    pub(super) fn of_servers(&self) -> AskedOfServers {
        AskedOfServers {
            durable: !self.has(DURABLE),
            recovery: !self.has(RECOVERY),
            log: !self.has(LOG),
            elections: !self.has(ELECTIONS),
            votes: !self.has(VOTES),
            timeout: !self.has(TIMEOUT),
        }
    }

    /// Returns the monitors of a sweep in addition to the test's own.
    pub(super) fn others(&self) -> impl Iterator<Item = Box<dyn Monitor>> {
        all().filter(|monitor| !self.has(id(&**monitor)))
    }
}

fn all() -> impl Iterator<Item = Box<dyn Monitor>> {
    property::zookeeper().into_iter().chain(property::programs())
}

/// Returns the first word of the monitor's name.
fn id(monitor: &dyn Monitor) -> &'static str {
    let name = monitor.name();
    name.split_once(' ').map_or(name, |(id, _)| id)
}
