//! Searches: every order of events within stated budgets, instead of the orders that seeds select.
//!
//! [`Exploration`] has the bounds; a scenario has the programs and properties. There is one kind of search per grain
//! ([`programs`]: recipes and users' programs over the service grain; [`servers`]: the servers alone, over the
//! ensemble grain). This module has their common parts: the options of the search and parts of the report.

mod asked;
mod check;
mod error;
mod judged;
mod needs;
mod programs;
mod served;
mod servers;
mod unseen;
mod varied;

pub use asked::Exploration;
pub use error::ExploreError;
#[cfg(feature = "cli")]
pub(crate) use judged::judged;
pub(crate) use programs::{Struck, hand_over};
pub(crate) use served::serve_at;
#[cfg(feature = "catalogue")]
pub(crate) use servers::hand_over_servers;

use std::sync::Arc;
use vivarium_model::case::{Case, GrainKind};
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::time::Time;
use vivarium_model::verdict::Violation;
use vivarium_reports::exploration::{Dimension, ExplorationReport, Figures, InAll};
use vivarium_sim::budget::Account;
use vivarium_sim::every::programs::Apart;
use vivarium_sim::every::trie::ToldAgain;
use vivarium_sim::every::{Counterexample, Estimate, Observer, Outcome, Silent, Statistics};
use vivarium_sim::steps::Replayed;
use vivarium_sim::{Explored, Scenario};

/// The result of a search, and the way to a violation as a case.
pub(crate) struct Answer {
    pub(crate) report: ExplorationReport,
    pub(crate) case: Option<Case>,
    /// The result of replaying histories of programs with other values.
    told_again: ToldAgain,
    /// True if the user, the limit of time or the limit of memory stopped the search.
    is_stopped: bool,
    /// Why the search could not go on from its checkpoint, or the processes could not begin together.
    impossible: Option<ExploreError>,
    /// Clients that were taken for each other and can be told apart: the answer means nothing.
    apart: Option<Apart>,
}

/// Explores a scenario of the catalogue, or one of your own.
///
/// # Errors
/// Fails if the scenario cannot be explored, or not with these options: [`ExploreError`] says why in one sentence. A
/// violation, or a bound that stopped the search, is no error: the report's verdict says so.
pub fn explore(
    scenario: &Scenario,
    exploration: &Exploration,
) -> Result<ExplorationReport, ExploreError> {
    answer(scenario, &[], exploration, Arc::new(Silent)).map(|answer| answer.report)
}

/// Explores. `bugs` are the names of the defects and mutants that are switched on in the scenario.
///
/// # Errors
/// As [`explore`].
pub(crate) fn answer(
    scenario: &Scenario,
    bugs: &[String],
    exploration: &Exploration,
    observer: Arc<dyn Observer + Send + Sync>,
) -> Result<Answer, ExploreError> {
    exploration.check(scenario)?;
    unseen::check(scenario, bugs, exploration)?;
    let exploration = &exploration.named(scenario, bugs)?;
    let answer = match &scenario.explored {
        Explored::Programs { setup } => {
            let searchable = scenario.settings.check_searchable();
            searchable.map_err(|what| ExploreError::Unknown { what })?;
            let clients = exploration.clients_of(scenario)?;
            let scenario = exploration.set_up(scenario, setup)?;
            programs::explore(scenario, bugs, clients, exploration, observer)
        }
        Explored::Servers(smallest) => {
            servers::explore(scenario, bugs, *smallest, exploration, &*observer)
        }
        Explored::No(why) => Err(cannot(scenario, why)),
    }?;
    match answer.impossible {
        Some(error) => Err(error),
        None => Ok(answer),
    }
}

/// Returns the case without a step of the run that a search of a scenario begins with, and the scenario with the
/// search's additions. `bugs` are the names of the defects and mutants that are switched on in the scenario.
///
/// # Errors
/// Fails if the scenario cannot be explored, or not with these options.
pub(crate) fn beginning(
    scenario: &Scenario,
    bugs: &[String],
    exploration: &Exploration,
) -> Result<(Scenario, Case), ExploreError> {
    exploration.check(scenario)?;
    match &scenario.explored {
        Explored::Programs { setup } => {
            let searchable = scenario.settings.check_searchable();
            searchable.map_err(|what| ExploreError::Unknown { what })?;
            let clients = exploration.clients_of(scenario)?;
            let scenario = exploration.set_up(scenario, setup)?;
            let case = programs::beginning(scenario.clone(), bugs, clients, exploration);
            Ok((scenario, case))
        }
        Explored::Servers(smallest) => {
            let case = servers::beginning(scenario, bugs, *smallest, exploration)?;
            Ok((scenario.clone(), case))
        }
        Explored::No(why) => Err(cannot(scenario, why)),
    }
}

/// Repeats the steps of a case that a search has written; returns `None` for a case of a sweep.
///
/// # Errors
/// Returns one sentence about what is wrong with the case.
pub(crate) fn replay(scenario: &Scenario, case: &Case) -> Result<Option<Replayed>, String> {
    match (&scenario.explored, case.grain) {
        (_, GrainKind::Service) => vivarium_sim::service::replay(scenario, case).map(Some),
        (Explored::Servers(_), GrainKind::Ensemble) => servers::replay(case).map(Some),
        (_, GrainKind::Ensemble) => Ok(None),
    }
}

/// Returns a violation as a process knows it that does not report it: without the run.
fn elsewhere<A>(found: &Counterexample<A>) -> Violation {
    let Counterexample { objection, length, .. } = found;
    let (objection, step) = (objection.clone(), u64::from(*length));
    Violation { objection, seed: None, at: Time::ZERO, step, hash: Fingerprint::default() }
}

/// Returns why a search could not go on from its checkpoint, or the processes could not begin together.
fn impossible<A>(outcome: &Outcome<A>) -> Option<ExploreError> {
    let unresumable = outcome.unresumable().map(str::to_string).map(ExploreError::Checkpoint);
    unresumable.or_else(|| outcome.unconnected().map(str::to_string).map(ExploreError::Cluster))
}

fn figures(statistics: &Statistics, programs: Option<u64>) -> Figures {
    Figures {
        generated: statistics.generated,
        distinct: statistics.distinct,
        in_all: statistics.estimate.map(|estimate| match estimate {
            Estimate::Unknown => InAll::Unknown,
            Estimate::Between { least, most } => InAll::Between(least, most),
        }),
        depth: u64::from(statistics.depth),
        peak_frontier: statistics.peak_frontier,
        visited_bytes: statistics.visited_bytes,
        pieces_bytes: statistics.peak_pieces_bytes,
        programs,
        wall: statistics.elapsed,
    }
}

/// Returns an account of the budget as a row of the report: its number, or the flag that adds it.
fn faults(account: Account, number: u8) -> Dimension {
    match number {
        0 => left_out(account.row(), account),
        _ => {
            let how = account.how();
            let most = match account.any() {
                Some(any) if any == number => "any number".to_string(),
                _ => format!("up to {number}"),
            };
            Dimension::new(account.row(), true, format!("{most} on a path: {how}"))
        }
    }
}

/// Returns the row for a dimension that is left out while an account is 0.
fn left_out(name: &str, account: Account) -> Dimension {
    Dimension::new(name, false, format!("{} brings it in", account.flag()))
}

fn cannot(scenario: &Scenario, why: &str) -> ExploreError {
    ExploreError::NotExplorable { scenario: scenario.name.clone(), why: why.to_string() }
}
