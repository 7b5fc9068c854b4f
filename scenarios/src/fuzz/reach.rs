//! Computes everything that a case can reach, by a plain search: a set instead of the table of visited states, and a
//! queue.

use super::case::{Case, PATHS, Statement, Watched};
use super::record::{Ends, Recorder};
use super::run::run;
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, PoisonError};
use vivarium_model::config::{Config, ServerOptions};
use vivarium_model::handle::Program;
use vivarium_model::property::Monitor;
use vivarium_model::setup::Setup;
use vivarium_sim::every::Model;
use vivarium_sim::every::programs::{Flaw, ProgramModel, Reductions, State};

/// What a case can reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// The ends of runs, stuck states and violations, in words.
    pub outcomes: BTreeSet<String>,
    /// Whether a timer was withheld somewhere.
    pub withheld: bool,
    /// Distinct states.
    pub states: u64,
}

/// Builds the model of a case. Its recorder adds the ends of runs to `ends`.
pub(super) fn model(
    case: &Case,
    reductions: Reductions,
    flaw: Option<Flaw>,
    ends: &Ends,
) -> ProgramModel {
    model_with(case, reductions, flaw, ends, std::iter::empty())
}

/// Builds the model of a case with further monitors.
pub(super) fn model_with(
    case: &Case,
    reductions: Reductions,
    flaw: Option<Flaw>,
    ends: &Ends,
    further: impl Iterator<Item = Box<dyn Monitor>>,
) -> ProgramModel {
    let clients = case.programs.len();
    let at_once = matches!(case.watched, Watched::Words | Watched::Order | Watched::Tree);
    let programs: Vec<Program> = case
        .programs
        .iter()
        .map(|statements: &Vec<Statement>| run(statements, clients, at_once))
        .collect();
    let recorder = Recorder::new(case.watched, clients, Arc::clone(ends));
    let recorder: Box<dyn Monitor> = Box::new(recorder);
    let monitors = [recorder].into_iter().chain(further).collect();
    let setup = Setup::of(case.setup.iter().map(|path| PATHS[*path])).expect("paths are sound");
    let model = ProgramModel::new(programs, monitors, setup, case.budget);
    // The last client may have a chroot.
    let has_chroot = |client: usize| case.chroot && client + 1 == clients;
    let chroots = (0..clients).map(|client| if has_chroot(client) { PATHS[0] } else { "" });
    let mut said = Config::new(1, clients as u8).clients;
    said.iter_mut().for_each(|client| client.expires_locally = case.gives_up);
    let model = model.below(chroots).with_clients(&said);
    let options = ServerOptions { extended_types: true, ..ServerOptions::default() };
    let model = match case.deletes {
        false => model,
        true => model.deleting_containers(&options),
    };
    let model = model.reduced_by(reductions).checked_in_every_state();
    match flaw {
        Some(flaw) => model.flawed(flaw),
        None => model,
    }
}

/// Computes what a case can reach; `None` if it has more than `most` states.
pub fn reach(
    case: &Case,
    reductions: Reductions,
    flaw: Option<Flaw>,
    most: usize,
) -> Option<Reach> {
    let ends = Ends::default();
    reach_of(&model(case, reductions, flaw, &ends), &ends, most)
}

/// Computes what this model can reach. Its recorder adds the ends of runs to `ends`.
pub(super) fn reach_of(model: &ProgramModel, ends: &Ends, most: usize) -> Option<Reach> {
    let (mut reached, seen) = weighed(model, ends, most, |_| 0)?;
    reached.states = seen;
    Some(reached)
}

/// Computes what this model can reach. Its states are the sum of `weigh` of each without an objection. Returns the number
/// of all states too.
pub(super) fn weighed(
    model: &ProgramModel,
    ends: &Ends,
    most: usize,
    weigh: impl Fn(&State) -> u64,
) -> Option<(Reach, u64)> {
    let mut states = 0;
    let (mut outcomes, mut withheld) = (BTreeSet::new(), false);
    let mut seen = BTreeSet::new();
    let mut open: VecDeque<_> = stateright::Model::init_states(model).into();
    seen.extend(open.iter().map(|state| model.fingerprint(state)));
    let mut actions = Vec::new();
    while let Some(state) = open.pop_front() {
        if let Some(objection) = model.objection(&state) {
            outcomes.insert(format!("violated: {objection}"));
            continue;
        }
        states += weigh(&state);
        actions.clear();
        stateright::Model::actions(model, &state, &mut actions);
        let is_withheld = model.withheld(&state).is_some();
        withheld |= is_withheld;
        if actions.is_empty() && !is_withheld {
            // A valid end is already in `ends`.
            outcomes.extend(model.at_rest(&state).err().map(|stuck| stuck.to_string()));
        }
        for action in actions.drain(..) {
            let next = stateright::Model::next_state(model, &state, action);
            let next = next.expect("what is offered is possible");
            if seen.insert(model.fingerprint(&next)) {
                open.push_back(next);
            }
        }
        if seen.len() > most {
            return None;
        }
    }
    if let Some(sentence) = model.trie().dependent() {
        outcomes.insert(format!("no function of its inputs: {sentence}"));
    }
    outcomes.append(&mut ends.lock().unwrap_or_else(PoisonError::into_inner));
    Some((Reach { outcomes, withheld, states }, seen.len() as u64))
}
