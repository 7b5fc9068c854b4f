//! DB4, one verdict: if a program enters a generation, no program is informed that this generation was given up.

use crate::double_barrier::DoubleBarrierSeen;
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::id::ClientId;
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection};

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct OneVerdict {
    barrier: Arc<str>,
    /// For each generation, whether it was entered.
    verdicts: BTreeMap<u64, bool>,
}

impl OneVerdict {
    /// Watches the double barrier in this directory.
    pub fn new(barrier: &str) -> OneVerdict {
        OneVerdict { barrier: barrier.into(), verdicts: BTreeMap::new() }
    }
}

impl Declared for OneVerdict {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "double barrier DB4 one verdict",
        LooksBack::Nothing,
        minds! { |this, view, event|
            #[needed]
            Observed(client, seen @ DoubleBarrierSeen::Entered { .. }) => this.verdict(client, seen, true),
            Observed(client, seen @ (DoubleBarrierSeen::Aborted { .. } | DoubleBarrierSeen::TimedOut { .. })) => {
                this.verdict(client, seen, false)
            },
        },
    );
}

impl OneVerdict {
    fn verdict(
        &mut self,
        client: ClientId,
        seen: &DoubleBarrierSeen,
        enters: bool,
    ) -> Result<(), Objection> {
        let (barrier, generation) = seen.place();
        if *barrier != self.barrier {
            return Ok(());
        }
        let verdict = *self.verdicts.entry(generation).or_insert(enters);
        if verdict == enters {
            return Ok(());
        }
        let saw = if enters {
            format!("{client} enters generation {generation}, which another member has given up")
        } else {
            format!("{client} gives up generation {generation}, which another member has entered")
        };
        Err(self.objection(saw))
    }
}
