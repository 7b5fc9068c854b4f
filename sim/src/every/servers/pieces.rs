//! Unfolding a state into an ensemble and folding it back.
//!
//! A server's machine, a learner's connections and the witnesses are kept once each, and a state is a
//! handful of numbers: there are far fewer different pieces than states. So what a step makes of the
//! pieces that it touches is worked out once, in a real ensemble, and looked up ever after.

use super::state::{MAX_SERVERS, Numbers, REST, State, links_at, packed, server_at, unpacked};
use super::tables::{Index, List, Number};
use super::view::{Choice, Move, View, ViewKey};
use super::{Charge, EnsembleModel};
use crate::every::arena::Weighed;
use std::collections::BTreeSet;
use std::sync::Arc;
use vivarium_model::effect::{Effects, Status};
use vivarium_model::ensemble::{Ensemble, ServerNode};
use vivarium_model::event::Event;
use vivarium_model::fingerprint::{Fingerprint, Tracked};
use vivarium_model::network::{LearnerLinks, Mailbox, Network};
use vivarium_model::property::Objection;
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_model::timer::{ServerTimer, Timer};
use vivarium_model::witnesses::Witnesses;

/// An ensemble and the armed timers of its elections.
#[derive(Clone)]
pub(super) struct Scene {
    pub(super) ensemble: Ensemble,
    /// None under the oracle. (All other timers are time limits, which are [`Step::Rejoin`] here,
    /// and pings.)
    pub(super) timers: BTreeSet<Timer>,
}

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
    pub(super) servers: List<Piece<Tracked<ServerNode>>>,
    pub(super) server_index: Index<u128>,
    pub(super) links: List<Piece<Tracked<LearnerLinks>>>,
    pub(super) links_index: Index<u128>,
    pub(super) rest: List<Piece<Rest>>,
    pub(super) rest_index: Index<u128>,
    pub(super) witnesses: List<WitnessPiece>,
    pub(super) witnesses_index: Index<u128>,
    pub(super) histories: List<()>,
    pub(super) history_index: Index<u128>,
    pub(super) events: List<Vec<Event>>,
    event_index: Index<u128>,
    pub(super) witnessed: List<Witnessed>,
    pub(super) witnessed_index: Index<[u32; 2]>,
    pub(super) judged: List<Arc<Objection>>,
    pub(super) judged_index: Index<[u32; 3]>,
    pub(super) views: List<View>,
    /// By view.
    pub(super) view_index: Index<ViewKey>,
    /// By view and eager step.
    pub(super) move_index: Index<ViewKey>,
    pub(super) elections: Index<ViewKey>,
    pub(super) choices: List<Choice>,
    pub(super) moves: List<Move>,
}

impl Tables {
    pub(super) fn new() -> Tables {
        Tables {
            servers: List::new(),
            server_index: Index::new(),
            links: List::new(),
            links_index: Index::new(),
            rest: List::new(),
            rest_index: Index::new(),
            witnesses: List::new(),
            witnesses_index: Index::new(),
            histories: List::new(),
            history_index: Index::new(),
            events: List::new(),
            event_index: Index::new(),
            witnessed: List::new(),
            witnessed_index: Index::new(),
            judged: List::new(),
            judged_index: Index::new(),
            views: List::new(),
            view_index: Index::new(),
            move_index: Index::new(),
            elections: Index::new(),
            choices: List::new(),
            moves: List::new(),
        }
    }

