//! Moves from state to state by looking up computed results.

use super::actions::{Kind, can_be_paid};
use super::choices::Move;
use super::pieces::Witnessed;
use super::state::Number;
use super::state::{MAX_SERVERS, PLACES, State, server_at};
use super::view::Unfolded;
use super::{Action, EnsembleModel, Reductions};
use crate::budget::Account;
use crate::every::Model;
use std::cell::OnceCell;
use std::sync::Arc;
use vivarium_model::effect::Effects;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::id::ServerId;
use vivarium_model::property::{Objection, invariants};
use vivarium_model::step::Step;
use vivarium_model::time::Time;

impl EnsembleModel {
    /// Returns the state after the servers have started.
    pub(super) fn beginning(&self) -> State {
        let mut ensemble = vivarium_model::ensemble::Ensemble::new(Arc::clone(&self.config));
        let mut effects = Effects::default();
        ensemble.begin(&mut effects);
        let mut scene = super::scene::Scene { ensemble, timers: Default::default() };
        if !self.config.election.is_oracle() {
            scene.keep_timers(&Step::Propose(ServerId(1)), &effects);
        }
        self.state_of(&scene)
    }

    fn state_of(&self, scene: &super::scene::Scene) -> State {
        let mut state = State {
            numbers: self.fold(scene, &[0; PLACES]),
            witnesses: self.witnesses(&self.first_witnesses),
            left: self.budget,
            length: 0,
            objection: None,
            fingerprint: Fingerprint::default(),
        };
        state.fingerprint = self.fingerprint_of(&state);
        state
    }

    /// Returns the objection to the end of recorded steps, if nothing except faults can happen after them. Asks the
    /// same question as [`Model::at_rest`] does for a state. Returns `None` also if a further step is possible, or if a
    /// recorded step is not enabled.
    pub(crate) fn stuck_after(&self, steps: &[Step]) -> Option<Objection> {
        let mut scene = self.unfold(&self.beginning().numbers);
        for step in steps {
            let mut effects = Effects::default();
            let status = scene.ensemble.apply(Time::ZERO, step, &mut effects);
            if status != vivarium_model::effect::Status::Done {
                return None;
            }
            if !self.config.election.is_oracle() {
                scene.keep_timers(step, &effects);
            }
        }
        let state = self.state_of(&scene);
        let mut actions = Vec::new();
        stateright::Model::actions(self, &state, &mut actions);
        let can_go_on = !actions.is_empty() || Model::withheld(self, &state).is_some();
        if can_go_on { None } else { Model::at_rest(self, &state).err() }
    }

    /// Lists every action of a state, in a fixed order.
    pub(super) fn list(&self, state: &State, actions: &mut Vec<Action>) {
        let from = actions.len();
        let here = Unfolded { numbers: &state.numbers, scene: OnceCell::new() };
        let views = self.views(&here);
        self.add_free(&here, &views, actions);
        if actions.len() == from {
            self.add(Kind::Impatient, &here, &views, actions);
        }
        for kind in Kind::PAID {
            if can_be_paid(kind.charge(), &state.left) {
                self.add(kind, &here, &views, actions);
            }
        }
        let upset = Some(Account::Upsets);
        if self.config.election.is_oracle() && can_be_paid(upset, &state.left) {
            self.elections(&here, self.of_servers(&views), upset, actions);
        }
    }

    /// Returns true if no free action is possible except the end of a time limit: everything under way has completed.
    pub fn is_calm(&self, state: &State) -> bool {
        let mut actions = Vec::new();
        let here = Unfolded { numbers: &state.numbers, scene: OnceCell::new() };
        self.add_free(&here, &self.views(&here), &mut actions);
        actions.is_empty()
    }

    /// Returns the servers' views; 0 beyond the number of servers.
    fn views(&self, here: &Unfolded<'_>) -> [Number; MAX_SERVERS] {
        let mut views = [0; MAX_SERVERS];
        for server in self.config.server_ids() {
            views[server.index()] = self.view(server, here);
        }
        views
    }

    /// Adds the actions that are free and need no impatience.
    fn add_free(&self, here: &Unfolded<'_>, views: &[Number], actions: &mut Vec<Action>) {
        self.add(Kind::Free, here, views, actions);
        if self.config.election.is_oracle() {
            self.elections(here, self.of_servers(views), None, actions);
        }
    }

