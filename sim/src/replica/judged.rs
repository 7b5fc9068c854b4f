//! Servers without programs, and who judges them.

use crate::host::DirectHost;
use std::sync::Arc;
use vivarium_model::case::Case;
use vivarium_model::config::Config;
use vivarium_model::effect::{Effects, Status};
use vivarium_model::property::disks::Disks;
use vivarium_model::property::{self, AskedOfServers, Monitor, Objection};
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_model::world::World;

/// Who is judged in a run of clients outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judges {
    /// The servers alone: the clients are a comparison's own, and send what no client of ZooKeeper does (requests without a
    /// number).
    Servers,
    /// What clients read as well ([`property::outside`]). A case says so in its parameter [`JUDGED`].
    ServersAndClients,
}

/// The parameter of a case whose clients are judged, and its value.
pub(crate) const JUDGED: (&str, &str) = ("judged", "servers and clients");

impl Judges {
    pub(crate) fn of(case: &Case) -> Judges {
        match case.parameters.get(JUDGED.0).is_some_and(|value| value == JUDGED.1) {
            true => Judges::ServersAndClients,
            false => Judges::Servers,
        }
    }
}

/// Servers without programs, checked by the monitors of servers, by the properties of disks, and by further monitors of what
/// programs outside observe.
pub(crate) struct Judged {
    pub(crate) world: World<DirectHost>,
    disks: Disks,
}

impl Judged {
    pub(crate) fn new(
        config: &Arc<Config>,
        judges: Judges,
        further: Vec<Box<dyn Monitor>>,
    ) -> Judged {
        let host = DirectHost::new(Vec::new());
        let mut monitors = property::servers();
        if judges == Judges::ServersAndClients {
            monitors.extend(property::outside());
        }
        monitors.extend(further);
        let mut world = World::new(Arc::clone(config), host, monitors);
        if judges == Judges::ServersAndClients {
            world.grain_mut().see_outside();
        }
        let disks = Disks::new(world.ensemble(), AskedOfServers::ALL);
        Judged { world, disks }
    }

    pub(crate) fn take(
        &mut self,
        at: Time,
        step: &Step,
        effects: &mut Effects,
    ) -> Result<Status, Objection> {
        let status = self.world.apply(at, step, effects)?;
        if status == Status::Done {
            self.disks.after(step, self.world.ensemble(), self.world.history())?;
        }
        Ok(status)
    }
}
