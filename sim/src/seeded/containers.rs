//! Faults of a setup's containers that last throughout a run.
//!
//! * **Counters near their end** ([`Fault::CounterWrap`]): so many znodes were created below each container that its
//!   counter passes 2147483647 during the run, or has already passed it. Sequential names then repeat, or are
//!   negative (rule 1.4.3).
//! * **Containers deleted soon** ([`Fault::ContainerDeletion`]): the leader searches for empty containers every few
//!   seconds or more often, instead of once a minute (rule 1.5.4). A program that works below one finds it deleted,
//!   and its counter restarted.
//!
//! A run with neither fault begins with the scenario's setup. A run with one of them begins with the setup of a
//! search of the same scenario, because that has the recipes' containers.

use crate::random::{Random, Seeds};
use crate::scenario::Scenario;
use crate::scenario::faults::{Fault, purpose};
use std::fmt;
use vivarium_model::config::Config;
use vivarium_model::time::Duration;

/// The faults of one run's containers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Containers {
    /// Number of creates below each container before the run.
    pub creates: Option<i32>,
    /// The interval at which the leader searches for empty containers.
    pub check_interval: Option<Duration>,
}

impl Containers {
    /// Draws the faults. Each of the two kinds has a random stream of its own.
    pub fn draw(scenario: &Scenario, seeds: &Seeds) -> Containers {
        if scenario.setup_of_search().znodes().iter().all(|znode| znode.container.is_none()) {
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

    /// Applies the faults to a configuration.
    pub(crate) fn apply(&self, scenario: &Scenario, config: &mut Config) {
        if self.is_empty() {
            return;
        }
        config.setup = scenario.setup_of_search();
        if let Some(creates) = self.creates {
            config.setup = config.setup.clone().with_creates(creates);
        }
        if let Some(interval) = self.check_interval {
            config.options.container_check_interval = interval;
        }
    }

    /// Returns true if the run has neither fault.
    pub fn is_empty(&self) -> bool {
        self.kinds().next().is_none()
    }

    /// Returns the kinds of faults in this run.
    pub fn kinds(&self) -> impl Iterator<Item = Fault> {
        let wrap = self.creates.map(|_| Fault::CounterWrap);
        wrap.into_iter().chain(self.check_interval.map(|_| Fault::ContainerDeletion))
    }
}

impl fmt::Display for Containers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(creates) = self.creates {
            writeln!(f, "fault              {}: at {creates}", Fault::CounterWrap)?;
        }
        if let Some(interval) = self.check_interval {
            let kind = Fault::ContainerDeletion;
            writeln!(f, "fault              {kind}: searched for every {interval:?}")?;
        }
        Ok(())
    }
}
