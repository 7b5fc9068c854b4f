//! The steps that mend what is broken.

use crate::run::subject::Subject;
use vivarium_model::id::{ClientId, Machine, ServerId};
use vivarium_model::step::Step;
use vivarium_model::time::Duration;

/// The time until a supervisor restarts a server whose process exited.
pub(crate) const SUPERVISION: Duration = Duration::from_secs(1);

/// Returns a step for each server that is down, each client that is paused, each link that is cut, and each program that
/// does not run: one that was killed is replaced.
pub(crate) fn mends(subject: &impl Subject) -> Vec<Step> {
    let servers: Vec<ServerId> = (1..=subject.servers()).map(ServerId).collect();
    let clients: Vec<ClientId> = (0..usize::from(subject.clients())).map(ClientId::at).collect();
    let machines: Vec<Machine> = servers
        .iter()
        .map(|server| Machine::Server(*server))
        .chain(clients.iter().map(|client| Machine::Client(*client)))
        .collect();
    let mut all: Vec<Step> = Vec::new();
    all.extend(servers.iter().filter(|id| !subject.is_up(**id)).map(|id| Step::Restart(*id)));
    all.extend(clients.iter().filter(|id| subject.is_paused(**id)).map(|id| Step::Resume(*id)));
    for from in &machines {
        let cut = machines.iter().filter(|to| subject.is_cut(*from, **to));
        all.extend(cut.map(|to| Step::Heal { from: *from, to: *to }));
    }
    all.extend(clients.iter().filter(|id| !subject.is_running(**id)).map(|id| Step::Start(*id)));
    all
}
