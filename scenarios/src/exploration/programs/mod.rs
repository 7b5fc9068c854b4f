//! Searches of programs over the service grain.

mod facts;
mod handover;
mod left_out;
mod symmetry;
mod timers;
mod values;

pub(crate) use handover::{Struck, hand_over};

use super::varied::Varied;
use super::{Answer, Exploration, ExploreError, elsewhere, faults, figures, impossible};
use crate::sweeping::panics;
use crate::sweeping::vacuity::looked_for;
use crate::sweeping::watchdog::{self, Ended, PATIENCE, Teller};
use facts::Facts;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use vivarium_model::case::{Case, GrainKind};
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::host::FUNCTION_OF_ITS_INPUTS;
use vivarium_model::id::ClientId;
use vivarium_model::property::{Asked, Objection};
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_model::verdict::{Verdict, Violation};
use vivarium_reports::coverage;
use vivarium_reports::exploration::{Dimension, ExplorationReport};
use vivarium_reports::numbers::grouped;
use vivarium_reports::summary::{Finding, Way};
use vivarium_sim::budget::Account;
use vivarium_sim::every::Shortest;
use vivarium_sim::every::programs::{Action, Apart, Audited, DELAYS, ProgramModel, SYMMETRY};
use vivarium_sim::every::trie::{Activity as Did, Again, Told, ToldAgain};
use vivarium_sim::every::{Counterexample, Ending, Observer, Options, Outcome, search};
use vivarium_sim::service::{monitors, replay_steps};
use vivarium_sim::steps::Replayed;
use vivarium_sim::{Run, Scenario};

/// The most states of the search for a shorter way. The bound counts states and not time, so that the same search
/// always reports the same way.
const LOOK_FOR_SHORTER: u64 = 2_000_000;

/// After a search has stopped for time, its assumptions are checked for this long.
const TO_CHECK: Duration = Duration::from_millis(300);

/// Everything about a search but the search itself.
struct Question {
    scenario: Scenario,
    bugs: Vec<String>,
    run: Run,
    exploration: Exploration,
    model: ProgramModel,
    /// The clients that the search takes for each other.
    classes: Vec<Vec<ClientId>>,
}

/// How much of a search's assumptions was checked.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Checked {
    monitors: Audited,
    programs: Again,
}

impl Question {
    fn new(
        scenario: Scenario,
        bugs: &[String],
        clients: u8,
        exploration: &Exploration,
    ) -> Question {
        let budget = exploration.budget();
        let mut run = Run::smallest(&scenario, clients, budget);
        let varied = &exploration.varied;
        run.config.session_order = varied.order();
        // If TTL znodes can exist, they are deleted at least when nothing else can happen.
        run.config.deletes_containers = budget.deletions > 0 || run.config.options.extended_types;
        let programs = (scenario.programs)(&run);
        let asked = monitors(&scenario, &run);
        let chroots = run.config.clients.iter().map(|client| &*client.chroot);
        let timeouts = run.config.clients.iter().map(|client| client.session_timeout);
        let delays = exploration.delays.iter().copied().chain(DELAYS).chain(timeouts);
        let model = ProgramModel::new(programs, asked, run.config.setup.clone(), budget)
            .below(chroots)
            .with_clients(&run.config.clients)
            .delayed_by(delays)
            .drawing_others(varied.draws())
            .with_sessions(varied.order())
            .telling_others(varied.fixed());
        let model = match run.config.deletes_containers {
            false => model,
            true => model.deleting_containers(&run.config.options),
        };
        let model = if exploration.reductions { model } else { model.without_reductions() };
        let classes = symmetry::classes(&scenario, clients, exploration);
        let model = model.symmetric(&classes);
        let (bugs, exploration) = (bugs.to_vec(), exploration.clone());
        Question { scenario, bugs, run, exploration, model, classes }
    }
}

/// Returns the case without a step of the run that a search begins with.
pub(super) fn beginning(
    scenario: Scenario,
    bugs: &[String],
    clients: u8,
    exploration: &Exploration,
) -> Case {
    let question = Question::new(scenario, bugs, clients, exploration);
    question.case(Vec::new(), Fingerprint::default(), None)
}

/// Explores.
///
/// # Errors
/// Fails if a program does not reach an await, or if Vivarium itself panics.
pub(super) fn explore(
    scenario: Scenario,
    bugs: &[String],
    clients: u8,
    exploration: &Exploration,
    observer: Arc<dyn Observer + Send + Sync>,
) -> Result<Answer, ExploreError> {
    panics::programs();
    let mut question = Question::new(scenario, bugs, clients, exploration);
    // The time limit covers all searches together.
    question.exploration.options.since = Some(Instant::now());
    // If the caller has set a shorter time limit, do not wait much longer for a program that loops.
    let spare = exploration.options.max_time.map(|time| time + Duration::from_secs(1));
    let patience = spare.map_or(PATIENCE, |spare| spare.min(PATIENCE));
    on_watch(question, patience, move |question, begins| {
        values::raised(question, &*observer, begins)
    })
}

