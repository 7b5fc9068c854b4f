//! Replaces a model by one that holds only the pieces of the waiting states. Actions are computed again: measurements
//! showed that this costs no more than to determine which of them to keep.
//!
//! All numbers change. They depend on the threads anyway, and no visible result depends on numbers.

use super::EnsembleModel;
use super::pieces::{Piece, Tables, WitnessPiece, history_key};
use super::state::Number;
use super::state::{MAX_SERVERS, REST, State, has_several, packed, targets, unpacked};
use crate::every::intern::{self, Renumbered, Table, Weighed};
use vivarium_model::id::{ServerId, ServerSet};

/// Copies entries from old tables to new ones.
struct Renewal<'a> {
    old: &'a Tables,
    new: Tables,
    servers: Renumbered,
    links: Renumbered,
    rest: Renumbered,
    witnesses: Renumbered,
}

impl EnsembleModel {
    /// Returns an equal model that holds only what these states need, and converts the states to it.
    pub(super) fn renew(&self, states: &mut dyn Iterator<Item = &mut State>) -> EnsembleModel {
        let mut renewal = Renewal::new(&self.tables);
        for state in states {
            for (place, number) in state.numbers.iter_mut().enumerate() {
                *number = renewal.piece(place, *number);
            }
            state.witnesses = renewal.witnesses(state.witnesses);
        }
        EnsembleModel {
            config: self.config.clone(),
            budget: self.budget,
            reductions: self.reductions,
            flaw: self.flaw,
            first_witnesses: self.first_witnesses.clone(),
            tables: renewal.new,
            prices: self.prices,
        }
    }
}

impl<'a> Renewal<'a> {
    fn new(old: &'a Tables) -> Renewal<'a> {
        Renewal {
            new: Tables::new(),
            servers: Renumbered::of(&old.servers),
            links: Renumbered::of(&old.links),
            rest: Renumbered::of(&old.rest),
            witnesses: Renumbered::of(&old.witnesses),
            old,
        }
    }

    /// Copies a piece of an ensemble, and returns its new number.
    fn piece(&mut self, place: usize, number: Number) -> Number {
        let (old, new) = (self.old, &self.new);
        match place {
            _ if number == 0 => 0,
            REST => self.rest.or_keep(number, || kept(&new.rest, old.rest.get(number))).get(),
            ..MAX_SERVERS => {
                self.servers.or_keep(number, || kept(&new.servers, old.servers.get(number))).get()
            }
            _ => {
                let plain = unpacked(number);
                let links = || kept(&new.links, old.links.get(plain));
                repacked(number, self.links.or_keep(plain, links).get())
            }
        }
    }

    fn witnesses(&mut self, number: Number) -> Number {
        let (old, new) = (self.old, &self.new);
        let keep = || {
            let witnesses = old.witnesses.get(number);
            let history = new.histories.number(history_key(&witnesses.value), || ()).get();
            let witnesses = WitnessPiece { history, ..witnesses.clone() };
            new.witnesses.number(witnesses.fingerprint.0, || witnesses)
        };
        self.witnesses.or_keep(number, keep).get()
    }
}

/// Puts a piece into the new table under its fingerprint.
fn kept<T: Clone>(table: &Table<Piece<T>>, piece: &Piece<T>) -> intern::Number
where
    Piece<T>: Weighed,
{
    table.number(piece.fingerprint.0, || piece.clone())
}

/// Returns the new number of links with the same bits packed into it as the old one.
fn repacked(links: Number, plain: Number) -> Number {
    let leads_to = |server: &ServerId| targets(links) >> server.index() & 1 == 1;
    let servers: ServerSet = (0..MAX_SERVERS).map(ServerId::at).filter(leads_to).collect();
    packed(plain, servers, has_several(links))
}
