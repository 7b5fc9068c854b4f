//! Candidates at the service grain.

use super::{Candidate, Kind, random_number};
use vivarium_model::grain::Grain;
use vivarium_model::id::ClientId;
use vivarium_model::machines::ProgramState;
use vivarium_model::service::{Prefixes, Service};
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_model::timer::{ClientTimer, Timer};

/// Returns the steps of every client, its server and its sessions, and their faults. No budget limits the faults.
pub(in crate::walked) fn of_service(service: &Service, way: &[(Time, Step)]) -> Vec<Candidate> {
    let mut all = Vec::new();
    let mut add = |kind, steps: &mut Vec<Step>| {
        all.extend(steps.drain(..).map(|step| Candidate { kind, at: Time::ZERO, step }));
    };
    let mut steps = Vec::new();
    for client in service.client_ids() {
        service.enabled(client, Prefixes::All, &mut steps);
        let value = random_number(way);
        steps.extend(service.draws(client).map(|call| Step::Random { client, call, value }));
        let clocks = service.clock_calls(client);
        steps.extend(clocks.map(|(call, reading)| Step::Clock { client, call, reading }));
        add(Kind::Due, &mut steps);
        service.sleeps(client, &mut steps);
        add(Kind::Timer, &mut steps);
        faults_of(service, client, &mut steps);
        add(Kind::Fault, &mut steps);
    }
    service.deletions(&mut steps);
    add(Kind::Due, &mut steps);
    all
}

/// Adds what can go wrong for a client whose program runs.
fn faults_of(service: &Service, client: ClientId, steps: &mut Vec<Step>) {
    if service.program(client) != ProgramState::Running {
        return;
    }
    let connection = service.connection(client);
    steps.push(Step::BreakClient { connection, to_server: 0, to_client: 0 });
    steps.push(Step::Kill(client));
    steps.push(Step::Cancel(client));
    steps.extend(service.session(client).map(Step::Expire));
    if service.can_give_up(client) {
        steps.push(Step::Fire(Timer::Client(client, ClientTimer::Expiry)));
    }
}
