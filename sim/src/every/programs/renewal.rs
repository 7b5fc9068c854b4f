//! Replaces a model by one that holds only what the waiting states need: their pieces. What was
//! computed with them is computed again where it is needed. The programs' trie is kept whole.
//!
//! All numbers change, but no visible result depends on numbers.

use super::pieces::{Client, Listener};
use super::symmetry::Symmetry;
use super::tables::Tables;
use super::{ProgramModel, State};
use crate::every::intern::{Number, Renumbered};
use std::sync::Arc;

/// Copies entries from old tables to new ones.
struct Renewal<'a> {
    old: &'a Tables,
    new: Tables,
    clients: Renumbered,
    shared: Renumbered,
    witnesses: Renumbered,
}

impl ProgramModel {
    /// Returns an equal model that holds only what these states need, and converts the states to it.
    pub(super) fn renew(&self, states: &mut dyn Iterator<Item = &mut State>) -> ProgramModel {
        let old = &self.tables;
        let mut renewal = Renewal {
            new: Tables::new(),
            clients: Renumbered::of(&old.clients),
            shared: Renumbered::of(&old.shared),
            witnesses: Renumbered::of(&old.witnesses),
            old,
        };
        for state in states {
            let before = state.clone();
            state.clients = before.clients.map(|client| Some(renewal.client(client?)));
            state.shared = renewal.shared(before.shared);
            state.witnesses = renewal.witnesses(before.witnesses);
        }
        if let Some(symmetry) = &self.symmetry {
            renewal.images(symmetry);
        }
        ProgramModel {
            config: Arc::clone(&self.config),
            trie: Arc::clone(&self.trie),
            monitors: self.monitors.clone(),
            beginning_monitors: self.beginning_monitors.clone(),
            delays: Arc::clone(&self.delays),
            tables: renewal.new,
            audit: Arc::clone(&self.audit),
            symmetry: self.symmetry.clone(),
            ..*self
        }
    }
}

impl Renewal<'_> {
    /// Copies the images of all pieces that are kept, and keeps the images too.
    fn images(&mut self, symmetry: &Symmetry) {
        let old = &self.old.orbits;
        for piece in self.clients.kept() {
            let images = old.of_client(piece).iter().map(|image| self.client(*image)).collect();
            symmetry.keep(&self.new.orbits.clients, images);
        }
        for piece in self.shared.kept() {
            let images = old.of_shared(piece).iter().map(|image| self.shared(*image)).collect();
            symmetry.keep(&self.new.orbits.shared, images);
        }
        for piece in self.witnesses.kept() {
            let images =
                old.of_monitors(piece).iter().map(|image| self.witnesses(*image)).collect();
            symmetry.keep(&self.new.orbits.witnesses, images);
        }
    }

    fn client(&mut self, number: Number) -> Number {
        let (old, new) = (self.old, &self.new);
        self.clients.or_keep(number, || {
            let client = old.clients.get(number);
            let listener = &old.listeners.get(client.listener).0;
            let key = listener.listener().0;
            let listener = new.listeners.number(key, || Listener(listener.clone()));
            new.clients.number(client.fingerprint.0, || Client { listener, ..client.clone() })
        })
    }

    fn shared(&mut self, number: Number) -> Number {
        let (old, new) = (self.old, &self.new);
        self.shared.or_keep(number, || {
            let shared = old.shared.get(number);
            new.shared.number(shared.key(), || shared.clone())
        })
    }

    fn witnesses(&mut self, number: Number) -> Number {
        let (old, new) = (self.old, &self.new);
        self.witnesses.or_keep(number, || {
            let witnesses = old.witnesses.get(number);
            new.witnesses.number(witnesses.fingerprint.0, || witnesses.clone())
        })
    }
}
