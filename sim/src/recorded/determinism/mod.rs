//! Is a run really a function of its seed? Runs it several times, under each host and from its own
//! recording, and names the first step that differs, with both sides' text.

use crate::run::record::{Caused, Closed, Keep};
use crate::run::{HostKind, RunReport};
use std::fmt;
use std::ops::Range;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::step::Step;
use vivarium_model::time::Time;

/// One way to get a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the seed.
    Seed {
        /// Under this host.
        host: HostKind,
        /// Which repetition of it, from 1.
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

/// Two runs that should have been the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The seed.
    pub seed: u64,
    /// The number of the first step that differs, from 1; one more than there are steps where only
    /// what follows the last step differs.
    pub step: u64,
    /// One run.
    pub one: Side,
    /// The other.
    pub other: Side,
}

/// What one of two runs did at the first step that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// How this run came about.
    pub way: Way,
    /// The step and the rolling hash after it; `None` where this run had ended.
    pub step: Option<(Time, Step, Fingerprint)>,
    /// All that the step caused. `None` where the run had ended, or where the same way, gone once
    /// more to get the text, led elsewhere.
    pub caused: Option<Caused>,
}

impl Caused {
    /// Both sides' texts: the words where they differ, else the lines in full that do.
    fn sides(one: &Caused, other: &Caused) -> [String; 2] {
        if one.words != other.words {
            return [one.words.clone(), other.words.clone()];
        }
        let lacks = |a: &Caused, b: &Caused| {
            let missing = a.full.lines().filter(|line| !b.full.lines().any(|same| same == *line));
            missing.map(|line| format!("{}\n", line.trim())).collect::<String>()
        };
        let same = |text: String| {
            let none = "nothing that the other did not: they differ in what was sent\n";
            if text.is_empty() { none.to_string() } else { text }
        };
        [same(lacks(one, other)), same(lacks(other, one))]
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {} is not deterministic: step {} differs", self.seed, self.step)?;
        if self.one.step.is_none() && self.other.step.is_none() {
            return writeln!(f, "all steps are the same, but not what was made of them");
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
                writeln!(f, "{}: another run went elsewhere, so there is no text", side.way)?;
            }
        }
        Ok(())
    }
}

/// Gets a run: which way, the first run if there is one (to replay), and what to keep.
pub(crate) type GetRun<'a> = dyn Fn(Way, Option<&RunReport>, Keep) -> Closed + 'a;

/// Compares the run under the first host with a second one, with those under the other hosts, and
/// with its own recording.
///
/// # Errors
/// The first difference.
pub(crate) fn compare(
    seed: u64,
    hosts: &[HostKind],
    get: &GetRun<'_>,
) -> Result<Closed, Box<Difference>> {
    let first = *hosts.first().expect("at least one host");
    let way = Way::Seed { host: first, time: 1 };
    let one = get(way, None, everything(0..0));
    let again = Way::Seed { host: first, time: 2 };
    let others = hosts[1..].iter().map(|host| Way::Seed { host: *host, time: 1 });
    let recording = hosts.last().map(|host| Way::Recording(*host));
    for other_way in [again].into_iter().chain(others).chain(recording) {
        let other = get(other_way, Some(&one.report), everything(0..0));
        if let Some(at) = first_difference(&one, &other) {
            let look = |way, closed: &Closed| look_again(way, closed, at, &one, get);
            return Err(Box::new(Difference {
                seed,
                step: at as u64 + 1,
                one: look(way, &one),
                other: look(other_way, &other),
            }));
        }
    }
    Ok(one)
}

/// Whether a run and the same seed once more are the same, down to the words of an objection; `get` runs
/// it again, for the text. (Those of a recording are others: it knows less of why it ended.)
///
/// # Errors
/// The first difference.
pub(crate) fn repeated(
    one: &Closed,
    again: &Closed,
    host: HostKind,
    get: &GetRun<'_>,
) -> Result<(), Box<Difference>> {
    let end = || (one.report.violation != again.report.violation).then_some(one.hashes.len());
    let Some(at) = first_difference(one, again).or_else(end) else { return Ok(()) };
    let look = |time, closed: &Closed| look_again(Way::Seed { host, time }, closed, at, one, get);
    let (seed, step) = (one.report.seed, at as u64 + 1);
    Err(Box::new(Difference { seed, step, one: look(1, one), other: look(2, again) }))
}

fn everything(texts: Range<u64>) -> Keep {
    Keep { steps: true, hashes: true, texts, ..Keep::default() }
}

/// Position of the first step that differs in time, in itself or in the hash after it.
fn first_difference(one: &Closed, other: &Closed) -> Option<usize> {
    let steps = one.hashes.len().max(other.hashes.len());
    let differing = (0..steps).find(|at| step_at(one, *at) != step_at(other, *at));
    // Equal step for step, but not in what came before the first or after the last one.
    let unequal = one.report.hash != other.report.hash
        || one.report.violation.is_some() != other.report.violation.is_some();
    differing.or(unequal.then_some(steps))
}

fn step_at(closed: &Closed, at: usize) -> Option<(Time, Step, Fingerprint)> {
    let (time, step) = *closed.report.recorded.get(at)?;
    Some((time, step, *closed.hashes.get(at)?))
}

/// Goes the same way once more for the text of one step.
fn look_again(way: Way, closed: &Closed, at: usize, first: &Closed, get: &GetRun<'_>) -> Side {
    let step = step_at(closed, at);
    let wanted = at as u64..at as u64 + 1;
    let again = get(way, Some(&first.report), everything(wanted));
    let same = step.is_some() && step_at(&again, at) == step;
    let caused = if same { again.texts.into_iter().next() } else { None };
    Side { way, step, caused }
}

#[cfg(test)]
mod tests;
