//! The interface between a search and a model.

use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::property::Objection;

/// The functions of a model that a search needs in addition to [`stateright::Model`].
///
/// `actions`, `next_state` and all functions here must be pure: equal states offer the same actions in the same order,
/// and the same action leads to the same state. The search stores a path as indices into these lists, and rebuilds the
/// path by taking the actions again.
pub trait Model:
    stateright::Model<State: Clone + Send + Sync, Action: Clone + Send + Sync> + Send + Sync
{
    /// Returns the state's 128-bit fingerprint: equal states have equal fingerprints. All its bits must be well mixed,
    /// as those of [`Fingerprint::of`] are, because hash tables use it without further hashing.
    fn fingerprint(&self, state: &Self::State) -> Fingerprint;

    /// Returns the monitor's objection to the last step into this state. Such a state has no successors.
    fn objection<'a>(&self, state: &'a Self::State) -> Option<&'a Objection>;

    /// Returns the number of world steps that the action into this state took, at least 1. (A reduction can take
    /// several steps in one action.) Not called for an initial state.
    fn length(&self, state: &Self::State) -> u32;

    /// Checks that everything is finished. Called for a state without successors in which nothing is withheld.
    ///
    /// # Errors
    /// Returns an objection that says who waits for what: the state is stuck, which is a violation.
    fn at_rest(&self, state: &Self::State) -> Result<(), Objection>;

    /// Returns the name of a bound, other than a fault budget, that excludes a possible step of this state. The ending
    /// of a search that meets one is bounded, never exhausted.
    fn withheld(&self, state: &Self::State) -> Option<&'static str>;

    /// Appends a state's actions, and returns the bound, if any, that [`Model::withheld`] names.
    fn expand(&self, state: &Self::State, actions: &mut Vec<Self::Action>) -> Option<&'static str> {
        self.actions(state, actions);
        self.withheld(state)
    }

    /// Returns a number of a state: if no action lowers it, then no cycle contains an action that raises it. Equal states
    /// have equal numbers. With the same number for all states, nothing is proven.
    fn progress(&self, state: &Self::State) -> i128 {
        let _ = state;
        0
    }

    /// Estimates the bytes that this state holds beyond its own size. Called for a few sampled states, to estimate the
    /// size of the frontier.
    fn heap_bytes(&self, state: &Self::State) -> usize {
        let _ = state;
        0
    }

    /// Estimates the bytes that the model itself holds: the pieces of states, and cached results.
    fn pieces_bytes(&self) -> u64 {
        0
    }

    /// Returns true if the model has detected something that invalidates all its answers. A path is then rebuilt only
    /// as far as its actions can be taken, because the objection alone explains the violation.
    fn is_void(&self) -> bool {
        false
    }

    /// Returns an equal model that holds only what these states refer to, and converts the states to it. The converted
    /// states have the same fingerprints, and the new model offers the same actions in the same order. Returns `None`
    /// if states are self-contained.
    fn renewed(&self, states: &mut dyn Iterator<Item = &mut Self::State>) -> Option<Self>
    where
        Self: Sized,
    {
        let _ = states;
        None
    }
}
