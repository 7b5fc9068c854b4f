//! Random numbers and session ids: a search tries one value of each, unless programs depend on them.

use std::collections::BTreeMap;
use vivarium_model::session_order::SessionOrder;
use vivarium_sim::every::trie::Valued;

/// The values that a search varies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Varied {
    /// True if each draw is a choice of several numbers.
    pub(super) draws: bool,
    /// The order of the session ids, if all orders are tried.
    pub(super) order: Option<SessionOrder>,
    /// For each kind of value that programs depend on, what a program did because of it.
    pub(super) because: BTreeMap<Valued, String>,
}

impl Varied {
    pub(super) fn draws(&self) -> bool {
        self.draws
    }

    pub(super) fn order(&self) -> SessionOrder {
        self.order.clone().unwrap_or_default()
    }

    /// Returns the values that are not varied; histories are replayed with others.
    pub(super) fn fixed(&self) -> Vec<Valued> {
        let is_fixed = |kind: &Valued| match kind {
            Valued::RandomNumbers => !self.draws,
            Valued::SessionIds => self.order.is_none(),
            Valued::ZnodeTimes => true,
        };
        Valued::ALL.into_iter().filter(is_fixed).collect()
    }
}
