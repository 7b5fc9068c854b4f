//! The report of a violation: the property, the monitor's sentence, the command that replays the run, and its story.

use crate::determinism::{CAUSES, Difference};
use crate::numbers::span;
use crate::script::script_text;
use crate::story::story;
use crate::summary::{Distinct, DistinctViolation, Finding, Minimal, Shorter, Stopped};
use crate::timeline::{last_steps, steps};
use std::fmt::Write as _;
use vivarium_model::host::FUNCTION_OF_ITS_INPUTS;
use vivarium_model::verdict::Violation;
use vivarium_model::words::plural;

/// How many seeds of a distinct violation are listed.
const SEEDS: usize = 8;

/// Returns the report as text. The command that replays the run has a line of its own.
pub fn violation_report(finding: &Finding) -> String {
    let report = match &finding.as_read {
        Some(read) => read.report.clone(),
        None => without_title(finding),
    };
    format!("VIOLATED: {}\n{report}", finding.scenario)
}

/// Returns the milestones of the violating run, one line each.
pub(crate) fn story_lines(finding: &Finding) -> Vec<String> {
    match (&finding.as_read, &finding.shorter) {
        (Some(read), _) => read.story.clone(),
        (None, Some(Shorter::Found(minimal))) => {
            script_text(&minimal.script()).lines().map(str::to_string).collect()
        }
        (None, _) => {
            let text = story(&finding.story, &finding.violation.objection.about);
            text.lines().map(str::to_string).collect()
        }
    }
}

/// Returns the report without its first line.
pub(crate) fn without_title(finding: &Finding) -> String {
    let violation = &finding.violation;
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        writeln!(text, "  {name:<10} {value}").expect("strings take all that is written");
    };
    line("property", &violation.objection.property);
    line("saw", &violation.objection.saw);
    if let Some(place) = &finding.panicked_at {
        line("panicked", &format!("at {place}"));
    }
    if let Some(seed) = violation.seed {
        line("seed", &seed.to_string());
    }
    match finding.way {
        Some(way) => line("way", &way.to_string()),
        None => line("at", &format!("{}, step {}", violation.at, violation.step)),
    }
    line("hash", &violation.hash.to_string());
    match &finding.case_file {
        Some(Ok(path)) => line("case file", path),
        Some(Err(sentence)) => line("case file", &format!("none: {sentence}")),
        None => {}
    }
    line("replay", &finding.replay);
    match &finding.regression {
        Some(Ok(path)) => {
            line(
                "regression",
                &format!("{path} (replayed first from now on: put it under version control)"),
            );
        }
        Some(Err(sentence)) => line("regression", &format!("not kept: {sentence}")),
        None => {}
    }

    let mut report = text;
    if let Some(Shorter::Found(minimal)) = &finding.shorter {
        report.push_str(&minimised(minimal, &finding.every_step));
        finding.distinct.iter().for_each(|all| report.push_str(&distinct(all)));
        return report;
    }
    if let Some(difference) = &finding.unrepeated {
        let _ = write!(report, "\n{}", another_run(difference, violation));
    } else if violation.objection.property == FUNCTION_OF_ITS_INPUTS {
        let _ = write!(report, "\n{CAUSES}\n");
    }
    if !finding.options.trim().is_empty() {
        let what =
            if finding.way.is_some() { "What was asked" } else { "What the seed stands for" };
        let _ = writeln!(report, "\n{what}:");
        for option in finding.options.trim_end().lines() {
            writeln!(report, "  {option}").expect("strings take all that is written");
        }
    }
    if finding.way.is_some() {
        let _ = write!(report, "\nStep by step:\n{}", steps(&finding.trace));
    } else if !finding.trace.is_empty() {
        report.push('\n');
        let Finding { story, trace, every_step, .. } = finding;
        let until = finding.stopped.map(|stopped| until(stopped, violation));
        report.push_str(&last_steps(story, trace, &violation.objection.about, until, every_step));
    }
    if let Some(Shorter::No(sentence)) = &finding.shorter {
        let _ = writeln!(report, "\n{sentence}");
    }
    finding.distinct.iter().for_each(|all| report.push_str(&distinct(all)));
    report
}

/// Describes the distinct violations of a sweep.
fn distinct(Distinct { violating, minimised, kinds }: &Distinct) -> String {
    let runs = plural(*violating as usize, "violating run");
    let mut text = format!("\n{} in {runs}", plural(kinds.len(), "distinct violation"));
    if minimised < violating {
        let _ = write!(text, " (the first {minimised} were minimised and compared)");
    }
    text.push_str(":\n");
    for DistinctViolation { property, saw, seeds, steps, replay } in kinds {
        let first: Vec<String> = seeds.iter().take(SEEDS).map(u64::to_string).collect();
        let more = if seeds.len() > SEEDS { ", …" } else { "" };
        let seeds = plural(seeds.len(), "run");
        let first = first.join(", ");
        let _ = writeln!(
            text,
            "  {property}: {seeds}, seeds {first}{more}; the smallest has {steps} steps"
        );
        let _ = writeln!(text, "    saw      {saw}");
        let _ = writeln!(text, "    replay   {replay}");
    }
    text
}

/// Describes the smaller run: its script, and how to replay it.
fn minimised(minimal: &Minimal, every_step: &str) -> String {
    let Minimal { finding, before, after, took, incomplete } = minimal;
    let proven = finding.way.is_some_and(|way| way.proven);
    let smallest = if proven { ", and no shorter violation exists" } else { "" };
    let mut text =
        format!("\nMinimised in {}: {after}{smallest}.\nFound: {before}.\n\n", span(*took));
    text.push_str(&script_text(&minimal.script()));
    let _ = writeln!(text, "\n  violated   {}", finding.violation.objection.property);
    let _ = writeln!(text, "  saw        {}", finding.violation.objection.saw);
    if let Some(case_file) = &finding.case_file {
        let file = case_file.as_ref().map_or_else(|why| format!("none: {why}"), Clone::clone);
        let _ = writeln!(text, "  case file  {file}");
    }
    let _ = writeln!(text, "  replay     {}", finding.replay);
    if let Some(sentence) = incomplete {
        let _ = writeln!(text, "\n{sentence}");
    }
    let _ = writeln!(text, "\nThe run as it was found, with every step: {every_step}");
    text
}

/// Describes the last step shown, if that is not the end.
fn until(Stopped { client, at, step }: Stopped, violation: &Violation) -> String {
    let rest = violation.at.since(at).as_millis();
    let (seconds, milliseconds) = (rest / 1_000, rest % 1_000);
    format!(
        "up to where {client} stopped (#{step}, at {at}): it made no call and got no input in the \
         {seconds}.{milliseconds:03} s and {} that followed",
        plural((violation.step - step) as usize, "step")
    )
}

/// Describes how repeating the seed gave a different run, and the usual reasons.
fn another_run(Difference { step, says, .. }: &Difference, violation: &Violation) -> String {
    let seen = match violation.objection.property == FUNCTION_OF_ITS_INPUTS {
        true => "",
        false => "The violation of the first run is valid; the second run may not show it.\n",
    };
    let says: String = says.lines().map(|line| format!("  {line}\n")).collect();
    format!(
        "The same seed, run again, gave a different run: they differ first at step {step}.\n\
         {seen}{says}{CAUSES}\n"
    )
}
