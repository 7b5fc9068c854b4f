//! Runs of servers, step by step, as runs of the service grain.
//!
//! An explorer that says "exhausted" at the service grain says it of real servers only if all that
//! these can do to programs is in that grain. So here a simulated run, with all its faults, is taken
//! again there: the same programs, and for each step of a client or of its program the same step; for
//! each transaction that is proposed and committed later, the write takes its place in the log; for
//! each packet that a client reads, its server comes as far as that packet says. Every one of these
//! steps must be among those that the explorer would try, or be a fault, which is counted: the counts
//! are the budget under which a search comes to this run. After each step, what the clients and their
//! programs were told, asked and said must be the same as in the run, event by event.
//!
//! | Of the run | Its counterpart |
//! |---|---|
//! | a step of a client machine or a program | the same |
//! | a connection, or an attempt at one, ends | a lost connection |
//! | a transaction that will be committed is proposed | the write is served, or arrives late; the session begins or ends |
//! | a packet is read | the server goes on until it has sent one, and that is read |
//! | a session is over that was not closed yet | it expires |
//! | the leader proposes to delete a container | the same |
//!
//! A write takes its place where it is proposed: the leader has decided about it there, whatever
//! becomes of that leader. Sessions that no client ever heard of are left out: nobody can tell.
//!
//! This is another question than the bridge's ([`vivarium_model::property::Bridge`]). That keeps
//! account of events, and is asked in every run; here a run is made, with client machines and programs
//! of its own, out of the steps that a search is made of.

mod guide;
mod same;
mod script;

use crate::budget::ByAccount;
use crate::run::{HostKind, RunOptions};
use crate::scenario::Scenario;
use crate::scenario::drawn::Drawn;
use crate::seeded::faults::Fault;
use guide::Guide;
use script::Script;
use std::fmt;
use vivarium_model::step::Step;
use vivarium_model::time::Time;

/// A run that the service grain has too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Embedded {
    /// The budget under which a search comes to it.
    pub cost: Cost,
    /// Steps of the run, and those of the service grain.
    pub steps: (u64, u64),
    /// Events of clients and programs that were the same.
    pub events: u64,
}

/// How much of each account an embedded run needs: lost connections with attempts included, sessions that expired although
/// their client kept them alive, timers that ended, and so on.
pub type Cost = ByAccount<u64>;

/// Why a run is not embedded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The service grain does not have it.
    Differs,
    /// A monitor objects to the run itself. What comes before that, the service grain has.
    Violates,
    /// The scenario has clients or servers that the service grain has not.
    NotOffered,
}

/// A run that is not embedded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotEmbedded {
    /// The seed.
    pub seed: u64,
    /// Why.
    pub why: Why,
    /// The step of the run, from 1, and when it was taken.
    pub step: Option<(u64, Time, Step)>,
    /// What has no counterpart.
    pub saw: String,
}

impl fmt::Display for NotEmbedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.step {
            Some((number, at, step)) => {
                write!(f, "seed {}, step {number} ({at} {step}): {}", self.seed, self.saw)
            }
            None => write!(f, "seed {}: {}", self.seed, self.saw),
        }
    }
}

/// Runs a seed of a scenario, and takes the run again at the service grain.
///
/// # Errors
/// Where and why that is not possible.
pub fn check_embedding(scenario: &Scenario, seed: u64) -> Result<Embedded, Box<NotEmbedded>> {
    let fails = |why, step, saw: String| Box::new(NotEmbedded { seed, why, step, saw });
    // The service grain has nothing outstanding, which tells at the end of a counter.
    let faults = scenario.faults.without(Fault::CounterWrap);
    let scenario = &Scenario { faults, ..scenario.clone() };
    let drawn = Drawn::draw(scenario, seed);
    is_offered(&drawn).map_err(|saw| fails(Why::NotOffered, None, saw))?;
    let options = RunOptions { host: HostKind::Direct, keep_steps: true, trace_last: 0 };
    let run = crate::run(scenario, seed, &options);
    let programs = || (scenario.programs)(&drawn);
    let script = Script::of(&drawn, programs(), &run.recorded);
    let script = script.map_err(|saw| fails(Why::Differs, None, saw))?;
    let mut guide = Guide::new(&drawn, programs(), &script);
    for turn in &script.turns {
        if let Err(saw) = guide.follow(turn) {
            let step = Some((turn.number, turn.at, turn.step));
            return Err(fails(Why::Differs, step, saw));
        }
    }
    match run.violation {
        None => Ok(guide.embedded(run.steps)),
        Some(violation) => Err(fails(Why::Violates, None, violation.objection.to_string())),
    }
}

/// Whether the service grain has all that this ensemble has.
fn is_offered(drawn: &Drawn) -> Result<(), String> {
    let config = &drawn.config;
    let clients = || config.clients.iter();
    if config.options.local_sessions {
        return Err("the service grain has no local sessions".into());
    }
    if clients().any(|client| client.can_be_read_only) {
        return Err("the service grain has no read-only servers".into());
    }
    if clients().any(|client| client.expires_locally) {
        return Err(
            "runs in which clients give up sessions by their own clocks are not taken again yet"
                .into(),
        );
    }
    Ok(())
}
