//! What a server can do, computed once.
//!
//! A *view* is a server together with all that its steps read and write: its machine, its own connections as a learner,
//! and other learners' connections to it. Two states in which a server has the same view offer the server the same
//! steps, with the same results. If a learner has several connections, the end of one renumbers others, which concerns
//! all servers at their ends. Then the view is *wide*: it is the whole ensemble. With the election code, views are
//! always wide, because notifications go to all servers; and so they are where the configuration can change, which decides
//! on what others do.

use super::EnsembleModel;
use super::actions::{self, Charge, Kind, LeavingOut, Offer};
use super::choices::{Choice, Move};
use super::eager::Sight;
use super::reductions::Reductions;
use super::scene::Scene;
use super::state::Number;
use super::state::{Numbers, PLACES, has_several, links_at, server_at, targets, unpacked};
use crate::budget::Account;
use crate::every::intern::Number as Interned;
use std::cell::OnceCell;
use std::sync::OnceLock;
use vivarium_model::effect::{Effects, Status};
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::id::{LearnerConnection, ServerId, ServerSet};
use vivarium_model::packet::Vote;
use vivarium_model::property::invariants;
use vivarium_model::server::eager::{Flaw, Outlook};
use vivarium_model::step::Step;
use vivarium_model::zxid::Epoch;

/// A server's view, with the server's choices.
pub(super) struct View {
    /// The first choice of each kind, if there is one.
    choices: [OnceLock<Option<Interned>>; Kind::ALL.len()],
    /// The server's vote for itself and its accepted epoch, if it is LOOKING.
    pub(super) looking: Option<(Vote, Epoch)>,
    /// Whether a LOOKING server can be elected to follow this server.
    pub(super) can_be_joined: OnceLock<bool>,
}

/// The key of a view, or of a step in it: the numbers of the view's pieces, and a code for the server and the step.
pub(super) type ViewKey = [u32; 1 + PLACES];

/// A state, with its ensemble if a computation needed it.
pub(super) struct Unfolded<'a> {
    pub(super) numbers: &'a Numbers,
    pub(super) scene: OnceCell<Scene>,
}

impl Unfolded<'_> {
    pub(super) fn scene(&self, model: &EnsembleModel) -> &Scene {
        self.scene.get_or_init(|| model.unfold(self.numbers))
    }
}

/// Encodes an eager step as a number, never 0.
fn code(step: &Step) -> u32 {
    let on = |kind: u32, connection: &LearnerConnection| {
        kind << 16 | u32::from(connection.learner.0) << 8 | u32::from(connection.slot)
    };
    match step {
        Step::Append(_) => 1 << 16,
        Step::Fsync(_) => 2 << 16,
        Step::Write(_) => 3 << 16,
        Step::Apply(_) => 7 << 16,
        Step::ToLearner(connection) => on(4, connection),
        Step::ToLeader(connection) => on(5, connection),
        Step::Stream(connection) => on(6, connection),
        step => unreachable!("{step} is never eager"),
    }
}

impl EnsembleModel {
    pub(super) fn view(&self, server: ServerId, state: &Unfolded<'_>) -> Number {
        let view = || {
            let node = &self.tables.servers.get(state.numbers[server_at(server)]).value;
            let looking = node.process.as_ref().filter(|process| process.is_looking());
            let vote = looking.map(|process| process.vote(node.disk.current_epoch()));
            View {
                choices: Default::default(),
                looking: vote.map(|vote| (vote, node.disk.accepted_epoch())),
                can_be_joined: OnceLock::new(),
            }
        };
        self.tables.views.number(self.key(server, state.numbers, 0), view).get()
    }

    /// The view's identity: servers with equal keys can take the same steps, with the same results.
    fn key(&self, server: ServerId, numbers: &Numbers, code: u32) -> ViewKey {
        let mut key = [0; 1 + PLACES];
        key[PLACES] = code << 8 | u32::from(server.0);
        if self.is_wide(server, numbers) {
            key[..PLACES].copy_from_slice(numbers);
            return key;
        }
        key[server_at(server)] = numbers[server_at(server)];
        for learner in self.config.server_ids() {
            let links = numbers[links_at(learner)];
            if learner == server || targets(links) >> server.index() & 1 == 1 {
                key[links_at(learner)] = links;
            }
        }
        key
    }

    fn is_wide(&self, server: ServerId, numbers: &Numbers) -> bool {
        !self.config.election.is_oracle()
            || self.config.options.reconfig_enabled
            || self.config.server_ids().any(|learner| {
                let links = numbers[links_at(learner)];
                let concerned = learner == server || targets(links) >> server.index() & 1 == 1;
                concerned && has_several(links)
            })
    }

    /// Selects the faults that are not offered.
    pub(super) fn leaving_out(&self) -> LeavingOut {
        LeavingOut {
            // In real elections, a restarted server asks for votes.
            starts: self.reductions.starts && self.config.election.is_oracle(),
            mail: self.reductions.mail,
            followers_mail: self.reductions.mail && self.has_flaw(Flaw::FollowersPacketsAreLost),
            breaks: self.reductions.breaks,
            noticed_by_learner: !self.has_flaw(Flaw::OnlyLeadersNotice),
            noticed_by_leader: !self.has_flaw(Flaw::OnlyLearnersNotice),
        }
    }

    /// Returns the numbers of a server's choices of one kind, computed at most once for its view.
    pub(super) fn choices(
        &self,
        view: Number,
        state: &Unfolded<'_>,
        server: ServerId,
        kind: Kind,
    ) -> impl Iterator<Item = Number> {
        let first = self.tables.views.get(view).choices[kind as usize].get_or_init(|| {
            let scene = state.scene(self);
            let mut offers = Vec::new();
            actions::of(scene, server, kind, self.leaving_out(), &mut offers);
            let may_change = self.reach(ServerSet::default().with(server), state.numbers);
            let offers = offers.into_iter();
            let choices =
                offers.map(|offer| self.choice(scene, state.numbers, offer, &may_change)).collect();
            self.tables.choices.add(choices)
        });
        self.tables.choices.list(*first)
    }

