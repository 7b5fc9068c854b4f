//! A monitor that never sees time pass.
//!
//! Where steps are left out, others happen later after their causes. A property that requires something within a time
//! could then be violated by the reduction alone. If the same step also violates the property of a monitor without a
//! clock, the violation is not that something was late.

use crate::scenario::Scenario;
use crate::scenario::run::Run;
use std::sync::Arc;
use vivarium_model::config::Config;
use vivarium_model::event::Event;
use vivarium_model::exchange::Exchange;
use vivarium_model::id::ClientId;
use vivarium_model::property::{Asked, Kinds, LooksBack, Measure, Monitor, Objection, View};

/// Returns the scenario with the monitor of this property under a clock that stands at zero.
pub(super) fn without_time(scenario: &Scenario, property: &str) -> Scenario {
    let (monitors, property) = (Arc::clone(&scenario.monitors), property.to_string());
    let wrapped = move |run: &Run| {
        let all = monitors(run).into_iter();
        let wrapped = |monitor: Box<dyn Monitor>| match monitor.name() == property {
            true => Box::new(WithoutTime(monitor)),
            false => monitor,
        };
        all.map(wrapped).collect()
    };
    Scenario { monitors: Arc::new(wrapped), ..scenario.clone() }
}

/// A monitor under a clock that stands at zero.
#[derive(Clone, Hash)]
struct WithoutTime(Box<dyn Monitor>);

impl Monitor for WithoutTime {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn asked(&self) -> Asked {
        self.0.asked()
    }

    fn kinds(&self) -> Kinds {
        self.0.kinds()
    }

    fn concerns(&self, event: &Event) -> bool {
        self.0.concerns(event)
    }

    fn minds_order(&self, event: &Event) -> bool {
        self.0.minds_order(event)
    }

    fn looks_back(&self) -> LooksBack {
        self.0.looks_back()
    }

    fn looks_for(&self) -> Vec<Arc<str>> {
        self.0.looks_for()
    }

    fn begin(&mut self, config: &Arc<Config>) {
        self.0.begin(config);
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        self.0.event(view.without_time(), event)
    }

    fn hears_exchanges(&self) -> bool {
        self.0.hears_exchanges()
    }

    fn exchange(
        &mut self,
        view: View<'_>,
        client: ClientId,
        exchange: &Exchange,
    ) -> Result<(), Objection> {
        self.0.exchange(view.without_time(), client, exchange)
    }

    fn at_rest(&mut self, view: View<'_>) -> Result<(), Objection> {
        self.0.at_rest(view.without_time())
    }

    fn end(&mut self, view: View<'_>) -> Result<(), Objection> {
        self.0.end(view.without_time())
    }

    fn measured(&self) -> Vec<Measure> {
        self.0.measured()
    }
}
