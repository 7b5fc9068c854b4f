//! The comparison as a whole: cases until enough was done, or until the two differ.

use super::action::Action;
use super::draw;
use super::lockstep::{Divergence, Lockstep, Stop};
use super::shrink::shrunk;
use super::tally::Tally;
use super::{ConformError, Options, RealEnsemble, RealServer, Servers, divergences};
use proptest::strategy::{BoxedStrategy, Just, Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use vivarium_model::config::ServerOptions;
use vivarium_model::id::ServerId;
use vivarium_model::release::{Bug, Bugs};
use vivarium_model::server::access::generate_digest;

/// One case in so many lets a session expire, which takes real time.
const EXPIRING: u64 = 60;

/// One case in so many has a server killed.
const KILLING: u64 = 4;

/// Servers of an ensemble.
const SERVERS: usize = 3;

/// What to compare.
#[derive(Clone, Debug)]
pub struct Plan {
    /// At least so many operations.
    pub operations: u64,
    /// What is drawn follows from this.
    pub seed: u64,
    /// A server that runs already, instead of one of Debian's package.
    pub server: Option<SocketAddr>,
    /// Planted deviations of the model.
    pub planted: Vec<Bug>,
    /// Three servers, one of which is killed now and then.
    pub ensemble: bool,
}

impl Finding {
    /// Whether nothing can be concluded from it: three real servers take their own time, now and then
    /// one leaves an answer unsent, and what two runs of the same script do not both show is not the
    /// script's. Of one server everything that differs counts.
    pub fn is_inconclusive(&self, plan: &Plan) -> bool {
        plan.ensemble && !self.again
    }
}

/// How the model is set up: as the real server is.
#[derive(Clone, Debug)]
pub struct Setting {
    /// What the release does otherwise, and what is planted.
    pub bugs: Bugs,
    /// The server's properties.
    pub options: ServerOptions,
}

/// How the real server is set up.
pub(super) fn real_options() -> Options {
    Options {
        enforce_quota: true,
        super_digest: Some(generate_digest(draw::SUPER)),
        container_check_interval: Duration::from_secs(86_400),
        ..Options::default()
    }
}

/// The same for the model.
pub(super) fn setting(planted: &[Bug]) -> Setting {
    let real = real_options();
    let options = ServerOptions {
        min_session_timeout: Some(*real.session_timeouts.start()),
        max_session_timeout: Some(*real.session_timeouts.end()),
        super_digest: real.super_digest.as_deref().map(Into::into),
        enforce_quota: true,
        extended_types: true,
        ..ServerOptions::default()
    };
    let bugs = planted.iter().fold(divergences::bugs(), |bugs, bug| bugs.with(*bug));
    Setting { bugs, options }
}

/// How a server must be set up for the comparison, in words.
pub fn setup() -> String {
    let real = real_options();
    let mut text = String::from(
        "A server to compare with (--server) is a standalone ZooKeeper 3.8.0 that nobody else uses, \
         with these lines in zoo.cfg:\n",
    );
    let least = real.session_timeouts.start().as_millis();
    let most = real.session_timeouts.end().as_millis();
    text += &format!("  tickTime={}\n", real.tick_time.as_millis());
    text += &format!("  minSessionTimeout={least}\n  maxSessionTimeout={most}\n");
    text += "and these settings of the Java process:\n";
    text += "  -Dzookeeper.extendedTypesEnabled=true\n  -Dzookeeper.enforceQuota=true\n";
    let digest = real.super_digest.unwrap_or_default();
    text += &format!("  -Dzookeeper.DigestAuthenticationProvider.superDigest={digest}\n");
    let interval = real.container_check_interval.as_millis();
    text + &format!("  -Dznode.container.checkIntervalMs={interval}\n")
}

/// A script that shows where the two differ.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The shortest script that was found.
    pub script: Vec<Action>,
    /// What differs at its end.
    pub divergence: Divergence,
    /// How many actions the case had that first showed it.
    pub first_length: usize,
    /// How many scripts were tried to shorten it.
    pub attempts: usize,
    /// Whether the script showed it a second time, on servers that had done nothing before.
    pub again: bool,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// What was done, and answered alike.
    pub tally: Tally,
    /// Cases, the last one included.
    pub cases: u64,
    /// Real time.
    pub elapsed: Duration,
    /// Where the two differ, if they do.
    pub finding: Option<Finding>,
}

