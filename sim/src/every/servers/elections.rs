//! The elections that a state allows, under the oracle or by an upset.

use super::actions::Charge;
use super::state::MAX_SERVERS;
use super::state::Number;
use super::view::{Unfolded, View};
use super::{Action, EnsembleModel};
use crate::budget::Account;
use vivarium_model::id::{ServerId, ServerSet};
use vivarium_model::quorum::Quorums;
use vivarium_model::server::Role;
use vivarium_model::server::eager::Flaw;
use vivarium_model::server::oracle::{Elected, elected_by};
use vivarium_model::step::Step;
use vivarium_model::zxid::Epoch;

/// Returns the charge for an election. An upset is counted because its leader may fail and be elected again, each time
/// into a new epoch.
fn price(elected: Elected) -> Charge {
    match elected {
        Elected::Largest | Elected::Backed => None,
        Elected::Upset => Some(Account::Upsets),
    }
}

impl EnsembleModel {
    /// Adds the elections with this charge: every quorum of LOOKING servers can elect, and every LOOKING server can
    /// join a leader. A quorum larger than necessary equals a smaller one that the rest has joined, so with reductions
    /// only the smallest quorums are tried.
    pub(super) fn elections(
        &self,
        state: &Unfolded<'_>,
        numbers: &[Number],
        charge: Charge,
        actions: &mut Vec<Action>,
    ) {
        let servers = || self.config.server_ids();
        let mut views = [None; MAX_SERVERS];
        for (view, number) in views.iter_mut().zip(numbers) {
            *view = Some(self.tables.views.get(*number));
        }
        let view = |id: ServerId| views[id.index()].expect("each server has a view");
        let looking: ServerSet = servers().filter(|id| view(*id).looking.is_some()).collect();
        if looking.is_empty() {
            return;
        }
        let mut push = |leader, followers| {
            let choice: Number = self.election(state, numbers, charge, (leader, followers));
            actions.push(Action(choice));
        };
        let verifier = self.config.quorum_verifier();
        for chosen in 1..1_u32 << servers().count() {
            let quorum: ServerSet = servers().filter(|id| chosen >> id.index() & 1 == 1).collect();
            if quorum.intersection(looking) != quorum {
                continue;
            }
            let vote = |id: ServerId| view(id).looking.map(|(vote, _)| vote);
            if self.reductions.quorums && !verifier.is_minimal_quorum(quorum) {
                continue;
            }
            if self.config.options.reconfig_enabled {
                let ensemble = &state.scene(self).ensemble;
                let elects = |leader: &ServerId| {
                    let (leader, followers) = (*leader, quorum.without(*leader));
                    ensemble.can(&Step::Elect { leader, followers })
                };
                for leader in quorum.iter().filter(elects).filter(|_| charge.is_none()) {
                    push(leader, quorum.without(leader));
                }
                continue;
            }
            for leader in quorum.iter() {
                let elected = elected_by(&self.config, Quorums::of(verifier), quorum, leader, vote);
                if elected.is_some_and(|elected| price(elected) == charge) {
                    push(leader, quorum.iter().filter(|id| *id != leader).collect());
                }
            }
        }
        if charge.is_some() {
            return;
        }
        if self.reductions.quorums && self.has_flaw(Flaw::NobodyJoins) {
            return;
        }
        if self.config.options.reconfig_enabled {
            let ensemble = &state.scene(self).ensemble;
            for (leader, follower) in
                servers().flat_map(|id| looking.iter().map(move |it| (id, it)))
            {
                let followers = ServerSet::default().with(follower);
                if !looking.contains(leader) && ensemble.can(&Step::Elect { leader, followers }) {
                    push(leader, followers);
                }
            }
            return;
        }
        for leader in servers().filter(|id| self.can_be_joined(view(*id), state, *id)) {
            for follower in looking.iter() {
                let accepted = view(follower).looking.map(|(_, accepted)| accepted);
                if self.would_be_heard(state, leader, accepted.expect("it is LOOKING")) {
                    push(leader, ServerSet::default().with(follower));
                }
            }
        }
    }

    fn can_be_joined(&self, view: &View, state: &Unfolded<'_>, leader: ServerId) -> bool {
        *view.can_be_joined.get_or_init(|| state.scene(self).ensemble.can_be_joined(leader))
    }

    /// Returns true if a leader would do anything about a follower except send it away. A leader that ignores that the
    /// follower has accepted a newer epoch only sends it away, and joining it would change nothing.
    fn would_be_heard(&self, state: &Unfolded<'_>, leader: ServerId, accepted: Epoch) -> bool {
        let node = self.tables.servers.get(state.numbers[super::state::server_at(leader)]);
        let process = node.value.process.as_ref().expect("it leads");
        let Role::Leading(leading) = process.role() else { return false };
        !leading.would_refuse(accepted, self.config.bugs)
    }
}
