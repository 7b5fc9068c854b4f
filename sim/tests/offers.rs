//! A search over servers offers exactly the possible steps: without reductions, and with a budget for everything, the
//! offers of a state are the steps that its ensemble allows.
//!
//! The tests use random walks with elections by oracle. A step that is allowed and not offered must be one that a
//! search leaves out for a reason of its own; each reason is documented below.

#![cfg(feature = "explore")]

use proptest::prelude::*;
use stateright::Model as _;
use std::collections::BTreeSet;
use vivarium_model::config::Config;
use vivarium_model::ensemble::Ensemble;
use vivarium_model::id::{LearnerConnection, ServerSet};
use vivarium_model::property;
use vivarium_model::release::Bug;
use vivarium_model::step::{OldEpochs, Step, Tail, Unwritten};
use vivarium_sim::every::servers::{Action, Budget, Election, EnsembleModel, State};

/// The slots of connections that are asked about: with elections by oracle, the lowest ones are used.
const SLOTS: u8 = 6;

fn election(any: bool) -> Election {
    if any { Election::Any } else { Election::Oracle }
}

fn model(servers: u8, election: Election, reductions: bool) -> EnsembleModel {
    let mut config = Config::new(servers, 0);
    (config.snap_count, config.snapshot_piece) = (4, 2);
    let plenty = Budget {
        servers,
        txns: 250,
        crashes: 250,
        breaks: 250,
        timeouts: 250,
        fsync_errors: 250,
        upsets: 250,
        observers: 0,
        reconfigs: 0,
    };
    EnsembleModel::new(config, plenty, election, reductions, property::servers())
}

/// Returns every conceivable step, except those that a search replaces or knows to be redundant: time limits, which
/// are [`Step::Rejoin`] and counted, and pings, which only postpone them; cuts, which are breaks; half-written
/// records, which a start ignores; and more surviving packets than there are.
fn conceivable(ensemble: &Ensemble) -> Vec<Step> {
    let servers = || ensemble.config().server_ids();
    let mut steps = Vec::new();
    for server in servers() {
        steps.extend([
            Step::Append(server),
            Step::Fsync(server),
            Step::Apply(server),
            Step::MissWakeUp(server),
            Step::ApplyRest(server),
            Step::Write(server),
            Step::Snapshot(server),
            Step::Propose(server),
            Step::Restart(server),
            Step::Rejoin(server),
        ]);
        for survive in 0..=ensemble.disk(server).unsynced() as u8 {
            let mut fails = |rest| steps.push(Step::FsyncError { server, survive, rest });
            fails(Unwritten::Lost);
            let bugs = ensemble.config().bugs;
            if usize::from(survive) < ensemble.disk(server).unsynced() {
                if bugs.has(Bug::TornRecordHidesLog) {
                    fails(Unwritten::Torn);
                }
                if bugs.has(Bug::FailedWriteComesLater) {
                    fails(Unwritten::Buffered);
                }
            }
            for packets in 0..=ensemble.most_under_way(server) {
                let disk = ensemble.disk(server);
                let may_be = |of: bool| if of { &[false, true][..] } else { &[false] };
                let is_unsynced = disk.snapshots().iter().any(|snapshot| !snapshot.durable);
                for epochs in OldEpochs::ALL {
                    if epochs.has_accepted() && !disk.may_undo_accepted_epoch()
                        || epochs.has_current() && !disk.may_undo_current_epoch()
                    {
                        continue;
                    }
                    for snapshots in may_be(is_unsynced).iter().copied() {
                        for cuts in may_be(disk.may_undo_cuts()).iter().copied() {
                            let tail =
                                Tail { survive, packets, snapshots, cuts, epochs, ..Tail::LOST };
                            steps.push(Step::Crash { server, tail });
                        }
                    }
                }
            }
        }
        steps.extend(servers().map(|from| Step::Vote { from, to: server }));
        for slot in 0..SLOTS {
            let connection = LearnerConnection { learner: server, slot };
            let (up, down) = ensemble.under_way_learner(connection);
            steps.extend([
                Step::ToLeader(connection),
                Step::ToLearner(connection),
                Step::Stream(connection),
            ]);
            for to_leader in 0..=up as u8 {
                let breaks = |to_learner| Step::BreakLearner { connection, to_leader, to_learner };
                steps.extend((0..=down as u8).map(breaks));
            }
        }
        for chosen in 0..1_u32 << servers().count() {
            let followers: ServerSet =
                servers().filter(|id| chosen >> id.index() & 1 == 1).collect();
            steps.push(Step::Elect { leader: server, followers });
        }
    }
    steps
}

/// Numbers from a seed (SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % below.max(1) as u64) as usize
    }
}

fn offers(model: &EnsembleModel, state: &State) -> Vec<Action> {
    let mut actions = Vec::new();
    model.actions(state, &mut actions);
    actions
}

/// Makes a random walk, most of whose steps are no faults. Calls `look` in every state.
fn walk(model: &EnsembleModel, seed: u64, mut look: impl FnMut(&State, &[Action])) {
    let mut dice = Dice(seed);
    let mut state = model.init_states().remove(0);
    for _ in 0..120 {
        let actions = offers(model, &state);
        look(&state, &actions);
        let is_calm = |action: &Action| !model.chosen(action)[0].is_fault();
        let calm: Vec<Action> = actions.iter().copied().filter(is_calm).collect();
        let from = if dice.roll(8) == 0 || calm.is_empty() { actions } else { calm };
        let Some(action) = from.get(dice.roll(from.len())) else { return };
        // An offer that is not enabled would panic here.
        state = model.next_state(&state, *action).expect("what is offered can happen");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Without reductions: every allowed step is offered, and every offered step is allowed.
    #[test]
    fn offers_are_what_is_allowed(seed: u64, servers in 2_u8..=3, any: bool) {
        let model = model(servers, election(any), false);
        let (mut allowed, mut refused) = (0, 0);
        walk(&model, seed, |state, actions| {
            let ensemble = model.ensemble(state);
            let chosen = actions.iter().map(|action| model.chosen(action));
            let offered: BTreeSet<Step> = chosen.map(|steps| steps[0]).collect();
            assert!(offered.iter().all(|step| ensemble.can(step)));
            for step in conceivable(&ensemble) {
                let can = ensemble.can(&step);
                assert_eq!(can, offered.contains(&step), "{step}: {}", model.describe(state));
                *if can { &mut allowed } else { &mut refused } += 1;
            }
        });
        prop_assert!(allowed > 500 && refused > 1_000, "{allowed} and {refused}");
    }

    /// With reductions and eager steps: every offered step is allowed, and can be completed.
    #[test]
    fn reduced_offers_are_allowed(seed: u64, servers in 2_u8..=3, any: bool) {
        let model = model(servers, election(any), true);
        walk(&model, seed, |state, actions| {
            let ensemble = model.ensemble(state);
            assert!(actions.iter().all(|action| ensemble.can(&model.chosen(action)[0])));
        });
    }
}
