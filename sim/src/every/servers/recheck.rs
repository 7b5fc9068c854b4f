//! A check in debug builds: results that were looked up must equal those of a real world.

use super::actions::{self, Kind, Offer};
use super::eager::Sight;
use super::state::PLACES;
use super::view::Unfolded;
use super::{Action, EnsembleModel, NoPrograms, State};
use std::cell::OnceCell;
use std::collections::BTreeSet;
use vivarium_model::effect::{Effects, Status};
use vivarium_model::id::ServerId;
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_model::world::World;

/// One state in this many is checked.
const EACH: u128 = 16;

impl EnsembleModel {
    /// Compares a looked-up state with the one from a world that takes the same steps.
    pub(super) fn check_now_and_then(&self, state: &State, action: &Action, next: &State) {
        if next.fingerprint.0.is_multiple_of(EACH) {
            self.check(state, action, next);
        }
    }

    fn check(&self, state: &State, action: &Action, next: &State) {
        let mut scene = self.unfold(&state.numbers);
        let witnesses = self.tables.witnesses.get(state.witnesses).value.clone();
        let mut world = World::of_witnesses(scene.ensemble.clone(), NoPrograms, witnesses);
        let offer = self.tables.choices.get(action.0).offer();
        let mut open: Vec<Step> = std::iter::once(offer.step).chain(offer.then).collect();
        let mut length = 0;
        let mut objection = None;
        while objection.is_none() {
            let step =
                if open.is_empty() { self.next_eager(&world, next) } else { Some(open.remove(0)) };
            let Some(step) = step else { break };
            length += 1;
            objection = self.step(&mut world, &mut scene, &step);
        }
        assert_eq!(objection.as_ref(), next.objection.as_deref(), "after {offer}");
        assert_eq!(length, next.length, "after {offer}");
        scene.ensemble = world.ensemble().clone();
        let again = State {
            numbers: self.fold(&scene, &[0; PLACES]),
            witnesses: self.witnesses(world.witnesses()),
            ..next.clone()
        };
        assert_eq!(
            (again.numbers, again.witnesses),
            (next.numbers, next.witnesses),
            "after {offer}"
        );
        if objection.is_none() {
            assert_eq!(self.fingerprint_of(&again), next.fingerprint, "after {offer}");
            self.check_offers(next);
        }
    }

    fn next_eager(&self, world: &World<NoPrograms>, next: &State) -> Option<Step> {
        let (ensemble, outlook) = (world.ensemble(), self.outlook(&next.left, world.history()));
        let links = |id| &**ensemble.network().links(id);
        let nodes = |id: ServerId| &**ensemble.node(id);
        let (config, reductions) = (&self.config, self.reductions);
        let mut eager = self.config.server_ids().filter_map(|server| {
            Sight { config, server, node: nodes(server), reductions, links, nodes }.eager(outlook)
        });
        eager.next()
    }

    /// Takes a step in a plain world, with all checks.
    fn step(
        &self,
        world: &mut World<NoPrograms>,
        scene: &mut super::scene::Scene,
        step: &Step,
    ) -> Option<vivarium_model::property::Objection> {
        let taker = world.ensemble().taker(step);
        let disk = taker.map(|server| world.ensemble().shared_disk(server));
        let committed = world.history().last();
        let mut effects = Effects::default();
        let result = world.apply(Time::ZERO, step, &mut effects);
        if !self.config.election.is_oracle() {
            scene.keep_timers(step, &effects);
        }
        match result {
            Ok(status) => assert_eq!(status, Status::Done, "{step}"),
            Err(objection) => return Some(objection),
        }
        let (server, disk) = taker.zip(disk)?;
        let written = world.ensemble().has_written(server, &disk);
        let longer = world.history().last() > committed;
        let (ensemble, history) = (world.ensemble(), world.history());
        vivarium_model::property::invariants::check(ensemble, history, server, written, longer)
            .err()
    }

    /// Checks that each server is offered the same actions as in a newly assembled ensemble.
    fn check_offers(&self, state: &State) {
        let scene = self.unfold(&state.numbers);
        let here = Unfolded { numbers: &state.numbers, scene: OnceCell::new() };
        for server in self.config.server_ids() {
            for kind in Kind::ALL {
                let mut offers = Vec::new();
                actions::of(&scene, server, kind, self.leaving_out(), &mut offers);
                let told =
                    |offer: &Offer| (format!("{:?}", offer.step), format!("{:?}", offer.then));
                let anew: BTreeSet<_> = offers.iter().map(told).collect();
                let choices = self.choices(self.view(server, &here), &here, server, kind);
                let known = choices.map(|choice| told(&self.tables.choices.get(choice).offer()));
                assert_eq!(known.collect::<BTreeSet<_>>(), anew, "{kind:?} of {server}");
            }
        }
    }
}
