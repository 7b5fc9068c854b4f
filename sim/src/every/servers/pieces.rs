//! Expands a state into an ensemble and folds it back.
//!
//! A server's machine, a learner's connections and the witnesses are each stored once, and a state is a few numbers,
//! because distinct pieces are far fewer than states. So the effect of a step on the pieces that it touches is computed
//! once, in a real ensemble, and then looked up.

use super::EnsembleModel;
use super::choices::{Choices, Move};
use super::scene::Scene;
use super::state::{
    MAX_SERVERS, Number, Numbers, REST, State, links_at, packed, server_at, unpacked,
};
use super::view::{View, ViewKey};
use crate::budget::Account;
use crate::every::intern::{Number as Interned, Table, Weighed};
use std::collections::BTreeSet;
use std::sync::Arc;
use vivarium_model::ensemble::{Ensemble, ServerNode};
use vivarium_model::event::Event;
use vivarium_model::fingerprint::{Fingerprint, Tracked};
use vivarium_model::network::{LearnerLinks, Mailbox, Network};
use vivarium_model::property::Objection;
use vivarium_model::timer::Timer;
use vivarium_model::witnesses::Witnesses;

/// A piece of an ensemble.
#[derive(Clone)]
pub(super) struct Piece<T> {
    pub(super) value: T,
    pub(super) fingerprint: Fingerprint,
}

/// The piece of election mail and timers.
#[derive(Clone)]
pub(super) struct Rest {
    pub(super) mail: Vec<Tracked<Vec<Mailbox>>>,
    pub(super) timers: BTreeSet<Timer>,
}

/// The piece of the witnesses.
#[derive(Clone)]
pub(super) struct WitnessPiece {
    pub(super) value: Witnesses,
    /// The number of the history.
    pub(super) history: Number,
    pub(super) fingerprint: Fingerprint,
}

/// The result of events for the witnesses.
pub(super) struct Witnessed {
    pub(super) witnesses: Number,
    pub(super) difference: Fingerprint,
    pub(super) longer: bool,
    pub(super) objection: Option<Arc<Objection>>,
}

/// All tables of a search.
pub(super) struct Tables {
    pub(super) servers: Table<Piece<Tracked<ServerNode>>>,
    pub(super) links: Table<Piece<Tracked<LearnerLinks>>>,
    pub(super) rest: Table<Piece<Rest>>,
    pub(super) witnesses: Table<WitnessPiece>,
    pub(super) histories: Table<()>,
    pub(super) events: Table<Vec<Event>>,
    /// Keyed by witnesses and events.
    pub(super) witnessed: Table<Witnessed, [u32; 2]>,
    /// Keyed by server, history, and whether the server's disk changed.
    pub(super) judged: Table<Judged, [u32; 3]>,
    pub(super) views: Table<View, ViewKey>,
    /// Keyed by view and eager step.
    pub(super) moves: Table<Move, ViewKey>,
    /// Without keys: each view has the number of its first choice.
    pub(super) choices: Choices,
    /// Choices, keyed by an election's leader and followers.
    pub(super) elections: Table<Interned, ViewKey>,
}

/// The violation in a server's state, if there is one.
pub(super) type Judged = Result<(), Arc<Objection>>;

impl Tables {
    pub(super) fn new() -> Tables {
        Tables {
            servers: Table::new(),
            links: Table::new(),
            rest: Table::new(),
            witnesses: Table::new(),
            histories: Table::new(),
            events: Table::new(),
            witnessed: Table::new(),
            judged: Table::new(),
            views: Table::new(),
            moves: Table::new(),
            choices: Choices::new(),
            elections: Table::new(),
        }
    }

    /// Estimates the memory of the tables, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        let pieces =
            [self.servers.bytes(), self.links.bytes(), self.rest.bytes(), self.witnesses.bytes()];
        let said = [self.histories.bytes(), self.events.bytes(), self.witnessed.bytes()];
        let worked_out =
            [self.judged.bytes(), self.views.bytes(), self.choices.bytes(), self.moves.bytes()];
        pieces.iter().chain(&said).chain(&worked_out).sum::<u64>() + self.elections.bytes()
    }
}

/// The number of pieces that a model holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pieces {
    /// States of single servers with their disks.
    pub servers: u32,
    /// States of single learners' connections.
    pub links: u32,
    /// States of the history and the monitors.
    pub witnesses: u32,
    /// Servers together with the connections that they read and write.
    pub views: u32,
    /// Actions that were computed.
    pub choices: u32,
}

impl EnsembleModel {
    /// Returns the number of pieces that this model holds. A breadth-first search replaces the model by models that
    /// hold only the pieces that are still needed.
    pub fn pieces(&self) -> Pieces {
        Pieces {
            servers: self.tables.servers.len(),
            links: self.tables.links.len(),
            witnesses: self.tables.witnesses.len(),
            views: self.tables.views.len(),
            choices: self.tables.choices.len(),
        }
    }

    /// Returns the servers, disks and links of a state.
    pub fn ensemble(&self, state: &State) -> Ensemble {
        self.unfold(&state.numbers).ensemble
    }

