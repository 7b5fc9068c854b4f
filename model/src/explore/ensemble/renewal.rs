//! A model that remembers no more than what the states that wait need.
//!
//! Kept are the pieces that these states are made of; the views of their servers with what was worked
//! out about them, which their expansion asks for next; the pieces that this leads to; and, of the
//! eager steps, the elections and what the witnesses and the state properties said, whatever is about
//! pieces that are kept anyway. All else is worked out again, should a state ever come to it.
//!
//! Every number is a new one. Which number a piece gets depends on the threads and on the order of
//! tables in memory, before a renewal as after it; nothing that can be seen depends on numbers.

use super::EnsembleModel;
use super::pieces::{Tables, Watchers, Witnessed};
use super::state::{MAX_SERVERS, PLACES, REST, State, has_several, packed, targets, unpacked};
use super::tables::{Index, List, Number};
use super::view::{Choice, Move, View, ViewKey};
use crate::explore::arena::Weighed;
use crate::id::{ServerId, ServerSet};
use std::sync::OnceLock;

/// New numbers by old ones; 0: not kept.
struct Renumbered(Vec<Number>);

impl Renumbered {
    fn of<T: Weighed>(list: &List<T>) -> Renumbered {
        Renumbered(vec![0; list.len() as usize + 1])
    }

