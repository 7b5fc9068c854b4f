//! Finds the shortest path to a violation by programs.

use super::budget::account_of;
use super::{Action, Budget, ProgramModel, Reductions};
use crate::every::{Counterexample, Observer, Options, Shortest};
use crate::recorded::minimise::minimise;
use crate::recorded::service::replay_in;
use crate::recorded::steps::Replayed;
use std::sync::Arc;
use vivarium_model::grain::Grain;
use vivarium_model::host::Host;
use vivarium_model::id::ClientId;
use vivarium_model::machines::ProgramState;
use vivarium_model::property::Objection;
use vivarium_model::service::Service;
use vivarium_model::step::Step;
use vivarium_model::time::Duration;
use vivarium_model::timer::Timer;
use vivarium_model::world::World;

/// The most steps of a path for which a search looks for a shorter one.
const WORTH: usize = 200;

impl ProgramModel {
    /// Shortens a counterexample, and searches within these options for a shorter one. Returns `None` if the replayed
    /// steps do not lead to an objection, because a program is no function of its inputs.
    ///
    /// The result does not depend on the schedule of threads. It can depend on a time bound.
    pub fn shortest(
        &self,
        counterexample: &Counterexample<Action>,
        options: &Options,
        observer: &dyn Observer,
    ) -> Option<Shortest> {
        let all = self.all_steps(counterexample);
        let (steps, objection) = self.shorten(&all, &counterexample.objection.property)?;
        let mut shortest = Shortest::of(&all, (steps, objection));
        let length = shortest.steps.len();
        if counterexample.shortest || length > WORTH {
            shortest.proven = counterexample.shortest;
            return Some(shortest);
        }
        let reduced = self.with_reductions(Reductions::ALL);
        let max_depth = Some(u32::try_from(length).unwrap_or(u32::MAX));
        let options = Options { max_depth, ..options.clone() };
        Some(shortest.or_shorter(&reduced, &options, observer, |found| reduced.all_steps(found)))
    }

    /// Leaves out steps while the same property is violated at the end, within the budget. The candidates are adjacent
    /// steps, and the last steps of one client.
    pub(crate) fn shorten(&self, steps: &[Step], property: &str) -> Option<(Vec<Step>, Objection)> {
        let of = |at| move |step: &Step| client_of(step).is_some_and(|owner| owner.index() == at);
        let clients: Vec<_> = (0..self.config.clients.len()).map(of).collect();
        let kinds: Vec<&dyn Fn(&Step) -> bool> = clients.iter().map(|own| own as _).collect();
        minimise(steps, &kinds, &mut |steps| self.violating(steps, property))
    }

    /// Returns the steps that can be taken within the budget, if their end violates the property.
    fn violating(&self, steps: &[Step], property: &str) -> Option<(Vec<Step>, Objection)> {
        let mut left = self.budget;
        let mut allow =
            |world: &World<_, Service>, step: &Step| left.spend(world, step, &self.delays);
        let Replayed { taken, objection, .. } = replay_in(self.world(), steps, false, &mut allow);
        let objection = objection.filter(|objection| objection.property == property)?;
        Some((taken, objection))
    }

    /// Returns the same model with these reductions. Both share the programs' trie.
    pub(crate) fn with_reductions(&self, reductions: Reductions) -> ProgramModel {
        ProgramModel {
            config: Arc::clone(&self.config),
            trie: Arc::clone(&self.trie),
            monitors: self.monitors.clone(),
            beginning_monitors: self.beginning_monitors.clone(),
            looks_back: self.looks_back,
            told_matters: self.told_matters,
            budget: self.budget,
            draws_others: self.draws_others,
            delays: Arc::clone(&self.delays),
            reductions,
            flaw: self.flaw,
            rarity: self.rarity,
            audit: Arc::default(),
            tables: super::tables::Tables::new(),
            // A search for a shorter path that finds clients told apart would have nothing to say of the violation.
            symmetry: None,
        }
    }
}

impl Budget {
    /// Returns true, and takes the step off the budget, if a search would offer the step and enough of the budget is
    /// left.
    fn spend<H: Host>(
        &mut self,
        world: &World<H, Service>,
        step: &Step,
        delays: &[Duration],
    ) -> bool {
        let service = world.grain();
        let Some(account) = account_of(service, step) else { return true };
        match *step {
            Step::Clock { client, call, reading } => {
                let least = service.least_reading(client, call);
                if least.is_none_or(|least| !delays.contains(&reading.since(least))) {
                    return false;
                }
            }
            Step::Fire(Timer::Sleep(..)) if !service.has_ordinary_step() => return true,
            // A search deletes nothing after every program has finished.
            Step::DeleteContainer(_) if !service.has_ordinary_step() => return service.can_go_on(),
            _ => {}
        }
        let timer = matches!(step, Step::Fire(Timer::Sleep(..)));
        let running = client_of(step).is_none_or(|client| {
            client.index() < service.config().clients.len()
                && service.program(client) == ProgramState::Running
        });
        let left = &mut self[account];
        if *left == 0 || !(timer || running && service.can_go_on()) {
            return false;
        }
        *left = account.spent(*left);
        true
    }
}

/// Returns the client of a step. At the service grain, a session id begins with the client's number.
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
        | Step::Clock { client, .. }
        | Step::Resource { client, .. }
        | Step::Kill(client)
        | Step::Cancel(client)
        | Step::Message { to: client, .. }
        | Step::Fire(Timer::Client(client, _) | Timer::Sleep(client, _)) => Some(client),
        Step::Expire(session) | Step::Late(session) | Step::CloseSession(session) => {
            Some(session.client()).filter(|client| client.0 > 0)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
