//! The report of one run, and what every chooser of steps shares.

pub mod demands;
pub(crate) mod difference;
pub(crate) mod heartbeat;
pub(crate) mod look;
pub(crate) mod mends;
pub(crate) mod programs;
pub(crate) mod record;
pub(crate) mod standstill;
pub(crate) mod subject;

use crate::run::standstill::Stopped;
use crate::scenario::faults::Fault;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use vivarium_model::config::Config;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::mark::{Disruption, Mark};
use vivarium_model::property::Measure;
use vivarium_model::step::Step;
use vivarium_model::time::{Duration, Time};
use vivarium_model::trace::TraceLine;
use vivarium_model::verdict::Violation;

/// The host that runs the programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostKind {
    /// Each program is a node of madsim. Only in builds with `--cfg madsim`.
    Madsim,
    /// The host polls the programs' futures itself.
    Direct,
}

impl HostKind {
    /// Returns true if this build has the host.
    pub fn is_available(self) -> bool {
        match self {
            HostKind::Madsim => cfg!(madsim),
            HostKind::Direct => true,
        }
    }
}

/// madsim where the build has it, else direct.
impl Default for HostKind {
    fn default() -> HostKind {
        if HostKind::Madsim.is_available() { HostKind::Madsim } else { HostKind::Direct }
    }
}

impl fmt::Display for HostKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HostKind::Madsim => "madsim",
            HostKind::Direct => "direct",
        })
    }
}

impl FromStr for HostKind {
    type Err = String;

    /// # Errors
    /// Returns one sentence if there is no such host, or if this build lacks it and why.
    fn from_str(name: &str) -> Result<HostKind, String> {
        let host = match name {
            "madsim" => HostKind::Madsim,
            "direct" => HostKind::Direct,
            _ => return Err(format!("there is no host `{name}`; choose madsim or direct")),
        };
        if host.is_available() {
            Ok(host)
        } else {
            Err("this build has no madsim host: it was compiled without `--cfg madsim`, which \
                 .cargo/config.toml sets unless the environment variable RUSTFLAGS replaces it"
                .to_string())
        }
    }
}

/// How to run a seed and how much to record. These options do not change the run itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// The host that runs the programs.
    pub host: HostKind,
    /// Whether to record the steps, for a case file.
    pub keep_steps: bool,
    /// How many of the last steps to keep as trace lines, for a timeline. Steps that only keep a connection alive
    /// (pings) are left out, except with [`usize::MAX`], which keeps all steps.
    pub trace_last: usize,
}

/// What happened in one run.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// The seed.
    pub seed: u64,
    /// The number of steps taken.
    pub steps: u64,
    /// The virtual time that elapsed.
    pub simulated: Duration,
    /// The number of steps that were disruptions, by kind.
    pub disruptions: BTreeMap<Disruption, u64>,
    /// How often each fault of the plan struck, regardless of how many steps it took.
    pub struck: BTreeMap<Fault, u64>,
    /// How often each rule of the scenario's script applied; empty for a replay.
    pub scripted: Vec<u64>,
    /// How often each mark was reached.
    pub marks: BTreeMap<Mark, u64>,
    /// The number of requests that programs made.
    pub requests: u64,
    /// The number of observations that programs made, by name.
    pub observed: BTreeMap<Arc<str>, u64>,
    /// The monitors' measurements.
    pub measured: Vec<Measure>,
    /// The rolling hash over (time, step, effects) at the end; it identifies the run.
    pub hash: Fingerprint,
    /// The violation at which the run ended, if there was one.
    pub violation: Option<Violation>,
    /// The steps taken, if [`RunOptions::keep_steps`] is set.
    pub recorded: Vec<(Time, Step)>,
    /// The last steps in readable form, if [`RunOptions::trace_last`] is above 0.
    pub trace: Vec<TraceLine>,
    /// The last milestones of the run ([`vivarium_model::event::Event::is_milestone`]), without notes, if trace lines
    /// are kept.
    pub story: Vec<TraceLine>,
    /// If the violation is that programs did not finish: the point at which the last of them stopped, unless the run
    /// ended soon after it. The trace lines are then the steps around this point.
    pub stopped: Option<Stopped>,
    /// The drawn options and the fault plan, printed.
    pub options_text: String,
    /// What a case file must record besides the configuration ([`crate::scenario::run::Run::parameters`]).
    pub parameters: BTreeMap<String, String>,
    /// The configuration of the ensemble and its clients.
    pub config: Config,
}
