//! The explanation of a violating run: the share of violating forks over its steps, the step where it rises the most,
//! and two forks from there that end differently.

use crate::folding::fold;
use crate::numbers::{grouped, span};
use crate::picture::{Curve, CurvePoint};
use crate::script::script;
use crate::telling::WIDTH;
use crate::timeline::timeline;
use std::fmt::Write as _;
use std::time::Duration;
use vivarium_model::time::Time;
use vivarium_model::trace::TraceLine;
use vivarium_model::verdict::Violation;
use vivarium_model::words::plural;

/// The number of steps shown before and after the jump.
const AROUND: u64 = 6;

/// The most sentences shown of each fork.
const SENTENCES: usize = 12;

/// The width of the longest bar.
const BAR: usize = 40;

/// A step, and how many of the runs that go on from there violate the property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// How many steps were taken as recorded.
    pub step: u64,
    /// The virtual time of the last of them.
    pub at: Time,
    /// How many runs went on from there, each under a seed of its own.
    pub forks: u32,
    /// How many of them violate the property.
    pub violating: u32,
}

impl Share {
    fn percent(self) -> u32 {
        100 * self.violating / self.forks.max(1)
    }
}

/// How a run goes on after the step before the jump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// What the monitor saw, if the run violates the property.
    pub violates: Option<String>,
    /// The steps after the recorded ones.
    pub lines: Vec<TraceLine>,
}

/// The explanation of a violating run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The scenario with its bugs.
    pub title: String,
    /// The violation.
    pub violation: Violation,
    /// The number of steps of the run.
    pub steps: u64,
    /// The shares, in order of steps.
    pub points: Vec<Share>,
    /// The shares before and after the greatest rise.
    pub jump: (Share, Share),
    /// The steps of the run.
    pub around: Vec<TraceLine>,
    /// How many steps after the one before the jump two forks have in common, one that violates the property, and one
    /// that does not.
    pub branches: Option<(u64, Branch, Branch)>,
    /// Real time of the examination.
    pub took: Duration,
}

impl Explanation {
    /// Returns the shares as the curve of a picture.
    pub fn curve(&self) -> Curve {
        let point = |share: &Share| CurvePoint {
            step: share.step,
            runs: share.forks,
            violating: share.violating,
        };
        Curve {
            points: self.points.iter().map(point).collect(),
            jump: self.jump.1.step,
            words: sentence(&self.jump).trim().to_string(),
        }
    }
}

/// Returns the explanation as text.
pub fn explanation_text(explanation: &Explanation) -> String {
    let Explanation { title, violation, steps, points, jump, took, .. } = explanation;
    let forks = points.first().map_or(0, |point| point.forks);
    let mut text = format!("EXPLAINED: {title}\n");
    let _ = writeln!(text, "  property   {}", violation.objection.property);
    let _ = writeln!(text, "  saw        {}", violation.objection.saw);
    let _ = writeln!(
        text,
        "  examined   {} of its {} steps, {} from each, in {}\n",
        grouped(points.len() as u64),
        grouped(*steps),
        plural(forks as usize, "run"),
        span(*took)
    );
    text.push_str(&bars(points, jump.1.step));
    text.push_str(&sentence(jump));
    let near = |line: &&TraceLine| {
        line.number + AROUND > jump.1.step && line.number <= jump.1.step + AROUND
    };
    let near: Vec<TraceLine> = explanation.around.iter().filter(near).cloned().collect();
    let _ = write!(text, "\nThe steps around it:\n{}", timeline(&near));
    if let Some((common, violating, passing)) = &explanation.branches {
        text.push_str(&branches(*common, jump.0, violating, passing));
    }
    text
}

/// Returns the sentence about the jump.
fn sentence((before, after): &(Share, Share)) -> String {
    let (step, from, to) = (after.step, before.percent(), after.percent());
    if to <= from {
        return "\nThe share never rises: runs from every step violate the property as often.\n"
            .to_string();
    }
    let what = match after.step - before.step {
        1 => format!("with step {} (at {})", grouped(step), after.at),
        _ => format!("between steps {} and {}", grouped(before.step), grouped(step)),
    };
    format!("\nThe greatest rise is {what}: from {from} % of all runs to {to} %.\n")
}

/// Returns the shares as bars.
fn bars(points: &[Share], jump: u64) -> String {
    let digits = points.last().map_or(1, |last| grouped(last.step).len()).max(4);
    let mut text = format!("  {:>digits$}  {:>12}  violate\n", "step", "time");
    for point in points {
        let bar = "█".repeat(BAR * point.violating as usize / point.forks.max(1) as usize);
        let mark = if point.step == jump { "  ← the greatest rise" } else { "" };
        let (step, time) = (grouped(point.step), point.at.to_string());
        let line = format!("  {step:>digits$}  {time:>12}  {:>5} %  {bar}{mark}", point.percent());
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// Returns what two runs do that part after the step before the jump.
fn branches(common: u64, from: Share, violating: &Branch, passing: &Branch) -> String {
    let (step, same) = (grouped(from.step), plural(common as usize, "further step"));
    let mut text = format!("\nTwo runs from step {step} have {same} in common. Then");
    for (what, branch) in [("violates the property", violating), ("does not", passing)] {
        let _ = write!(text, "\n  the one that {what}:\n");
        let parted: Vec<TraceLine> = branch.lines.iter().skip(common as usize).cloned().collect();
        let sentences = script(&parted);
        for sentence in sentences.iter().take(SENTENCES) {
            let mark = if sentence.fault { "!" } else { " " };
            let line = format!("  {mark} #{}  {}\n", sentence.step, sentence.words);
            text.push_str(&fold(&line, WIDTH));
        }
        if sentences.len() > SENTENCES {
            let _ = writeln!(text, "    … and {} more", sentences.len() - SENTENCES);
        }
        if let Some(saw) = &branch.violates {
            text.push_str(&fold(&format!("    violated:  {saw}\n"), WIDTH));
        }
    }
    text
}
