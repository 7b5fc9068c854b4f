//! Leaves faults out of the plan of the recorded seed, and leaves the rest of the draw alone.

use super::Search;
use crate::recorded::minimise::minimise_while;
use crate::run::RunReport;
use crate::scenario::faults::Fault;
use crate::seeded::drawn::Drawn;
use crate::seeded::plan::Turn;
use vivarium_model::case::Case;

/// One fault of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Planned {
    Turn(Turn),
    /// A fault that waits for an event.
    Ambush(Fault),
    SlowReactions,
    Priorities,
    LateRetransmission,
}

/// Returns the run of the recorded seed with as few faults as violate the property; `None` if that is all of them.
pub(super) fn reduced(search: &Search<'_>, run: Option<&RunReport>) -> Option<Case> {
    let drawn = Drawn::draw(search.scenario, run?.seed);
    let all = planned(&drawn);
    let mut shows = |kept: &[Planned]| {
        let report = search.run(search.scenario, &with(&drawn, kept), true)?;
        Some((kept.to_vec(), report))
    };
    let has_time = || search.has_time_for_the_plan();
    let (kept, report) = minimise_while(&all, &[], &has_time, &mut shows)?;
    if kept.len() == all.len() {
        return None;
    }
    let case = search.case_of(report);
    search.replays(&case).then_some(case)
}

fn planned(drawn: &Drawn) -> Vec<Planned> {
    let turns = drawn.plan.turns.iter().map(|turn| Planned::Turn(*turn));
    let ambushes = drawn.plan.ambushes.iter().map(|(kind, _)| Planned::Ambush(*kind));
    let slow = drawn.pace.slow.iter().map(|_| Planned::SlowReactions);
    let priorities = drawn.pace.priorities.iter().map(|_| Planned::Priorities);
    let late = drawn.transport.late.then_some(Planned::LateRetransmission);
    turns.chain(ambushes).chain(slow).chain(priorities).chain(late).collect()
}

/// Returns what was drawn with only these faults.
fn with(drawn: &Drawn, kept: &[Planned]) -> Drawn {
    let has = |planned: Planned| kept.contains(&planned);
    let mut drawn = drawn.clone();
    drawn.plan.turns.retain(|turn| has(Planned::Turn(*turn)));
    drawn.plan.ambushes.retain(|(kind, _)| has(Planned::Ambush(*kind)));
    drawn.pace.slow = drawn.pace.slow.filter(|_| has(Planned::SlowReactions));
    drawn.pace.priorities = drawn.pace.priorities.filter(|_| has(Planned::Priorities));
    drawn.transport.late &= has(Planned::LateRetransmission);
    drawn
}
