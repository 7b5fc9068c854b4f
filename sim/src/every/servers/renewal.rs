//! A model that remembers no more than what the states that wait need: the pieces that they are made
//! of. What can be done with these is worked out again, which was measured to cost no more than to
//! find out what of it to keep.
//!
//! Every number is a new one. Which number a piece gets depends on the threads anyway; nothing that
//! can be seen depends on numbers.

use super::EnsembleModel;
use super::pieces::{Tables, WitnessPiece, history_key};
use super::state::{MAX_SERVERS, REST, State, has_several, packed, targets, unpacked};
use super::tables::{Index, List, Number};
use crate::every::arena::Weighed;
use vivarium_model::id::{ServerId, ServerSet};

/// New numbers by old ones; 0: not kept.
struct Renumbered(Vec<Number>);

impl Renumbered {
    fn of<T: Weighed>(list: &List<T>) -> Renumbered {
        Renumbered(vec![0; list.len() as usize + 1])
    }

    /// The new number, which `keep` makes if there is none yet.
    fn or_keep(&mut self, old: Number, keep: impl FnOnce() -> Number) -> Number {
        if old != 0 && self.0[old as usize] == 0 {
            self.0[old as usize] = keep();
        }
        self.0[old as usize]
    }
}

/// Old tables on their way into new ones.
struct Renewal<'a> {
    old: &'a Tables,
    new: Tables,
    servers: Renumbered,
    links: Renumbered,
    rest: Renumbered,
    witnesses: Renumbered,
    histories: Renumbered,
}

impl EnsembleModel {
    /// This model with only what these states need; they become states of the new one.
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
            histories: Renumbered::of(&old.histories),
            old,
        }
    }

    /// Keeps a piece of an ensemble.
    fn piece(&mut self, place: usize, number: Number) -> Number {
        let (old, new) = (self.old, &self.new);
        match place {
            _ if number == 0 => 0,
            REST => self.rest.or_keep(number, || {
                kept(&new.rest_index, &new.rest, old.rest.get(number), |it| it.fingerprint.0)
            }),
            ..MAX_SERVERS => self.servers.or_keep(number, || {
                let piece = old.servers.get(number);
                kept(&new.server_index, &new.servers, piece, |it| it.fingerprint.0)
            }),
            _ => {
                let plain = self.links.or_keep(unpacked(number), || {
                    let piece = old.links.get(unpacked(number));
                    kept(&new.links_index, &new.links, piece, |it| it.fingerprint.0)
                });
                repacked(number, plain)
            }
        }
    }

    fn witnesses(&mut self, number: Number) -> Number {
        let (old, new, histories) = (self.old, &self.new, &mut self.histories);
        self.witnesses.or_keep(number, || {
            let witnesses = old.witnesses.get(number);
            let history = histories.or_keep(witnesses.history, || new.histories.add(()));
            let key = history_key(&witnesses.value);
            new.history_index.number(key, || history);
            let witnesses = WitnessPiece { history, ..witnesses.clone() };
            kept(&new.witnesses_index, &new.witnesses, &witnesses, |it| it.fingerprint.0)
        })
    }
}

/// Puts a piece where it will be found.
fn kept<T: Clone + Weighed>(
    index: &Index<u128>,
    list: &List<T>,
    piece: &T,
    key: impl FnOnce(&T) -> u128,
) -> Number {
    index.number(key(piece), || list.add(piece.clone()))
}

/// What is packed into a number of links, around another number.
fn repacked(links: Number, plain: Number) -> Number {
    let leads_to = |server: &ServerId| targets(links) >> server.index() & 1 == 1;
    let servers: ServerSet = (0..MAX_SERVERS).map(ServerId::at).filter(leads_to).collect();
    packed(plain, servers, has_several(links))
}
