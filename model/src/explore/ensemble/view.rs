//! What a server can do, worked out once.
//!
//! A *view* is a server together with all that its steps read and write: its machine, its own
//! connections as a learner, and other learners' connections to it. Two states in which a server has
//! the same view offer it the same steps, with the same outcome. Where a learner has several
//! connections, the end of one renames others, which concerns everybody: then the view is *wide*, all
//! of the ensemble. It always is in the election of the code, whose notifications go to everybody.

use super::actions::{self, Charge, Kind, Offer};
use super::pieces::Scene;
use super::reduction;
use super::state::{
    MAX_SERVERS, Numbers, PLACES, State, has_several, links_at, server_at, targets,
};
use super::tables::Number;
use super::EnsembleModel;
use crate::effect::{Effects, Status};
use crate::fingerprint::Fingerprint;
use crate::id::{ServerId, ServerSet};
use crate::packet::Vote;
use crate::property::invariants;
use crate::server::eager::Threats;
use crate::step::Step;
use crate::zxid::Epoch;
use std::sync::OnceLock;

/// A server and what it can do.
pub(super) struct View {
    /// Its choices of each kind.
    choices: [OnceLock<Box<[Number]>>; Kind::ALL.len()],
    /// Its eager step, by threats; 0: none.
    eager: [OnceLock<Number>; 16],
    /// Its vote for itself and the epoch it has accepted, if it is LOOKING.
    pub(super) looking: Option<(Vote, Epoch)>,
    /// Whether a LOOKING server would be told to follow it.
    pub(super) can_be_joined: bool,
}

/// An action and its outcome.
pub(super) struct Choice {
    pub(super) offer: Offer,
    /// One per step; none at all where one of them turned out to be impossible.
    pub(super) moves: Box<[Move]>,
}

/// The outcome of a step.
pub(super) struct Move {
    pub(super) step: Step,
    /// Places and new numbers.
    pub(super) changes: Box<[(u8, Number)]>,
    /// What becomes of the fingerprint.
    pub(super) difference: Fingerprint,
    /// What the witnesses are told; 0: nothing.
    pub(super) events: Number,
    /// Whose step it is.
    pub(super) taker: Option<ServerId>,
    pub(super) disk_changed: bool,
    /// Whether the taker must be asked of its state properties.
    pub(super) judge: bool,
}

/// One bit for each threat.
pub(super) fn bits(threats: Threats) -> usize {
    let Threats { crashes, breaks, timeouts, proposals } = threats;
    [crashes, breaks, timeouts, proposals].iter().fold(0, |bits, it| bits << 1 | usize::from(*it))
}

impl EnsembleModel {
    pub(super) fn view(&self, server: ServerId, numbers: &Numbers) -> Number {
        let make = || {
            let ensemble = self.unfold(numbers).ensemble;
            let looking = ensemble.server(server).filter(|process| process.is_looking());
            let accepted = ensemble.disk(server).accepted_epoch();
            self.tables.views.add(View {
                choices: Default::default(),
                eager: Default::default(),
                looking: looking.and_then(|_| Some((ensemble.vote_of(server)?, accepted))),
                can_be_joined: ensemble.can_be_joined(server),
            })
        };
        if self.is_wide(server, numbers) {
            let mut key = [0; 1 + PLACES];
            key[..PLACES].copy_from_slice(numbers);
            key[PLACES] = u32::from(server.0);
            return self.tables.wide.number(key, make);
        }
        // A machine's number tells whose it is.
        let mut key = [0; 1 + MAX_SERVERS];
        key[MAX_SERVERS] = numbers[server_at(server)];
        for learner in self.config.server_ids() {
            let links = numbers[links_at(learner)];
            if learner == server || targets(links) >> server.index() & 1 == 1 {
                key[learner.index()] = links;
            }
        }
        self.tables.narrow.number(key, make)
    }

    fn is_wide(&self, server: ServerId, numbers: &Numbers) -> bool {
        !self.config.election.is_oracle()
            || self.config.server_ids().any(|learner| {
                let links = numbers[links_at(learner)];
                let concerned = learner == server || targets(links) >> server.index() & 1 == 1;
                concerned && has_several(links)
            })
    }

    /// A server's choices of one kind.
    pub(super) fn choices(&self, state: &State, server: ServerId, kind: Kind) -> &[Number] {
        let view = self.tables.views.get(state.views[server.index()]);
        view.choices[kind as usize].get_or_init(|| {
            let scene = self.unfold(&state.numbers);
            let mut offers = Vec::new();
            actions::of(&scene, server, kind, self.reductions, &mut offers);
            let may_change = self.reach(ServerSet::default().with(server), &state.numbers);
            let offers = offers.into_iter();
            offers.map(|offer| self.choice(&scene, &state.numbers, offer, &may_change)).collect()
        })
    }