    /// Returns the choice of an election, which concerns several servers.
    pub(super) fn election(
        &self,
        state: &Unfolded<'_>,
        views: &[Number],
        charge: Charge,
        (leader, followers): (ServerId, ServerSet),
    ) -> Number {
        let members = || followers.with(leader).iter();
        let mut key = [0; 1 + PLACES];
        if members().any(|member| self.is_wide(member, state.numbers)) {
            key[..PLACES].copy_from_slice(state.numbers);
            let chosen = followers.iter().fold(0, |bits, id| bits | 1 << id.index());
            key[PLACES] = 1 << 16 | chosen << 8 | u32::from(leader.0);
        } else {
            members().for_each(|member| key[member.index()] = views[member.index()]);
            key[PLACES] = u32::from(leader.0);
        }
        if let Some(known) = self.tables.elections.find(key) {
            return self.tables.elections.get(known).get();
        }
        let offer = Offer { step: Step::Elect { leader, followers }, then: None, charge };
        let may_change = self.reach(followers.with(leader), state.numbers);
        let choice = self.choice(state.scene(self), state.numbers, offer, &may_change);
        let choice = self.tables.choices.add(vec![choice]).expect("it is a list of one");
        let number = self.tables.elections.number(key, || choice);
        self.tables.elections.get(number).get()
    }

    /// Returns the first eager step of an ensemble and its server.
    pub(super) fn eager(
        &self,
        numbers: &Numbers,
        reductions: Reductions,
        outlook: Outlook,
    ) -> Option<(ServerId, Step)> {
        let links = |id| &*self.tables.links.get(unpacked(numbers[links_at(id)])).value;
        let nodes = |id| &*self.tables.servers.get(numbers[server_at(id)]).value;
        self.config.server_ids().find_map(|server| {
            let (config, node) = (&self.config, nodes(server));
            let sight = Sight { config, server, node, reductions, links, nodes };
            Some((server, sight.eager(outlook)?))
        })
    }

    /// Returns the result of an eager step. `scene` is the ensemble of these numbers, if a computation has needed it;
    /// it becomes the ensemble after the step, if this call computes one.
    pub(super) fn eager_move(
        &self,
        numbers: &Numbers,
        (server, step): (ServerId, Step),
        scene: &mut Option<Scene>,
    ) -> &Move {
        let mut kept = scene.take();
        let key = self.key(server, numbers, code(&step));
        let number = self.tables.moves.number(key, || {
            let mut here = kept.take().unwrap_or_else(|| self.unfold(numbers));
            let may_change = self.reach(ServerSet::default().with(server), numbers);
            let (took, _) = self.take(&mut here, numbers, step, &may_change);
            *scene = Some(here);
            took
        });
        self.tables.moves.get(number)
    }

    /// Returns the places that steps of these servers may change.
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

    /// Computes the result of an action.
    fn choice(
        &self,
        scene: &Scene,
        numbers: &Numbers,
        offer: Offer,
        may_change: &[bool; PLACES],
    ) -> Choice {
        let mut scene = scene.clone();
        let (first, after) = self.take(&mut scene, numbers, offer.step, may_change);
        let then = offer.then.map(|step| self.take(&mut scene, &after, step, may_change).0);
        Choice::new(offer.charge, first, then)
    }

    /// Takes a step that was offered, and returns its result.
    fn take(
        &self,
        scene: &mut Scene,
        before: &Numbers,
        step: Step,
        may_change: &[bool; PLACES],
    ) -> (Move, Numbers) {
        let unheard = self.config.election.is_oracle();
        let mut effects = Effects::default();
        effects.unheard = unheard;
        let taker = scene.ensemble.taker(&step);
        let disk = taker.map(|server| scene.ensemble.shared_disk(server));
        let status = scene.take(&step, &mut effects);
        assert_eq!(status, Status::Done, "{step} was offered and is not enabled");
        let ensemble = &scene.ensemble;
        let disk_changed =
            taker.zip(disk).is_some_and(|(server, disk)| ensemble.has_written(server, &disk));
        let may_object = |server: ServerId| {
            invariants::may_object(server, ensemble.disk(server), ensemble.server(server))
        };
        let after = self.fold(scene, before);
        let mut changes = Vec::new();
        let mut difference = Fingerprint::default();
        for place in (0..PLACES).filter(|place| before[*place] != after[*place]) {
            assert!(may_change[place], "{step} of {taker:?} changed state out of its reach");
            changes.push((place as u8, after[place]));
            difference.subtract(self.fingerprint_at(place, before[place]));
            difference.add(self.fingerprint_at(place, after[place]));
        }
        let mut took = Move::new(step, changes, difference);
        took.events = self.events(effects.events);
        took.taker = taker;
        took.disk_changed = disk_changed;
        took.judge = disk_changed || taker.is_some_and(may_object);
        (took, after)
    }
}

impl Kind {
    /// Returns the charge for a choice of this kind.
    pub(super) fn charge(self) -> Charge {
        match self {
            Kind::Free | Kind::Impatient => None,
            Kind::Txn => Some(Account::Txns),
            Kind::Reconfig => Some(Account::Reconfigs),
            Kind::Crash => Some(Account::Crashes),
            Kind::Break => Some(Account::Breaks),
            Kind::Timeout => Some(Account::Timeouts),
            Kind::FsyncError => Some(Account::FsyncErrors),
        }
    }
}
