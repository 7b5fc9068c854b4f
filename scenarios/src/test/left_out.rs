//! Properties of ZooKeeper that a test leaves out.

use super::Test;
use vivarium_model::property::{self, AskedOfServers, Monitor};

/// The properties that no monitor asks.
const DURABLE: &str = "S3";
const RECOVERY: &str = "S6";
const LOG: &str = "S7";
const TIMEOUT: &str = "S15";
const ELECTIONS: &str = "S17";
/// Asked of each commit by what keeps the history, which is none without it.
const PREFIX: &str = "S2";

impl Test {
    /// Leaves out one of ZooKeeper's own properties, by the first word of its name: `S7` of `S7 contiguous log`. A run
    /// ends with the first property that is violated, so a defect of the servers ([`Test::release`]) can hide a property
    /// of your own. Searches take ZooKeeper's properties for granted anyway.
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

/// The first words of their names.
#[derive(Clone, Debug, Default)]
pub(super) struct LeftOut(Vec<String>);

impl LeftOut {
    pub(super) fn add(&mut self, property: &str) {
        self.0.push(property.to_string());
    }

    fn has(&self, id: &str) -> bool {
        self.0.iter().any(|left_out| left_out == id)
    }

    /// Whether there are such properties.
    ///
    /// # Errors
    /// One sentence about the first that is none.
    pub(super) fn check(&self) -> Result<(), String> {
        let mut ids: Vec<String> = all().map(|monitor| id(&*monitor).to_string()).collect();
        ids.extend([DURABLE, RECOVERY, LOG, TIMEOUT, ELECTIONS].map(str::to_string));
        ids.retain(|id| id != PREFIX);
        ids.sort();
        match self.0.iter().find(|left_out| !ids.contains(left_out)) {
            None => Ok(()),
            Some(unknown) => Err(format!(
                "`without({unknown:?})`: ZooKeeper has no such property here; these can be left out: {}",
                ids.join(", ")
            )),
        }
    }

    /// What no monitor asks.
    pub(super) fn of_servers(&self) -> AskedOfServers {
        AskedOfServers {
            durable: !self.has(DURABLE),
            recovery: !self.has(RECOVERY),
            log: !self.has(LOG),
            elections: !self.has(ELECTIONS),
            timeout: !self.has(TIMEOUT),
        }
    }

    /// The monitors that a sweep has beside the test's own.
    pub(super) fn others(&self) -> impl Iterator<Item = Box<dyn Monitor>> {
        all().filter(|monitor| !self.has(id(&**monitor)))
    }
}

fn all() -> impl Iterator<Item = Box<dyn Monitor>> {
    property::zookeeper().into_iter().chain(property::programs())
}

/// The first word of its name.
fn id(monitor: &dyn Monitor) -> &'static str {
    let name = monitor.name();
    name.split_once(' ').map_or(name, |(id, _)| id)
}
