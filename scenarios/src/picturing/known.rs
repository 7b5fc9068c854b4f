//! What is known about a run besides its steps, from the reports of replays.

use super::About;
use vivarium_model::case::Case;
use vivarium_model::property::Objection;
use vivarium_reports::numbers::{grouped, span};
use vivarium_sim::RunReport;
use vivarium_sim::steps::Replayed;

/// Returns what is known about a simulated run. `replay` is the command that replays it.
pub(crate) fn of_swept(title: String, run: &RunReport, replay: &str) -> About {
    let objection = run.violation.as_ref().map(|violation| &violation.objection);
    let mut facts = violated(objection);
    facts.push(fact(
        "run",
        &format!("{} steps, {} of virtual time", grouped(run.steps), span(run.simulated)),
    ));
    facts.push(fact("seed", &run.seed.to_string()));
    facts.push(fact("hash", &run.hash.to_string()));
    facts.push(fact("replay", replay));
    let violation = run.violation.as_ref();
    About {
        title,
        facts,
        options: run.options_text.trim_end().lines().map(str::to_owned).collect(),
        violation: violation.map(|violation| (violation.objection.clone(), violation.step)),
    }
}

/// Returns what is known about a run without a seed.
pub(crate) fn of_steps(title: String, case: &Case, replayed: &Replayed, replay: &str) -> About {
    let steps = replayed.taken.len() as u64;
    let mut facts = violated(replayed.objection.as_ref());
    facts.push(fact("run", &format!("{} steps, over the {} grain", grouped(steps), case.grain)));
    facts.push(fact("hash", &replayed.hash.to_string()));
    facts.push(fact("replay", replay));
    let violation = replayed.objection.clone();
    let violation = violation.map(|objection| (objection, steps));
    About { title, facts, options: Vec::new(), violation }
}

fn violated(objection: Option<&Objection>) -> Vec<(String, String)> {
    match objection {
        Some(objection) => {
            vec![fact("property", &objection.property), fact("saw", &objection.saw)]
        }
        None => vec![fact("verdict", "no property was violated")],
    }
}

fn fact(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}