    /// The choice of an election, which concerns several servers.
    pub(super) fn election(&self, state: &State, leader: ServerId, followers: ServerSet) -> Number {
        let members = || followers.with(leader).iter();
        let mut key = [0; 1 + PLACES];
        if members().any(|member| self.is_wide(member, &state.numbers)) {
            key[..PLACES].copy_from_slice(&state.numbers);
            let chosen = followers.iter().fold(0, |bits, id| bits | 1 << id.index());
            key[PLACES] = 1 << 16 | chosen << 8 | u32::from(leader.0);
        } else {
            members().for_each(|member| key[member.index()] = state.views[member.index()]);
            key[PLACES] = u32::from(leader.0);
        }
        self.tables.elections.number(key, || {
            let scene = self.unfold(&state.numbers);
            let offer = Offer::free(Step::Elect { leader, followers });
            let may_change = self.reach(followers.with(leader), &state.numbers);
            self.choice(&scene, &state.numbers, offer, &may_change)
        })
    }

    /// The eager step of a server; 0: none.
    pub(super) fn eager(
        &self,
        numbers: &Numbers,
        view: Number,
        server: ServerId,
        threats: Threats,
    ) -> Number {
        let view = self.tables.views.get(view);
        *view.eager[bits(threats)].get_or_init(|| {
            let scene = self.unfold(numbers);
            let Some(step) = reduction::eager_of(&scene.ensemble, server, threats) else { return 0 };
            let may_change = self.reach(ServerSet::default().with(server), numbers);
            let took = self.take(&mut scene.clone(), numbers, step, &may_change);
            let (took, _) = took.unwrap_or_else(|| panic!("{step} was offered and is not enabled"));
            self.tables.moves.add(took)
        })
    }

    /// The places that steps of these servers may change.
    fn reach(&self, servers: ServerSet, numbers: &Numbers) -> [bool; PLACES] {
        if servers.iter().any(|server| self.is_wide(server, numbers)) {
            return [true; PLACES];
        }
        let mut reach = [false; PLACES];
        for server in servers.iter() {
            reach[server_at(server)] = true;
            reach[links_at(server)] = true;
            for learner in self.config.server_ids() {
                let links = numbers[links_at(learner)];
                reach[links_at(learner)] |= targets(links) >> server.index() & 1 == 1;
            }
        }
        reach
    }

    fn choice(
        &self,
        scene: &Scene,
        numbers: &Numbers,
        offer: Offer,
        may_change: &[bool; PLACES],
    ) -> Number {
        let (mut scene, mut numbers) = (scene.clone(), *numbers);
        let mut moves = Vec::new();
        for step in std::iter::once(offer.step).chain(offer.then) {
            match self.take(&mut scene, &numbers, step, may_change) {
                Some((took, after)) => {
                    moves.push(took);
                    numbers = after;
                }
                None => {
                    moves.clear();
                    break;
                }
            }
        }
        self.tables.choices.add(Choice { offer, moves: moves.into() })
    }

    /// The outcome of a step; `None` where it is not possible.
    fn take(
        &self,
        scene: &mut Scene,
        before: &Numbers,
        step: Step,
        may_change: &[bool; PLACES],
    ) -> Option<(Move, Numbers)> {
        let unheard = self.config.election.is_oracle();
        let mut effects = Effects { unheard, ..Effects::default() };
        let taker = scene.ensemble.taker(&step);
        let disk = taker.map(|server| scene.ensemble.shared_disk(server));
        if scene.take(&step, &mut effects) != Status::Done {
            return None;
        }
        let ensemble = &scene.ensemble;
        let disk_changed =
            taker.zip(disk).is_some_and(|(server, disk)| ensemble.has_written(server, &disk));
        let may_object = |server: ServerId| {
            invariants::may_object(server, ensemble.disk(server), ensemble.server(server))
        };
        let after = self.fold(scene);
        let mut changes = Vec::new();
        let mut difference = Fingerprint::default();
        for place in (0..PLACES).filter(|place| before[*place] != after[*place]) {
            assert!(may_change[place], "{step} of {taker:?} changed what is out of its reach");
            changes.push((place as u8, after[place]));
            difference.subtract(self.fingerprint_at(place, before[place]));
            difference.add(self.fingerprint_at(place, after[place]));
        }
        let took = Move {
            step,
            changes: changes.into(),
            difference,
            events: self.events(effects.events),
            taker,
            disk_changed,
            judge: disk_changed || taker.is_some_and(may_object),
        };
        Some((took, after))
    }
}

impl Kind {
    /// What a choice of this kind costs.
    pub(super) fn charge(self) -> Charge {
        match self {
            Kind::Free | Kind::Impatient => Charge::Free,
            Kind::Txn => Charge::Txn,
            Kind::Crash => Charge::Crash,
            Kind::Break => Charge::Break,
            Kind::Timeout => Charge::Timeout,
        }
    }
}
