//! Unfolding a state into an ensemble and folding it back.
//!
//! A server's machine, a learner's connections and the witnesses are kept once each, and a state is a
//! handful of numbers: there are far fewer different pieces than states. So what a step makes of the
//! pieces that it touches is worked out once, in a real ensemble, and looked up ever after.

use super::EnsembleModel;
use super::scene::Scene;
use super::state::{
    MAX_SERVERS, Number, Numbers, REST, State, links_at, packed, server_at, unpacked,
};
use super::view::{Choice, Move, View, ViewKey};
use crate::budget::Account;
use crate::every::intern::{Index, Table, Weighed};
use std::collections::BTreeSet;
use std::sync::Arc;
use vivarium_model::ensemble::{Ensemble, ServerNode};
use vivarium_model::event::Event;
use vivarium_model::fingerprint::{Fingerprint, Tracked};
use vivarium_model::network::{LearnerLinks, Mailbox, Network};
use vivarium_model::property::Objection;
use vivarium_model::timer::Timer;
use vivarium_model::witnesses::Witnesses;

/// One of the pieces.
#[derive(Clone)]
pub(super) struct Piece<T> {
    pub(super) value: T,
    pub(super) fingerprint: Fingerprint,
}

/// Election mail and timers.
#[derive(Clone)]
pub(super) struct Rest {
    pub(super) mail: Vec<Tracked<Vec<Mailbox>>>,
    pub(super) timers: BTreeSet<Timer>,
}

/// The witnesses.
#[derive(Clone)]
pub(super) struct WitnessPiece {
    pub(super) value: Witnesses,
    /// Which history it is.
    pub(super) history: Number,
    pub(super) fingerprint: Fingerprint,
}

/// What the witnesses make of some events.
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
    /// By witnesses and events.
    pub(super) witnessed: Table<Witnessed, [u32; 2]>,
    /// By server, history, and whether its disk changed.
    pub(super) judged: Table<Judged, [u32; 3]>,
    pub(super) views: Table<View, ViewKey>,
    /// By view and eager step.
    pub(super) moves: Table<Move, ViewKey>,
    /// By no key: a view has its own.
    pub(super) choices: Table<Choice>,
    /// Choices, by who elects whom; 0 where nothing comes of it.
    pub(super) elections: Index<ViewKey>,
}

/// What is objected to in a server's state, if anything is.
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
            choices: Table::new(),
            elections: Index::new(),
        }
    }

    /// About what they take in memory.
    pub(super) fn bytes(&self) -> u64 {
        let pieces =
            [self.servers.bytes(), self.links.bytes(), self.rest.bytes(), self.witnesses.bytes()];
        let said = [self.histories.bytes(), self.events.bytes(), self.witnessed.bytes()];
        let worked_out =
            [self.judged.bytes(), self.views.bytes(), self.choices.bytes(), self.moves.bytes()];
        pieces.iter().chain(&said).chain(&worked_out).sum::<u64>() + self.elections.bytes()
    }
}

/// How many pieces a model holds.
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
    /// Actions that were worked out.
    pub choices: u32,
}

impl EnsembleModel {
    /// How many pieces this model holds. In the course of a search breadth first it is left behind by
    /// models that hold those which are still needed.
    pub fn pieces(&self) -> Pieces {
        Pieces {
            servers: self.tables.servers.len(),
            links: self.tables.links.len(),
            witnesses: self.tables.witnesses.len(),
            views: self.tables.views.len(),
            choices: self.tables.choices.len(),
        }
    }

    /// The servers, disks and links of a state.
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

    /// The numbers of a scene's pieces, which were these before: what is still the same value in
    /// memory need not be looked up.
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
        // Under the oracle there is neither mail nor a timer.
        if numbers[REST] == 0 || !self.config.election.is_oracle() {
            let (mail, timers) = (scene.ensemble.network().mailboxes(), &scene.timers);
            let fingerprint = Fingerprint::of(&("rest", mail, timers));
            let rest = || Rest { mail: mail.to_vec(), timers: timers.clone() };
            numbers[REST] = piece(&tables.rest, fingerprint, rest);
        }
        numbers
    }

    /// The fingerprint of a piece, salted by its place.
    pub(super) fn fingerprint_at(&self, place: usize, number: Number) -> Fingerprint {
        match (number, place) {
            (0, _) => Fingerprint::default(),
            (_, REST) => self.tables.rest.get(number).fingerprint,
            (_, ..MAX_SERVERS) => self.tables.servers.get(number).fingerprint,
            _ => self.tables.links.get(unpacked(number)).fingerprint,
        }
    }

    /// The number of these witnesses.
    pub(super) fn witnesses(&self, witnesses: &Witnesses) -> Number {
        let key = history_key(witnesses);
        let fingerprint = Fingerprint::of(&("witnesses", witnesses.fingerprint(), key));
        let make = || {
            let history = self.tables.histories.number(key, || ()).get();
            WitnessPiece { value: witnesses.clone(), history, fingerprint }
        };
        self.tables.witnesses.number(fingerprint.0, make).get()
    }

    /// The number of a list of events, without those that no witness takes notice of.
    pub(super) fn events(&self, mut events: Vec<Event>) -> Number {
        events.retain(|event| self.first_witnesses.concerns(event));
        if events.is_empty() {
            return 0;
        }
        self.tables.events.number(Fingerprint::of(&events).0, || events).get()
    }

    /// What is left of a budget, as a part of a fingerprint.
    pub(super) fn fingerprint_of_left(&self, state: &State) -> Fingerprint {
        let mut whole = Fingerprint::default();
        // The number of servers is the same in all states.
        let counted = state.left.each().filter(|(account, _)| *account != Account::Servers);
        for (account, left) in counted {
            let each = self.prices[account];
            whole.add(Fingerprint(each.0.wrapping_mul(u128::from(left))));
        }
        whole
    }

    /// The fingerprint of a state from its pieces.
    pub(super) fn fingerprint_of(&self, state: &State) -> Fingerprint {
        let mut whole = self.fingerprint_of_left(state);
        whole.add(self.tables.witnesses.get(state.witnesses).fingerprint);
        for (place, number) in state.numbers.iter().enumerate() {
            whole.add(self.fingerprint_at(place, *number));
        }
        whole
    }
}

/// What tells the history of these witnesses from others.
pub(super) fn history_key(witnesses: &Witnesses) -> u128 {
    witnesses.history().fingerprint().0
}

fn piece<T>(table: &Table<Piece<T>>, fingerprint: Fingerprint, value: impl FnOnce() -> T) -> Number
where
    Piece<T>: Weighed,
{
    table.number(fingerprint.0, || Piece { value: value(), fingerprint }).get()
}
