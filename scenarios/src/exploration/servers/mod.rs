//! Searches of servers alone over the ensemble grain.

#[cfg(feature = "catalogue")]
mod handover;
mod report;

#[cfg(feature = "catalogue")]
pub(crate) use handover::hand_over_servers;

use super::asked::Ensemble;
use super::{Answer, Exploration, ExploreError, ToldAgain, elsewhere, figures, impossible, unseen};
use std::sync::Arc;
use vivarium_model::bounds::SEARCHED_SERVERS;
use vivarium_model::case::{Case, GrainKind};
use vivarium_model::config::{Config, Election, ServerOptions};
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::property::{self, Objection};
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_model::verdict::{Verdict, Violation};
use vivarium_reports::exploration::{Dimension, ExplorationReport};
use vivarium_reports::summary::{Finding, Way};
use vivarium_sim::bounds::within;
use vivarium_sim::budget::Account;
use vivarium_sim::every::servers::{Action, Budget, EnsembleModel, stuck};
use vivarium_sim::every::{Counterexample, Observer, Outcome, Shortest, search};
use vivarium_sim::steps::Replayed;
use vivarium_sim::{Explored, Scenario, Servers};

/// Everything about a search but the search itself.
struct Question<'a> {
    scenario: &'a Scenario,
    bugs: &'a [String],
    exploration: &'a Exploration,
    budget: Budget,
    election: Election,
}

impl<'a> Question<'a> {
    fn new(
        scenario: &'a Scenario,
        bugs: &'a [String],
        smallest: Servers,
        exploration: &'a Exploration,
    ) -> Result<Question<'a>, ExploreError> {
        let said = exploration.ensemble;
        let budget = exploration.budget_of_servers(smallest);
        let election = said.election_of(smallest);
        if election == Election::ByLot {
            return Err(ExploreError::ByLot);
        }
        if election != Election::Any && exploration.said(Account::Upsets).is_some() {
            return Err(ExploreError::UpsetsWithoutAny);
        }
        if election == Election::Any && budget.reconfigs > 0 {
            return Err(ExploreError::ReconfigsWithAny);
        }
        let release = scenario.settings.servers.operations_of;
        let reconfig_enabled = budget.reconfigs > 0;
        let options =
            ServerOptions { reconfig_enabled, operations_of: release, ..ServerOptions::default() };
        if let Some((what, first)) = options.missing() {
            return Err(ExploreError::Lacking { release, what, first });
        }
        if let Some(count) = said.snap_count {
            let most = 2 * u64::from(u8::MAX);
            within(&format!("snap_count({count})"), count.into(), 2, most)?;
        }
        let Budget { servers, observers, reconfigs, .. } = budget;
        let both = format!("servers({servers}), observers({observers}) and reconfigs({reconfigs})");
        within(&both, budget.all_servers().into(), 1, SEARCHED_SERVERS.into())?;
        Ok(Question { scenario, bugs, exploration, budget, election })
    }

    fn asked(&self) -> report::Asked {
        let Ensemble { applies_at_once, snap_count, metadata, .. } = self.exploration.ensemble;
        let (budget, election) = (self.budget, self.election);
        report::Asked { budget, election, applies_at_once, snap_count, metadata }
    }

    fn model(&self, reductions: bool) -> EnsembleModel {
        let Ensemble { applies_at_once, snap_count, metadata, .. } = self.exploration.ensemble;
        let config = Config::new(self.budget.servers, 0);
        let snap_count = snap_count.unwrap_or(config.snap_count);
        let bugs = self.scenario.bugs;
        let config = Config { bugs, applies_at_once, snap_count, metadata, ..config };
        EnsembleModel::new(config, self.budget, self.election, reductions, property::servers())
    }
}

/// Returns the case without a step of the run that a search begins with.
///
/// # Errors
/// Fails if elections are by lot, if upsets are budgeted without elections of any server, if the servers' release has not
/// what is asked, or if `snap_count` is out of bounds.
pub(super) fn beginning(
    scenario: &Scenario,
    bugs: &[String],
    smallest: Servers,
    exploration: &Exploration,
) -> Result<Case, ExploreError> {
    let question = Question::new(scenario, bugs, smallest, exploration)?;
    let model = question.model(false);
    Ok(question.case(model.config(), Vec::new(), Fingerprint::default(), None))
}