/// Runs `work` on a question, and on others that follow from it, while a watchdog checks that programs return from
/// their polls. `work` passes each question to its callback before the search.
///
/// # Errors
/// Fails if a program does not reach an await for as long as `patience`, or if Vivarium itself panics.
fn on_watch<T: Send + 'static>(
    question: Question,
    patience: Duration,
    work: impl FnOnce(Question, &dyn Fn(&Question)) -> T + Send + 'static,
) -> Result<T, ExploreError> {
    let trie = Arc::new(Mutex::new(Arc::clone(question.model.trie())));
    let now = Arc::clone(&trie);
    let work = move |_teller: &Teller<(), T>| {
        work(question, &|question| *locked(&now) = Arc::clone(question.model.trie()))
    };
    let done = watchdog::watched(patience, work, || locked(&trie).running(), |()| ());
    done.map_err(|ended| match ended {
        Ended::Stuck(Told { client, input, .. }) => {
            let program = format!("{client}'s program, after the input \"{input}\",");
            ExploreError::Stuck(watchdog::stuck(&program, patience))
        }
        Ended::Panicked(message) => ExploreError::Panicked(panics::unexpected(message)),
    })
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Question {
    /// Returns the same question without the histories of its programs.
    fn anew(&self) -> Question {
        let Question { scenario, bugs, run, exploration, .. } = self;
        Question::new(scenario.clone(), bugs, run.clients(), exploration)
    }

    /// Returns the same question with these values.
    fn with_values(&self, varied: Varied) -> Question {
        let Question { scenario, bugs, run, exploration, .. } = self;
        let exploration = Exploration { varied, ..exploration.clone() };
        Question::new(scenario.clone(), bugs, run.clients(), &exploration)
    }

    /// Returns the same question with this many timers, and these options of the search.
    fn with_timers(self, timers: u8, options: Options) -> Question {
        let Question { scenario, bugs, run, exploration, .. } = self;
        let exploration = Exploration { options, ..exploration.timers(timers) };
        Question::new(scenario, &bugs, run.clients(), &exploration)
    }

    /// Returns the same question with these clients told apart.
    fn telling_apart(&self, apart: Apart) -> Question {
        let Question { scenario, bugs, run, exploration, .. } = self;
        let mut exploration = exploration.clone();
        exploration.apart.push(apart);
        exploration.symmetry =
            symmetry::classes(scenario, run.clients(), &exploration) != self.classes;
        Question::new(scenario.clone(), bugs, run.clients(), &exploration)
    }

    /// Searches, and returns the answer. If clients can be told apart that were taken for each other, it means nothing.
    fn answer(&self, observer: &dyn Observer) -> Answer {
        let until = self.exploration.options.until().map(|until| until + TO_CHECK);
        if let Some(until) = self.exploration.options.until() {
            self.model.trie().check_until(until);
        }
        self.model.rehearse();
        let Exploration { options, varied, .. } = &self.exploration;
        let (budget, classes) = (self.exploration.budget(), &self.classes);
        let of = format!("{}\n{budget:?} {varied:?} {classes:?}", options.of);
        let mut outcome = search(&self.model, &Options { of, ..options.clone() }, observer);
        let checked = match &outcome.ending {
            // A program that is no function of its inputs can look like two different ones.
            Ending::Violated(found) if found.objection.property == SYMMETRY => {
                match self.model.trie().dependent() {
                    None => Ok(Checked::default()),
                    Some(why) => Err(Objection::new(FUNCTION_OF_ITS_INPUTS, why)),
                }
            }
            Ending::Violated(_) => Ok(Checked::default()),
            _ => self.checked(until),
        };
        // Read now, because the search for a shorter way adds nodes.
        let facts = self.facts(checked, &mut outcome);
        let apart = facts.apart.clone();
        if let Some(objection) = facts.objection.clone() {
            outcome.ending = Ending::Violated(Box::new(Counterexample {
                objection,
                initial: 0,
                path: Vec::new(),
                length: 0,
                shortest: false,
            }));
        }
        let mut report = self.report(&outcome, &facts);
        let case = match outcome.verdict() {
            Ok(verdict) => {
                report.verdict = verdict;
                None
            }
            Err(found) if !self.exploration.reports() => {
                report.verdict = Verdict::Violated(Box::new(elsewhere(found)));
                None
            }
            Err(_) if apart.is_some() => None,
            Err(counterexample) => Some(self.violated(counterexample, observer, &mut report)),
        };
        let impossible = impossible(&outcome);
        let is_stopped = outcome.is_stopped() || impossible.is_some();
        Answer { report, case, told_again: facts.told, is_stopped, impossible, apart }
    }

    /// Checks the assumptions of a search without a violation, until the given time.
    ///
    /// # Errors
    /// Fails if a property does not agree with its hash, or a program is no function of its inputs.
    fn checked(&self, until: Option<Instant>) -> Result<Checked, Objection> {
        let monitors = self.model.audit(until)?;
        let fresh = || (self.scenario.programs)(&self.run);
        let programs = self.model.trie().again(&fresh, until);
        let programs = programs.map_err(|saw| Objection::new(FUNCTION_OF_ITS_INPUTS, saw))?;
        Ok(Checked { monitors, programs })
    }

    /// Makes the report, still without a verdict.
    fn report(&self, outcome: &Outcome<Action>, facts: &Facts) -> ExplorationReport {
        let name = |class: Asked| {
            let all = (self.scenario.monitors)(&self.run).into_iter();
            let named = all.filter(|monitor| monitor.asked() == class);
            named.map(|monitor| monitor.name().to_string()).collect::<Vec<_>>()
        };
        let own = ["program", "progress"].map(str::to_string);
        let Facts { programs, did, told, checked, .. } = facts;
        let observed: BTreeSet<&str> = did.observed.iter().map(|name| &**name).collect();
        let looked_for = looked_for(&(self.scenario.monitors)(&self.run));
        let looked_for = looked_for.iter().map(|name| &**name);
        let properties = own.into_iter().chain(name(Asked::Everywhere)).collect();
        ExplorationReport {
            scenario: self.scenario.name.clone(),
            bugs: self.bugs.to_vec(),
            grain: GrainKind::Service,
            strategy: self.exploration.strategy(),
            reduced: self.exploration.reductions,
            threads: self.exploration.options.threads.get(),
            processes: self.exploration.processes(),
            dimensions: self.dimensions(did, told),
            properties,
            unasked: name(Asked::InSweeps),
            figures: figures(&outcome.statistics, Some(*programs)),
            cycles: outcome.statistics.cycles.to_string(),
            claims: self.claims(outcome, *checked, told),
            unseen: coverage::missing(did.requests, &observed, looked_for),
            observed: observed.iter().map(ToString::to_string).collect(),
            verdict: Verdict::Error("the search has no verdict".to_string()),
            finding: None,
        }
    }

    fn dimensions(&self, did: &Did, told: &ToldAgain) -> Vec<Dimension> {
        let apart = &self.exploration.apart;
        let which = symmetry::in_words(&self.model.classes(), apart);
        let mut all = dimensions(self.run.clients(), &which, &self.exploration, did, told);
        all.extend(left_out::rows(&self.scenario, &self.run, self.exploration.budget()));
        all
    }

    /// Returns the unproven claims that the verdict rests on, and how much of each was checked.
    fn claims(&self, outcome: &Outcome<Action>, checked: Checked, told: &ToldAgain) -> Vec<String> {
        let mut claims = vec![values::claim(told)];
        let all = (self.scenario.monitors)(&self.run);
        let asks = all.iter().any(|monitor| monitor.asked() == Asked::Everywhere);
        let Checked { monitors, programs } = checked;
        if asks {
            claims.push(format!(
                "if copies of a property share no memory, and its hash includes all state that its judgement \
                 depends on (checked on {})",
                counted(monitors.walks, "walk")
            ));
            claims.push(format!(
                "if each property depends on no event that its `concerns` excludes (checked at {})",
                counted(monitors.steps, "step")
            ));
        }
        if asks && self.exploration.reductions {
            let distinct = outcome.statistics.distinct;
            claims.push(format!(
                "if each property depends on the order of events only as its `minds_order` declares (checked in {})",
                some_of(monitors.states, distinct, "state")
            ));
        }
        let mut shared = format!(
            "if programs share no memory, such as an `Arc` or a static ({} through them taken again in \
             another order and by fresh programs",
            some_of(programs.ways, programs.of, "way")
        );
        if programs.walks > 0 {
            let walks = counted(programs.walks, "walk");
            shared.push_str(&format!("; {walks} through rounds that began after other rounds"));
        }
        claims.push(shared + ")");
        claims
    }

    /// Adds the way to a violation to the report, as short as possible, and makes a case of it.
    fn violated(
        &self,
        found: &Counterexample<Action>,
        observer: &dyn Observer,
        report: &mut ExplorationReport,
    ) -> Case {
        let options = Options { max_states: Some(LOOK_FOR_SHORTER), ..self.exploration.alone() };
        let shortest = self.model.shortest(found, &options, observer);
        // A program that is no function of its inputs can take another path the second time. Then the report shows
        // what the search saw.
        let shortest = shortest.unwrap_or_else(|| Shortest {
            steps: self.model.all_steps(found),
            objection: found.objection.clone(),
            left_out: 0,
            proven: false,
        });
        let Shortest { steps, objection, left_out, proven } = shortest;
        let replayed = replay_steps(&self.scenario, &self.run, &steps);
        let Replayed { hash, lines, .. } = replayed.expect("programs can be explored");
        let violation = Violation {
            objection: objection.clone(),
            seed: None,
            at: Time::ZERO,
            step: steps.len() as u64,
            hash,
        };
        report.verdict = Verdict::Violated(Box::new(violation.clone()));
        let length = steps.len();
        report.finding = Some(Finding {
            scenario: report.title(),
            violation,
            options: self.asked(),
            config: self.run.config.clone(),
            case_file: None,
            replay: String::new(),
            every_step: String::new(),
            story: Vec::new(),
            trace: lines,
            way: Some(Way { length, left_out, proven }),
            unrepeated: None,
            shorter: None,
            stopped: None,
            distinct: None,
            regression: None,
            panicked_at: panics::place_of(objection.failure.as_ref()),
            as_read: None,
        });
        self.case(steps, hash, Some(objection))
    }

    fn asked(&self) -> String {
        let clients = match self.run.clients() {
            1 => "1 client".to_string(),
            clients => format!("{clients} clients"),
        };
        let roles = self.scenario.settings.roles_told();
        let roles = roles.map_or(String::new(), |roles| format!(" ({roles})"));
        let mut budget = self.exploration.budget();
        if !self.model.trie().activity().time {
            budget.delays = 0;
        }
        format!("{clients}{roles} over the service grain; budget: {budget}")
    }

    fn case(&self, steps: Vec<Step>, hash: Fingerprint, violation: Option<Objection>) -> Case {
        Case {
            version: Case::VERSION,
            scenario: self.scenario.name.clone(),
            grain: GrainKind::Service,
            parameters: self.exploration.budget().parameters(),
            seed: None,
            bugs: self.bugs.to_vec(),
            config: self.run.config.clone(),
            outside: Vec::new(),
            steps: steps.into_iter().map(|step| (Time::ZERO, step)).collect(),
            hash,
            violation,
        }
    }
}

/// Returns the row about the programs' clocks.
fn clock(delays: u8, did: &Did) -> Dimension {
    let sleeps = "goes on by what the program sleeps";
    let (row, flag, late) = (Account::Delays.row(), Account::Delays.flag(), Account::Delays.how());
    match (did.time, delays) {
        (false, _) => Dimension::new(row, true, "no program reads it"),
        (true, 0) => {
            Dimension::new(row, false, format!("{sleeps}, and no further; {flag} brings it in"))
        }
        (true, _) => {
            let times = match delays {
                1 => "once".to_string(),
                _ => format!("up to {delays} times"),
            };
            Dimension::new(row, true, format!("{sleeps}; {times} a reading is {late}"))
        }
    }
}

/// "1 step", "1,024 steps".
fn counted(number: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// "all 61 states", "10,000 of 61,204 states".
fn some_of(number: u64, of: u64, what: &str) -> String {
    match number >= of {
        true => format!("all {}", counted(of, what)),
        false => format!("{} of {}", grouped(number), counted(of, what)),
    }
}

/// Returns the dimensions that such a search varies, and those that it leaves out.
fn dimensions(
    clients: u8,
    which: &str,
    exploration: &Exploration,
    did: &Did,
    told: &ToldAgain,
) -> Vec<Dimension> {
    let [random, sessions, times] = values::dimensions(&exploration.varied, clients, did, told);
    let order = "every order in which requests, replies, notifications and programs take turns";
    let new_session =
        "begun when the client learns of the expiry, before or after its closeSession";
    let mut rows = vec![
        Dimension::new("clients", true, format!("{clients}: {order}{which}")),
        Dimension::new("stale views", true, "each server lags by any prefix that a session allows"),
    ];
    for (account, number) in exploration.budget().each() {
        match (account, number) {
            (Account::Timers, 0) => rows.push(Dimension::new(
                account.row(),
                false,
                format!(
                    "timers end where nothing else can happen; {} brings the others in",
                    account.flag()
                ),
            )),
            (Account::Delays, _) => rows.push(clock(number, did)),
            // The module `left_out` has the row of this account.
            (Account::Deletions, _) => {}
            _ => rows.push(faults(account, number)),
        }
        if account == Account::Expiries {
            let name = "new session after expiry";
            rows.push(match number {
                0 => super::left_out(name, account),
                _ => Dimension::new(name, true, new_session),
            });
        }
    }
    rows.extend([
        times,
        random,
        sessions,
        Dimension::new("servers, elections, disks", false, "only at the ensemble grain"),
    ]);
    rows
}
