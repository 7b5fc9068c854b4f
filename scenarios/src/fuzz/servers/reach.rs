//! Computes everything that a case can reach: a plain breadth-first search that forgets nothing.
//!
//! A reduction may leave out states, so not every state can be compared. Compared is what a reduction must preserve:
//!
//! * **Ends**: each state in which no free action is possible except the end of a time limit, as a *whole*: all servers
//!   with their memory and disks, the rest of the budget, the history, and the monitors (with the recorder, these
//!   include the order of everything watched). An eager step comes before such a state in any case, and commutes with
//!   the steps that it is taken before.
//! * **Faults**: what each crash, failed fsync and departure from a role leaves on that server's disk, together with
//!   what was committed and the rest of the budget at that time. An eager step leaves the same there, or nothing. (On
//!   *other* servers' disks, it may leave something.)
//! * **Starts**: what each start of a server finds on its disk.
//! * **Histories**: each history that is committed at some time, with the rest of the budget.
//! * **Objections**, word for word; and whether anything was **withheld**.
//!
//! A search stops at an objection, so what it reaches afterwards depends on the order of steps. Then a reduced search
//! need not reach all of this, but must not reach anything else.

use super::case::{Case, Watched};
use super::record::Recorder;
use std::collections::{BTreeSet, HashSet, VecDeque};
use vivarium_model::effect::Effects;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::id::ServerId;
use vivarium_model::property;
use vivarium_model::server::disk::Disk;
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_sim::every::Model;
use vivarium_sim::every::servers::{Action, EnsembleModel, Flaw, Reductions, State};

/// The kind of an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// An end.
    End,
    /// A fault and the disk that it leaves.
    Fault,
    /// A start and the disk that it finds.
    Start,
    /// A committed history.
    History,
}

/// What a case can reach.
#[derive(Debug, Default)]
pub struct Reach {
    /// The outcomes other than objections.
    pub outcomes: BTreeSet<(Kind, u128)>,
    /// The violations.
    pub objections: BTreeSet<String>,
    /// Whether something was withheld.
    pub withheld: bool,
    /// Distinct states.
    pub states: u64,
    /// The requested outcome in words.
    pub told: Option<String>,
}

/// Builds the model of a case.
pub(super) fn model(case: &Case, reductions: Reductions, flaw: Option<Flaw>) -> EnsembleModel {
    let mut monitors = property::servers();
    if case.watched != Watched::States {
        monitors.push(Box::new(Recorder::new(case.watched)));
    }
    let model = EnsembleModel::new(case.config(), case.budget, case.election, false, monitors);
    let model = model.reduced_by(reductions);
    match flaw {
        Some(flaw) => model.flawed(flaw),
        None => model,
    }
}

/// Computes what a case can reach; `None` if it has more than `most` states. `tell` selects an outcome to describe in
/// words.
pub fn reach(
    case: &Case,
    reductions: Reductions,
    flaw: Option<Flaw>,
    most: usize,
    tell: Option<(Kind, u128)>,
) -> Option<Reach> {
    let model = model(case, reductions, flaw);
    let mut reach = Reach::default();
    let mut seen = HashSet::new();
    let mut open: VecDeque<State> = stateright::Model::init_states(&model).into();
    seen.extend(open.iter().map(|state| model.fingerprint(state).0));
    let mut actions = Vec::new();
    while let Some(state) = open.pop_front() {
        if let Some(objection) = model.objection(&state) {
            reach.objections.insert(objection.to_string());
            continue;
        }
        actions.clear();
        stateright::Model::actions(&model, &state, &mut actions);
        reach.look_at(&model, &state, actions.is_empty(), tell);
        for action in &actions {
            // A choice can turn out to be impossible, and then leads nowhere.
            let Some(next) = stateright::Model::next_state(&model, &state, *action) else {
                continue;
            };
            reach.watch(&model, &state, action, &next, tell);
            if seen.insert(model.fingerprint(&next).0) {
                open.push_back(next);
            }
        }
        if seen.len() > most {
            return None;
        }
    }
    reach.states = seen.len() as u64;
    Some(reach)
}