    pub(super) fn unfold(&self, numbers: &Numbers) -> Scene {
        let (ids, tables) = (|| self.config.server_ids(), &self.tables);
        let servers = ids().map(|id| tables.servers.get(numbers[server_at(id)]).value.clone());
        let links = ids().map(|id| tables.links.get(unpacked(numbers[links_at(id)])).value.clone());
        let rest = &tables.rest.get(numbers[REST]).value;
        let network = Network::of_pieces(links.collect(), rest.mail.clone());
        Scene {
            ensemble: Ensemble::of_pieces(Arc::clone(&self.config), servers.collect(), network),
            timers: rest.timers.clone(),
        }
    }

    /// Returns the numbers of a scene's pieces. `before` holds the numbers before the last step: a piece that is still
    /// the same value in memory keeps its number without a look-up.
    pub(super) fn fold(&self, scene: &Scene, before: &Numbers) -> Numbers {
        let (tables, mut numbers) = (&self.tables, *before);
        for id in self.config.server_ids() {
            let node = scene.ensemble.node(id);
            let number = &mut numbers[server_at(id)];
            if *number == 0 || !tables.servers.get(*number).value.shares(node) {
                let fingerprint = Fingerprint::of(&("server", id, node.fingerprint()));
                *number = piece(&tables.servers, fingerprint, || node.clone());
            }
            let links = scene.ensemble.network().links(id);
            let number = &mut numbers[links_at(id)];
            if *number == 0 || !tables.links.get(unpacked(*number)).value.shares(links) {
                let fingerprint = Fingerprint::of(&("links", id, links.fingerprint()));
                let found = piece(&tables.links, fingerprint, || links.clone());
                let (targets, several) = links.targets();
                *number = packed(found, targets, several);
            }
        }
        // Under the oracle, there are neither mail nor timers.
        if numbers[REST] == 0 || !self.config.election.is_oracle() {
            let (mail, timers) = (scene.ensemble.network().mailboxes(), &scene.timers);
            let fingerprint = Fingerprint::of(&("rest", mail, timers));
            let rest = || Rest { mail: mail.to_vec(), timers: timers.clone() };
            numbers[REST] = piece(&tables.rest, fingerprint, rest);
        }
        numbers
    }

    /// Returns the fingerprint of a piece, salted by its place.
    pub(super) fn fingerprint_at(&self, place: usize, number: Number) -> Fingerprint {
        match (number, place) {
            (0, _) => Fingerprint::default(),
            (_, REST) => self.tables.rest.get(number).fingerprint,
            (_, ..MAX_SERVERS) => self.tables.servers.get(number).fingerprint,
            _ => self.tables.links.get(unpacked(number)).fingerprint,
        }
    }

    /// Returns the number of these witnesses.
    pub(super) fn witnesses(&self, witnesses: &Witnesses) -> Number {
        let key = history_key(witnesses);
        let fingerprint = Fingerprint::of(&("witnesses", witnesses.fingerprint(), key));
        let make = || {
            let history = self.tables.histories.number(key, || ()).get();
            WitnessPiece { value: witnesses.clone(), history, fingerprint }
        };
        self.tables.witnesses.number(fingerprint.0, make).get()
    }

    /// Returns the number of a list of events, without those that concern no witness.
    pub(super) fn events(&self, mut events: Vec<Event>) -> Number {
        events.retain(|event| self.first_witnesses.concerns(event));
        if events.is_empty() {
            return 0;
        }
        self.tables.events.number(Fingerprint::of(&events).0, || events).get()
    }

    /// Returns the part of a fingerprint that stands for the rest of the budget.
    pub(super) fn fingerprint_of_left(&self, state: &State) -> Fingerprint {
        let mut whole = Fingerprint::default();
        // The numbers of servers are the same in all states.
        let is_spent = |account| !matches!(account, Account::Servers | Account::Observers);
        let counted = state.left.each().filter(|(account, _)| is_spent(*account));
        for (account, left) in counted {
            let each = self.prices[account];
            whole.add(Fingerprint(each.0.wrapping_mul(u128::from(left))));
        }
        whole
    }

    /// Returns the fingerprint of a state, computed from its pieces.
    pub(super) fn fingerprint_of(&self, state: &State) -> Fingerprint {
        let mut whole = self.fingerprint_of_left(state);
        whole.add(self.tables.witnesses.get(state.witnesses).fingerprint);
        for (place, number) in state.numbers.iter().enumerate() {
            whole.add(self.fingerprint_at(place, *number));
        }
        whole
    }
}

/// Returns the identity of the witnesses' history.
pub(super) fn history_key(witnesses: &Witnesses) -> u128 {
    witnesses.history().fingerprint().0
}

fn piece<T>(table: &Table<Piece<T>>, fingerprint: Fingerprint, value: impl FnOnce() -> T) -> Number
where
    Piece<T>: Weighed,
{
    table.number(fingerprint.0, || Piece { value: value(), fingerprint }).get()
}