/// Explores.
///
/// # Errors
/// Fails if elections are by lot, if upsets are budgeted without elections of any server, if the servers' release has not
/// what is asked, or if `snap_count` is out of bounds.
pub(super) fn explore(
    scenario: &Scenario,
    bugs: &[String],
    smallest: Servers,
    exploration: &Exploration,
    observer: &dyn Observer,
) -> Result<Answer, ExploreError> {
    let question = Question::new(scenario, bugs, smallest, exploration)?;
    let model = question.model(exploration.reductions);
    let outcome = search(&model, &exploration.options, observer);
    let mut report = question.report(&outcome);
    let case = match outcome.verdict() {
        Ok(verdict) => {
            report.verdict = verdict;
            None
        }
        Err(found) if !exploration.reports() => {
            report.verdict = Verdict::Violated(Box::new(elsewhere(found)));
            None
        }
        Err(found) => Some(question.violated(&model, found, observer, &mut report)),
    };
    let impossible = impossible(&outcome);
    let is_stopped = outcome.is_stopped() || impossible.is_some();
    Ok(Answer {
        report,
        case,
        told_again: ToldAgain::default(),
        is_stopped,
        impossible,
        apart: None,
    })
}

/// Repeats the steps of a case.
///
/// # Errors
/// Returns one sentence about what is wrong with the case.
pub(super) fn replay(case: &Case) -> Result<Replayed, String> {
    let mut replayed = vivarium_sim::servers::replay(case)?;
    if replayed.objection.is_none() {
        replayed.objection = stuck(&case.config, &replayed.taken);
    }
    Ok(replayed)
}

impl Question<'_> {
    /// Returns what the search can vary, and which of the scenario's defects it may not show.
    fn dimensions(&self) -> Vec<Dimension> {
        let mut dimensions = self.asked().dimensions();
        let Explored::Servers(smallest) = self.scenario.explored else { return dimensions };
        dimensions.extend(unseen::hidden(self.scenario, self.exploration, smallest));
        dimensions
    }

    /// Makes the report, still without a verdict.
    fn report(&self, outcome: &Outcome<Action>) -> ExplorationReport {
        ExplorationReport {
            scenario: self.scenario.name.clone(),
            bugs: self.bugs.to_vec(),
            grain: GrainKind::Ensemble,
            strategy: self.exploration.strategy(),
            reduced: self.exploration.reductions,
            threads: self.exploration.options.threads.get(),
            processes: self.exploration.processes(),
            dimensions: self.dimensions(),
            properties: report::properties(),
            unasked: Vec::new(),
            figures: figures(&outcome.statistics, None),
            cycles: outcome.statistics.cycles.to_string(),
            claims: Vec::new(),
            unseen: Vec::new(),
            observed: Vec::new(),
            verdict: Verdict::Error("the search has no verdict".to_string()),
            finding: None,
        }
    }

    /// Adds the way to a violation to the report, as short as possible, and makes a case of it.
    fn violated(
        &self,
        model: &EnsembleModel,
        found: &Counterexample<Action>,
        observer: &dyn Observer,
        report: &mut ExplorationReport,
    ) -> Case {
        let unreduced = self.model(false);
        let options = &self.exploration.alone();
        let shortest = model.shortest(&unreduced, found, options, observer);
        let Shortest { steps, objection, left_out, proven } = shortest;
        let config = model.config();
        let replayed = vivarium_sim::servers::replay_steps(config, &steps);
        let violation = Violation {
            objection: objection.clone(),
            seed: None,
            at: Time::ZERO,
            step: steps.len() as u64,
            hash: replayed.hash,
        };
        report.verdict = Verdict::Violated(Box::new(violation.clone()));
        report.finding = Some(Finding {
            scenario: report.title(),
            violation,
            options: self.asked().words(),
            config: Config::clone(config),
            case_file: None,
            replay: String::new(),
            every_step: String::new(),
            story: Vec::new(),
            trace: replayed.lines,
            way: Some(Way { length: steps.len(), left_out, proven }),
            unrepeated: None,
            shorter: None,
            stopped: None,
            distinct: None,
            regression: None,
            panicked_at: None,
            as_read: None,
        });
        self.case(config, steps, replayed.hash, Some(objection))
    }

    fn case(
        &self,
        config: &Arc<Config>,
        steps: Vec<Step>,
        hash: Fingerprint,
        violation: Option<Objection>,
    ) -> Case {
        Case {
            version: Case::VERSION,
            scenario: self.scenario.name.clone(),
            grain: GrainKind::Ensemble,
            parameters: self.budget.parameters(),
            seed: None,
            bugs: self.bugs.to_vec(),
            config: Config::clone(config),
            outside: Vec::new(),
            steps: steps.into_iter().map(|step| (Time::ZERO, step)).collect(),
            hash,
            violation,
        }
    }
}
