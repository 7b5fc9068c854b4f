//! A client's own steps, looked up by what they read.
//!
//! The key is the client's piece, which kinds of faults are left, and the footprint: the part of the shared piece that
//! the steps read (`service::footprint` in the model). Monitors are not part of it (`witness.rs`).
//!
//! The claim that steps read no more than their footprint is checked during every search (`check.rs`): in sampled
//! states, steps that were looked up are computed again.

use super::kept::Question;
use super::pieces::{Change, OwnStep, OwnSteps, Place};
use super::reductions::Flaw;
use super::state::State;
use super::tables::StepsKey;
use super::{Budget, ProgramModel};
use crate::every::intern::Number;
use vivarium_model::id::ClientId;
use vivarium_model::service::Reads;

impl ProgramModel {
    /// Returns what a client can do at a place, without what monitors make of it.
    pub(super) fn own_steps(&self, state: &State, client: ClientId, at: Place) -> &OwnSteps {
        self.tables.steps.get(self.own_steps_number(state, client, at))
    }

    /// Returns the number of what a client can do at a place.
    pub(super) fn own_steps_number(&self, state: &State, client: ClientId, at: Place) -> Number {
        let key = self.steps_key(client, at);
        if let Some(number) = self.tables.steps.find(key) {
            return number;
        }
        self.steps_with_images(&state.at(client, at), client)
    }

    /// Returns a step with its result at a place; the step is given by the number of the client's steps there, and by
    /// its index among them.
    pub(super) fn result(
        &self,
        state: &State,
        client: ClientId,
        at: Place,
        steps: Number,
        index: usize,
    ) -> &OwnStep {
        let own = &self.tables.steps.get(steps).all[index];
        if own.shared != Change::Deferred {
            return own;
        }
        let number = self.tables.deferred.find(self.result_key(at, steps, index));
        let make = || self.result_with_images(&state.at(client, at), client, steps, index);
        self.tables.deferred.get(number.unwrap_or_else(make))
    }

    /// Returns the key of the result of a step that reads the whole shared piece.
    pub(super) fn result_key(&self, at: Place, steps: Number, index: usize) -> [u32; 3] {
        let shared = if self.has(Flaw::FootprintOfWrites) { 0 } else { at.shared.get() };
        [steps.get(), index as u32, shared]
    }

    pub(super) fn steps_key(&self, client: ClientId, at: Place) -> StepsKey {
        let question = self.question(client, at);
        let mut seen = self.answer(question, at.shared);
        let shared = self.tables.shared.get(at.shared);
        if question != Question::Everything && !self.has(Flaw::FootprintWithoutSessions) {
            seen = seen.wrapping_add(shared.sessions[client.index()].fingerprint().0);
        }
        let kind = match question {
            Question::Nothing => 0,
            Question::Notice(_) => 1,
            Question::Log(_) => 2,
            Question::Everything => 3,
        };
        let word = |word: u32| (seen >> (32 * word)) as u32;
        let faults = if self.has(Flaw::FootprintWithoutBudget) { 0 } else { kinds_left(at.left) };
        [at.client.get(), faults << 2 | kind, word(0), word(1), word(2), word(3)]
    }

    /// Returns what the steps of a client at a place ask of the shared piece.
    pub(super) fn question(&self, client: ClientId, at: Place) -> Question {
        // With these flaws, a step that reads everything can be private, and the steps after it depend on its result.
        let is_lost = |flaw| self.has(flaw);
        if [
            Flaw::LateIsPrivate,
            Flaw::DeletionIsPrivate,
            Flaw::FailedWriteIsPrivate,
            Flaw::OrphanExpiryIsPrivate,
        ]
        .into_iter()
        .any(is_lost)
        {
            return Question::Everything;
        }
        // Deletions are listed with this client's steps.
        if self.config.deletes_containers
            && self.deletes(client)
            && self.tables.shared.get(at.shared).has_reaped
        {
            return Question::Everything;
        }
        let piece = self.tables.clients.get(at.client);
        match piece.reads {
            Reads::Notice if self.has(Flaw::FootprintOfWatches) => Question::Nothing,
            Reads::Log(_) if self.has(Flaw::FootprintOfReads) => Question::Notice(piece.listener),
            Reads::Sessions => Question::Nothing,
            Reads::Notice => Question::Notice(piece.listener),
            Reads::Log(from) => Question::Log(from),
        }
    }

    /// Returns the answer to a question.
    pub(super) fn answer(&self, question: Question, shared: Number) -> u128 {
        let piece = || self.tables.shared.get(shared);
        match question {
            Question::Nothing => 0,
            Question::Notice(listener) => {
                let share = &self.tables.listeners.get(listener).0;
                piece().common.notice(share).0
            }
            Question::Log(from) => piece().common.log(from).0,
            Question::Everything => u128::from(shared.get()),
        }
    }

    /// Computes again what a client can do at a place, and returns the first step that differs from what was looked up,
    /// or an empty text if something else does.
    pub(super) fn misread(&self, state: &State, client: ClientId) -> Option<String> {
        let place = state.place(client);
        let number = self.own_steps_number(state, client, place);
        let known = self.tables.steps.get(number);
        let anew = self.try_all(state, client);
        let lists = [(&known.all, &anew.all), (&known.in_time, &anew.in_time)];
        for (known, anew) in lists {
            let differ = |(one, other): &(&OwnStep, &OwnStep)| !one.is(other);
            if let Some((step, _)) = known.iter().zip(anew).find(differ) {
                return Some(step.step.to_string());
            }
            if known.len() != anew.len() {
                let longer = if known.len() > anew.len() { known } else { anew };
                return Some(longer[known.len().min(anew.len())].step.to_string());
            }
        }
        let misread = |(index, own): &(usize, &OwnStep)| {
            own.shared == Change::Deferred
                && !self
                    .result(state, client, place, number, *index)
                    .is(&self.try_deferred(state, client, own.step))
        };
        if let Some((_, own)) = known.all.iter().enumerate().find(misread) {
            return Some(own.step.to_string());
        }
        let flags = |steps: &OwnSteps| (steps.idle, steps.withheld, steps.input_withheld);
        (flags(known) != flags(&anew)).then(String::new)
    }
}

impl OwnStep {
    fn is(&self, other: &OwnStep) -> bool {
        let about = |of: &OwnStep| (of.step, of.private, of.at_once, of.account);
        let leads = |of: &OwnStep| (of.client, of.all.clone(), of.shared, of.events);
        let saw = |of: &OwnStep| of.objection.as_ref().map(|objection| objection.saw.clone());
        about(self) == about(other) && leads(self) == leads(other) && saw(self) == saw(other)
    }
}

/// Returns one bit for each kind of what is left. No step asks for more than that.
fn kinds_left(left: Budget) -> u32 {
    Budget::ACCOUNTS.iter().fold(0, |bits, account| bits << 1 | u32::from(left[*account] > 0))
}
