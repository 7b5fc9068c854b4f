//! What is kept of a run while it runs: counts always, steps, trace lines and hashes on demand.

use crate::mark::{FaultKind, Mark};
use crate::options::Drawn;
use crate::run::{RunOptions, RunReport};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use vivarium_model::effect::Effects;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::property::Objection;
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_model::trace::TraceLine;
use vivarium_model::verdict::Violation;

/// What to keep.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keep {
    /// The steps.
    pub(crate) steps: bool,
    /// So many trace lines, the last ones.
    pub(crate) trace_last: usize,
    /// The rolling hash after each step.
    pub(crate) hashes: bool,
    /// In full, what these steps caused (counted from 0).
    pub(crate) texts: Range<u64>,
}

impl From<RunOptions> for Keep {
    fn from(options: RunOptions) -> Keep {
        Keep {
            steps: options.keep_steps,
            trace_last: options.trace_last,
            ..Keep::default()
        }
    }
}

/// What has been kept so far.
#[derive(Debug)]
pub(crate) struct Record {
    keep: Keep,
    steps: u64,
    faults: [u64; FaultKind::ALL.len()],
    marks: BTreeMap<Mark, u64>,
    recorded: Vec<(Time, Step)>,
    trace: VecDeque<TraceLine>,
    hashes: Vec<Fingerprint>,
    texts: Vec<String>,
}

impl Record {
    /// Before the first step; and the effects to use, which collect what is to be kept.
    pub(crate) fn begin(keep: Keep) -> (Record, Effects) {
        let mut effects = Effects::hashed();
        if keep.trace_last > 0 {
            effects.notes = Some(Vec::new());
        }
        let record = Record {
            keep,
            steps: 0,
            faults: [0; FaultKind::ALL.len()],
            marks: BTreeMap::new(),
            recorded: Vec::new(),
            trace: VecDeque::new(),
            hashes: Vec::new(),
            texts: Vec::new(),
        };
        (record, effects)
    }

    /// How many steps were taken.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// A fault struck.
    pub(crate) fn fault(&mut self, kind: FaultKind) {
        self.faults[kind as usize] += 1;
    }
}
