//! Runs stateright's own checkers on a model.
//!
//! On a model without violations, both searches must count the same distinct states.

use super::model::Model;
use super::search::Strategy;
use stateright::Checker;
use std::fmt::Debug;
use std::hash::Hash;

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
