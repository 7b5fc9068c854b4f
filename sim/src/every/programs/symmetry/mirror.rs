//! Computes for the images of a state what is computed for the state, and compares.

use super::super::ProgramModel;
use super::super::compose::expired_key;
use super::super::pieces::{Change, OwnStep, OwnSteps};
use super::super::reductions::Flaw;
use super::super::state::State;
use super::entry::{Entry, entries, keep};
use super::{Differs, Symmetry, session_of};
use crate::every::intern::Number;
use crate::every::trie::parted;
use std::mem::discriminant;
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::property::{Monitors, Objection};
use vivarium_model::step::Step;

impl ProgramModel {
    /// Does something for the images of a state, if clients are taken for each other, and records a difference.
    pub(super) fn mirror(
        &self,
        client: Option<ClientId>,
        compare: impl FnOnce(&Symmetry) -> Result<(), Differs>,
    ) {
        let Some(symmetry) = self.symmetry.as_ref().filter(|_| !self.is_broken()) else {
            return;
        };
        if let Err(differs) = compare(symmetry) {
            // After a planted mistake, some pieces have no images.
            if self.flaw.is_some() && differs.how == UNRELATED {
                return;
            }
            let at = differs.at;
            let own = client.map(|client| (client, symmetry.client(at, client)));
            let clients = own.filter(|(client, other)| client != other);
            self.tell_apart(clients.unwrap_or_else(|| symmetry.moved(at)), differs);
        }
    }

    /// Computes what a client can do in a state, and what the clients that take its place can do in its images. Returns
    /// the number of the first.
    pub(in super::super) fn steps_with_images(&self, state: &State, client: ClientId) -> Number {
        let table = &self.tables.steps;
        let key = |state: &State, client| self.steps_key(client, state.place(client));
        let mut all = vec![(key(state, client), Entry::New(self.try_all(state, client)))];
        self.mirror(Some(client), |symmetry| {
            let states = self.images_of(symmetry, state).ok_or_else(unrelated)?;
            for (at, image) in states.iter().enumerate().skip(1) {
                let other = symmetry.client(at, client);
                let key = key(image, other);
                all.push((key, Entry::of(table, key, || self.try_all(image, other))));
            }
            self.compare_steps(symmetry, client, &states, &entries(table, &all))
        });
        keep(table, all, |steps| !steps.depends_on_others)
    }

    /// Compares the steps of a client in a state with those of the clients that take its place, as they are and not as
    /// they were looked up.
    pub(in super::super) fn compare_images(&self, state: &State, client: ClientId) {
        self.mirror(Some(client), |symmetry| {
            let states = self.images_of(symmetry, state).ok_or_else(unrelated)?;
            let number = self.own_steps_number(state, client, state.place(client));
            let mut anew = Vec::new();
            for (at, image) in states.iter().enumerate().skip(1) {
                anew.push(self.try_all(image, symmetry.client(at, client)));
            }
            let own = self.tables.steps.get(number);
            let all: Vec<&OwnSteps> = [own].into_iter().chain(&anew).collect();
            self.compare_steps(symmetry, client, &states, &all)?;
            let heard = own.all.iter().filter_map(|step| step.events);
            heard.into_iter().try_for_each(|events| self.compare_heard(symmetry, &states, events))
        });
    }

    /// Compares the steps of a client with those of the clients that take its place.
    fn compare_steps(
        &self,
        symmetry: &Symmetry,
        client: ClientId,
        states: &[State],
        all: &[&OwnSteps],
    ) -> Result<(), Differs> {
        let ignores = self.has(Flaw::SymmetryOfSteps);
        for at in symmetry.others().filter(|_| !ignores) {
            let lists = |of: fn(&OwnSteps) -> &[OwnStep]| {
                self.have_same_steps(symmetry, (client, at), of(all[0]), of(all[at]))
            };
            lists(|steps| &steps.all)?;
            lists(|steps| &steps.in_time)?;
            let flags = |steps: &OwnSteps| {
                let OwnSteps { idle, withheld, input_withheld, depends_on_others, .. } = *steps;
                (idle, withheld, input_withheld, depends_on_others)
            };
            if flags(all[0]) != flags(all[at]) {
                let other = symmetry.client(at, client);
                let how = format!("{client} can go on, and {other} in its place cannot");
                return Err(Differs::new(at, how));
            }
        }
        let lists: [fn(&OwnSteps) -> &[OwnStep]; 2] = [|own| &own.all, |own| &own.in_time];
        for of in lists {
            for index in 0..of(all[0]).len() {
                let steps = all.iter().map(|steps| of(steps).get(index));
                // Only a planted mistake lets lists pass that are not equally long.
                let Some(steps) = steps.collect::<Option<Vec<&OwnStep>>>() else { continue };
                let related = self.relate_results(symmetry, client, &steps, ignores);
                related.map_err(|Differs { at, how, objection }| {
                    let did = match steps[0].step {
                        Step::Input(_) => self.did_otherwise(symmetry, client, at, states),
                        _ => None,
                    };
                    Differs { at, how: did.unwrap_or(how), objection }
                })?;
            }
        }
        Ok(())
    }

