//! What a search needs to know about a model.

use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::property::Objection;

/// What a search needs to know beyond [`stateright::Model`].
///
/// `actions`, `next_state` and everything here must be pure: equal states offer the same actions in
/// the same order, and the same action leads to the same state. A path is kept as places in those
/// lists and rebuilt by taking the actions again.
pub trait Model:
    stateright::Model<State: Clone + Send + Sync, Action: Clone + Send + Sync> + Send + Sync
{
    /// The state's 128-bit fingerprint: equal states have equal ones. All its bits must be well
    /// mixed, as those of [`Fingerprint::of`] are: it is its own hash.
    fn fingerprint(&self, state: &Self::State) -> Fingerprint;

    /// What a monitor objected to on the way into this state. Such a state has no successors.
    fn objection<'a>(&self, state: &'a Self::State) -> Option<&'a Objection>;

    /// How many steps of the world the action that led here took (a reduction can take several at
    /// once), at least 1. Not asked of an initial state.
    fn length(&self, state: &Self::State) -> u32;

    /// Asked of a state without successors in which nothing is withheld: everything is finished.
    ///
    /// # Errors
    /// Who waits for what: the state is stuck, which is a violation.
    fn at_rest(&self, state: &Self::State) -> Result<(), Objection>;

    /// Why something that could happen in this state is left out by a bound that is no fault
    /// budget, if it is: a search that met one is bounded by it and never exhausted.
    fn withheld(&self, state: &Self::State) -> Option<&'static str>;

    /// About how many bytes this state holds beyond its own size. Asked of a few states only, to
    /// estimate what the frontier takes.
    fn heap_bytes(&self, state: &Self::State) -> usize {
        let _ = state;
        0
    }

    /// About how many bytes the model itself holds by now: what its states refer to, and what it has
    /// worked out.
    fn pieces_bytes(&self) -> u64 {
        0
    }

    /// Whether it has noticed something by which all that it has said is void. A path is then rebuilt
    /// only as far as it goes: the objection says what there is to say.
    fn is_void(&self) -> bool {
        false
    }

    /// The same model, holding no more than what these states refer to. They become states of the
    /// new one, with the same fingerprints; it offers the same actions in the same order. `None`
    /// where states hold all that they are.
    fn renewed(&self, states: &mut dyn Iterator<Item = &mut Self::State>) -> Option<Self>
    where
        Self: Sized,
    {
        let _ = states;
        None
    }
}
