//! Takes the recorded steps, and looks at the grain after each.

use super::packets::Packets;
use super::{Film, Frame};
use crate::budget::programs::Budget;
use crate::host::DirectHost;
#[cfg(madsim)]
use crate::host::MadsimHost;
use crate::recorded::due_timers::DueTimers;
use crate::recorded::replay::recorded;
use crate::run::HostKind;
use crate::run::demands::asserted;
use crate::scenario::run::Run;
use crate::scenario::{Explored, Scenario};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vivarium_model::case::{Case, GrainKind};
use vivarium_model::effect::{Effects, Status};
use vivarium_model::handle::Program;
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

/// What looks at the world after the last step of a film.
pub(crate) trait Ending {
    type Seen;

    /// Returns the programs that run, in place of these.
    fn programs(&self, programs: Vec<Program>) -> Vec<Program> {
        programs
    }

    /// Looks at a world of the service grain.
    fn service<H: Host>(self, world: &World<H, Service>) -> Self::Seen;

    /// Looks at a world of servers and its armed timers.
    fn ensemble<H: Host>(self, world: &World<H>, timers: &DueTimers) -> Self::Seen;
}

/// Looks at nothing.
impl Ending for () {
    type Seen = ();

    fn service<H: Host>(self, _world: &World<H, Service>) {}

    fn ensemble<H: Host>(self, _world: &World<H>, _timers: &DueTimers) {}
}

/// Films the first `until` steps of a case of a scenario, at the case's grain.
///
/// # Errors
/// One sentence about what is wrong with the case.
///
/// # Panics
/// If this build does not have the host.
pub fn film(scenario: &Scenario, case: &Case, host: HostKind, until: u64) -> Result<Film, String> {
    film_to_end(scenario, case, host, until, ()).map(|(film, ())| film)
}

/// Films the first `until` steps of a case whose clients are outside of the run ([`crate::replica`]).
///
/// # Errors
/// One sentence about what is wrong with the case.
pub fn film_of_servers_outside(case: &Case, until: u64) -> Result<Film, String> {
    film_outside_to_end(case, until, ()).map(|(film, ())| film)
}

/// Films like [`film`], and shows the world after the last step to `ending`.
///
/// # Errors
/// One sentence about what is wrong with the case.
///
/// # Panics
/// If this build does not have the host.
pub(crate) fn film_to_end<E: Ending>(
    scenario: &Scenario,
    case: &Case,
    host: HostKind,
    until: u64,
    ending: E,
) -> Result<(Film, E::Seen), String> {
    case.check()?;
    match (&scenario.explored, case.grain) {
        (_, GrainKind::Service) => {
            let clients = u8::try_from(case.config.clients.len()).expect("checked above");
            let search = Budget::read(&case.parameters)?;
            let run =
                Run { config: case.config.clone(), ..Run::smallest(scenario, clients, search) };
            let service = Service::new(Arc::new(run.config.clone()));
            let host = DirectHost::new(ending.programs((scenario.programs)(&run)));
            let mut world = World::over(service, host, Vec::new());
            let (film, _) = taken(&mut world, case, until);
            Ok((film, ending.service(&world)))
        }
        (Explored::Servers(_), GrainKind::Ensemble) => {
            let host = DirectHost::new(Vec::new());
            let world = World::new(Arc::new(case.config.clone()), host, Vec::new());
            Ok(of_servers(world, case, until, ending))
        }
        (_, GrainKind::Ensemble) => {
            let (run, _) = recorded(scenario, case)?;
            let programs = ending.programs((scenario.programs)(&run));
            let config = Arc::new(run.config.clone());
            match host {
                HostKind::Direct => {
                    let host = DirectHost::new(programs);
                    Ok(of_servers(World::new(config, host, Vec::new()), case, until, ending))
                }
                #[cfg(madsim)]
                HostKind::Madsim => {
                    let host = MadsimHost::new(programs, run.seed);
                    Ok(of_servers(World::new(config, host, Vec::new()), case, until, ending))
                }
                #[cfg(not(madsim))]
                HostKind::Madsim => panic!("this build has no madsim host"),
            }
        }
    }
}

/// Films like [`film_of_servers_outside`], and shows the world after the last step to `ending`.
///
/// # Errors
/// One sentence about what is wrong with the case.
pub(crate) fn film_outside_to_end<E: Ending>(
    case: &Case,
    until: u64,
    ending: E,
) -> Result<(Film, E::Seen), String> {
    case.check()?;
    let host = DirectHost::new(Vec::new());
    let mut world = World::new(Arc::new(case.config.clone()), host, Vec::new());
    world.grain_mut().see_outside();
    for input in &case.outside {
        world.from_outside(input.clone());
    }
    Ok(of_servers(world, case, until, ending))
}

fn of_servers<H: Host, E: Ending>(
    mut world: World<H>,
    case: &Case,
    until: u64,
    ending: E,
) -> (Film, E::Seen) {
    let (film, timers) = taken(&mut world, case, until);
    (film, ending.ensemble(&world, &timers))
}

/// Takes the steps of a case in a world that has not begun. Skips what is not possible, as a replay does, and stops
/// where an assertion fails. Also returns the timers that are armed at the end.
fn taken<H: Host, G: Portrait>(
    world: &mut World<H, G>,
    case: &Case,
    until: u64,
) -> (Film, DueTimers) {
    let config = world.grain().config();
    let renumbers = config.election.is_oracle() && !config.has_clients();
    let mut effects = Effects::hashed();
    effects.notes = Some(Vec::new());
    // The steps of a run with clients outside start its servers.
    if !config.outside {
        world.begin(&mut effects);
    }
    let mut timers = DueTimers::default();
    timers.note(Time::ZERO, &effects);
    let mut camera = Camera { renumbers, ..Camera::default() };
    camera.look(world, Time::ZERO, None, Vec::new());
    for (at, step) in &case.steps {
        if camera.frames.len() as u64 > until {
            break;
        }
        effects.clear();
        let places = places(world, step);
        let outcome = asserted(|| world.apply(*at, step, &mut effects));
        match outcome {
            Ok(Ok(Status::Blocked(_) | Status::NotEnabled)) => continue,
            Ok(Ok(Status::Done) | Err(_)) => {}
            Err(_) => break,
        }
        timers.fires(step);
        timers.note(*at, &effects);
        let number = camera.frames.len() as u64;
        let line = line(number, *at, *step, &effects);
        camera.look(world, *at, Some(line), places);
    }
    let hash = effects.hasher.as_ref().expect("it was made with one").fingerprint();
    let film = Film {
        grain: case.grain,
        machines: camera.machines.into_iter().collect(),
        frames: camera.frames,
        packets: camera.packets.all,
        lines: camera.lines,
        hash,
        unexplained: camera.unexplained,
    };
    (film, timers)
}

pub(crate) fn line(number: u64, at: Time, step: Step, effects: &Effects) -> TraceLine {
    let told = effects.events.iter().filter(|event| !event.is_left_out_of_timelines());
    let notes = effects.notes.clone().unwrap_or_default();
    TraceLine { at, number, step, notes, events: told.cloned().collect() }
}

/// Returns the machines that a step happens on.
pub(crate) fn places<H: Host, G: Portrait>(world: &World<H, G>, step: &Step) -> Vec<Machine> {
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
