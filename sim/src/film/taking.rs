//! Takes the recorded steps, and looks at the grain after each.

use super::packets::Packets;
use super::{Film, Frame};
use crate::budget::programs::Budget;
use crate::host::DirectHost;
#[cfg(madsim)]
use crate::host::MadsimHost;
use crate::recorded::replay::recorded;
use crate::run::HostKind;
use crate::run::demands::asserted;
use crate::scenario::run::Run;
use crate::scenario::{Explored, Scenario};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vivarium_model::case::{Case, GrainKind};
use vivarium_model::effect::{Effects, Status};
use vivarium_model::host::Host;
use vivarium_model::id::Machine;
use vivarium_model::outside::Outside;
use vivarium_model::parcel::Route;
use vivarium_model::portrait::{Condition, Portrait};
use vivarium_model::service::Service;
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_model::trace::TraceLine;
use vivarium_model::world::World;

/// Films the first `until` steps of a case of a scenario, at the case's grain.
///
/// # Errors
/// One sentence about what is wrong with the case.
///
/// # Panics
/// If this build does not have the host.
pub fn film(scenario: &Scenario, case: &Case, host: HostKind, until: u64) -> Result<Film, String> {
    case.check()?;
    match (&scenario.explored, case.grain) {
        (_, GrainKind::Service) => {
            let clients = u8::try_from(case.config.clients.len()).expect("checked above");
            let search = Budget::read(&case.parameters)?;
            let run =
                Run { config: case.config.clone(), ..Run::smallest(scenario, clients, search) };
            let service = Service::new(Arc::new(run.config.clone()));
            let host = DirectHost::new((scenario.programs)(&run));
            Ok(taken(World::over(service, host, Vec::new()), case, until))
        }
        (Explored::Servers(_), GrainKind::Ensemble) => {
            let host = DirectHost::new(Vec::new());
            Ok(taken(World::new(Arc::new(case.config.clone()), host, Vec::new()), case, until))
        }
        (_, GrainKind::Ensemble) => {
            let (run, _) = recorded(scenario, case)?;
            let (programs, config) = ((scenario.programs)(&run), Arc::new(run.config.clone()));
            match host {
                HostKind::Direct => {
                    let host = DirectHost::new(programs);
                    Ok(taken(World::new(config, host, Vec::new()), case, until))
                }
                #[cfg(madsim)]
                HostKind::Madsim => {
                    let host = MadsimHost::new(programs, run.seed);
                    Ok(taken(World::new(config, host, Vec::new()), case, until))
                }
                #[cfg(not(madsim))]
                HostKind::Madsim => panic!("this build has no madsim host"),
            }
        }
    }
}

/// Films the first `until` steps of a case whose clients are outside of the run ([`crate::replica`]).
///
/// # Errors
/// One sentence about what is wrong with the case.
pub fn film_of_servers_outside(case: &Case, until: u64) -> Result<Film, String> {
    case.check()?;
    let host = DirectHost::new(Vec::new());
    let mut world = World::new(Arc::new(case.config.clone()), host, Vec::new());
    world.grain_mut().see_outside();
    for input in &case.outside {
        world.from_outside(input.clone());
    }
    Ok(taken(world, case, until))
}

