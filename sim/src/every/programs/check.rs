//! Checks privacy during a search. In the first states, and then in one of [`RARITY`], each private step of each
//! client, at each place of its blocks, is compared with each step that another client can take after it, at each place
//! of that client's blocks.
//!
//! One claim cannot be checked in advance: which events' order a monitor minds ([`Monitor::minds_order`]). A monitor
//! that denies it and does mind the order is detected here.
//!
//! [`Monitor::minds_order`]: vivarium_model::property::Monitor::minds_order

use super::ProgramModel;
use super::pieces::{Place, Took};
use super::state::State;
use vivarium_model::id::ClientId;
use vivarium_model::property::Objection;

/// The property that the condition of a reduction holds.
pub const REDUCTION: &str = "a reduction's condition";

/// After the first states, one state in this many is checked, unless all states are to be checked.
pub(super) const RARITY: u128 = if cfg!(debug_assertions) { 64 } else { 1_024 };

impl ProgramModel {
    /// Checks a state if the state is selected.
    ///
    /// # Errors
    /// Returns an objection if two steps were treated as independent but are not.
    pub(super) fn check(&self, state: &State) -> Result<(), Objection> {
        if !self.reductions.blocks
            || state.objection.is_some()
            || !self.audit.takes(state.fingerprint, self.rarity)
        {
            return Ok(());
        }
        self.check_all(state).inspect_err(|_| self.audit.objects(state.fingerprint))
    }

    fn check_all(&self, state: &State) -> Result<(), Objection> {
        for client in self.clients() {
            for place in self.places_of_blocks(state, client) {
                if self.trie.is_late() {
                    return Ok(());
                }
                self.check_at(&state.at(client, place), client)?;
            }
        }
        Ok(())
    }

    /// Checks the steps of a client at its current place, at the border of a block or inside one.
    fn check_at(&self, state: &State, client: ClientId) -> Result<(), Objection> {
        self.comes_first(state, client)?;
        // Another client can act from any place in a block of its own.
        for other in self.clients().filter(|other| *other != client) {
            for place in self.places_of_blocks(state, other) {
                if self.trie.is_late() {
                    return Ok(());
                }
                let state = state.at(other, place);
                let mut private =
                    self.steps_at(&state, client).all.iter().filter(|took| took.private);
                private.try_for_each(|took| self.swaps(&state, client, took, other))?;
            }
        }
        Ok(())
    }

    /// Checks that a step that is taken before all others makes no difference to the client's other steps.
    fn comes_first(&self, state: &State, client: ClientId) -> Result<(), Objection> {
        let steps = self.steps_at(state, client);
        let Some(at) = steps.at_once else { return Ok(()) };
        let first = &steps.all[at];
        let ahead = self.after_step(state, client, first);
        let find = |state: &State, took: &Took| {
            let steps = self.steps_at(state, client);
            let same = steps.all.iter().find(|other| other.step == took.step);
            same.map(|same| pieces(&self.after_step(state, client, same)))
        };
        for other in steps.all.iter().filter(|other| other.step != first.step) {
            if other.to.objection.is_some() {
                continue;
            }
            // If the program ends, other packets and inputs on the way to it are discarded.
            let before = find(&self.after_step(state, client, other), first);
            let behind = find(&ahead, other).unwrap_or_else(|| pieces(&ahead));
            if before.as_ref() != Some(&behind) {
                let saw = format!(
                    "`{}` was taken at once, but the result of `{}` depends on it",
                    first.step, other.step
                );
                return Err(Objection::new(REDUCTION, saw));
            }
        }
        Ok(())
    }

    /// Checks that each step that `other` can take after this step of `client` can be taken before it instead.
    fn swaps(
        &self,
        state: &State,
        client: ClientId,
        took: &Took,
        other: ClientId,
    ) -> Result<(), Objection> {
        let behind = state.at(client, took.to.place());
        for theirs in &self.steps_at(&behind, other).all {
            let same = |took: &&Took, other: &Took| took.step == other.step;
            let first = self.steps_at(state, other).all.iter().find(|took| same(took, theirs));
            let swapped = first.is_some_and(|first| {
                if first.to.objection.is_some() || theirs.to.objection.is_some() {
                    return saw(first) == saw(theirs);
                }
                let between = self.after_step(state, other, first);
                let second = self.steps_at(&between, client).all.iter().find(|it| same(it, took));
                second.is_some_and(|second| {
                    let one = pieces(&self.after_step(&between, client, second));
                    second.private && one == pieces(&self.after_step(&behind, other, theirs))
                })
            });
            if !swapped {
                return Err(Objection::new(
                    REDUCTION,
                    format!(
                        "the reductions assume that `{}` and the later step `{}` commute, but they do not: a \
                         monitor that depends on the order of clients' events must declare it (`minds_order`), or \
                         a program depends on something other than its handle",
                        took.step, theirs.step
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Returns the state after a single step, without a valid fingerprint.
    fn after_step(&self, state: &State, client: ClientId, took: &Took) -> State {
        let mut next = state.at(client, took.to.place());
        if let Some(all) = &took.to.all {
            for (place, number) in next.clients.iter_mut().zip(all.iter()) {
                *place = Some(*number);
            }
        }
        next
    }
}

fn saw(took: &Took) -> Option<&str> {
    took.to.objection.as_ref().map(|objection| &*objection.saw)
}

/// Two states with equal results are equal.
fn pieces(state: &State) -> (Vec<Option<Place>>, super::Budget) {
    let place = |client: &Option<crate::every::intern::Number>| {
        let (shared, witnesses, left) = (state.shared, state.witnesses, state.left);
        client.map(|client| Place { client, shared, witnesses, left })
    };
    (state.clients.iter().map(place).collect(), state.left)
}
