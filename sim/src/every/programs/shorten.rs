//! The shortest way to a violation.
//!
//! Breadth first, a search finds a shortest way. Depth first, or stopped by a bound, a way is as long as
//! it happens to be. Two things are done about it:
//!
//! 1. Steps are left out, in ever smaller groups, as long as what remains is a run within the budget
//!    whose end violates the same property (delta debugging). It is deterministic and quick.
//! 2. A search breadth first looks for a way with fewer steps than that. Where it sees everything up to
//!    there, the way is proven to be the shortest.

use super::{Action, Budget, Recipes, Reductions};
use crate::every::{Bound, Counterexample, Ending, Observer, Options, Strategy, search};
use std::sync::Arc;
use vivarium_model::grain::Grain;
use vivarium_model::host::Host;
use vivarium_model::id::ClientId;
use vivarium_model::machines::ProgramState;
use vivarium_model::property::Objection;
use vivarium_model::service::Service;
use vivarium_model::service::retake::{Retaken, can_go_on, has_ordinary_step, retake};
use vivarium_model::step::Step;
use vivarium_model::timer::Timer;
use vivarium_model::world::World;

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

/// Shorter ways than this are worth a search.
const WORTH: usize = 200;

impl Recipes {
    /// Makes a counterexample shorter, and looks within the bounds of these options whether there is
    /// anything shorter still. `None` if taking its steps again does not lead to an objection: a
    /// program that is no function of its inputs.
    ///
    /// Which way it is does not depend on the threads. With a bound of time it can depend on that.
    pub fn shortest(
        &self,
        counterexample: &Counterexample<Action>,
        options: &Options,
        observer: &dyn Observer,
    ) -> Option<Shortest> {
        let all = self.all_steps(counterexample);
        let (steps, objection) = self.shorten(&all, &counterexample.objection.property)?;
        let left_out = all.len() - steps.len();
        let mut shortest = Shortest { steps, objection, left_out, proven: false };
        let length = shortest.steps.len();
        if counterexample.shortest || length > WORTH {
            shortest.proven = counterexample.shortest;
            return Some(shortest);
        }
        let reduced = self.with_reductions(Reductions::ALL);
        let options = Options {
            strategy: Strategy::BreadthFirst,
            max_depth: Some(u32::try_from(length).unwrap_or(u32::MAX)),
            ..options.clone()
        };
        match search(&reduced, &options, observer).ending {
            Ending::Exhausted { .. } => shortest.proven = true,
            Ending::Bounded { by: Bound::Depth(_) | Bound::Withheld(_), .. } => {
                shortest.proven = true;
            }
            Ending::Bounded { .. } => {}
            Ending::Violated(found) if found.shortest => {
                shortest.proven = true;
                let steps = reduced.all_steps(&found);
                if steps.len() < shortest.steps.len() {
                    shortest.left_out = all.len() - steps.len();
                    (shortest.steps, shortest.objection) = (steps, found.objection);
                }
            }
            // Shorter perhaps, but which one was found depends on the threads.
            Ending::Violated(_) => {}
        }
        Some(shortest)
    }

    /// Leaves steps out as long as the same property is violated at the end, within the budget.
    pub fn shorten(&self, steps: &[Step], property: &str) -> Option<(Vec<Step>, Objection)> {
        let mut best = self.violating(steps, property)?;
        loop {
            let before = best.0.len();
            let mut size = before / 2;
            while size > 0 {
                self.leave_out_groups(&mut best, size, property);
                size /= 2;
            }
            self.leave_out_tails(&mut best, property);
            if best.0.len() == before {
                return Some(best);
            }
        }
    }

    /// Groups of steps that stand together, from the last to the first.
    fn leave_out_groups(&self, best: &mut (Vec<Step>, Objection), size: usize, property: &str) {
        let mut end = best.0.len();
        while end > 0 {
            let start = end.saturating_sub(size);
            let without: Vec<Step> = [&best.0[..start], &best.0[end..]].concat();
            if let Some(shorter) = self.shorter(best, &without, property) {
                *best = shorter;
            }
            end = start.min(best.0.len());
        }
    }

