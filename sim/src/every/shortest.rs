//! The shortest path to a violation, for either grain.
//!
//! A breadth-first search without reductions finds a shortest path. Any other search finds a path of arbitrary length,
//! which is then shortened in two ways:
//!
//! 1. Steps are left out as long as the rest is a run within the budget whose end violates the same property
//!    ([`minimise`](crate::recorded::minimise)). This is deterministic and fast.
//! 2. A breadth-first search looks for a path with fewer steps ([`Shortest::or_shorter`]). If it visits everything up
//!    to that length, the path is proven to be the shortest.

use super::{Bound, Counterexample, Ending, Model, Observer, Options, Strategy, search};
use vivarium_model::property::Objection;
use vivarium_model::step::Step;

/// A path to a violation from which no step can be left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortest {
    /// The world steps, including those before the first action.
    pub steps: Vec<Step>,
    /// The violation after the last step.
    pub objection: Objection,
    /// The number of steps that were left out of the path that the search found.
    pub left_out: usize,
    /// Whether a search has proven that there is no shorter path.
    pub proven: bool,
}

impl Shortest {
    /// Creates a shortened path, not proven to be the shortest.
    pub(super) fn of(whole: &[Step], (steps, objection): (Vec<Step>, Objection)) -> Shortest {
        Shortest { left_out: whole.len() - steps.len(), steps, objection, proven: false }
    }

    /// Returns this path, or one with fewer steps that a search finds within these bounds. `options` bound the depth.
    /// The result does not depend on the schedule of threads. With a time bound it can depend on that bound.
    pub(super) fn or_shorter<M: Model>(
        self,
        model: &M,
        options: &Options,
        observer: &dyn Observer,
        all_steps: impl Fn(&Counterexample<M::Action>) -> Vec<Step>,
    ) -> Shortest {
        let strategy = Strategy::BreadthFirst;
        let options = Options { strategy, checkpoints: None, resume: None, ..options.clone() };
        match search(model, &options, observer).ending {
            Ending::Exhausted { .. }
            | Ending::Bounded { by: Bound::Depth(_) | Bound::Withheld(_), .. } => {
                Shortest { proven: true, ..self }
            }
            Ending::Violated(found) if found.shortest => {
                let steps = all_steps(&found);
                if steps.len() >= self.steps.len() {
                    return Shortest { proven: true, ..self };
                }
                let left_out = self.left_out + self.steps.len() - steps.len();
                Shortest { steps, objection: found.objection, left_out, proven: true }
            }
            // A shorter path may exist, but which one was found depends on the threads.
            Ending::Bounded { .. } | Ending::Violated(_) => self,
        }
    }
}
