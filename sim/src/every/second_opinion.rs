//! Runs stateright's own checkers and its browser on a model.
//!
//! On a model without violations, both searches must count the same distinct states.

use super::model::Model;
use super::search::Strategy;
use stateright::{Checker, Model as _, Property};
use std::fmt::{self, Debug};
use std::hash::{Hash, Hasher};
use std::net::ToSocketAddrs;

/// The result of stateright's checker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondOpinion {
    /// States generated.
    pub generated: u64,
    /// Distinct states, distinguished by a 64-bit hash.
    pub distinct: u64,
    /// The properties for which it found a counterexample or an example, sorted.
    pub discoveries: Vec<&'static str>,
}

/// Searches with stateright's own checker, in one thread.
///
/// stateright searches nothing if a model has no properties, and stops as soon as it has an answer for each property.
/// So the counts are comparable only if all properties hold.
pub fn cross_check<M>(model: M, strategy: Strategy) -> SecondOpinion
where
    M: Model + Send + 'static,
    M::State: Hash + Debug + PartialEq + 'static,
    M::Action: PartialEq,
{
    match strategy {
        Strategy::BreadthFirst => opinion(&model.checker().spawn_bfs().join()),
        Strategy::DepthFirst => opinion(&model.checker().spawn_dfs().join()),
    }
}

fn opinion<M>(checker: &impl Checker<M>) -> SecondOpinion
where
    M: Model<State: PartialEq, Action: PartialEq>,
{
    let mut discoveries: Vec<&'static str> = checker.discoveries().into_keys().collect();
    discoveries.sort_unstable();
    SecondOpinion {
        generated: checker.state_count() as u64,
        distinct: checker.unique_state_count() as u64,
        discoveries,
    }
}

/// Serves stateright's browser (Explorer) at an address until the process ends. `describe` describes a state in words.
pub fn serve<M>(model: M, describe: fn(&M, &M::State) -> String, address: impl ToSocketAddrs)
where
    M: Model + Send + 'static,
    M::State: Hash + PartialEq + 'static,
    M::Action: Debug + PartialEq,
{
    Told { model, describe }.checker().serve(address);
}

/// A model whose states carry a description.
struct Told<M: Model> {
    model: M,
    describe: fn(&M, &M::State) -> String,
}

/// A state with a description, which is not part of its identity.
#[derive(Clone)]
struct InWords<S> {
    state: S,
    words: String,
}

impl<S> Debug for InWords<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl<S: PartialEq> PartialEq for InWords<S> {
    fn eq(&self, other: &InWords<S>) -> bool {
        self.state == other.state
    }
}

impl<S: Hash> Hash for InWords<S> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.state.hash(hasher);
    }
}

impl<M: Model> Told<M> {
    fn in_words(&self, state: M::State) -> InWords<M::State> {
        InWords { words: (self.describe)(&self.model, &state), state }
    }

    fn holds(&self, state: &InWords<M::State>) -> bool {
        let mut actions = Vec::new();
        self.model.actions(&state.state, &mut actions);
        let at_rest = actions.is_empty() && self.model.withheld(&state.state).is_none();
        self.model.objection(&state.state).is_none()
            && (!at_rest || self.model.at_rest(&state.state).is_ok())
    }
}

impl<M: Model> stateright::Model for Told<M> {
    type State = InWords<M::State>;
    type Action = M::Action;

    fn init_states(&self) -> Vec<Self::State> {
        let states = self.model.init_states().into_iter();
        states.map(|state| self.in_words(state)).collect()
    }

    fn actions(&self, state: &Self::State, actions: &mut Vec<M::Action>) {
        self.model.actions(&state.state, actions);
    }

    fn next_state(&self, last: &Self::State, action: M::Action) -> Option<Self::State> {
        let next = self.model.next_state(&last.state, action)?;
        Some(self.in_words(next))
    }

    fn format_action(&self, action: &M::Action) -> String
    where
        M::Action: Debug,
    {
        self.model.format_action(action)
    }

    fn format_step(&self, last: &Self::State, action: M::Action) -> Option<String>
    where
        Self::State: Debug,
    {
        let next = self.next_state(last, action)?;
        Some(next.words)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("nobody objects", Told::holds)]
    }
}
