//! Shortens a script that shows a divergence.
//!
//! First the actions after the divergence are left out, then ever smaller groups of actions, then single actions are
//! simplified as proptest knows how (a shorter list of paths, an open ACL, no data). A shorter script is kept if it
//! shows *any* divergence, on a new real server: after a divergence the two differ, so each attempt needs a new server.
//! The next server is started while the present one is in use.

use super::action::Action;
use super::lockstep::{Divergence, Lockstep, Stop};
use super::plan::{Drawn, Plan, Setting, start};
use super::{ConformError, RealServer, Servers};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The time limit for shortening. A script that is still long then is printed as it is.
const BUDGET: Duration = Duration::from_secs(240);

/// A script that shows a divergence.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The shortest script found.
    pub script: Vec<Action>,
    /// The divergence at its end.
    pub divergence: Divergence,
    /// The number of actions in the case that first showed it.
    pub first_length: usize,
    /// The number of scripts tried.
    pub attempts: usize,
    /// Whether the script showed a divergence a second time, on new servers.
    pub again: bool,
}

impl Finding {
    /// Returns true if the finding proves nothing. Three real servers have their own timing, and sometimes one leaves
    /// an answer unsent, so a difference that does not recur is not caused by the script. With one server, every
    /// difference counts.
    pub fn is_inconclusive(&self, plan: &Plan) -> bool {
        plan.ensemble && !self.again
    }
}

/// Returns the shortest script that can be found within the time limit.
///
/// # Errors
/// Fails if no real server can be started any more.
pub(super) fn shrunk(
    mut drawn: Drawn,
    divergence: Divergence,
    plan: &Plan,
    setting: &Setting,
) -> Result<Finding, ConformError> {
    let mut bench = Bench::new(plan, setting);
    let mut best = divergence;
    bench.truncate(&mut drawn, &mut best)?;
    let whole: Vec<Action> = drawn.iter().map(|tree| tree.current()).collect();
    let Some(found) = bench.try_script(&whole)? else {
        // A divergence that does not recur cannot be shortened.
        let (first_length, attempts) = (whole.len(), bench.attempts);
        return Ok(Finding {
            script: whole,
            divergence: best,
            first_length,
            attempts,
            again: false,
        });
    };
    best = found;
    let mut piece = drawn.len() / 2;
    while piece > 0 && bench.has_time() {
        let mut at = 0;
        let mut removed = false;
        while at < drawn.len() && bench.has_time() {
            let end = (at + piece).min(drawn.len());
            let script: Vec<Action> =
                drawn[..at].iter().chain(&drawn[end..]).map(|it| it.current()).collect();
            match bench.try_script(&script)? {
                Some(found) => {
                    drawn.drain(at..end);
                    best = found;
                    removed = true;
                    bench.truncate(&mut drawn, &mut best)?;
                }
                None => at = end,
            }
        }
        if piece == 1 && !removed {
            break;
        }
        piece = (piece / 2).max(1);
    }
    bench.simplify(&mut drawn, &mut best)?;
    let script = drawn.iter().map(|tree| tree.current()).collect();
    let attempts = bench.attempts;
    Ok(Finding { script, divergence: best, first_length: 0, attempts, again: true })
}

/// Newly started real servers.
type Started = Result<(Option<RealServer>, Servers), ConformError>;

/// Runs scripts.
struct Bench<'a> {
    plan: &'a Plan,
    setting: &'a Setting,
    started: Instant,
    attempts: usize,
    /// A real server and a model that have not differed yet.
    ready: Option<(Option<RealServer>, Lockstep)>,
    next: Option<JoinHandle<Started>>,
}

impl Drop for Bench<'_> {
    /// Waits for the server that is being started, which would otherwise survive a program that ends now.
    fn drop(&mut self) {
        if let Some(starting) = self.next.take() {
            // The result of the start does not matter any more.
            drop(starting.join());
        }
    }
}

impl<'a> Bench<'a> {
    fn new(plan: &'a Plan, setting: &'a Setting) -> Bench<'a> {
        let mut bench =
            Bench { plan, setting, started: Instant::now(), attempts: 0, ready: None, next: None };
        bench.start_next();
        bench
    }

    fn has_time(&self) -> bool {
        self.started.elapsed() < BUDGET
    }

    fn start_next(&mut self) {
        if self.plan.server.is_none() {
            let plan = self.plan.clone();
            self.next = Some(thread::spawn(move || start(&plan)));
        }
    }

    /// Runs a script and returns its divergence, if there is one.
    fn try_script(&mut self, script: &[Action]) -> Result<Option<Divergence>, ConformError> {
        self.attempts += 1;
        if self.ready.is_none() {
            let (server, servers) = match self.next.take() {
                Some(starting) => starting.join().expect("starting a server does not panic")?,
                None => start(self.plan)?,
            };
            self.start_next();
            self.ready = match Lockstep::new(servers, self.setting) {
                Ok(lockstep) => Some((server, lockstep)),
                Err(Stop::Failed(error)) => return Err(error),
                Err(Stop::Diverged(found)) => return Ok(Some(*found)),
            };
        }
        let (_, lockstep) = self.ready.as_mut().expect("it was just made");
        match lockstep.case(script) {
            Ok(()) => Ok(None),
            Err(Stop::Failed(error)) => Err(error),
            Err(Stop::Diverged(found)) => {
                self.ready = None;
                Ok(Some(*found))
            }
        }
    }

    /// Leaves out the actions after the divergence.
    fn truncate(&mut self, drawn: &mut Drawn, best: &mut Divergence) -> Result<(), ConformError> {
        let Some(at) = best.action else { return Ok(()) };
        if at + 1 < drawn.len() {
            let script: Vec<Action> = drawn[..=at].iter().map(|tree| tree.current()).collect();
            if let Some(found) = self.try_script(&script)? {
                drawn.truncate(at + 1);
                *best = found;
            }
        }
        Ok(())
    }

    /// Simplifies each action as far as possible.
    fn simplify(&mut self, drawn: &mut Drawn, best: &mut Divergence) -> Result<(), ConformError> {
        for at in 0..drawn.len() {
            while self.has_time() && drawn[at].simplify() {
                let script: Vec<Action> = drawn.iter().map(|tree| tree.current()).collect();
                match self.try_script(&script)? {
                    Some(found) => *best = found,
                    None => {
                        while drawn[at].complicate() {
                            let script: Vec<Action> =
                                drawn.iter().map(|tree| tree.current()).collect();
                            if let Some(found) = self.try_script(&script)? {
                                *best = found;
                                break;
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }
}
