//! Symmetry of clients: of the states that differ only in which client is which, one is searched.
//!
//! A permutation of clients maps each piece to its *image*: the piece to which the same steps lead with the clients
//! exchanged. Nothing is renamed to get an image. Whenever the search computes something new, it computes the same for
//! each permutation, from the images of the pieces that it read (`mirror.rs`), and the results are images of each other.
//! Names that programs make of sessions, random numbers or numbers of sequential znodes are thus exchanged by the
//! programs themselves.
//!
//! The search then replaces each state that it reaches by the one of its images that has the smallest fingerprint
//! (`turn.rs`). This is sound if every permutation is an automorphism of the graph of states that monitors cannot tell
//! from the identity. The search checks it for everything that it computes:
//!
//! * Both steps and images are functions: a piece has one image under each permutation, and two pieces have two. A
//!   program that goes by a client's number, or by the order of two sessions, sooner or later leads one piece to two.
//! * Where one client has a step, the exchanged client has one of the same kind, with the same account, and it is
//!   private in both places or in neither.
//! * Monitors object to the images of events where they object to the events, and nowhere else; at the end of a run too.
//!
//! If something differs, the symmetry is *broken*: the search ends, and is done again with the clients that can be told
//! apart in different classes.
//!
//! What a lookup's key leaves out is left out of these comparisons too: a step that was computed once for many logs is
//! compared with its images once. That the keys of images are images of keys is a property of the service grain, and is
//! checked in the sampled states (`check.rs`).

mod entry;
mod mirror;
mod monitors;
mod turn;

use super::ProgramModel;
use super::orbits::{Images, Orbit, images as known_images};
use crate::every::intern::Number;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};
use vivarium_model::host::FUNCTION_OF_ITS_INPUTS;
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::property::Objection;
use vivarium_model::session_order::SessionOrder;

/// The property that clients which are taken for each other do the same.
pub const SYMMETRY: &str = "symmetry of clients";

/// The most permutations of a search. A class of clients is only partly used beyond that.
const MOST: usize = 120;

/// The most sessions of a client that are recognised.
const SESSIONS: u32 = 4_096;

/// A permutation of clients: the index of the client that takes the place of each.
type Permutation = Box<[usize]>;

/// The permutations of the clients that are taken for each other, and whether these can be told apart after all.
pub(super) struct Symmetry {
    /// The first one is the identity.
    permutations: Vec<Permutation>,
    /// The permutation that does the second one first, and then the first one.
    products: Vec<Vec<usize>>,
    broken: OnceLock<Apart>,
}

/// Two clients that can be told apart, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Apart {
    /// A client, and the one that took its place.
    pub clients: (ClientId, ClientId),
    /// One sentence.
    pub how: String,
    /// The objection of a property to one of two images, if it does not object to the other one.
    pub objection: Option<Objection>,
}

impl Symmetry {
    /// Returns the symmetry of these classes of clients; `None` if no class has two.
    fn of(classes: &[Vec<ClientId>], clients: usize) -> Option<Symmetry> {
        let mut permutations: Vec<Permutation> = vec![(0..clients).collect()];
        for class in classes {
            let mut class: Vec<usize> = class.iter().map(|client| client.index()).collect();
            while (1..=class.len()).product::<usize>() * permutations.len() > MOST {
                class.pop();
            }
            let among = orders(&class);
            let each = |before: &Permutation| {
                let exchange = |order: &Vec<usize>| {
                    let mut after = before.clone();
                    class.iter().zip(order).for_each(|(client, other)| after[*client] = *other);
                    after
                };
                among.iter().map(exchange).collect::<Vec<_>>()
            };
            permutations = permutations.iter().flat_map(each).collect();
        }
        let index = |wanted: Permutation| {
            permutations.iter().position(|one| *one == wanted).expect("it is a group")
        };
        let after = |second: &Permutation, first: &Permutation| {
            index(first.iter().map(|client| second[*client]).collect())
        };
        let row = |second| permutations.iter().map(|first| after(second, first)).collect();
        let products = permutations.iter().map(row).collect();
        let has_two = permutations.len() > 1;
        has_two.then_some(Symmetry { permutations, products, broken: OnceLock::new() })
    }

    /// Returns the indices of the permutations other than the identity.
    fn others(&self) -> std::ops::Range<usize> {
        1..self.permutations.len()
    }

