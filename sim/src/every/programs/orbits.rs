//! Tables of the images of pieces under permutations of clients (`symmetry`).

use crate::every::intern::{Number, Table, Weighed};

/// The images of a piece under all permutations, itself first.
pub(super) struct Orbit(pub(super) Box<[Number]>);

/// The images of the pieces of each table.
pub(super) struct Orbits {
    pub(super) clients: Images,
    pub(super) shared: Images,
    pub(super) witnesses: Images,
    pub(super) events: Images,
}

pub(super) type Images = Table<Orbit, [u32; 1]>;

impl Weighed for Orbit {
    fn heap_bytes(&self) -> usize {
        size_of_val(&*self.0)
    }
}

impl Orbits {
    pub(super) fn new() -> Orbits {
        let (clients, shared) = (Table::new(), Table::new());
        Orbits { clients, shared, witnesses: Table::new(), events: Table::new() }
    }

    /// Returns the images of a client's piece; none if they are not known.
    pub(super) fn of_client(&self, piece: Number) -> &[Number] {
        images(&self.clients, piece).unwrap_or_default()
    }

    /// Returns the images of a shared piece; none if they are not known.
    pub(super) fn of_shared(&self, piece: Number) -> &[Number] {
        images(&self.shared, piece).unwrap_or_default()
    }

    /// Returns the images of a piece of the monitors; none if they are not known.
    pub(super) fn of_monitors(&self, piece: Number) -> &[Number] {
        images(&self.witnesses, piece).unwrap_or_default()
    }

    pub(super) fn bytes(&self) -> u64 {
        let Orbits { clients, shared, witnesses, events } = self;
        clients.bytes() + shared.bytes() + witnesses.bytes() + events.bytes()
    }
}

/// Returns the images of a piece.
pub(super) fn images(of: &Images, piece: Number) -> Option<&[Number]> {
    of.find([piece.get()]).map(|number| &*of.get(number).0)
}
