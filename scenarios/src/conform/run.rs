//! Runs a comparison: cases until enough operations were done, or until the two differ.

use super::action::Action;
use super::draw;
use super::lockstep::{Lockstep, Stop};
use super::plan::{Drawn, Plan, Setting, setting, start};
use super::shrink::{Finding, shrunk};
use super::tally::Tally;
use super::{ConformError, RealServer};
use proptest::strategy::{BoxedStrategy, Just, Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::time::{Duration, Instant};
use vivarium_model::case::Case;
use vivarium_model::release::Bug;

/// One case in this many contains an expiry, which takes real time.
const EXPIRING: u64 = 60;

/// One case in this many contains the kill of a server.
const KILLING: u64 = 4;

/// One case in this many contains two changes of the ensemble's members and one of their groups, if it can be reconfigured.
const RECONFIGURING: u64 = 3;

/// The result of a comparison.
#[derive(Debug)]
pub struct Outcome {
    /// Counts of actions and of equal answers.
    pub tally: Tally,
    /// The number of cases, including the last one.
    pub cases: u64,
    /// The number of cases that were abandoned because a real server of an ensemble was silent, and was not when the
    /// case was repeated (ZOOKEEPER-4537).
    pub left_open: u64,
    /// The real time that elapsed.
    pub elapsed: Duration,
    /// The divergence, if there is one.
    pub finding: Option<Finding>,
    /// The model's run since the last start of the real servers.
    pub model: Case,
}

/// Compares until the plan is fulfilled or the two differ. Calls `progress` with the number of operations after each
/// case.
///
/// # Errors
/// Fails if the real server cannot be started or used.
pub fn run(plan: &Plan, progress: &mut dyn FnMut(u64)) -> Result<Outcome, ConformError> {
    let started = Instant::now();
    plan.check()?;
    let setting = setting(plan);
    let (mut _server, mut lockstep) = begin(plan, &setting)?;
    let mut runner = runner(plan.seed);
    let (mut cases, mut left_open) = (0, 0);
    let mut tally = Tally::default();
    let mut finding = None;
    while tally.operations() + lockstep.tally.operations() < plan.operations {
        cases += 1;
        let drawn = draw_case(&mut runner, cases, plan);
        let script: Vec<Action> = drawn.iter().map(|tree| tree.current()).collect();
        let is_left_open = match lockstep.case(&script) {
            Ok(()) => {
                progress(tally.operations() + lockstep.tally.operations());
                if lockstep.agree_on_leader() {
                    continue;
                }
                // New ones: of these, no server is killed or changes its part any more.
                false
            }
            Err(Stop::Failed(ConformError::NoHandshake { .. }))
                if may_be_left_open(plan, left_open, cases) =>
            {
                true
            }
            Err(Stop::Failed(error)) => return Err(error),
            Err(Stop::Diverged(divergence)) => {
                let first_length = script.len();
                let found = match plan.server {
                    // Shortening needs servers without earlier transactions, which a user's server is not.
                    Some(_) => Finding {
                        script,
                        divergence: *divergence,
                        first_length,
                        attempts: 0,
                        again: true,
                    },
                    None => shrunk(drawn, *divergence, plan, &setting)?,
                };
                let sleeps = setting.bugs.has(Bug::MissedWakeUp) && found.divergence.is_refusal();
                let is_silence =
                    found.is_inconclusive(plan) && (found.divergence.is_silence() || sleeps);
                if !(is_silence && may_be_left_open(plan, left_open, cases)) {
                    finding = Some(Finding { first_length, ..found });
                    break;
                }
                true
            }
        };
        left_open += u64::from(is_left_open);
        tally.add(&lockstep.tally);
        drop(_server.take());
        (_server, lockstep) = begin(plan, &setting)?;
    }
    tally.add(&lockstep.tally);
    Ok(Outcome {
        tally,
        cases,
        left_open,
        elapsed: started.elapsed(),
        finding,
        model: lockstep.recorded(),
    })
}

/// Returns true if one more case can be abandoned: the share must stay small for the comparison to be meaningful.
fn may_be_left_open(plan: &Plan, left_open: u64, cases: u64) -> bool {
    plan.ensemble && left_open < 2 + cases / 10
}

/// Starts new servers, and the model beside them.
fn begin(plan: &Plan, setting: &Setting) -> Result<(Option<RealServer>, Lockstep), ConformError> {
    let (server, servers) = start(plan)?;
    match Lockstep::new(servers, setting) {
        Ok(lockstep) => Ok((server, lockstep)),
        Err(Stop::Failed(error)) => Err(error),
        Err(Stop::Diverged(_)) => unreachable!("a server that is not set up is a failure"),
    }
}

fn runner(seed: u64) -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    TestRunner::new_with_rng(Config::default(), random)
}

fn draw_case(runner: &mut TestRunner, case: u64, plan: &Plan) -> Drawn {
    let action = match plan.servers() {
        1 => draw::action().boxed(),
        servers => draw::moving(servers).boxed(),
    };
    let release = plan.known_release();
    let action = action.prop_map(move |action| action.asked_of(release));
    let mut drawn: Drawn = (0..draw::CASE)
        .map(|_| action.new_tree(runner).expect("nothing is rejected"))
        .map(|tree| Box::new(tree) as Box<dyn ValueTree<Value = Action>>)
        .collect();
    if plan.ensemble {
        // The configuration of a real ensemble contains ports, which the model has not; only its text can be compared.
        let is_stat =
            |it: &Action| it.to_string().contains("/zookeeper/config") && !it.gets_config();
        drawn.retain(|tree| !is_stat(&tree.current()));
    }
    let mut add = |strategy: BoxedStrategy<Action>, at: usize| {
        let tree = strategy.new_tree(runner).expect("nothing is rejected");
        drawn.insert(at.min(drawn.len()), Box::new(tree));
    };
    if plan.reconfigures() && case.is_multiple_of(RECONFIGURING) {
        let change = || draw::reconfiguration(plan.servers()).boxed();
        let changes = [change(), draw::regrouping(plan.servers()).boxed(), change()];
        for (change, at) in changes.into_iter().zip([3, 2, 1]) {
            add(draw::get_config().boxed(), draw::CASE * at / 4);
            add(change, draw::CASE * at / 4);
        }
    }
    if plan.ensemble && case.is_multiple_of(KILLING) {
        add(Just(Action::Revive).boxed(), draw::CASE * 2 / 3);
        add(draw::kill().boxed(), draw::CASE / 3);
    } else if case % EXPIRING == 1 {
        let tree = draw::expiry().boxed().new_tree(runner).expect("nothing is rejected");
        drawn.insert(draw::CASE / 2, Box::new(tree));
    }
    if plan.server.is_some() {
        // The root of a server that other clients use is not comparable.
        drawn.retain(|tree| !tree.current().is_about_the_root());
    }
    drawn
}
