//! The steps of a client at a place, put together from its own steps and from what monitors make of their events.

use super::ProgramModel;
use super::check::REDUCTION;
use super::pieces::{AtOnce, Change, OwnStep, Place, Took, Transition};
use super::state::State;
use crate::every::intern::Number;
use std::sync::Arc;
use vivarium_model::effect::{Effects, Status};
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::property::{Monitors, Objection};
use vivarium_model::step::Step;

/// The steps that a client can take at a place.
pub(super) struct Steps {
    /// All steps including faults, except the program's timers that fire only where nothing else can happen.
    pub(super) all: Vec<Took>,
    /// The index of the step that is taken before any other, if there is one.
    pub(super) at_once: Option<usize>,
}

impl ProgramModel {
    /// Returns the steps of a client in a state.
    pub(super) fn steps_at(&self, state: &State, client: ClientId) -> Steps {
        let place = state.place(client);
        let number = self.own_steps_number(state, client, place);
        let own = |index| self.result(state, client, place, number, index);
        let all = 0..self.tables.steps.get(number).all.len();
        let own: Vec<&OwnStep> = all.map(own).collect();
        let all: Vec<Took> = own.iter().map(|own| self.took(state, client, place, own)).collect();
        let at_once = own.iter().zip(&all).position(|(own, took)| is_at_once(own, took));
        Steps { all, at_once }
    }

    /// Returns the result of this step of a client in a state, if it is possible.
    pub(super) fn step_at(&self, state: &State, client: ClientId, step: Step) -> Option<Took> {
        let place = state.place(client);
        let number = self.own_steps_number(state, client, place);
        let mut own = self.tables.steps.get(number).all.iter();
        let index = own.position(|own| own.step == step)?;
        let own = self.result(state, client, place, number, index);
        Some(self.took(state, client, place, own))
    }

    /// Calls `each` with every step that a search takes at a place, and with its index among the client's own steps there
    /// (which have this number), until `each` returns false.
    pub(super) fn for_each_tried(
        &self,
        state: &State,
        client: ClientId,
        place: Place,
        number: Number,
        mut each: impl FnMut(usize, Took) -> bool,
    ) {
        let all = &self.tables.steps.get(number).all;
        let at_once = |(_, own): &(usize, &OwnStep)| own.at_once != AtOnce::No;
        for (index, own) in all.iter().enumerate().filter(at_once) {
            let took = self.took(state, client, place, own);
            if is_at_once(own, &took) {
                each(index, took);
                return;
            }
        }
        for index in 0..all.len() {
            let own = self.result(state, client, place, number, index);
            if !each(index, self.took(state, client, place, own)) {
                return;
            }
        }
    }

    /// Returns the result of a step at a place.
    pub(super) fn took(&self, state: &State, client: ClientId, at: Place, own: &OwnStep) -> Took {
        let Place { shared, witnesses, .. } = at;
        let Place { client, shared: after, left, .. } = self.place_after(state, client, at, own);
        let witnessed = own.events.map(|events| self.witnessed(witnesses, events, shared));
        let objection = witnessed.and_then(|witnessed| witnessed.objection.as_ref());
        let objection = objection.or(own.objection.as_ref()).cloned();
        let objection = objection.or_else(|| unpaid(at, own).map(Arc::new));
        let invisible = witnessed.is_none_or(|witnessed| witnessed.invisible);
        let to = Transition {
            client,
            all: own.all.clone(),
            shared: after,
            witnesses: witnessed.map_or(witnesses, |witnessed| witnessed.to),
            length: 1,
            left,
            objection,
        };
        Took {
            step: own.step,
            private: invisible && own.private && to.objection.is_none(),
            unheard: witnessed.is_none_or(|witnessed| witnessed.unheard),
            to,
        }
    }

    /// Returns the place that a step leads to, without what monitors make of it.
    pub(super) fn place_after(
        &self,
        state: &State,
        client: ClientId,
        at: Place,
        own: &OwnStep,
    ) -> Place {
        let mut left = at.left;
        if let Some(account) = own.account {
            left[account] = account.spent(left[account]);
        }
        let shared = match own.shared {
            Change::Nothing => at.shared,
            Change::To(shared) => shared,
            Change::Expiry(session) => self.expired(state, client, at, session),
            Change::Deferred => unreachable!("its result is a separate entry"),
        };
        Place { client: own.client, shared, left, ..at }
    }

    /// Returns the transitions of a client that occur as time passes, where nothing else can happen.
    pub(super) fn in_time(&self, state: &State, client: ClientId) -> Vec<(Step, Transition)> {
        let place = state.place(client);
        let own = self.own_steps(state, client, place);
        // No program can observe a deletion after every program has finished.
        let unfinished = || {
            let mut pieces = state.clients.iter().flatten();
            pieces.any(|piece| !self.tables.clients.get(*piece).has_finished)
        };
        let is_possible =
            |own: &&OwnStep| !matches!(own.step, Step::DeleteContainer(_)) || unfinished();
        let possible = own.in_time.iter().filter(is_possible);
        possible.map(|own| (own.step, self.after_rest(state, client, place, own))).collect()
    }

    fn after_rest(&self, state: &State, client: ClientId, at: Place, own: &OwnStep) -> Transition {
        let rested = self.rested(at.witnesses, at.shared);
        if let Some(objection) = &rested.objection {
            let Place { client, shared, witnesses, left } = at;
            let objection = Some(objection.clone());
            let (all, length) = (None, 1);
            return Transition { client, all, shared, witnesses, length, left, objection };
        }
        self.took(state, client, Place { witnesses: rested.to, ..at }, own).to
    }

    /// Returns the shared piece after the expiry of a live session of the client.
    pub(super) fn expired(
        &self,
        state: &State,
        client: ClientId,
        at: Place,
        session: SessionId,
    ) -> Number {
        let number = self.tables.expired.find(expired_key(at.shared, session));
        let make = || self.expired_with_images(&state.at(client, at), client, session);
        *self.tables.expired.get(number.unwrap_or_else(make))
    }

    /// Computes the shared piece after the expiry of a live session.
    pub(super) fn expire(&self, state: &State, session: SessionId) -> Number {
        let before = self.scene_with(state, Monitors::new(Vec::new()));
        let mut after = before.clone();
        let status = after.take(Step::Expire(session), &mut Effects::default());
        assert_eq!(status, Ok(Status::Done), "a live session can expire");
        self.refold(state, &before, &after).1
    }
}

/// Returns the key of the shared piece after the expiry of a session.
pub(super) fn expired_key(shared: Number, session: SessionId) -> [u32; 3] {
    [shared.get(), (session.0 >> 32) as u32, session.0 as u32]
}

/// Returns an objection to a step whose account has nothing left: its key lacked what the step reads.
fn unpaid(at: Place, own: &OwnStep) -> Option<Objection> {
    let is_unpaid = own.account.is_some_and(|account| at.left[account] == 0);
    is_unpaid.then(|| {
        let saw =
            format!("`{}` was looked up as a possible step, and the budget is spent", own.step);
        Objection::new(REDUCTION, saw)
    })
}

fn is_at_once(own: &OwnStep, took: &Took) -> bool {
    took.private
        && match own.at_once {
            AtOnce::No => false,
            AtOnce::IfUnheard => took.unheard,
            AtOnce::IfPrivate => true,
        }
}
