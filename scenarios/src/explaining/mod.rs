//! Explains a violating run: when its violation became inevitable, and what decided it.

use crate::replaying::title;
use crate::sweeping::{self, panics};
use std::time::{Duration, Instant};
use vivarium_model::case::{Case, GrainKind};
use vivarium_model::trace::TraceLine;
use vivarium_model::verdict::Violation;
use vivarium_reports::explanation::{Branch, Explanation, Share};
use vivarium_sim::forked::Recording;
use vivarium_sim::forked::curve::{Curve, How, Point, common, curve};
use vivarium_sim::{HostKind, RunReport, Scenario};

/// How many forks run after each step that is examined.
pub(crate) const FORKS: u32 = 100;

/// Why the case of a search cannot be explained.
pub(crate) const OF_A_SEARCH: &str = "it is a search's, in which no seed decides how a run goes on: `replay` shows its \
                                      steps, and all of them matter";

/// How many evenly spaced steps are examined first.
const POINTS: usize = 17;

/// The runs that go on from a step.
#[derive(Clone, Copy)]
pub(crate) struct Forks {
    /// The host of the programs.
    pub(crate) host: HostKind,
    /// How many go on from each step that is examined.
    pub(crate) count: u32,
    /// Whether they have faults of their own.
    pub(crate) have_faults: bool,
}

/// Explains the case of a swept run. `run` is its replay, with all its trace lines.
///
/// # Errors
/// One sentence if the case cannot be explained.
pub(crate) fn explanation(
    scenario: &Scenario,
    case: &Case,
    run: &RunReport,
    how: Forks,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Explanation, String> {
    if case.grain != GrainKind::Ensemble || case.seed.is_none() {
        return Err(OF_A_SEARCH.to_string());
    }
    let Some(violation) = &run.violation else {
        return Err("its replay violates no property".to_string());
    };
    panics::programs();
    let begun = Instant::now();
    let recording = Recording::new(scenario, case)?;
    let recording = if how.have_faults { recording.with_faults() } else { recording };
    let Forks { host, count: forks, .. } = how;
    let how = How { host, jobs: sweeping::all_cores(), forks, points: POINTS, progress };
    let curve = curve(&recording, &violation.objection, how);
    Ok(explained(title(&scenario.name, &case.bugs), run, violation, &curve, begun.elapsed()))
}

/// Returns the most runs that an explanation takes.
pub(crate) fn at_most(forks: u32, case: &Case) -> u64 {
    // After the evenly spaced steps, a bisection between two of them, and the runs that are compared.
    let between = case.steps.len() / (POINTS - 1) + 1;
    let bisection = usize::BITS - between.leading_zeros();
    u64::from(forks) * (POINTS as u64 + u64::from(bisection) + 1)
}

/// Makes the report.
fn explained(
    title: String,
    run: &RunReport,
    violation: &Violation,
    curve: &Curve,
    took: Duration,
) -> Explanation {
    let share = |point: &Point| Share {
        step: point.taken as u64,
        at: point.taken.checked_sub(1).map_or_else(Default::default, |at| run.recorded[at].0),
        forks: point.forks,
        violating: point.violating,
    };
    let (before, after) = curve.jump;
    let branches = curve.pair.as_ref().map(|(violating, passing)| {
        let parts_at = common(violating, passing) as u64;
        let branch = |run: &RunReport| Branch {
            violates: run.violation.as_ref().map(|violation| violation.objection.saw.clone()),
            lines: lines_after(run, before.taken as u64),
        };
        (parts_at.saturating_sub(before.taken as u64), branch(violating), branch(passing))
    });
    Explanation {
        title,
        violation: violation.clone(),
        steps: run.recorded.len() as u64,
        points: curve.points.iter().map(share).collect(),
        jump: (share(&before), share(&after)),
        around: run.trace.clone(),
        branches,
        took,
    }
}

/// Returns the trace lines of a fork after the recorded steps.
fn lines_after(run: &RunReport, taken: u64) -> Vec<TraceLine> {
    run.trace.iter().filter(|line| line.number > taken).cloned().collect()
}
