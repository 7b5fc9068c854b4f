//! C1: the counter's value is at least the sum of the acknowledged additions, and at most that sum plus the additions
//! that may have been applied.
//!
//! The monitor compares sums only. If one addition is missing and another of the same size is counted twice, the sums
//! do not show it; so a scenario gives each client a different size to add.

use crate::counter::{CounterSeen, number};
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection, View};

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct CountedOnce {
    counter: Arc<str>,
    /// The sum of the acknowledged additions.
    acknowledged: i64,
    /// The sum of the additions that have begun and are neither acknowledged nor refused.
    open: i64,
}

impl CountedOnce {
    /// Watches the counter in this znode.
    pub fn new(counter: &str) -> CountedOnce {
        CountedOnce { counter: counter.into(), acknowledged: 0, open: 0 }
    }

    fn observed(&mut self, seen: &CounterSeen) {
        match seen {
            CounterSeen::Adding { counter, delta, .. } if *counter == self.counter => {
                self.open += delta;
            }
            CounterSeen::Added { counter, delta, .. } if *counter == self.counter => {
                self.open -= delta;
                self.acknowledged += delta;
            }
            CounterSeen::NotAdded { counter, delta, .. } if *counter == self.counter => {
                self.open -= delta;
            }
            _ => {}
        }
    }

    fn check(&self, view: View<'_>) -> Result<(), Objection> {
        let znode = view.history.tree().node(&self.counter);
        let value = znode.map_or(0, |znode| number(&znode.data));
        let most = self.acknowledged + self.open;
        if (self.acknowledged..=most).contains(&value) {
            return Ok(());
        }
        let saw = format!(
            "{} has the value {value}, although {} is acknowledged and at most {} more may have \
             been added",
            self.counter, self.acknowledged, self.open
        );
        Err(self.objection(saw))
    }
}

impl Declared for CountedOnce {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "counter C1 counted once",
        LooksBack::Tip,
        minds! { |this, view, event|
            #[needed("adding")]
            Observed(_, seen: CounterSeen) => {
                this.observed(seen);
                this.check(view)
            },
            Event::Committed { .. } => this.check(view),
        },
    )
    .end(Self::end);
}

impl CountedOnce {
    fn end(&mut self, view: View<'_>) -> Result<(), Objection> {
        self.check(view)
    }
}
