//! The shortest way to a violation, for either grain.
//!
//! Breadth first and without reductions, a search finds a shortest way. Otherwise a way is as long as it
//! happens to be. Two things are done about it:
//!
//! 1. Steps are left out as long as what remains is a run within the budget whose end violates the same
//!    property ([`minimise`](crate::recorded::minimise)). It is deterministic and quick.
//! 2. A search breadth first looks for a way with fewer steps than that ([`Shortest::or_shorter`]). Where it
//!    sees everything up to there, the way is proven to be the shortest.

use super::{Bound, Counterexample, Ending, Model, Observer, Options, Strategy, search};
use vivarium_model::property::Objection;
use vivarium_model::step::Step;

/// A way to a violation, with nothing on it that could be left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortest {
    /// The steps of the world, those before the first action included.
    pub steps: Vec<Step>,
    /// What was objected to at the last.
    pub objection: Objection,
    /// How many steps were left out of the way that the search found.
    pub left_out: usize,
    /// Whether a search has seen that there is no shorter way.
    pub proven: bool,
}

impl Shortest {
    /// A way, and what is left of it; not proven yet.
    pub(super) fn of(whole: &[Step], (steps, objection): (Vec<Step>, Objection)) -> Shortest {
        Shortest { left_out: whole.len() - steps.len(), steps, objection, proven: false }
    }

    /// This way or the one with fewer steps that a search finds within these bounds. `options` bound the depth.
    /// Which way it is does not depend on the threads. With a bound of time it can depend on that.
    pub(super) fn or_shorter<M: Model>(
        self,
        model: &M,
        options: &Options,
        observer: &dyn Observer,
        all_steps: impl Fn(&Counterexample<M::Action>) -> Vec<Step>,
    ) -> Shortest {
        let options = Options { strategy: Strategy::BreadthFirst, ..options.clone() };
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
            // Shorter perhaps, but which one was found depends on the threads.
            Ending::Bounded { .. } | Ending::Violated(_) => self,
        }
    }
}
