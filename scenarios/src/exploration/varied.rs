//! Random numbers and session ids: a search tries one value of each, unless programs depend on them.

use std::collections::BTreeMap;
use vivarium_model::session_order::SessionOrder;
use vivarium_sim::every::trie::Valued;

/// What a search chooses of these values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Varied {
    /// Each draw is a choice of several numbers.
    pub(super) draws: bool,
    /// In which order session ids are, if all orders are tried.
    pub(super) order: Option<SessionOrder>,
    /// What programs did that go by them.
    pub(super) because: BTreeMap<Valued, String>,
}

impl Varied {
    pub(super) fn draws(&self) -> bool {
        self.draws
    }

    pub(super) fn order(&self) -> SessionOrder {
        self.order.clone().unwrap_or_default()
    }

    /// The values that are not varied, so that histories are replayed with others.
    pub(super) fn fixed(&self) -> Vec<Valued> {
        let is_fixed = |kind: &Valued| match kind {
            Valued::RandomNumbers => !self.draws,
            Valued::SessionIds => self.order.is_none(),
            Valued::ZnodeTimes => true,
        };
        Valued::ALL.into_iter().filter(is_fixed).collect()
    }
}
