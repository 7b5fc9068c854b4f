//! Embedding: runs of servers repeated, step by step, at the service grain.
//!
//! A search that reports "exhausted" at the service grain covers real servers only if everything that these can do to
//! programs is possible at that grain. So a simulated run, with all its faults, is repeated there with the same
//! programs. Each step of a client or its program is taken again. For each transaction that is proposed and later
//! committed, the write is appended to the log. For each packet that a client reads, its server advances as far as
//! that packet shows. Each of these steps must be among those that a search would try, or be a fault, which is
//! counted: the counts are the budget that a search needs to reach this run. After each step, the inputs, calls and
//! observations of clients and programs must be equal to those of the run, event by event.
//!
//! | Of the run | Its counterpart |
//! |---|---|
//! | a step of a client machine or a program | the same step |
//! | a connection, or an attempt at one, ends | a lost connection |
//! | a transaction is proposed that will commit | the write is served, or arrives late; the session begins or ends |
//! | a packet is read | the server advances until it has sent a packet, which is read |
//! | a session ends that was not closed yet | it expires |
//! | the leader proposes to delete a container | the same deletion |
//!
//! A write is appended where it is proposed, because the leader has decided it there, whatever happens to that
//! leader. Sessions that no client ever knew are left out, because they have no observable effect.
//!
//! The bridge ([`vivarium_model::property::Bridge`]) checks something else: it tracks events, and is checked in every
//! run. Here a run is made, with its own client machines and programs, from the steps that a search takes.

mod guide;
mod same;
mod script;

use crate::budget::ByAccount;
use crate::run::{HostKind, RunOptions};
use crate::scenario::Scenario;
use crate::scenario::faults::Fault;
use crate::scenario::run::Run;
use crate::seeded::drawn::Drawn;
use guide::Guide;
use script::Script;
use std::fmt;
use vivarium_model::step::Step;
use vivarium_model::time::Time;

/// A run that is also a run of the service grain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Embedded {
    /// The budget that a search needs to reach it.
    pub cost: Cost,
    /// Number of steps of the run, and of its repetition at the service grain.
    pub steps: (u64, u64),
    /// Number of events of clients and programs that were compared.
    pub events: u64,
}

/// How much of each account an embedded run needs: lost connections with attempts included, sessions that expired although
/// their client kept them alive, timers that ended, and so on.
pub type Cost = ByAccount<u64>;

/// Why a run could not be embedded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The run has no counterpart at the service grain.
    Differs,
    /// A monitor objects to the run itself. The part before that has a counterpart.
    Violates,
    /// The scenario has clients or servers that the service grain does not support.
    NotOffered,
}

/// The error for a run that could not be embedded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotEmbedded {
    /// The seed.
    pub seed: u64,
    /// The reason.
    pub why: Why,
    /// The step of the run without a counterpart: its number from 1, time and step.
    pub step: Option<(u64, Time, Step)>,
    /// The difference, as a sentence.
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

/// Runs a seed of a scenario and repeats the run at the service grain.
///
/// # Errors
/// The first step that cannot be repeated, and the reason.
pub fn check_embedding(scenario: &Scenario, seed: u64) -> Result<Embedded, Box<NotEmbedded>> {
    let fails = |why, step, saw: String| Box::new(NotEmbedded { seed, why, step, saw });
    // The service grain has no outstanding transactions, which matter at the end of a counter.
    let faults = scenario.faults.without(Fault::CounterWrap);
    let scenario = &Scenario { faults, ..scenario.clone() };
    let drawn = Drawn::draw(scenario, seed).run;
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

/// Checks that the service grain supports everything that this ensemble uses.
fn is_offered(run: &Run) -> Result<(), String> {
    let config = &run.config;
    let clients = || config.clients.iter();
    if config.options.local_sessions {
        return Err("the service grain has no local sessions".into());
    }
    if clients().any(|client| client.can_be_read_only) {
        return Err("the service grain has no read-only servers".into());
    }
    if clients().any(|client| client.expires_locally) {
        return Err(
            "runs in which clients give up sessions by their own clocks cannot be embedded yet"
                .into(),
        );
    }
    Ok(())
}
