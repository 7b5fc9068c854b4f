//! Forks of a recorded run: its first steps as recorded, and from there on a run of another seed.
//!
//! How many of the forks after a step violate the property says how inevitable the violation was at that step. The
//! step at which that share rises the most is where a reader should look ([`curve`]).

pub mod curve;

use crate::recorded::replay::recorded;
use crate::run::RunOptions;
use crate::run::RunReport;
use crate::run::record::{Closed, Keep};
use crate::run::subject::{Subject, WithSubject, with_world};
use crate::scenario::run::Run;
use crate::scenario::{Choice, Scenario};
use crate::seeded::drawn::Drawn;
use crate::seeded::driver;
use crate::seeded::pace::Pace;
use crate::seeded::plan::Plan;
use crate::seeded::transport::Transport;
use vivarium_model::case::Case;
use vivarium_model::step::Step;
use vivarium_model::time::Time;

/// A recorded run that can be forked.
pub struct Recording<'a> {
    scenario: &'a Scenario,
    /// The scenario in the world of the run.
    sized: Scenario,
    run: Run,
    case: &'a Case,
    /// Whether forks have faults of their own.
    has_faults: bool,
}

impl<'a> Recording<'a> {
    /// Prepares the case of a swept run.
    ///
    /// # Errors
    /// One sentence that says what is wrong with the case.
    pub fn new(scenario: &'a Scenario, case: &'a Case) -> Result<Recording<'a>, String> {
        let (run, _) = recorded(scenario, case)?;
        let voters = run.config.quorum_verifier().voters().len() as u32;
        let sized = Scenario {
            servers: Choice::from(voters),
            observers: Choice::from(u32::from(run.config.observers)),
            joiners: Choice::from(u32::from(run.config.joiners)),
            clients: Choice::from(u32::from(run.clients())),
            rounds: Choice::from(run.rounds),
            ..scenario.clone()
        };
        Ok(Recording { scenario, sized, run, case, has_faults: false })
    }

    /// Lets forks have the faults of their seeds. By default they have none but those that had begun before, because a
    /// violation that faults cause a second time says nothing about the first.
    #[must_use]
    pub fn with_faults(mut self) -> Recording<'a> {
        self.has_faults = true;
        self
    }

    /// Returns the number of recorded steps.
    pub fn len(&self) -> usize {
        self.case.steps.len()
    }

    /// Returns true if no steps were recorded.
    pub fn is_empty(&self) -> bool {
        self.case.steps.is_empty()
    }

    /// Takes the first `taken` steps as recorded and lets the run go on under this seed: with its latencies,
    /// random numbers and, if there are any, faults, but in the recorded world, with the recorded programs.
    ///
    /// # Panics
    /// If this build does not have the host.
    pub fn fork(&self, taken: usize, seed: u64, options: &RunOptions) -> RunReport {
        let mut drawn = Drawn::draw(&self.sized, seed);
        drawn.run = self.run.clone();
        if !self.has_faults {
            drawn.plan = Plan::default();
            drawn.pace = Pace::default();
            drawn.transport = Transport::default();
        }
        let steps = &self.case.steps[..taken.min(self.case.steps.len())];
        let with = Fork { drawn: &drawn, seed, steps, keep: Keep::from(*options) };
        with_world(self.scenario, &self.run, options.host, with).report
    }
}

/// The arguments of [`driver::fork`], for a world under any host.
struct Fork<'a> {
    drawn: &'a Drawn,
    seed: u64,
    steps: &'a [(Time, Step)],
    keep: Keep,
}

impl WithSubject for Fork<'_> {
    type Result = Closed;

    fn run<S: Subject>(self, subject: S) -> Closed {
        let Fork { drawn, seed, steps, keep } = self;
        driver::fork(subject, drawn, seed, steps, keep)
    }
}
