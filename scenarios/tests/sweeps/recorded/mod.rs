//! Everything that happens in a run, for tests that show it to monitors of their own.

use std::sync::{Arc, Mutex, PoisonError};
use vivarium_model::event::Event;
use vivarium_model::property::{Asked, Monitor, Objection, Unhashed, View};
use vivarium_model::time::Time;
use vivarium_sim::{HostKind, RunOptions, Scenario, run};

/// What happened in a run, and when.
pub(crate) type Events = Vec<(Time, Event)>;

/// Runs a seed of a scenario without its own monitors; with what the general properties objected to.
pub(crate) fn record(mut scenario: Scenario, seed: u64) -> (Events, Option<Objection>) {
    let recorder = Recorder::default();
    let prototype = recorder.clone();
    scenario.monitors = Arc::new(move |_drawn| vec![Box::new(prototype.clone())]);
    let options = RunOptions { host: HostKind::Direct, ..RunOptions::default() };
    let report = run(&scenario, seed, &options);
    let events = std::mem::take(&mut *recorder.0.lock().unwrap_or_else(PoisonError::into_inner));
    (events, report.violation.map(|violation| violation.objection))
}

/// Writes down what happens.
#[derive(Clone, Default, Hash)]
struct Recorder(Unhashed<Arc<Mutex<Events>>>);

impl Monitor for Recorder {
    fn name(&self) -> &'static str {
        "recorder"
    }
    fn asked(&self) -> Asked {
        Asked::InSweeps
    }
    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((view.at(), event.clone()));
        Ok(())
    }
}
