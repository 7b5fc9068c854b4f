//! What a run begins with, and a look at a way through it.

use super::awaits::{Await, Traces};
use super::offers::{self, Candidate, Choice};
use crate::awaits::traced;
use crate::budget::programs::Budget;
use crate::film::{Ending, Film, film_outside_to_end, film_to_end};
use crate::recorded::due_timers::DueTimers;
use crate::recorded::replay::recorded;
use crate::recorded::service;
use crate::replica::Judges;
use crate::run::HostKind;
use crate::scenario::run::Run;
use crate::scenario::{Explored, Scenario};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vivarium_model::case::{Case, GrainKind};
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::handle::Program;
use vivarium_model::host::Host;
use vivarium_model::portrait::Portrait;
use vivarium_model::property::{self, Objection};
use vivarium_model::service::Service;
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_model::world::World;

/// What a run begins with.
#[derive(Clone, Debug)]
pub struct Origin {
    /// `None` if the clients are outside of the run.
    scenario: Option<Scenario>,
    /// The case without its steps.
    case: Case,
}

/// What is seen at the end of a way.
#[derive(Clone, Debug)]
pub struct Position {
    /// The way, step by step.
    pub film: Film,
    /// The steps that are possible next.
    pub choices: Vec<Choice>,
    /// The places in programs that await something now.
    pub awaits: Vec<Await>,
    /// The fingerprint of the servers, links and clients, and of the committed history.
    pub fingerprint: Fingerprint,
}

impl Origin {
    /// Returns the origin of a case's run. `scenario` is `None` if the clients are outside of the run
    /// ([`crate::replica`]).
    pub fn new(scenario: Option<Scenario>, case: &Case) -> Origin {
        let case = Case {
            version: Case::VERSION,
            scenario: case.scenario.clone(),
            grain: case.grain,
            parameters: case.parameters.clone(),
            seed: case.seed,
            bugs: case.bugs.clone(),
            config: case.config.clone(),
            outside: case.outside.clone(),
            steps: Vec::new(),
            hash: Fingerprint::default(),
            violation: None,
        };
        Origin { scenario, case }
    }

    /// Returns the scenario. `None` if the clients are outside of the run.
    pub fn scenario(&self) -> Option<&Scenario> {
        self.scenario.as_ref()
    }

    /// Returns a way as a case. The hash and the violation come from its replay.
    pub fn case(
        &self,
        way: Vec<(Time, Step)>,
        hash: Fingerprint,
        violation: Option<Objection>,
    ) -> Case {
        Case { steps: way, hash, violation, ..self.case.clone() }
    }

    /// Returns the parameters of the case.
    pub fn parameters(&self) -> &BTreeMap<String, String> {
        &self.case.parameters
    }

    /// Returns the names of the monitors of a way's replay, sorted. Those that a case states itself are left out.
    pub fn properties(&self) -> Vec<String> {
        let monitors = match (&self.scenario, self.case.grain) {
            (Some(scenario), GrainKind::Service) => {
                let search = Budget::read(&self.case.parameters).unwrap_or_default();
                let clients = u8::try_from(self.case.config.clients.len()).unwrap_or(u8::MAX);
                let run = Run::smallest(scenario, clients, search);
                service::monitors(scenario, &run)
            }
            (Some(scenario), GrainKind::Ensemble)
                if !matches!(scenario.explored, Explored::Servers(_)) =>
            {
                recorded(scenario, &self.case)
                    .map(|(run, _)| (scenario.monitors)(&run))
                    .unwrap_or_default()
            }
            (None, _) if Judges::of(&self.case) == Judges::ServersAndClients => {
                property::servers().into_iter().chain(property::outside()).collect()
            }
            (Some(_), GrainKind::Ensemble) | (None, _) => property::servers(),
        };
        let names: BTreeSet<&str> = monitors.iter().map(|monitor| monitor.name()).collect();
        names.into_iter().map(str::to_owned).collect()
    }

    /// Looks at a way: takes its steps from the beginning, and lists the steps that are possible next.
    ///
    /// # Errors
    /// One sentence about what is wrong with the case.
    pub fn look(&self, way: Vec<(Time, Step)>) -> Result<Position, String> {
        let until = way.len() as u64;
        let case = self.case(way, Fingerprint::default(), None);
        let ending = List { case: &case, traces: Arc::default() };
        let (film, seen) = match &self.scenario {
            Some(scenario) => film_to_end(scenario, &case, HostKind::Direct, until, ending)?,
            None => film_outside_to_end(&case, until, ending)?,
        };
        let Seen { choices, awaits, fingerprint } = seen;
        Ok(Position { film, choices, awaits, fingerprint })
    }
}

/// Lists the possible steps of the world at the end of a film.
struct List<'a> {
    case: &'a Case,
    traces: Arc<Traces>,
}

/// What is seen of the world at the end of a film.
struct Seen {
    choices: Vec<Choice>,
    awaits: Vec<Await>,
    fingerprint: Fingerprint,
}

impl List<'_> {
    /// The awaits must be read before the world is dropped: its programs then abandon their calls.
    fn seen<H: Host, G: Portrait>(&self, world: &World<H, G>, steps: Vec<Candidate>) -> Seen {
        Seen {
            choices: offers::choices(world, steps),
            awaits: self.traces.awaits(),
            fingerprint: world.fingerprint(),
        }
    }
}

impl Ending for List<'_> {
    type Seen = Seen;

    fn programs(&self, programs: Vec<Program>) -> Vec<Program> {
        programs.into_iter().map(|program| traced(program, &self.traces)).collect()
    }

    fn service<H: Host>(self, world: &World<H, Service>) -> Self::Seen {
        let steps = offers::of_service(world.grain(), &self.case.steps);
        self.seen(world, steps)
    }

    fn ensemble<H: Host>(self, world: &World<H>, timers: &DueTimers) -> Self::Seen {
        let steps = offers::of_ensemble(world, timers, &self.case.steps);
        self.seen(world, steps)
    }
}