    /// Says what a program does with its next input and what another one in its place does; `None` if they do the same.
    fn did_otherwise(
        &self,
        symmetry: &Symmetry,
        client: ClientId,
        at: usize,
        states: &[State],
    ) -> Option<String> {
        let did = |state: &State, client| {
            self.reaction(&self.scene_with(state, Monitors::new(Vec::new())), client)
        };
        let other = symmetry.client(at, client);
        let (here, there) = (did(&states[0], client), did(&states[at], other));
        let (one, two) = parted(&here, &there);
        (here != there).then(|| {
            format!(
                "after the same steps with the clients exchanged, {client}'s program {one}, and {other}'s {two}"
            )
        })
    }

    /// Checks that two clients have steps of the same kinds in the same order.
    fn have_same_steps(
        &self,
        symmetry: &Symmetry,
        (client, at): (ClientId, usize),
        own: &[OwnStep],
        others: &[OwnStep],
    ) -> Result<(), Differs> {
        let other = symmetry.client(at, client);
        let differ = |(own, other): &(&OwnStep, &OwnStep)| {
            discriminant(&own.step) != discriminant(&other.step)
        };
        if let Some((own, others)) = own.iter().zip(others).find(differ) {
            let (own, others) = (own.step, others.step);
            let how =
                format!("{client} can do `{own}`, where {other} in its place does `{others}`");
            return Err(Differs::new(at, how));
        }
        let only = |steps: &[OwnStep], than: &[OwnStep]| steps.get(than.len()).map(|own| own.step);
        if let Some(step) = only(own, others) {
            let how = format!("{client} can do `{step}`, and {other} in its place cannot");
            return Err(Differs::new(at, how));
        }
        match only(others, own) {
            Some(step) => {
                let how = format!("{other} can do `{step}`, and {client} in its place cannot");
                Err(Differs::new(at, how))
            }
            None => Ok(()),
        }
    }

    /// Records that the results of these steps are images of each other. The first one is a step of this client.
    fn relate_results(
        &self,
        symmetry: &Symmetry,
        client: ClientId,
        steps: &[&OwnStep],
        ignores: bool,
    ) -> Result<(), Differs> {
        let own = steps[0];
        for at in symmetry.others().filter(|_| !ignores) {
            if about(own) != about(steps[at]) {
                let other = symmetry.client(at, client);
                let how = format!(
                    "`{}` of {client} and `{}` of {other} in its place have different results",
                    own.step, steps[at].step
                );
                let objection = own.objection.as_ref().or(steps[at].objection.as_ref());
                let objection = objection.map(|objection| Box::new(Objection::clone(objection)));
                return Err(Differs { at, how, objection });
            }
        }
        if own.shared == Change::Deferred || steps.iter().any(|step| step.objection.is_some()) {
            return Ok(());
        }
        let orbits = &self.tables.orbits;
        let differs = |what: &str| {
            let at = symmetry.others().start;
            let how = format!(
                "after `{}` of {client}, {what} is not the same as after the same steps with the clients exchanged",
                own.step
            );
            Differs::new(at, how)
        };
        let relate = |table, what: &str, images: Vec<Number>| match symmetry.relate(table, &images)
        {
            false if !ignores => Err(differs(what)),
            _ => Ok(()),
        };
        let pieces: Vec<Number> = steps.iter().map(|step| step.client).collect();
        let alike = self.are_alike(&pieces);
        if !ignores {
            alike.map_err(|at| Differs { at, ..differs("what it can do next") })?;
        }
        relate(&orbits.clients, "its state", pieces)?;
        if own.all.is_some() {
            for one in self.clients() {
                let piece = |(at, step): (usize, &&OwnStep)| {
                    Some(step.all.as_ref()?[symmetry.client(at, one).index()])
                };
                let pieces = steps.iter().enumerate().map(piece);
                let Some(pieces) = pieces.collect() else { continue };
                relate(&orbits.clients, &format!("the state of {one}"), pieces)?;
            }
        }
        if let Change::To(_) = own.shared {
            let piece = |step: &&OwnStep| match step.shared {
                Change::To(piece) => Some(piece),
                _ => None,
            };
            if let Some(pieces) = steps.iter().map(piece).collect() {
                relate(&orbits.shared, "what clients share", pieces)?;
            }
        }
        let events: Option<Vec<Number>> = steps.iter().map(|step| step.events).collect();
        match events {
            Some(events) => relate(&orbits.events, "what happened", events),
            None => Ok(()),
        }
    }

