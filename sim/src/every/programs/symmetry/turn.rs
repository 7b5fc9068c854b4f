//! The image of a state that stands for all of its images.

use super::super::ProgramModel;
use super::super::orbits::images;
use super::super::reductions::Flaw;
use super::super::state::State;
use super::mirror::unrelated;
use super::{Differs, SYMMETRY, Symmetry};
use crate::every::intern::Number;
use std::collections::BTreeSet;
use std::sync::Arc;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::id::ClientId;
use vivarium_model::property::Objection;

/// The images of a state's pieces.
struct Pieces<'a> {
    clients: Vec<&'a [Number]>,
    shared: &'a [Number],
    witnesses: &'a [Number],
}

impl ProgramModel {
    /// Records that the initial state is its own image: its clients are images of each other. If they are not, their
    /// first steps differ.
    pub(in super::super) fn relate_beginning(&self, state: &State) {
        let Some(symmetry) = &self.symmetry else { return };
        let orbits = &self.tables.orbits;
        let all = || 0..symmetry.permutations.len();
        for client in self.clients() {
            let image = |at| state.place(symmetry.client(at, client)).client;
            let related = symmetry.relate(&orbits.clients, &all().map(image).collect::<Vec<_>>());
            assert!(related, "nothing is related before");
        }
        let own = |piece: Number| vec![piece; symmetry.permutations.len()];
        let related = symmetry.relate(&orbits.shared, &own(state.shared))
            && symmetry.relate(&orbits.witnesses, &own(state.witnesses));
        assert!(related, "nothing is related before");
    }

    /// Returns the image that stands for a state, and the permutation that leads to it. A state with an objection stands
    /// for itself.
    pub(in super::super) fn turned(&self, state: State) -> (State, usize) {
        let Some(symmetry) = &self.symmetry else { return (state, 0) };
        if state.objection.is_some() || self.is_broken() {
            return (state, 0);
        }
        let Some(pieces) = self.images_of_pieces(&state) else {
            if self.flaw.is_some() {
                return (state, 0);
            }
            let first = ClientId::at(0);
            self.tell_apart((first, first), unrelated());
            return (state, 0);
        };
        let at = self.best(symmetry, &state, &pieces);
        if at == 0 {
            return (state, 0);
        }
        let mut turned = pieces.image(symmetry, &state, at);
        turned.fingerprint = self.fingerprint_of(&turned);
        (turned, at)
    }

    /// Returns the permutation to the image with the smallest fingerprints: that of what clients share decides first, so
    /// that fewer of these pieces are met.
    fn best(&self, symmetry: &Symmetry, state: &State, pieces: &Pieces<'_>) -> usize {
        let floor = self.forgotten_below(state);
        let shared = |at: usize| self.tables.shared.get(pieces.shared[at]).above(floor);
        let all = || 0..symmetry.permutations.len();
        let seen: Vec<Fingerprint> = all().map(shared).collect();
        let least = seen.iter().min().expect("there is the state itself");
        let own = |at: usize| {
            let mut own = self.tables.witnesses.get(pieces.witnesses[at]).fingerprint;
            for images in &pieces.clients {
                own.add(self.tables.clients.get(images[at]).fingerprint);
            }
            own
        };
        let candidates: Vec<usize> = all().filter(|at| seen[*at] == *least).collect();
        match candidates[..] {
            [only] => only,
            _ => candidates.into_iter().min_by_key(|at| own(*at)).expect("there is one"),
        }
    }

