//! Directories that are old, or not there for long: what may be said of a setup's containers throughout a run.
//!
//! * **Counters near their end** ([`Fault::CounterWrap`]): so many creates there were below each container that
//!   its counter passes 2147483647 in the run, or has done so. Sequential names then come again, or are negative
//!   (rule 1.4.3).
//! * **Containers deleted soon** ([`Fault::ContainerDeletion`]): the leader looks for empty containers every few
//!   seconds or more often, and not once a minute (rule 1.5.4). Who works below one finds it gone, and a counter
//!   that begins again.
//!
//! A run that has neither begins as the scenario says. One that has one of them begins with what a search of the
//! same scenario begins with too, since that is where the containers of recipes are.

use crate::scenario::{Explored, Scenario};
use crate::seeded::faults::{Fault, purpose};
use crate::seeded::random::{Random, Seeds};
use std::fmt;
use vivarium_model::config::Config;
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;

/// What is said of the containers of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Containers {
    /// So many creates there were below each of them.
    pub creates: Option<i32>,
    /// The leader looks for empty ones this often.
    pub check_interval: Option<Duration>,
}

impl Containers {
    /// Draws it. Each of the two kinds has a stream of its own.
    pub fn draw(scenario: &Scenario, seeds: &Seeds) -> Containers {
        if beginning(scenario).znodes().iter().all(|znode| znode.container.is_none()) {
            return Containers::default();
        }
        let on = |kind: Fault| -> Option<Random> {
            let mut random = seeds.stream(&purpose(kind), 0);
            let on = random.chance(scenario.faults.rate(kind).share(kind));
            (on && scenario.faults.has(kind)).then_some(random)
        };
        Containers {
            creates: on(Fault::CounterWrap).map(|mut random| i32::MAX - random.below(6) as i32),
            check_interval: on(Fault::ContainerDeletion)
                .map(|mut random| random.span(Duration::from_millis(100), Duration::from_secs(3))),
        }
    }

    /// Says it.
    pub(crate) fn apply(&self, scenario: &Scenario, config: &mut Config) {
        if self.is_empty() {
            return;
        }
        config.setup = beginning(scenario);
        if let Some(creates) = self.creates {
            config.setup = config.setup.clone().with_creates(creates);
        }
        if let Some(interval) = self.check_interval {
            config.options.container_check_interval = interval;
        }
    }

    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.kinds().next().is_none()
    }

    /// The kinds of faults that this run has.
    pub fn kinds(&self) -> impl Iterator<Item = Fault> {
        let wrap = self.creates.map(|_| Fault::CounterWrap);
        wrap.into_iter().chain(self.check_interval.map(|_| Fault::ContainerDeletion))
    }
}

/// What is there from the start in a search.
pub(crate) fn beginning(scenario: &Scenario) -> Setup {
    match &scenario.explored {
        Explored::Programs { setup } => scenario.setup.clone().and(setup),
        Explored::Servers(_) | Explored::No(_) => scenario.setup.clone(),
    }
}

impl fmt::Display for Containers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(creates) = self.creates {
            writeln!(f, "fault              {}: at {creates}", Fault::CounterWrap)?;
        }
        if let Some(interval) = self.check_interval {
            let kind = Fault::ContainerDeletion;
            writeln!(f, "fault              {kind}: looked for every {interval:?}")?;
        }
        Ok(())
    }
}
