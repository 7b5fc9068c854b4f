//! What the monitors say of a way: the result of its replay, by the code of `vivarium replay`.

use super::replay;
use crate::properties::{Stated, stated_properties};
use crate::walking::Judged;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_sim::steps::Replayed;
use vivarium_sim::walked::Origin;
use vivarium_sim::{HostKind, RunOptions, replica};

/// Replays a way.
///
/// # Errors
/// One sentence about what is wrong with the case.
pub(crate) fn judged(origin: &Origin, way: Vec<(Time, Step)>) -> Result<Judged, String> {
    let case = origin.case(way, Fingerprint::default(), None);
    let Some(scenario) = origin.scenario() else {
        let properties = stated_properties(&case.parameters)?;
        let further = properties.iter().map(Stated::monitor).collect();
        return Ok(of_steps(replica::replay_judged(&case, further)?, &case.steps));
    };
    if let Some(replayed) = replay(scenario, &case)? {
        return Ok(of_steps(replayed, &case.steps));
    }
    let options = RunOptions { host: HostKind::Direct, keep_steps: true, trace_last: 0 };
    let replay = vivarium_sim::replay(scenario, &case, &options)?;
    let run = replay.report;
    Ok(Judged {
        taken: run.recorded,
        skipped: replay.skipped.len(),
        hash: run.hash,
        objection: run.violation.map(|violation| violation.objection),
    })
}

/// Returns the result of a replay that keeps no times. The steps that were taken have the times of the record.
fn of_steps(replayed: Replayed, recorded: &[(Time, Step)]) -> Judged {
    let Replayed { taken, skipped, hash, objection, .. } = replayed;
    let left_out = |number: u64| skipped.iter().any(|(skipped, _)| *skipped == number);
    let timed = (1..).zip(recorded).filter(|(number, _)| !left_out(*number));
    let taken: Vec<(Time, Step)> = timed.map(|(_, step)| *step).take(taken.len()).collect();
    Judged { taken, skipped: skipped.len(), hash, objection }
}