    /// Returns the clients in classes of those that take each other's places.
    fn classes(&self) -> Vec<Vec<ClientId>> {
        let mut classes: Vec<Vec<ClientId>> = Vec::new();
        for client in (0..self.permutations[0].len()).map(ClientId::at) {
            let all = || 0..self.permutations.len();
            let takes = |class: &&mut Vec<ClientId>| {
                all().any(|permutation| self.client(permutation, class[0]) == client)
            };
            match classes.iter_mut().find(takes) {
                Some(class) => class.push(client),
                None => classes.push(vec![client]),
            }
        }
        classes.retain(|class| class.len() > 1);
        classes
    }

    /// Returns the client that takes the place of this one.
    fn client(&self, permutation: usize, client: ClientId) -> ClientId {
        ClientId::at(self.permutations[permutation][client.index()])
    }

    /// Returns the permutation that undoes this one.
    fn inverse(&self, permutation: usize) -> usize {
        let undoes = |row: &Vec<usize>| row[permutation] == 0;
        self.products.iter().position(undoes).expect("it is a group")
    }

    /// Records images that were related before, in another table.
    pub(super) fn keep(&self, table: &Images, images: Vec<Number>) {
        let related = images.is_empty() || self.relate(table, &images);
        assert!(related, "they were related before");
    }

    /// Records that these pieces are images of each other. Returns false if one of them has another image.
    fn relate(&self, table: &Images, images: &[Number]) -> bool {
        if let Some(known) = known_images(table, images[0]) {
            return known == images;
        }
        let is_so = |(at, piece): (usize, &Number)| {
            let row = self.products.iter().map(|first| images[first[at]]);
            let row: Box<[Number]> = row.collect();
            let number = table.number([piece.get()], || Orbit(row.clone()));
            table.get(number).0 == row
        };
        images.iter().enumerate().all(is_so)
    }
}

/// Returns all orders of these, the given one first.
fn orders(of: &[usize]) -> Vec<Vec<usize>> {
    let Some((first, rest)) = of.split_first() else { return vec![Vec::new()] };
    let mut all = Vec::new();
    for at in 0..of.len() {
        for mut order in orders(rest) {
            order.insert(at, *first);
            all.push(order);
        }
    }
    all
}

impl ProgramModel {
    /// Takes the clients of each class for each other: of states that differ only in which of them is which, one is
    /// searched. With n clients in a class, this leaves as little as one in n! states.
    ///
    /// The search checks that neither programs nor monitors tell the clients of a class apart; see the documentation of
    /// this module. If they do, [`ProgramModel::apart`] says how, and the outcome of the search means nothing.
    ///
    /// Where the leader deletes containers, nothing is left out: deletions are among the steps of the first client.
    #[must_use]
    pub fn symmetric(mut self, classes: &[Vec<ClientId>]) -> ProgramModel {
        let symmetry = Symmetry::of(classes, self.config.clients.len());
        self.symmetry = symmetry.filter(|_| !self.config.deletes_containers).map(Arc::new);
        self
    }

    /// Returns two clients that can be told apart although they were taken for each other. A program that is no function
    /// of its inputs can look like two different ones; then nothing is said of clients.
    pub fn apart(&self) -> Option<&Apart> {
        let apart = self.symmetry.as_ref()?.broken.get();
        apart.filter(|_| self.trie.dependent().is_none())
    }

    /// Returns true if a difference between images was found.
    fn is_broken(&self) -> bool {
        self.symmetry.as_ref().is_some_and(|symmetry| symmetry.broken.get().is_some())
    }

    /// Returns the classes of clients that the search takes for each other; they can be smaller than those that were given.
    pub fn classes(&self) -> Vec<Vec<ClientId>> {
        self.symmetry.as_ref().map_or_else(Vec::new, |symmetry| symmetry.classes())
    }

    /// Returns the number of permutations of clients under which states are the same.
    pub fn permutations(&self) -> usize {
        self.symmetry.as_ref().map_or(1, |symmetry| symmetry.permutations.len())
    }

    /// Records that two clients can be told apart.
    fn tell_apart(&self, clients: (ClientId, ClientId), differs: Differs) {
        if let Some(symmetry) = &self.symmetry {
            let Differs { how, objection, .. } = differs;
            let objection = objection.map(|objection| *objection);
            let _ = symmetry.broken.set(Apart { clients, how, objection });
        }
    }

