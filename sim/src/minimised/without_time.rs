//! Monitors that see almost no time pass.
//!
//! Where steps are left out, others happen later after their causes. A property that requires something within a time
//! could then be violated by the reduction alone. If the same step violates the property also under a clock by which
//! each moment comes a microsecond after the one before, the violation is not that something was late.
//!
//! Only a monitor of [`Asked::InSweeps`] reads the clock. It may report violations under several names, so each has such a
//! clock, and its objections under other names than the wanted one are ignored.

use crate::scenario::Scenario;
use crate::scenario::run::Run;
use std::sync::Arc;
use vivarium_model::config::Config;
use vivarium_model::event::Event;
use vivarium_model::exchange::Exchange;
use vivarium_model::id::ClientId;
use vivarium_model::property::{Asked, Kinds, LooksBack, Measure, Monitor, Objection, View};
use vivarium_model::time::Time;

/// Returns the scenario with such a clock for each monitor that may read one; they object to violations of this property
/// only.
pub(super) fn without_time(scenario: &Scenario, property: &str) -> Scenario {
    let (monitors, property) = (Arc::clone(&scenario.monitors), property.to_string());
    let wrapped = move |run: &Run| {
        let all = monitors(run).into_iter();
        let wrapped = |monitor: Box<dyn Monitor>| match monitor.asked() == Asked::InSweeps {
            true => Box::new(WithoutTime {
                monitor,
                last: Time::ZERO,
                moments: 0,
                wanted: property.clone(),
            }),
            false => monitor,
        };
        all.map(wrapped).collect()
    };
    Scenario { monitors: Arc::new(wrapped), ..scenario.clone() }
}

/// A monitor under a clock that counts moments.
#[derive(Clone, Hash)]
struct WithoutTime {
    monitor: Box<dyn Monitor>,
    last: Time,
    moments: u64,
    /// The name of the property whose violations count.
    wanted: String,
}

impl WithoutTime {
    fn view<'a>(&mut self, view: View<'a>) -> View<'a> {
        if view.clock() != self.last {
            (self.last, self.moments) = (view.clock(), self.moments + 1);
        }
        view.at_time(Time(self.moments))
    }

    fn only_wanted(&self, judged: Result<(), Objection>) -> Result<(), Objection> {
        judged.or_else(|objection| match objection.property == self.wanted {
            true => Err(objection),
            false => Ok(()),
        })
    }
}

impl Monitor for WithoutTime {
    fn name(&self) -> &'static str {
        self.monitor.name()
    }

    fn asked(&self) -> Asked {
        self.monitor.asked()
    }

    fn kinds(&self) -> Kinds {
        self.monitor.kinds()
    }

    fn concerns(&self, event: &Event) -> bool {
        self.monitor.concerns(event)
    }

    fn minds_order(&self, event: &Event) -> bool {
        self.monitor.minds_order(event)
    }

    fn looks_back(&self) -> LooksBack {
        self.monitor.looks_back()
    }

    fn looks_for(&self) -> Vec<Arc<str>> {
        self.monitor.looks_for()
    }

    fn begin(&mut self, config: &Arc<Config>) {
        self.monitor.begin(config);
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        let view = self.view(view);
        let judged = self.monitor.event(view, event);
        self.only_wanted(judged)
    }

    fn hears_exchanges(&self) -> bool {
        self.monitor.hears_exchanges()
    }

    fn exchange(
        &mut self,
        view: View<'_>,
        client: ClientId,
        exchange: &Exchange,
    ) -> Result<(), Objection> {
        let view = self.view(view);
        let judged = self.monitor.exchange(view, client, exchange);
        self.only_wanted(judged)
    }

    fn at_rest(&mut self, view: View<'_>) -> Result<(), Objection> {
        let view = self.view(view);
        let judged = self.monitor.at_rest(view);
        self.only_wanted(judged)
    }

    fn end(&mut self, view: View<'_>) -> Result<(), Objection> {
        let view = self.view(view);
        let judged = self.monitor.end(view);
        self.only_wanted(judged)
    }

    fn measured(&self) -> Vec<Measure> {
        self.monitor.measured()
    }
}
