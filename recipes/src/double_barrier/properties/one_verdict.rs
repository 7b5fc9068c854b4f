//! DB4, one verdict: of a generation that somebody enters, nobody is told that it was given up.

use crate::double_barrier::DoubleBarrierSeen;
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::property::{Asked, LooksBack, Monitor, Objection, View};

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct OneVerdict {
    barrier: Arc<str>,
    /// By generation, whether it was entered.
    verdicts: BTreeMap<u64, bool>,
}

impl OneVerdict {
    /// Watches the double barrier in this directory.
    pub fn new(barrier: &str) -> OneVerdict {
        OneVerdict { barrier: barrier.into(), verdicts: BTreeMap::new() }
    }
}

impl Monitor for OneVerdict {
    fn name(&self) -> &'static str {
        "double barrier DB4 one verdict"
    }

    fn asked(&self) -> Asked {
        Asked::Everywhere
    }

    fn looks_back(&self) -> LooksBack {
        LooksBack::Nothing
    }

    fn looks_for(&self) -> Vec<Arc<str>> {
        vec![Arc::from("entered")]
    }

    fn concerns(&self, event: &Event) -> bool {
        let Event::Observed { observation, .. } = event else { return false };
        matches!(
            observation.read(),
            Some(
                DoubleBarrierSeen::Entered { .. }
                    | DoubleBarrierSeen::Aborted { .. }
                    | DoubleBarrierSeen::TimedOut { .. }
            )
        )
    }

    fn event(&mut self, _view: View<'_>, event: &Event) -> Result<(), Objection> {
        let Some((client, seen)) = event.observed::<DoubleBarrierSeen>() else { return Ok(()) };
        let (barrier, generation) = seen.place();
        let enters = match seen {
            _ if *barrier != self.barrier => return Ok(()),
            DoubleBarrierSeen::Entered { .. } => true,
            DoubleBarrierSeen::Aborted { .. } | DoubleBarrierSeen::TimedOut { .. } => false,
            _ => return Ok(()),
        };
        let verdict = *self.verdicts.entry(generation).or_insert(enters);
        if verdict == enters {
            return Ok(());
        }
        let saw = if enters {
            format!("{client} enters generation {generation}, which another member has given up")
        } else {
            format!("{client} gives up generation {generation}, which another member has entered")
        };
        Err(Objection::new(self.name(), saw))
    }
}
