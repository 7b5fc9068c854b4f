//! Two runs that should have been equal, and the first step at which they differ.

use super::HostKind;
use super::record::Caused;
use std::fmt;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::step::Step;
use vivarium_model::time::Time;

/// How a run was produced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the seed.
    Seed {
        /// The host of the run.
        host: HostKind,
        /// The number of this repetition, from 1.
        time: u32,
    },
    /// From the steps recorded in the first run.
    Recording(HostKind),
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Way::Seed { host, time: 1 } => write!(f, "{host}"),
            Way::Seed { host, time } => write!(f, "{host}, run {time}"),
            Way::Recording(host) => write!(f, "{host}, replayed from the recording"),
        }
    }
}

/// Two runs that should have been equal but differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The seed of both runs.
    pub seed: u64,
    /// The number of the first step that differs, counted from 1. If all steps are equal and only the runs' ends
    /// differ, this is the number of steps plus 1.
    pub step: u64,
    /// The first run.
    pub one: Side,
    /// The run that was compared with the first.
    pub other: Side,
}

/// What one of two runs did at the first step that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// How this run was produced.
    pub way: Way,
    /// The step and the rolling hash after it; `None` where this run had ended.
    pub step: Option<(Time, Step, Fingerprint)>,
    /// All that the step caused. `None` if the run had ended, or if the repetition that collects the text took another
    /// course.
    pub caused: Option<Caused>,
}

impl Caused {
    /// Returns the texts of both sides: the short texts if these differ, else the lines of the full texts that the
    /// other side lacks.
    pub(crate) fn sides(one: &Caused, other: &Caused) -> [String; 2] {
        if one.words != other.words {
            return [one.words.clone(), other.words.clone()];
        }
        let lacks = |a: &Caused, b: &Caused| {
            let missing = a.full.lines().filter(|line| !b.full.lines().any(|same| same == *line));
            missing.map(|line| format!("{}\n", line.trim())).collect::<String>()
        };
        let same = |text: String| {
            let none = "nothing that the other run did not: the runs differ in the packets sent\n";
            if text.is_empty() { none.to_string() } else { text }
        };
        [same(lacks(one, other)), same(lacks(other, one))]
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {} is not deterministic: step {} differs", self.seed, self.step)?;
        if self.one.step.is_none() && self.other.step.is_none() {
            return writeln!(
                f,
                "all steps are the same, but the results of the programs or properties differ"
            );
        }
        for side in [&self.one, &self.other] {
            match &side.step {
                Some((at, step, hash)) => writeln!(f, "{}: {at} {step} -> {hash}", side.way)?,
                None => writeln!(f, "{}: the run had ended", side.way)?,
            }
        }
        let sides = [&self.one, &self.other];
        let texts = match sides.map(|side| side.caused.as_ref()) {
            [Some(one), Some(other)] => Caused::sides(one, other).map(Some),
            either => either.map(|caused| caused.map(|caused| caused.words.clone())),
        };
        for (side, text) in sides.into_iter().zip(texts) {
            if let Some(text) = text {
                writeln!(f, "{} caused:", side.way)?;
                text.lines().try_for_each(|line| writeln!(f, "  {line}"))?;
            } else if side.step.is_some() {
                writeln!(
                    f,
                    "{}: a repeat of the run took other steps, so there is no text",
                    side.way
                )?;
            }
        }
        Ok(())
    }
}