impl Reach {
    fn add(
        &mut self,
        kind: Kind,
        what: u128,
        tell: Option<(Kind, u128)>,
        words: impl Fn() -> String,
    ) {
        if tell == Some((kind, what)) && self.told.is_none() {
            self.told = Some(words());
        }
        self.outcomes.insert((kind, what));
    }

    fn look_at(
        &mut self,
        model: &EnsembleModel,
        state: &State,
        is_last: bool,
        tell: Option<(Kind, u128)>,
    ) {
        let history = (past(model, state), state.left());
        let words =
            || format!("the history {:?}, {:?} left", model.history(state).last(), state.left());
        self.add(Kind::History, Fingerprint::of(&history).0, tell, words);
        if model.withheld(state).is_some() {
            self.withheld = true;
            return;
        }
        if is_last && let Err(stuck) = model.at_rest(state) {
            self.objections.insert(stuck.to_string());
        }
        if model.is_calm(state) {
            let words = || format!("an end:\n{}", whole(model, state));
            self.add(Kind::End, model.fingerprint(state).0, tell, words);
        }
    }

    /// Adds what a fault leaves and what a start finds.
    fn watch(
        &mut self,
        model: &EnsembleModel,
        state: &State,
        action: &Action,
        next: &State,
        tell: Option<(Kind, u128)>,
    ) {
        let chosen = model.chosen(action);
        let faulted = match chosen[0] {
            Step::Crash { server, .. } => Some(("crashes", server)),
            Step::FsyncError { server, .. } => Some(("cannot fsync", server)),
            Step::Rejoin(server) => Some(("leaves its role", server)),
            _ => None,
        };
        // If a crash is objected to, the restart after it does not happen.
        let started = chosen.iter().find_map(|step| match step {
            Step::Restart(server) if model.steps(state, action).contains(step) => Some(*server),
            _ => None,
        });
        if faulted.is_none() && started.is_none() {
            return;
        }
        let mut ensemble = model.ensemble(state);
        for step in &chosen {
            if matches!(step, Step::Restart(_)) {
                break;
            }
            ensemble.apply(Time::ZERO, step, &mut Effects::default());
        }
        let of = |server: ServerId| ensemble.disk(server);
        if let Some((what, server)) = faulted {
            let left = next.left();
            let outcome = (what, server, of(server), past(model, state), left);
            let words = || {
                let (disk, last) = (on_disk(of(server)), model.history(state).last());
                format!("{server} {what} and has {disk}; {last} is committed, {left:?} left")
            };
            self.add(Kind::Fault, Fingerprint::of(&outcome).0, tell, words);
        }
        if let Some(server) = started {
            let words = || format!("{server} starts with {}", on_disk(of(server)));
            self.add(Kind::Start, Fingerprint::of(&(server, of(server))).0, tell, words);
        }
    }
}

/// Returns the identity of a committed history.
fn past(model: &EnsembleModel, state: &State) -> (u64, Fingerprint) {
    let history = model.history(state);
    (Fingerprint::of(&history.last()).0 as u64, history.tree().digest())
}

/// Describes a state in words.
fn whole(model: &EnsembleModel, state: &State) -> String {
    let ensemble = model.ensemble(state);
    let disks = ensemble.config().server_ids().map(|server| {
        let tree = ensemble.server(server).map(|process| process.tree().last_processed());
        format!("{server} is at {tree:?} and has {}\n", on_disk(ensemble.disk(server)))
    });
    let disks: String = disks.collect();
    format!("{}\n{disks}{} is committed", model.describe(state), model.history(state).last())
}

fn on_disk(disk: &Disk) -> String {
    let log: Vec<String> = disk.log().iter().map(|txn| txn.zxid.to_string()).collect();
    let snapshots = disk.snapshots().iter().map(|snapshot| {
        let durable = if snapshot.durable { "" } else { "?" };
        format!("{}{durable}", snapshot.label)
    });
    let snapshots: Vec<String> = snapshots.collect();
    format!(
        "the log [{}], {} of it unsynced, snapshots [{}], epochs {} and {}, {:?} half written",
        log.join(", "),
        disk.unsynced(),
        snapshots.join(", "),
        disk.accepted_epoch(),
        disk.current_epoch(),
        disk.current_epoch_tmp()
    )
}