    fn get(&self, old: Number) -> Number {
        self.0[old as usize]
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
    watchers: Renumbered,
    histories: Renumbered,
    events: Renumbered,
    views: Renumbered,
    choices: Renumbered,
}

impl EnsembleModel {
    /// This model with only what these states need; they become states of the new one.
    pub(super) fn renew(&self, states: &mut dyn Iterator<Item = &mut State>) -> EnsembleModel {
        let mut renewal = Renewal::new(&self.tables);
        for state in states {
            let numbers = state.numbers;
            for (place, number) in state.numbers.iter_mut().enumerate() {
                *number = renewal.piece(place, *number);
            }
            state.ghosts = renewal.watchers(state.ghosts);
            for server in self.config.server_ids() {
                let key = self.key(server, &numbers, 0);
                if let Some(view) = self.tables.view_index.find(key) {
                    renewal.view(key, view);
                }
            }
        }
        renewal.worked_out();
        EnsembleModel {
            config: self.config.clone(),
            budget: self.budget,
            reductions: self.reductions,
            witnesses: self.witnesses.clone(),
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
            watchers: Renumbered::of(&old.watchers),
            histories: Renumbered::of(&old.histories),
            events: Renumbered::of(&old.events),
            views: Renumbered::of(&old.views),
            choices: Renumbered::of(&old.choices),
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

    /// The new number of a piece, if it is kept.
    fn kept_piece(&self, place: usize, number: Number) -> Option<Number> {
        let new = match place {
            _ if number == 0 => return Some(0),
            REST => self.rest.get(number),
            ..MAX_SERVERS => self.servers.get(number),
            _ => match self.links.get(unpacked(number)) {
                0 => 0,
                plain => repacked(number, plain),
            },
        };
        (new != 0).then_some(new)
    }

    /// The same key in new numbers, if all its pieces are kept.
    fn kept_key(&self, mut key: ViewKey) -> Option<ViewKey> {
        for (place, number) in key[..PLACES].iter_mut().enumerate() {
            *number = self.kept_piece(place, *number)?;
        }
        Some(key)
    }

    fn watchers(&mut self, number: Number) -> Number {
        let (old, new, histories) = (self.old, &self.new, &mut self.histories);
        self.watchers.or_keep(number, || {
            let watchers = old.watchers.get(number);
            let history = histories.or_keep(watchers.history, || new.histories.add(()));
            let key = super::pieces::history_key(&watchers.ghosts);
            new.history_index.number(key, || history);
            let watchers = Watchers { history, ..watchers.clone() };
            kept(&new.watchers_index, &new.watchers, &watchers, |it| it.fingerprint.0)
        })
    }

    fn events(&mut self, number: Number) -> Number {
        let (old, new) = (self.old, &self.new);
        self.events.or_keep(number, || {
            let events = old.events.get(number);
            let key = crate::fingerprint::Fingerprint::of(events).0;
            new.event_index.number(key, || new.events.add(events.clone()))
        })
    }

    /// Keeps a view, whose pieces are kept already, and what was worked out about it.
    fn view(&mut self, key: ViewKey, number: Number) {
        if self.views.get(number) != 0 {
            return;
        }
        let view = self.old.views.get(number);
        let choices = view.choices.each_ref().map(|choices| {
            choices.get().map_or_else(OnceLock::new, |choices| {
                let kept: Box<[Number]> = choices.iter().map(|it| self.choice(*it)).collect();
                OnceLock::from(kept)
            })
        });
        let (looking, can_be_joined) = (view.looking, view.can_be_joined.clone());
        let kept = self.new.views.add(View { choices, looking, can_be_joined });
        self.views.or_keep(number, || kept);
        let key = self.kept_key(key).expect("its pieces are kept");
        self.new.view_index.number(key, || kept);
    }

    fn choice(&mut self, number: Number) -> Number {
        if self.choices.get(number) == 0 {
            let Choice { offer, moves } = self.old.choices.get(number);
            let moves = moves.iter().map(|took| self.took(took)).collect();
            let kept = self.new.choices.add(Choice { offer: *offer, moves });
            self.choices.or_keep(number, || kept);
        }
        self.choices.get(number)
    }

    fn took(&mut self, took: &Move) -> Move {
        let changes = took.changes.iter();
        let changes = changes.map(|(place, to)| (*place, self.piece(usize::from(*place), *to)));
        let changes = changes.collect();
        Move { changes, events: self.events(took.events), ..took.clone() }
    }

    /// What was worked out about pieces that are kept anyway.
    fn worked_out(&mut self) {
        let old = self.old;
        let mut elections = Vec::new();
        old.elections.each(|key, choice| elections.extend(self.election(key, choice)));
        // In a second pass: to keep the outcome of one may be to keep the pieces of others.
        for (new, choice) in elections {
            let choice = self.choice(choice);
            self.new.elections.number(new, || choice);
        }
        let mut eager = Vec::new();
        old.move_index.each(|key, took| eager.extend(self.kept_key(key).zip(Some(took))));
        for (key, took) in eager {
            let took = self.took(old.moves.get(took));
            self.new.move_index.number(key, || self.new.moves.add(took));
        }
        self.opinions();
    }

    /// An election's key in new numbers, if all that it is about is kept: pieces where it concerns
    /// all of the ensemble, else views.
    fn election(&self, key: ViewKey, choice: Number) -> Option<(ViewKey, Number)> {
        if key[PLACES] >> 16 != 0 {
            return Some((self.kept_key(key)?, choice));
        }
        let mut new = key;
        for view in new[..PLACES].iter_mut().filter(|view| **view != 0) {
            *view = Some(self.views.get(*view)).filter(|view| *view != 0)?;
        }
        Some((new, choice))
    }

    /// What the witnesses and the state properties said.
    fn opinions(&mut self) {
        let old = self.old;
        let mut said = Vec::new();
        old.witnessed_index.each(|[ghosts, events], number| {
            let witnessed = old.witnessed.get(number);
            let new = [ghosts, witnessed.ghosts].map(|ghosts| self.watchers.get(ghosts));
            let events = self.events.get(events);
            if !new.contains(&0) && events != 0 {
                said.push(([new[0], events], Witnessed { ghosts: new[1], ..witnessed.clone() }));
            }
        });
        for (key, witnessed) in said {
            self.new.witnessed_index.number(key, || self.new.witnessed.add(witnessed));
        }
        old.judged_index.each(|[server, history, disk_changed], objection| {
            let (server, history) = (self.servers.get(server), self.histories.get(history));
            if server != 0 && history != 0 && objection == 0 {
                self.new.judged_index.number([server, history, disk_changed], || 0);
            }
        });
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