    /// About what they take in memory.
    pub(super) fn bytes(&self) -> u64 {
        let Tables { servers, links, rest, witnesses, histories, events, .. } = self;
        let pieces = [servers.bytes(), links.bytes(), rest.bytes(), witnesses.bytes()];
        let said = [histories.bytes(), events.bytes(), self.witnessed.bytes(), self.judged.bytes()];
        let worked_out = [self.views.bytes(), self.choices.bytes(), self.moves.bytes()];
        let by_fingerprint = [
            &self.server_index,
            &self.links_index,
            &self.rest_index,
            &self.witnesses_index,
            &self.history_index,
            &self.event_index,
        ];
        let by_view = [&self.view_index, &self.move_index, &self.elections];
        pieces.iter().chain(&said).chain(&worked_out).sum::<u64>()
            + by_fingerprint.map(Index::bytes).iter().sum::<u64>()
            + by_view.map(Index::bytes).iter().sum::<u64>()
            + self.witnessed_index.bytes()
            + self.judged_index.bytes()
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
                let index = &tables.server_index;
                *number = piece(index, &tables.servers, fingerprint, || node.clone());
            }
            let links = scene.ensemble.network().links(id);
            let number = &mut numbers[links_at(id)];
            if *number == 0 || !tables.links.get(unpacked(*number)).value.shares(links) {
                let fingerprint = Fingerprint::of(&("links", id, links.fingerprint()));
                let index = &tables.links_index;
                let found = piece(index, &tables.links, fingerprint, || links.clone());
                let (targets, several) = links.targets();
                *number = packed(found, targets, several);
            }
        }
        // Under the oracle there is neither mail nor a timer.
        if numbers[REST] == 0 || !self.config.election.is_oracle() {
            let (mail, timers) = (scene.ensemble.network().mailboxes(), &scene.timers);
            let fingerprint = Fingerprint::of(&("rest", mail, timers));
            let rest = || Rest { mail: mail.to_vec(), timers: timers.clone() };
            numbers[REST] = piece(&tables.rest_index, &tables.rest, fingerprint, rest);
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
        let fingerprint = Fingerprint::of(&("witnesses", witnesses.fingerprint()));
        self.tables.witnesses_index.number(fingerprint.0, || {
            let (index, histories) = (&self.tables.history_index, &self.tables.histories);
            let history = index.number(history_key(witnesses), || histories.add(()));
            self.tables.witnesses.add(WitnessPiece {
                value: witnesses.clone(),
                history,
                fingerprint,
            })
        })
    }

    /// The number of a list of events, without those that no witness takes notice of.
    pub(super) fn events(&self, mut events: Vec<Event>) -> Number {
        events.retain(|event| self.first_witnesses.concerns(event));
        if events.is_empty() {
            return 0;
        }
        let fingerprint = Fingerprint::of(&events);
        self.tables.event_index.number(fingerprint.0, || self.tables.events.add(events))
    }

    /// What is left of a budget, as a part of a fingerprint.
    pub(super) fn fingerprint_of_left(&self, state: &State) -> Fingerprint {
        let left = state.left;
        let accounts = [
            (Charge::Txn, left.txns),
            (Charge::Crash, left.crashes),
            (Charge::Break, left.breaks),
            (Charge::Timeout, left.timeouts),
            (Charge::FsyncError, left.fsync_errors),
        ];
        let mut whole = Fingerprint::default();
        for (charge, left) in accounts {
            let each = self.prices[charge as usize];
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
    Fingerprint::of(&(witnesses.history().last(), witnesses.history().tree().digest())).0
}

fn piece<T>(
    index: &Index<u128>,
    list: &List<Piece<T>>,
    fingerprint: Fingerprint,
    value: impl FnOnce() -> T,
) -> Number
where
    Piece<T>: Weighed,
{
    index.number(fingerprint.0, || list.add(Piece { value: value(), fingerprint }))
}

impl Scene {
    /// Takes one step of the world.
    pub(super) fn take(&mut self, step: &Step, effects: &mut Effects) -> Status {
        effects.clear();
        let status = self.ensemble.apply(Time::ZERO, step, effects);
        if !self.ensemble.config().election.is_oracle() {
            self.keep_timers(step, effects);
        }
        status
    }

    /// Which of an election's timers are armed.
    pub(super) fn keep_timers(&mut self, step: &Step, effects: &Effects) {
        use vivarium_model::effect::Effect;
        if let Step::Fire(timer) = step {
            self.timers.remove(timer);
        }
        for effect in &effects.effects {
            match effect {
                Effect::Arm {
                    timer:
                        timer @ Timer::Server(
                            _,
                            ServerTimer::Notification
                            | ServerTimer::Finalize
                            | ServerTimer::ConnectLeader,
                        ),
                    ..
                } => {
                    self.timers.insert(*timer);
                }
                Effect::Disarm(timer) => {
                    self.timers.remove(timer);
                }
                _ => {}
            }
        }
    }
}
