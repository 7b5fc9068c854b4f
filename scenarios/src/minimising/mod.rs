//! Minimises violating runs: by seed and by steps in the simulator, then by a search where the programs can be explored.

#[cfg(feature = "catalogue")]
use crate::exploration::hand_over_servers;
#[cfg(feature = "explore")]
use crate::exploration::{Struck, hand_over};
use crate::replaying::title;
use crate::sweeping::{self, Commands, panics};
use std::time::{Duration, Instant};
use vivarium_model::case::{Case, GrainKind};
#[cfg(feature = "explore")]
use vivarium_model::extent::Extent;
use vivarium_reports::summary::Minimal;
#[cfg(feature = "explore")]
use vivarium_reports::summary::{Finding, Way};
#[cfg(feature = "catalogue")]
use vivarium_sim::Explored;
use vivarium_sim::minimised::{How, Minimised, minimised};
use vivarium_sim::{HostKind, Scenario};

/// The time limit by default.
pub(crate) const TIME: Duration = Duration::from_secs(10);

/// The longest time limit: a day.
const LONGEST: u64 = 86_400;

/// Says that nothing was found.
pub(crate) const NOTHING_SMALLER: &str =
    "No smaller run that violates the same property was found.";

/// What share of the time has passed, in percent, when a search ends.
#[cfg(feature = "explore")]
const SEARCHED: u32 = 50;

/// A minimised run and its case.
pub(crate) struct Smallest {
    pub(crate) minimal: Minimal,
    pub(crate) case: Case,
}

/// Parses a time limit in seconds.
///
/// # Errors
/// One sentence if it is none.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    match text.trim().parse::<u64>() {
        Ok(seconds) if seconds <= LONGEST => Ok(Duration::from_secs(seconds)),
        Ok(_) => Err(format!("`{text}` seconds are more than a day")),
        Err(_) => Err(format!("`{text}` is not a number of seconds; 0 is for not at all")),
    }
}

/// Minimises the case of a swept run within this time. `servers` is the scenario of the servers alone, with the same
/// defects. Returns `None` if nothing smaller was found.
///
/// # Errors
/// One sentence that says what is wrong with the case.
pub(crate) fn smallest(
    scenario: &Scenario,
    case: &Case,
    #[cfg_attr(
        not(feature = "catalogue"),
        allow(unused_variables, reason = "without the catalogue there is no search of servers")
    )]
    servers: Option<&Scenario>,
    host: HostKind,
    time: Duration,
) -> Result<Option<Smallest>, String> {
    if case.grain != GrainKind::Ensemble || case.seed.is_none() {
        return Err(
            "only the case of a sweep can be minimised: a search has minimised its own".into()
        );
    }
    panics::programs();
    let begun = Instant::now();
    #[cfg(feature = "explore")]
    let until = |percent: u32| (time * percent / 100).saturating_sub(begun.elapsed());
    #[cfg(feature = "explore")]
    if let Some(found) = searched(scenario, case, until(SEARCHED)) {
        return Ok(Some(found.after(begun)));
    }
    #[cfg(feature = "catalogue")]
    if let Some(found) = searched_servers(servers, case, until(SEARCHED)) {
        return Ok(Some(found.after(begun)));
    }
    let searched = begun.elapsed().min(time);
    let how = How {
        host,
        jobs: sweeping::all_cores(),
        has_time_until: &|share| begun.elapsed() < searched + (time - searched).mul_f64(share),
    };
    let Some(found) = minimised(scenario, case, how)? else { return Ok(None) };
    let before = found.before;
    let found = swept(scenario, found).after(begun);
    Ok(Some(found).filter(|found| found.minimal.after < before))
}

impl Smallest {
    fn after(mut self, begun: Instant) -> Smallest {
        self.minimal.took = begun.elapsed();
        self
    }
}

/// Makes the report on a smaller run of the simulator.
fn swept(scenario: &Scenario, found: Minimised) -> Smallest {
    let Minimised { case, report, before, after, incomplete, .. } = found;
    let violation = report.violation.clone().expect("a minimised run violates its property");
    let commands = Commands { replay: String::new(), every_step: String::new() };
    let title = title(&scenario.name, &case.bugs);
    let finding = sweeping::finding(title, &report, &violation, None, None, commands);
    let took = Duration::ZERO;
    Smallest { minimal: Minimal { finding, before, after, took, incomplete }, case }
}

/// Searches the programs for the same violation with the faults of the run, within this time.
#[cfg(feature = "explore")]
fn searched(scenario: &Scenario, case: &Case, time: Duration) -> Option<Smallest> {
    let objection = case.violation.as_ref()?;
    let before = Extent::of(case);
    let (finding, smaller) = hand_over(scenario, case, Struck::in_case(case), objection, time)?;
    let smaller = Case { bugs: case.bugs.clone(), ..smaller };
    by_search(finding, smaller, before, &scenario.name)
}

/// Searches the servers alone for the same violation, within this time.
#[cfg(feature = "catalogue")]
fn searched_servers(servers: Option<&Scenario>, case: &Case, time: Duration) -> Option<Smallest> {
    let scenario = servers?;
    let Explored::Servers(smallest) = scenario.explored else { return None };
    let objection = case.violation.as_ref()?;
    let (finding, smaller) = hand_over_servers(scenario, smallest, objection, time)?;
    by_search(finding, smaller, Extent::of(case), &scenario.name)
}

/// Makes the result of a search, if it is smaller.
#[cfg(feature = "explore")]
fn by_search(finding: Finding, case: Case, before: Extent, scenario: &str) -> Option<Smallest> {
    let after = Extent::of(&case);
    let incomplete = match finding.way {
        Some(Way { proven: true, .. }) => None,
        _ => Some("A shorter violation may exist.".to_string()),
    };
    let finding = Finding { scenario: title(scenario, &case.bugs), ..finding };
    let minimal = Minimal { finding, before, after, took: Duration::ZERO, incomplete };
    (after < before).then_some(Smallest { minimal, case })
}
