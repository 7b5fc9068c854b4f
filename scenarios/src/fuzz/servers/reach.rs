//! All that a case can come to: a plain search that forgets nothing, breadth first.
//!
//! A reduction may leave out states, so not every state can be compared. What it must keep, and what is
//! compared therefore:
//!
//! * **Ends**: each state in which nothing free can happen but that somebody loses patience, *whole*:
//!   all servers with their memory and disks, what is left of the budget, the history, the monitors
//!   (and with the recorder among these: in which order everything watched has happened on the way). A
//!   step that is taken early is one that such a state has behind it anyway, and commutes with whatever
//!   it is taken before.
//! * **Faults**: what each crash, failed fsync and departure from a role leaves on that server's disk,
//!   together with what was committed and what is left of the budget by then. A step that is taken early
//!   leaves no trace there, or the same. (Of *other* servers' disks at that moment it may.)
//! * **Starts**: what each start of a server finds on its disk.
//! * **Histories**: each history that is committed at some time, with what is left of the budget.
//! * **Objections**, word for word; and whether anything was **withheld**.
//!
//! Where somebody objects a search goes no further, so what lies behind depends on what comes first: then
//! a reduced search need not come to all of this, but may come to nothing else.

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

/// Something that a search has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// An end.
    End,
    /// A fault and the disk that it leaves.
    Fault,
    /// A start and the disk that it finds.
    Start,
    /// A history.
    History,
}

/// What a case can come to.
#[derive(Debug, Default)]
pub struct Reach {
    /// Without objections.
    pub outcomes: BTreeSet<(Kind, u128)>,
    /// What was objected to.
    pub objections: BTreeSet<String>,
    /// Whether something was withheld.
    pub withheld: bool,
    /// Distinct states.
    pub states: u64,
    /// The outcome that was asked for in words.
    pub told: Option<String>,
}

/// The model of a case.
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

/// All that a case can come to; `None` if it takes more than so many states. `tell` is an outcome to
/// tell in words.
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
            // A choice can turn out to be impossible: then it leads nowhere.
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

    /// What a fault leaves and a start finds.
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
        // Where somebody objects to a crash, the start behind it does not come.
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

/// What tells a committed history from others.
fn past(model: &EnsembleModel, state: &State) -> (u64, Fingerprint) {
    let history = model.history(state);
    (Fingerprint::of(&history.last()).0 as u64, history.tree().digest())
}

/// A state in words.
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