/// A case as drawn: one tree of values for each action, so that each can be simplified.
pub(super) type Drawn = Vec<Box<dyn ValueTree<Value = Action>>>;

/// Compares until the plan is fulfilled or the two differ. `progress` is told the number of
/// operations after each case.
///
/// # Errors
/// When the real server cannot be started, or cannot be talked to.
pub fn run(plan: &Plan, progress: &mut dyn FnMut(u64)) -> Result<Outcome, ConformError> {
    let started = Instant::now();
    let setting = setting(&plan.planted);
    let (_server, mut lockstep) = begin(plan, &setting)?;
    let mut runner = runner(plan.seed);
    let mut cases = 0;
    let mut finding = None;
    while lockstep.tally.operations() < plan.operations {
        cases += 1;
        let drawn = draw_case(&mut runner, cases, plan);
        let script: Vec<Action> = drawn.iter().map(|tree| tree.current()).collect();
        match lockstep.case(&script) {
            Ok(()) => progress(lockstep.tally.operations()),
            Err(Stop::Failed(error)) => return Err(error),
            Err(Stop::Diverged(divergence)) => {
                let first_length = script.len();
                let found = shrunk(drawn, *divergence, plan, &setting)?;
                finding = Some(Finding { first_length, ..found });
                break;
            }
        }
    }
    let tally = lockstep.tally.clone();
    Ok(Outcome { tally, cases, elapsed: started.elapsed(), finding })
}

/// Servers that have done nothing yet, and the model beside them.
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

/// Real servers for a plan. The first part ends one that is not the user's own, when it is dropped.
///
/// # Errors
/// When they do not start.
pub(super) fn start(plan: &Plan) -> Result<(Option<RealServer>, Servers), ConformError> {
    if plan.ensemble {
        let real = RealEnsemble::start(SERVERS, &real_options())?;
        // The model's oracle elects the last one where histories are equal.
        let servers = Servers::ensemble(real, ServerId::at(SERVERS - 1))?;
        return Ok((None, servers));
    }
    match plan.server {
        Some(address) => Ok((None, Servers::one(address))),
        None => {
            let server = RealServer::start(&real_options())?;
            let servers = Servers::one(server.address());
            Ok((Some(server), servers))
        }
    }
}

fn draw_case(runner: &mut TestRunner, case: u64, plan: &Plan) -> Drawn {
    let action = if plan.ensemble { draw::moving().boxed() } else { draw::action().boxed() };
    let mut drawn: Drawn = (0..draw::CASE)
        .map(|_| action.new_tree(runner).expect("nothing is rejected"))
        .map(|tree| Box::new(tree) as Box<dyn ValueTree<Value = Action>>)
        .collect();
    if plan.ensemble && case.is_multiple_of(KILLING) {
        let mut add = |strategy: BoxedStrategy<Action>, at: usize| {
            let tree = strategy.new_tree(runner).expect("nothing is rejected");
            drawn.insert(at, Box::new(tree));
        };
        add(Just(Action::Revive).boxed(), draw::CASE * 2 / 3);
        add(draw::kill().boxed(), draw::CASE / 3);
    } else if case % EXPIRING == 1 {
        let tree = draw::expiry().boxed().new_tree(runner).expect("nothing is rejected");
        drawn.insert(draw::CASE / 2, Box::new(tree));
    }
    if plan.ensemble {
        // The configuration of an ensemble names its ports, which the model has none of.
        drawn.retain(|tree| !tree.current().to_string().contains("/zookeeper/config"));
    }
    if plan.server.is_some() {
        // What is at the root of a server that others use is not ours to compare.
        drawn.retain(|tree| !tree.current().is_about_the_root());
    }
    drawn
}
