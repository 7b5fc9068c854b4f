//! What one run is asked and what it reports.

pub mod demands;
pub(crate) mod difference;
pub(crate) mod programs;
pub(crate) mod pulse;
pub(crate) mod record;
pub(crate) mod standstill;
pub(crate) mod subject;

use crate::run::standstill::Stopped;
use crate::seeded::faults::Fault;
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

/// What runs the programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostKind {
    /// Each program is a node of madsim. Only in builds with `--cfg madsim`.
    Madsim,
    /// The host polls the programs' futures itself.
    Direct,
}

impl HostKind {
    /// Whether this build has the host.
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
    /// One sentence: no such host, or not in this build and why.
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

/// How a run is run and how much of it is kept. Neither changes the run itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// What runs the programs.
    pub host: HostKind,
    /// Whether to record the steps, for a case file.
    pub keep_steps: bool,
    /// How many of the last steps to keep as trace lines, for a timeline. Those that merely keep a
    /// connection alive (pings) are left out, unless all are asked for ([`usize::MAX`]).
    pub trace_last: usize,
}

/// What happened in one run.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// The seed.
    pub seed: u64,
    /// How many steps were taken.
    pub steps: u64,
    /// How much virtual time went by.
    pub simulated: Duration,
    /// How many steps were disruptions, by kind.
    pub disruptions: BTreeMap<Disruption, u64>,
    /// How often each fault of the plan struck, however many steps that took.
    pub struck: BTreeMap<Fault, u64>,
    /// How often each mark was reached.
    pub marks: BTreeMap<Mark, u64>,
    /// How many requests programs made.
    pub requests: u64,
    /// How often programs made an observation of each name.
    pub observed: BTreeMap<Arc<str>, u64>,
    /// What monitors measured.
    pub measured: Vec<Measure>,
    /// The rolling hash over (time, step, effects) at the end: what identifies the run.
    pub hash: Fingerprint,
    /// What went wrong, if something did. The run ended there.
    pub violation: Option<Violation>,
    /// The steps taken, if they were to be kept.
    pub recorded: Vec<(Time, Step)>,
    /// The last steps for people, if they were to be kept.
    pub trace: Vec<TraceLine>,
    /// The last turns of the run's story ([`vivarium_model::event::Event::is_milestone`]), without
    /// notes, if trace lines were to be kept.
    pub story: Vec<TraceLine>,
    /// If programs never finished: where the last of them stopped, unless that is where the run ended. The
    /// trace lines are those around it then.
    pub stopped: Option<Stopped>,
    /// The drawn options and the fault plan, printed.
    pub options_text: String,
    /// What a case must note beside the configuration ([`crate::scenario::drawn::Drawn::parameters`]).
    pub parameters: BTreeMap<String, String>,
    /// The configuration of the ensemble and its clients.
    pub config: Config,
}
