//! stateright's own checkers over the same model, and its browser.
//!
//! On a model in which nobody objects both must count the same distinct states.

use super::model::Model;
use super::search::Strategy;
use stateright::Checker;
use std::fmt::Debug;
use std::hash::Hash;
use std::net::ToSocketAddrs;

/// What stateright's checker says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondOpinion {
    /// States generated.
    pub generated: u64,
    /// Distinct states, told apart by a 64-bit hash.
    pub distinct: u64,
    /// The properties for which it found a counterexample (or an example), sorted.
    pub discoveries: Vec<&'static str>,
}

/// Searches with stateright's own checker, in one thread.
///
/// stateright searches nothing if a model has no properties, and stops as soon as it has an answer
/// for each: counts can be compared only where all properties hold.
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

/// Serves stateright's browser (Explorer) at an address, until the process ends.
pub fn serve<M>(model: M, address: impl ToSocketAddrs)
where
    M: Model + Send + 'static,
    M::State: Hash + Debug + PartialEq + 'static,
    M::Action: Debug + PartialEq,
{
    model.checker().serve(address);
}
