//! All events of a run, for tests that pass them to monitors of their own.

use std::sync::{Arc, Mutex, PoisonError};
use vivarium_model::event::Event;
use vivarium_model::property::{Asked, Monitor, Objection, Unhashed, View};
use vivarium_model::time::Time;
use vivarium_sim::{HostKind, RunOptions, Scenario, run};

/// The events of a run, with their times.
pub(crate) type Events = Vec<(Time, Event)>;

/// Runs a seed of a scenario without its own monitors. Returns the events, and the objection of the general
/// properties, if any.
pub(crate) fn record(mut scenario: Scenario, seed: u64) -> (Events, Option<Objection>) {
    let recorder = Recorder::default();
    let prototype = recorder.clone();
    scenario.monitors = Arc::new(move |_drawn| vec![Box::new(prototype.clone())]);
    let options = RunOptions { host: HostKind::Direct, ..RunOptions::default() };
    let report = run(&scenario, seed, &options);
    let events = std::mem::take(&mut *recorder.0.lock().unwrap_or_else(PoisonError::into_inner));
    (events, report.violation.map(|violation| violation.objection))
}

/// Records all events.
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