    /// Returns an objection if a difference between images was found.
    pub(super) fn is_symmetric(&self) -> Result<(), Objection> {
        let Some(apart) = self.symmetry.as_ref().and_then(|symmetry| symmetry.broken.get()) else {
            return Ok(());
        };
        match self.trie.dependent() {
            Some(why) => Err(Objection::new(FUNCTION_OF_ITS_INPUTS, why)),
            None => Err(Objection::new(SYMMETRY, &*apart.how)),
        }
    }
}

/// A difference between images.
struct Differs {
    /// The permutation under which it shows.
    at: usize,
    /// One sentence.
    how: String,
    /// The objection of a property to one of the two.
    objection: Option<Box<Objection>>,
}

impl Differs {
    fn new(at: usize, how: impl Into<String>) -> Differs {
        Differs { at, how: how.into(), objection: None }
    }
}

/// Returns the session of `other` that corresponds to this one of another client; `None` if that is not known.
fn session_of(order: &SessionOrder, session: SessionId, other: ClientId) -> Option<SessionId> {
    let client = session.client();
    let number = (1..=SESSIONS).find(|number| order.session(client, *number) == session)?;
    Some(order.session(other, number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn ids(numbers: &[u16]) -> Vec<ClientId> {
        numbers.iter().map(|number| ClientId(*number)).collect()
    }

    #[test]
    fn permutations_are_a_group() {
        for (classes, clients, many) in [
            (vec![ids(&[1, 2, 3])], 3, 6),
            (vec![ids(&[1]), ids(&[2, 3])], 3, 2),
            (vec![ids(&[1, 4]), ids(&[2, 3])], 4, 4),
            (vec![ids(&[1, 2, 3, 4])], 4, 24),
            (vec![ids(&[1, 2, 3, 4, 5, 6])], 6, 120),
        ] {
            let symmetry = Symmetry::of(&classes, clients).expect("a class has two");
            let Symmetry { permutations, products, .. } = &symmetry;
            let most = if clients > 5 { vec![ids(&[1, 2, 3, 4, 5])] } else { classes };
            assert_eq!(
                symmetry.classes(),
                most.into_iter().filter(|class| class.len() > 1).collect::<Vec<_>>()
            );
            assert_eq!(BTreeSet::from_iter(permutations).len(), many);
            assert!(permutations[0].iter().copied().eq(0..clients), "the first is the identity");
            for (second, row) in products.iter().enumerate() {
                for (first, product) in row.iter().enumerate() {
                    for client in (0..clients).map(ClientId::at) {
                        let between = symmetry.client(first, client);
                        let both = symmetry.client(second, between);
                        assert_eq!(symmetry.client(*product, client), both);
                    }
                }
                assert_eq!(products[second][symmetry.inverse(second)], 0);
            }
        }
        assert!(Symmetry::of(&[ids(&[1]), ids(&[2])], 2).is_none());
        assert!(Symmetry::of(&[], 2).is_none());
    }

    /// A piece with two images, and two pieces with one image, are found.
    #[test]
    fn images_are_functions_and_one_to_one() {
        let symmetry = Symmetry::of(&[ids(&[1, 2])], 2).expect("a class has two");
        let number = |at| Number::new(at).expect("not 0");
        let relate = |pairs: &[(u32, u32)]| {
            let table = Images::new();
            let mut pairs = pairs.iter();
            pairs.all(|(one, other)| symmetry.relate(&table, &[number(*one), number(*other)]))
        };
        assert!(relate(&[(1, 2), (2, 1), (3, 3), (1, 2), (3, 3)]));
        assert!(!relate(&[(1, 2), (1, 3)]), "two images");
        assert!(!relate(&[(1, 2), (3, 2)]), "an image of two");
        assert!(!relate(&[(1, 2), (2, 3)]), "twice exchanged, and not the same");
    }

    #[test]
    fn sessions_correspond_by_their_numbers() {
        for order in SessionOrder::all(2) {
            let session = |client, number| order.session(ClientId(client), number);
            for number in [1, 2, 70] {
                let other = session_of(&order, session(1, number), ClientId(2));
                assert_eq!(other, Some(session(2, number)), "{order}");
            }
        }
        assert_eq!(session_of(&SessionOrder::default(), SessionId(7), ClientId(2)), None);
    }
}
