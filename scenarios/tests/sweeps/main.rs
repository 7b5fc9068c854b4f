//! Sweeps: every planted defect is found, correct programs and servers hold, and searches cover everything that a
//! sweep does.

mod bridge;
mod coverage;
mod embedding;
mod forks;
mod left_out;
mod local_sessions;
mod lost_replies;
mod minimised;
mod moved_sessions;
mod museum;
mod narrow;
mod observers;
mod operations;
mod planted;
mod recorded;
mod reported_again;
mod rollover;
mod subjects;

use vivarium::catalogue::{Entry, catalogue};
use vivarium_model::case::{Case, GrainKind};
use vivarium_sim::RunReport;

/// Returns the catalogue's entry with this name.
fn entry(name: &str) -> Entry {
    catalogue().into_iter().find(|entry| entry.name == name).expect("it is in the catalogue")
}

/// Makes a case of a recorded run.
fn case(run: &RunReport, name: &str) -> Case {
    Case {
        version: Case::VERSION,
        scenario: name.to_string(),
        grain: GrainKind::Ensemble,
        parameters: run.parameters.clone(),
        seed: Some(run.seed),
        bugs: Vec::new(),
        config: run.config.clone(),
        outside: Vec::new(),
        steps: run.recorded.clone(),
        hash: run.hash,
        violation: run.violation.as_ref().map(|violation| violation.objection.clone()),
    }
}