    fn of_servers<'a>(&self, views: &'a [Number]) -> &'a [Number] {
        &views[..usize::from(self.config.servers)]
    }

    fn add(&self, kind: Kind, here: &Unfolded<'_>, views: &[Number], actions: &mut Vec<Action>) {
        for (server, view) in self.config.server_ids().zip(views) {
            actions.extend(self.choices(*view, here, server, kind).map(Action));
        }
    }

    /// Takes an action and, with reductions, the eager steps after it.
    pub(super) fn perform(
        &self,
        state: &State,
        action: &Action,
        mut steps: Option<&mut Vec<Step>>,
    ) -> State {
        let choice = self.tables.choices.get(action.0);
        let mut next = State { length: 0, objection: None, ..state.clone() };
        if let Some(account) = choice.charge {
            let left = &mut next.left[account];
            *left = left.checked_sub(1).expect("only what can be paid is offered");
            next.fingerprint.subtract(self.prices[account]);
        }
        let mut note = |took: &Move| steps.as_deref_mut().map_or((), |it| it.push(took.step));
        for took in choice.moves() {
            self.follow(&mut next, took);
            note(took);
            if next.objection.is_some() {
                break;
            }
        }
        self.hurry(&mut next, self.reductions, usize::MAX, note);
        #[cfg(debug_assertions)]
        self.check_now_and_then(state, action, &next);
        next
    }

    /// Takes at most `most` eager steps.
    fn hurry(
        &self,
        state: &mut State,
        reductions: Reductions,
        most: usize,
        mut note: impl FnMut(&Move),
    ) {
        let mut scene = None;
        for _ in 0..most {
            if !reductions.has_eager_steps() || state.objection.is_some() {
                return;
            }
            let outlook = self.outlook(&state.left, self.history(state));
            let Some(eager) = self.eager(&state.numbers, reductions, outlook) else { return };
            let took = self.eager_move(&state.numbers, eager, &mut scene);
            self.follow(state, took);
            note(took);
        }
    }

    /// Returns the next eager step under these reductions and the state after it; `None` if there is no eager step.
    pub fn after_eager(&self, state: &State, reductions: Reductions) -> Option<(State, Step)> {
        let (mut next, mut step) = (state.clone(), None);
        self.hurry(&mut next, reductions, 1, |took| step = Some(took.step));
        Some((next, step?))
    }

    /// Returns the state after all eager steps under these reductions.
    pub fn settled(&self, state: &State, reductions: Reductions) -> State {
        let mut next = state.clone();
        self.hurry(&mut next, reductions, usize::MAX, |_took| ());
        next
    }

    /// Applies a move to a state.
    fn follow(&self, state: &mut State, took: &Move) {
        took.change(&mut state.numbers);
        state.fingerprint.add(took.difference());
        state.length += 1;
        if let Err(objection) = self.witness(state, took) {
            state.fingerprint.add(Fingerprint::of(&objection.saw));
            state.objection = Some(objection);
        }
    }

    /// Gives the events to the witnesses, and checks the properties that the step may have violated.
    fn witness(&self, state: &mut State, took: &Move) -> Result<(), Arc<Objection>> {
        let mut longer = false;
        if took.events != 0 {
            let witnessed = self.witnessed(state.witnesses, took.events);
            state.witnesses = witnessed.witnesses;
            state.fingerprint.add(witnessed.difference);
            longer = witnessed.longer;
            witnessed.objection.clone().map_or(Ok(()), Err)?;
        }
        let Some(server) = took.taker else { return Ok(()) };
        if took.judge {
            self.judge(state, server, took.disk_changed)?;
        }
        if !(took.disk_changed || longer) {
            return Ok(());
        }
        let disk = |server| &*self.tables.servers.get(state.numbers[server_at(server)]).value.disk;
        let last = self.tables.witnesses.get(state.witnesses).value.history().last();
        let disks = self.config.server_ids().map(disk);
        invariants::durable_on(&self.config, disks, last).map_err(Arc::new)
    }

    /// Returns the result of these events for the witnesses, computed at most once.
    fn witnessed(&self, witnesses: Number, events: Number) -> &Witnessed {
        let tables = &self.tables;
        let number = tables.witnessed.number([witnesses, events], || {
            let before = tables.witnesses.get(witnesses);
            let mut after = before.value.clone();
            let mut told = tables.events.get(events).clone();
            let objection = after.witness(Time::ZERO, &mut told).err().map(Arc::new);
            let number = self.witnesses(&after);
            let mut difference = tables.witnesses.get(number).fingerprint;
            difference.subtract(before.fingerprint);
            let longer = after.history().last() > before.value.history().last();
            Witnessed { witnesses: number, difference, longer, objection }
        });
        tables.witnessed.get(number)
    }

    /// Checks the state properties of one server.
    fn judge(
        &self,
        state: &State,
        server: ServerId,
        disk_changed: bool,
    ) -> Result<(), Arc<Objection>> {
        let tables = &self.tables;
        let witnesses = tables.witnesses.get(state.witnesses);
        let number = state.numbers[server_at(server)];
        let key = [number, witnesses.history, u32::from(disk_changed)];
        let judged = tables.judged.number(key, || {
            let node = &tables.servers.get(number).value;
            let (process, history) = (node.process.as_ref(), witnesses.value.history());
            invariants::of_server(server, &node.disk, process, history, disk_changed)
                .map_err(Arc::new)
        });
        tables.judged.get(judged).clone()
    }
}