    fn images_of_pieces(&self, state: &State) -> Option<Pieces<'_>> {
        let orbits = &self.tables.orbits;
        let clients = state.clients.iter().flatten();
        Some(Pieces {
            clients: clients.map(|piece| images(&orbits.clients, *piece)).collect::<Option<_>>()?,
            shared: images(&orbits.shared, state.shared)?,
            witnesses: images(&orbits.witnesses, state.witnesses)?,
        })
    }

    /// Returns the images of a state, without valid fingerprints and the state itself first; `None` if a piece has no
    /// images.
    pub(super) fn images_of(&self, symmetry: &Symmetry, state: &State) -> Option<Vec<State>> {
        let pieces = self.images_of_pieces(state)?;
        let all = 0..symmetry.permutations.len();
        Some(all.map(|at| pieces.image(symmetry, state, at)).collect())
    }

    /// Returns the number of different states that are images of this one, itself included.
    pub fn distinct_images(&self, state: &State) -> usize {
        let all = 0..self.permutations();
        let fingerprints = all.map(|at| self.image(state, at).fingerprint);
        fingerprints.collect::<BTreeSet<_>>().len()
    }

    /// Returns the state that is this one's image under a permutation.
    pub(in super::super) fn image(&self, state: &State, permutation: usize) -> State {
        let Some(symmetry) = self.symmetry.as_ref().filter(|_| permutation != 0) else {
            return state.clone();
        };
        let Some(pieces) = self.images_of_pieces(state).filter(|_| !self.is_broken()) else {
            return state.clone();
        };
        let mut image = pieces.image(symmetry, state, permutation);
        image.fingerprint = self.fingerprint_of(&image);
        image
    }

    /// Returns the client that takes another one's place, and the permutation that undoes one permutation before it does
    /// another.
    pub(in super::super) fn exchanged(&self, permutation: usize, client: ClientId) -> ClientId {
        self.symmetry.as_ref().map_or(client, |symmetry| symmetry.client(permutation, client))
    }

    /// Returns the permutation from the image under `turn` to the image under `permutation` of the same state.
    pub(in super::super) fn instead(&self, permutation: usize, turn: usize) -> usize {
        let from =
            |symmetry: &Arc<Symmetry>| symmetry.products[permutation][symmetry.inverse(turn)];
        self.symmetry.as_ref().map_or(0, from)
    }

    /// Checks that `ends` says the same of all images of a state.
    ///
    /// # Errors
    /// Returns an objection to the state, or that the symmetry is broken.
    pub(in super::super) fn at_all_images(
        &self,
        state: &State,
        ends: impl Fn(&State) -> Result<(), Objection>,
    ) -> Result<(), Objection> {
        let own = ends(state);
        let Some(symmetry) = &self.symmetry else { return own };
        let Some(images) = self.images_of(symmetry, state) else { return own };
        let property = |said: &Result<(), Objection>| {
            said.as_ref().err().map(|objection| objection.property.clone())
        };
        for (at, image) in images.iter().enumerate().skip(1) {
            let said = ends(image);
            if property(&said) != property(&own) && !self.has(Flaw::SymmetryOfEnds) {
                let saw = |said: &Result<(), Objection>| match said {
                    Ok(()) => "no property objects".to_string(),
                    Err(objection) => objection.to_string(),
                };
                let how = format!(
                    "at the end of a run, {}, and with the clients exchanged, {}",
                    saw(&own),
                    saw(&said)
                );
                let objection = said.err().or_else(|| own.clone().err()).map(Box::new);
                let differs = Differs { at, how: how.clone(), objection };
                self.tell_apart(symmetry.moved(at), differs);
                return Err(Objection::new(SYMMETRY, how));
            }
        }
        own
    }
}

impl Pieces<'_> {
    fn image(&self, symmetry: &Symmetry, state: &State, at: usize) -> State {
        let mut image = state.clone();
        for (client, images) in self.clients.iter().enumerate() {
            image.clients[symmetry.permutations[at][client]] = Some(images[at]);
        }
        image.shared = self.shared[at];
        image.witnesses = self.witnesses[at];
        image
    }
}

impl Symmetry {
    /// Returns the first client whose place another one takes, and that one.
    pub(super) fn moved(&self, permutation: usize) -> (ClientId, ClientId) {
        let moved = self.permutations[permutation].iter().enumerate();
        let first = moved.map(|(client, other)| (ClientId::at(client), ClientId::at(*other)));
        let mut moved = first.filter(|(client, other)| client != other);
        moved.next().expect("it is not the identity")
    }
}