    /// The last steps of one client, the most first.
    fn leave_out_tails(&self, best: &mut (Vec<Step>, Objection), property: &str) {
        for client in 0..self.config.clients.len() {
            let own = |step: &Step| client_of(step).is_some_and(|owner| owner.index() == client);
            let mut kept = 0;
            while kept < best.0.iter().filter(|step| own(step)).count() {
                let mut seen = 0;
                let mut is_kept = |step: &&Step| {
                    seen += usize::from(own(step));
                    !own(step) || seen <= kept
                };
                let without: Vec<Step> =
                    best.0.iter().filter(|step| is_kept(step)).copied().collect();
                match self.shorter(best, &without, property) {
                    Some(shorter) => *best = shorter,
                    None => kept += 1,
                }
            }
        }
    }

    fn shorter(
        &self,
        best: &(Vec<Step>, Objection),
        steps: &[Step],
        property: &str,
    ) -> Option<(Vec<Step>, Objection)> {
        self.violating(steps, property).filter(|(steps, _)| steps.len() < best.0.len())
    }

    /// The steps that can be taken of these within the budget, if at their end the property is
    /// violated.
    fn violating(&self, steps: &[Step], property: &str) -> Option<(Vec<Step>, Objection)> {
        let mut left = self.budget;
        let mut allow = |world: &World<_, Service>, step: &Step| left.spend(world, step);
        let Retaken { taken, objection, .. } = retake(self.world(), steps, false, &mut allow);
        let objection = objection.filter(|objection| objection.property == property)?;
        Some((taken, objection))
    }

    /// The same with these reductions; its programs share what they have been through.
    pub fn with_reductions(&self, reductions: Reductions) -> Recipes {
        Recipes {
            config: Arc::clone(&self.config),
            trie: Arc::clone(&self.trie),
            monitors: self.monitors.clone(),
            looks_back: self.looks_back,
            told_matters: self.told_matters,
            budget: self.budget,
            reductions,
            flaw: self.flaw,
            rarity: self.rarity,
            tables: super::expand::Tables::new(),
            beginning_of_each: None,
        }
    }
}

impl Budget {
    /// Whether a step may be taken: a search would offer it, and what it takes is left. Takes it.
    fn spend<H: Host>(&mut self, world: &World<H, Service>, step: &Step) -> bool {
        let service = world.grain();
        let left = match step {
            Step::BreakClient { .. } => &mut self.lost,
            Step::Cancel(_) => &mut self.cancels,
            Step::Kill(_) => &mut self.kills,
            Step::Expire(session) if !service.is_orphan(*session) => &mut self.expiries,
            Step::Fire(Timer::Sleep(..)) if has_ordinary_step(service) => &mut self.timers,
            _ => return true,
        };
        let timer = matches!(step, Step::Fire(_));
        let running = client_of(step).is_none_or(|client| {
            client.index() < service.config().clients.len()
                && service.program(client) == ProgramState::Running
        });
        if *left == 0 || !(timer || running && can_go_on(service)) {
            return false;
        }
        *left -= 1;
        true
    }
}

/// Whose step it is. At this grain a session's number begins with its client's.
fn client_of(step: &Step) -> Option<ClientId> {
    match *step {
        Step::ToServer(connection)
        | Step::ToClient(connection)
        | Step::BreakClient { connection, .. } => Some(connection.client),
        Step::Serve { client, .. }
        | Step::Notify(client)
        | Step::Start(client)
        | Step::Input(client)
        | Step::Random { client, .. }
        | Step::Resource { client, .. }
        | Step::Kill(client)
        | Step::Cancel(client)
        | Step::Message { to: client, .. }
        | Step::Fire(Timer::Client(client, _) | Timer::Sleep(client, _)) => Some(client),
        Step::Expire(session) | Step::Late(session) | Step::CloseSession(session) => {
            Some(ClientId((session.0 >> 56) as u8)).filter(|client| client.0 > 0)
        }
        _ => None,
    }
}

#[cfg(test)]
#[path = "shorten_tests.rs"]
mod tests;
