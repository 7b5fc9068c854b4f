//! Checks privacy during a search. In the first states, and then in one of [`RARITY`], each private step of each
//! client, at each place of its blocks, is compared with each step that another client can take after it, at each place
//! of that client's blocks.
//!
//! One claim cannot be checked in advance: which events' order a monitor minds ([`Monitor::minds_order`]). A monitor
//! that denies it and does mind the order is detected here.
//!
//! [`Monitor::minds_order`]: vivarium_model::property::Monitor::minds_order

use super::ProgramModel;
use super::pieces::{OwnStep, Place, Took};
use super::state::State;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::id::ClientId;
use vivarium_model::property::Objection;

/// The property that the condition of a reduction holds.
pub const REDUCTION: &str = "a reduction's condition";

/// After the first states, one state in this many is checked, unless all states are to be checked.
pub(super) const RARITY: u128 = if cfg!(debug_assertions) { 64 } else { 512 };

/// At one in this many of the places that are checked, a client's steps are computed again.
const READS_RARITY: u128 = 8;

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
            self.is_composed(state, client)?;
            self.compare_images(state, client);
            for place in self.places_of_blocks(state, client) {
                if self.trie.is_late() {
                    return Ok(());
                }
                self.check_at(&state.at(client, place), client)?;
            }
        }
        Ok(())
    }

    /// Checks that the blocks of a client that were composed are those that a walk finds.
    fn is_composed(&self, state: &State, client: ClientId) -> Result<(), Objection> {
        match self.is_miscomposed(state, client) {
            true => Err(Objection::new(
                REDUCTION,
                "the blocks of private steps that were composed are not those that a walk finds: the search itself has \
                 a defect",
            )),
            false => Ok(()),
        }
    }

    /// Checks the steps of a client at its current place, at the border of a block or inside one. What holds at a place,
    /// or of the places of two clients, holds in every state with these places, so it is checked once.
    fn check_at(&self, state: &State, client: ClientId) -> Result<(), Objection> {
        let key = self.place_key(state, &[client]);
        if self.audit.is_new(key) {
            if self.rarity == 1 || key.is_multiple_of(READS_RARITY) {
                self.reads_enough(state, client)?;
            }
            self.comes_first(state, client)?;
        }
        // Another client can act from any place in a block of its own.
        for other in self.clients().filter(|other| *other != client) {
            for place in self.places_of_blocks(state, other) {
                let state = state.at(other, place);
                if !self.audit.is_new_pair(self.place_key(&state, &[client, other])) {
                    continue;
                }
                if self.trie.is_late() {
                    return Ok(());
                }
                let steps = self.steps_at(&state, client);
                let mut private = steps.all.iter().filter(|took| took.private);
                private.try_for_each(|took| self.swaps(&state, client, took, other))?;
            }
        }
        Ok(())
    }

    /// Returns a key of these clients' places in a state.
    fn place_key(&self, state: &State, clients: &[ClientId]) -> u128 {
        let (shared, witnesses) = (
            self.tables.shared.get(state.shared).key(),
            self.tables.witnesses.get(state.witnesses).fingerprint,
        );
        let piece = |client: &ClientId| {
            let number = state.clients[client.index()].expect("there is such a client");
            self.tables.clients.get(number).fingerprint
        };
        let pieces: Vec<Fingerprint> = clients.iter().map(piece).collect();
        Fingerprint::of(&(pieces, shared, witnesses, state.left.packed())).0
    }

    /// Checks that what was looked up is what a client can do in this state.
    fn reads_enough(&self, state: &State, client: ClientId) -> Result<(), Objection> {
        if let Some(step) = self.misread(state, client) {
            let saw = format!(
                "what a client can do was computed in another state, and `{step}` depends on more than the part of the \
                 state that the two have in common, or a program depends on something other than its handle"
            );
            return Err(Objection::new(REDUCTION, saw));
        }
        let Place { witnesses, shared, .. } = state.place(client);
        let number = self.own_steps_number(state, client, state.place(client));
        let own = |index| self.result(state, client, state.place(client), number, index);
        let differs = |own: &&OwnStep| {
            let events = own.events;
            events.is_some_and(|events| self.is_witnessed_otherwise(witnesses, events, shared))
        };
        let all = 0..self.tables.steps.get(number).all.len();
        match all.map(own).find(differs) {
            None => Ok(()),
            Some(own) => Err(Objection::new(
                REDUCTION,
                format!(
                    "what a property makes of `{}` depends on more than its state, the events, and the part of the \
                     history that it declares to look at (`looks_back`)",
                    own.step
                ),
            )),
        }
    }

    /// Checks that a step that is taken before all others makes no difference to the client's other steps.
    fn comes_first(&self, state: &State, client: ClientId) -> Result<(), Objection> {
        let steps = self.steps_at(state, client);
        let Some(at) = steps.at_once else { return Ok(()) };
        let first = &steps.all[at];
        let ahead = self.after_step(state, client, first);
        let find = |state: &State, took: &Took| {
            let same = self.step_at(state, client, took.step);
            same.map(|same| pieces(&self.after_step(state, client, &same)))
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
            let first = self.step_at(state, other, theirs.step);
            let swapped = first.is_some_and(|first| {
                if first.to.objection.is_some() || theirs.to.objection.is_some() {
                    return saw(&first) == saw(theirs);
                }
                let between = self.after_step(state, other, &first);
                self.step_at(&between, client, took.step).is_some_and(|second| {
                    let one = pieces(&self.after_step(&between, client, &second));
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