/// Takes the steps of a case in a world that has not begun. Skips what is not possible, as a replay does, and stops
/// where an assertion fails.
fn taken<H: Host, G: Portrait>(mut world: World<H, G>, case: &Case, until: u64) -> Film {
    let config = world.grain().config();
    let renumbers = config.election.is_oracle() && !config.has_clients();
    let mut effects = Effects::hashed();
    effects.notes = Some(Vec::new());
    // The steps of a run with clients outside start its servers.
    if !config.outside {
        world.begin(&mut effects);
    }
    let mut camera = Camera { renumbers, ..Camera::default() };
    camera.look(&world, Time::ZERO, None, Vec::new());
    for (at, step) in &case.steps {
        if camera.frames.len() as u64 > until {
            break;
        }
        effects.clear();
        let places = places(&world, step);
        let outcome = asserted(|| world.apply(*at, step, &mut effects));
        match outcome {
            Ok(Ok(Status::Blocked(_) | Status::NotEnabled)) => continue,
            Ok(Ok(Status::Done) | Err(_)) => {}
            Err(_) => break,
        }
        let number = camera.frames.len() as u64;
        let line = line(number, *at, *step, &effects);
        camera.look(&world, *at, Some(line), places);
    }
    let hash = effects.hasher.as_ref().expect("it was made with one").fingerprint();
    Film {
        grain: case.grain,
        machines: camera.machines.into_iter().collect(),
        frames: camera.frames,
        packets: camera.packets.all,
        lines: camera.lines,
        hash,
        unexplained: camera.unexplained,
    }
}

fn line(number: u64, at: Time, step: Step, effects: &Effects) -> TraceLine {
    let told = effects.events.iter().filter(|event| !event.is_left_out_of_timelines());
    let notes = effects.notes.clone().unwrap_or_default();
    TraceLine { at, number, step, notes, events: told.cloned().collect() }
}

/// Returns the machines that a step happens on.
fn places<H: Host, G: Portrait>(world: &World<H, G>, step: &Step) -> Vec<Machine> {
    match step {
        Step::Outside(number) => {
            let input = world.outside().get(*number as usize);
            input.map(|input| Machine::Client(Outside::client(input))).into_iter().collect()
        }
        _ => world.grain().places(step),
    }
}

/// What was seen so far.
#[derive(Default)]
struct Camera {
    renumbers: bool,
    machines: BTreeSet<Machine>,
    frames: Vec<Frame>,
    packets: Packets,
    lines: Vec<String>,
    /// The position of each line.
    positions: BTreeMap<String, usize>,
    /// The present state of each machine.
    states: BTreeMap<Machine, Vec<usize>>,
    /// What each machine is in.
    conditions: BTreeMap<Machine, Vec<Condition>>,
    unexplained: Vec<u64>,
}

impl Camera {
    /// Looks at the world after a step, or at its beginning.
    fn look<H: Host, G: Portrait>(
        &mut self,
        world: &World<H, G>,
        at: Time,
        line: Option<TraceLine>,
        places: Vec<Machine>,
    ) {
        let frame = self.frames.len();
        if let Some(line) = &line
            && let Some(route) = Route::read_by(&line.step)
            && !self.packets.read(route, frame)
        {
            self.unexplained.push(line.number);
        }
        self.packets.after(frame, &world.grain().under_way(), self.renumbers);
        let (mut states, mut conditions) = (Vec::new(), Vec::new());
        for machine in world.grain().machines() {
            let state = self.state(world, machine);
            self.machines.insert(machine);
            if self.states.get(&machine) != Some(&state) {
                self.states.insert(machine, state.clone());
                states.push((machine, state));
            }
            let now = world.grain().conditions(machine);
            if self.conditions.get(&machine) != Some(&now) {
                self.conditions.insert(machine, now.clone());
                conditions.push((machine, now));
            }
        }
        self.frames.push(Frame { at, line, places, states, conditions });
    }

    /// Returns the state of a machine as positions of lines.
    fn state<H: Host, G: Portrait>(&mut self, world: &World<H, G>, machine: Machine) -> Vec<usize> {
        let mut texts = world.grain().lines(machine);
        if let Machine::Client(client) = machine
            && world.grain().is_waiting(client)
        {
            texts.insert(1, format!("waits for {}", world.waits_for(client)));
        }
        texts.into_iter().map(|text| self.position(text)).collect()
    }

    fn position(&mut self, text: String) -> usize {
        if let Some(position) = self.positions.get(&text) {
            return *position;
        }
        self.lines.push(text.clone());
        self.positions.insert(text, self.lines.len() - 1);
        self.lines.len() - 1
    }
}
