//! Replaces a model by one that holds only what the waiting states need: their pieces, their clients' choices, and the
//! pieces that these lead to. The programs' trie is kept whole.
//!
//! All numbers change, but no visible result depends on numbers.

use super::expand::Tables;
use super::pieces::{Choices, Transition};
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
    choices: Renumbered,
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
            choices: Renumbered::of(&old.choices),
            old,
        };
        for state in states {
            let before = state.clone();
            state.clients = before.clients.map(|client| Some(renewal.client(client?)));
            state.shared = renewal.shared(before.shared);
            state.witnesses = renewal.witnesses(before.witnesses);
            for (was, is) in before.clients.iter().zip(&state.clients) {
                let (Some(was), Some(is)) = (was, is) else { continue };
                let (was, is) = (before.place_of(*was), state.place_of(*is));
                if let Some(choices) = old.choices.find(was.key()) {
                    renewal.choices(is.key(), choices);
                }
            }
        }
        let beginning = self.beginning_of_each;
        let beginning_of_each =
            beginning.map(|each| each.map(|client| Some(renewal.client(client?))));
        ProgramModel {
            config: Arc::clone(&self.config),
            trie: Arc::clone(&self.trie),
            monitors: self.monitors.clone(),
            delays: Arc::clone(&self.delays),
            tables: renewal.new,
            audit: Arc::clone(&self.audit),
            beginning_of_each,
            ..*self
        }
    }
}

impl Renewal<'_> {
    fn client(&mut self, number: Number) -> Number {
        let (old, new) = (self.old, &self.new);
        self.clients.or_keep(number, || {
            let client = old.clients.get(number);
            new.clients.number(client.fingerprint.0, || client.clone())
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

    fn choices(&mut self, key: u128, number: Number) {
        if self.choices.is_kept(number) {
            return;
        }
        let choices = self.old.choices.get(number);
        let [blocks, sleeps] = [&choices.blocks, &choices.sleeps]
            .map(|all| all.iter().map(|took| self.transition(took)).collect());
        let kept = Choices { blocks, sleeps, ..*choices };
        let kept = self.new.choices.number(key, || kept);
        self.choices.or_keep(number, || kept);
    }

    fn transition(&mut self, took: &Transition) -> Transition {
        let all = took.all.as_ref();
        let all = all.map(|all| all.iter().map(|number| self.client(*number)).collect());
        let client = self.client(took.client);
        let (shared, witnesses) = (self.shared(took.shared), self.witnesses(took.witnesses));
        Transition { client, all, shared, witnesses, ..took.clone() }
    }
}
