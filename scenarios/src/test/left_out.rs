//! Properties of ZooKeeper that a test leaves out.

use vivarium_model::property::disks::AskedOfDisks;
use vivarium_model::property::{self, Monitor};

/// The properties of disks, which no monitor asks.
const RECOVERY: &str = "S6";
const LOG: &str = "S7";

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
        ids.extend([RECOVERY, LOG].map(str::to_string));
        ids.sort();
        match self.0.iter().find(|left_out| !ids.contains(left_out)) {
            None => Ok(()),
            Some(unknown) => Err(format!(
                "`without({unknown:?})`: ZooKeeper has no such property here; these can be left out: {}",
                ids.join(", ")
            )),
        }
    }

    /// What is asked of disks.
    pub(super) fn disks(&self) -> AskedOfDisks {
        AskedOfDisks { recovery: !self.has(RECOVERY), log: !self.has(LOG) }
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