    /// Compares the pieces of clients in what their numbers do not say. Returns the permutation under which two differ.
    fn are_alike(&self, pieces: &[Number]) -> Result<(), usize> {
        let about = |piece: &Number| {
            let piece = self.tables.clients.get(*piece);
            (piece.has_finished, piece.reads)
        };
        let own = about(&pieces[0]);
        match pieces.iter().position(|piece| about(piece) != own) {
            Some(at) => Err(at),
            None => Ok(()),
        }
    }

    /// Computes the result of a step that reads the whole shared piece, in a state and in its images. The step is given
    /// by the number of the client's steps and its index among them. Returns the number of the first result.
    pub(in super::super) fn result_with_images(
        &self,
        state: &State,
        client: ClientId,
        steps: Number,
        index: usize,
    ) -> Number {
        let table = &self.tables.deferred;
        let own = &self.tables.steps.get(steps).all[index];
        let key = self.result_key(state.place(client), steps, index);
        let mut all = vec![(key, Entry::New(self.try_deferred(state, client, own.step)))];
        self.mirror(Some(client), |symmetry| {
            let states = self.images_of(symmetry, state).ok_or_else(unrelated)?;
            for (at, image) in states.iter().enumerate().skip(1) {
                let other = symmetry.client(at, client);
                let place = image.place(other);
                let steps = self.own_steps_number(image, other, place);
                let known = self.tables.steps.get(steps).all.get(index);
                let Some(known) = known.filter(|step| step.shared == Change::Deferred) else {
                    let how = format!("{other} has no step like `{}` of {client}", own.step);
                    return Err(Differs::new(at, how));
                };
                let key = self.result_key(place, steps, index);
                let make = || self.try_deferred(image, other, known.step);
                all.push((key, Entry::of(table, key, make)));
            }
            let results = entries(table, &all);
            let ignores = self.has(Flaw::SymmetryOfWrites);
            self.relate_results(symmetry, client, &results, ignores)
        });
        keep(table, all, |own| own.all.is_none())
    }

    /// Computes the shared piece after the expiry of a session, in a state and in its images. Returns the number of the
    /// entry of the first.
    pub(in super::super) fn expired_with_images(
        &self,
        state: &State,
        client: ClientId,
        session: SessionId,
    ) -> Number {
        let table = &self.tables.expired;
        let key = expired_key(state.shared, session);
        let mut all = vec![(key, Entry::New(self.expire(state, session)))];
        self.mirror(Some(client), |symmetry| {
            let states = self.images_of(symmetry, state).ok_or_else(unrelated)?;
            for (at, image) in states.iter().enumerate().skip(1) {
                let other = symmetry.client(at, client);
                let session = session_of(&self.config.session_order, session, other);
                let session = session.ok_or_else(|| Differs::new(at, "a session is not known"))?;
                let key = expired_key(image.shared, session);
                all.push((key, Entry::of(table, key, || self.expire(image, session))));
            }
            let pieces: Vec<Number> = all.iter().map(|(_, entry)| *entry.get(table)).collect();
            match symmetry.relate(&self.tables.orbits.shared, &pieces) {
                true => Ok(()),
                false => Err(Differs::new(
                    1,
                    format!("the expiry of {client}'s session has two results"),
                )),
            }
        });
        keep(table, all, |_| true)
    }
}

/// Returns what is the same for steps that are images of each other.
fn about(step: &OwnStep) -> impl PartialEq {
    let objection = step.objection.as_ref().map(|objection| objection.property.clone());
    let (has_all, has_events) = (step.all.is_some(), step.events.is_some());
    let change = discriminant(&step.shared);
    (step.private, step.at_once, step.account, change, has_all, has_events, objection)
}

const UNRELATED: &str = "a piece of a state has no images";

/// Returns the difference that there is nothing to compare with. If it ever shows, the search has a defect.
pub(super) fn unrelated() -> Differs {
    Differs::new(1, UNRELATED)
}
