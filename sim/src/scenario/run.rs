//! One run of a scenario: what its programs and monitors are made from, however its steps are chosen.

use crate::budget::programs::Budget;
use crate::scenario::Scenario;
use crate::scenario::aftermath::Aftermath;
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::config::Config;
use vivarium_model::time::Duration;

/// One run of a scenario.
///
/// A seed draws it ([`Drawn`](crate::Drawn)), a replay takes it from a case, and a search begins with the smallest one
/// ([`Run::smallest`]). All of them make the programs and monitors from it in the same way.
#[derive(Clone, Debug)]
pub struct Run {
    /// The scenario's name.
    pub scenario: String,
    /// The seed of everything random in the run, including the random choices of programs.
    pub seed: u64,
    /// The role of each client; empty if the scenario has no roles.
    pub roles: Vec<Arc<str>>,
    /// How many times each program repeats its task.
    pub rounds: u32,
    /// The ensemble and its clients.
    pub config: Config,
    /// The duration of the faults.
    pub chaos: Duration,
    /// The longest delay that faults cause for a reaction of a program.
    pub longest_reaction: Duration,
    /// The state of the ensemble after all faults have ended.
    pub aftermath: Aftermath,
    /// In a search: what it can do to programs that allow it. Each opportunity to cancel or to end a sleep early costs
    /// states even if the search never takes it, so programs should offer only those for which the budget has some.
    /// In a search with faults, programs may also do less.
    pub search: Option<Budget>,
}

impl Run {
    /// Returns the smallest run of a scenario, for a search: one server, one round, and nothing that a seed draws.
    pub fn smallest(scenario: &Scenario, clients: u8, search: Budget) -> Run {
        let setup = scenario.setup_of_search();
        let mut config = Config { bugs: scenario.bugs, setup, ..Config::new(1, clients) };
        scenario.settings.apply(&mut config);
        Run {
            scenario: scenario.name.clone(),
            seed: 0,
            roles: scenario.settings.roles.clone(),
            rounds: 1,
            config,
            chaos: scenario.chaos,
            longest_reaction: Duration::ZERO,
            aftermath: Aftermath::default(),
            search: Some(search),
        }
    }

    /// Returns the number of client machines.
    pub fn clients(&self) -> u8 {
        u8::try_from(self.config.clients.len()).expect("a run has at most 255 client machines")
    }

    /// Returns true if a search chooses the steps.
    pub fn is_explored(&self) -> bool {
        self.search.is_some()
    }

    /// Returns what a case file must record besides the configuration, as text by name.
    pub fn parameters(&self) -> BTreeMap<String, String> {
        let rounds = ("rounds".to_string(), self.rounds.to_string());
        [rounds].into_iter().chain(self.aftermath.parameters()).collect()
    }
}
