//! `vivarium explore`: tries every order of events of a scenario, within a budget.

use super::arguments::ExploreArguments;
use super::numbers::number;
use super::output::emit;
use super::processes::Processes;
use super::progress::SearchMeter;
use super::select::{self, Selected};
use super::{cases, commands, guard, walk};
use crate::catalogue::Entry;
use crate::exploration::{self, Answer, Exploration};
use std::fs;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use vivarium_model::bounds::SEARCHED_CLIENTS;
use vivarium_model::case::{Case, GrainKind};
use vivarium_model::verdict::Verdict;
use vivarium_reports::case_file;
use vivarium_reports::exploration::{ExplorationReport, exploration_json, exploration_text};
use vivarium_reports::junit::exploration_junit;
use vivarium_reports::table::WIDTH;
use vivarium_sim::Explored;
use vivarium_sim::budget::{ANY, Account};
use vivarium_sim::every::{Observer, Silent};

/// Runs the command and returns the exit code.
pub(super) fn explore(arguments: &ExploreArguments, entries: &[Entry]) -> Result<u8, String> {
    let Some(name) = arguments.scenario.as_deref() else {
        return Err("`explore` needs a scenario, such as `vivarium explore lock`".to_string());
    };
    let bugs = &arguments.switches.names()?;
    let selected = select::selected(select::entry(name, entries)?, bugs)?;
    check_grain(arguments.grain.as_deref(), &selected)?;
    check_flags(arguments, &selected)?;
    let exploration = asked(arguments)?;
    if let Some(address) = &arguments.serve {
        if let Some(flag) = arguments.pictures.flag() {
            return Err(format!(
                "`{flag}` and `--serve` do not go together: leave out one of them"
            ));
        }
        return walk::explore(&selected, bugs, &exploration, address);
    }
    let processes = Processes::begin(arguments)?;
    let exploration = processes.of_search(arguments, exploration)?;
    let report = match search(&selected, bugs, exploration, &processes) {
        Ok(report) => report,
        // The process that started this one says it.
        Err(sentence) if processes.is_started => return Ok(Verdict::Error(sentence).exit_code()),
        Err(sentence) => return Err(sentence),
    };
    if processes.is_other() {
        return Ok(emit(&elsewhere(&report, &processes), report.verdict.exit_code()));
    }
    let reports = [report];
    if let Some(path) = &arguments.junit {
        fs::write(path, exploration_junit(&reports)).map_err(|error| {
            format!("the JUnit report `{}` cannot be written: {error}", path.display())
        })?;
    }
    let [report] = &reports;
    let text = match arguments.json {
        true => exploration_json(&reports),
        false => exploration_text(report, WIDTH),
    };
    let code = emit(&text, report.verdict.exit_code());
    arguments.pictures.write_finding(report.finding.as_ref(), entries)?;
    Ok(code)
}

/// Returns the line of a process that does not report.
fn elsewhere(report: &ExplorationReport, processes: &Processes) -> String {
    let (process, all) = processes.place().unwrap_or((0, 1));
    let verdict = report.verdict.to_string();
    let verdict = verdict.lines().next().unwrap_or_default();
    format!(
        "process {process} of {all}: {}: {verdict}. Process 0 has the report.\n",
        report.title()
    )
}

fn grain_of(selected: &Selected<'_>) -> Option<&'static str> {
    match &selected.scenario.explored {
        Explored::Programs { .. } => Some("service"),
        Explored::Servers(_) => Some("ensemble"),
        Explored::No(_) => None,
    }
}

/// Checks that the grain, if given, is the scenario's.
fn check_grain(name: Option<&str>, selected: &Selected<'_>) -> Result<(), String> {
    // A scenario that cannot be explored is reported later.
    let Some(own) = grain_of(selected) else { return Ok(()) };
    match name {
        None => Ok(()),
        Some(name) if name == own => Ok(()),
        Some("service" | "ensemble") => {
            Err(format!("`{}` is explored over the {own} grain only", selected.entry.name))
        }
        Some(other) => Err(select::unknown_grain(other)),
    }
}

/// Refuses flags that have no meaning at the scenario's grain, because the user expects an effect.
fn check_flags(arguments: &ExploreArguments, selected: &Selected<'_>) -> Result<(), String> {
    let clients = [("--clients", &arguments.clients)];
    let servers = [
        ("--election", &arguments.election),
        ("--coarse", &arguments.coarse),
        ("--snap-count", &arguments.budget.disks.snap_count),
        ("--metadata", &arguments.budget.disks.metadata),
    ];
    let (own, theirs, flags) = match grain_of(selected) {
        Some("service") => ("service", GrainKind::Ensemble, &servers[..]),
        Some(own) => (own, GrainKind::Service, &clients[..]),
        None => return Ok(()),
    };
    let mut others = flags.iter().filter(|(_, value)| value.is_some());
    let mut numbers = arguments.budget.numbers.iter().map(|(account, _)| *account);
    let number = numbers.find(|account| account.grain() == theirs).map(Account::flag);
    match number.or_else(|| others.next().map(|(flag, _)| flag.to_string())) {
        Some(flag) => Err(format!(
            "`{flag}` belongs to the {theirs} grain, and `{}` is explored over the {own} grain",
            selected.entry.name
        )),
        None => Ok(()),
    }
}

/// Translates the arguments into an exploration.
fn asked(arguments: &ExploreArguments) -> Result<Exploration, String> {
    let mut exploration = Exploration::new().unbounded();
    for (account, text) in &arguments.budget.numbers {
        let (least, most) = account.bounds();
        let number = match account.any() {
            Some(any) if text == ANY => any,
            _ => to_small(number(&account.flag(), text, least.into(), most.into())?),
        };
        exploration = exploration.with(*account, number);
    }
    for text in &arguments.budget.clocks.delay {
        let seconds = number("--delay", text, 1, u32::MAX.into())?;
        exploration = exploration.delay(Duration::from_secs(seconds));
    }
    if let Some(text) = &arguments.clients {
        exploration =
            exploration.clients(to_small(number("--clients", text, 1, SEARCHED_CLIENTS.into())?));
    }
    if let Some(text) = &arguments.budget.disks.snap_count {
        let count = number("--snap-count", text, 2, 2 * u64::from(u8::MAX))?;
        exploration = exploration.snap_count(u32::try_from(count).expect("it is less than that"));
    }
    if let Some(name) = &arguments.budget.disks.metadata {
        exploration = exploration.metadata(select::metadata(name)?);
    }
    if let Some(name) = &arguments.election {
        exploration = exploration.election(select::election(name)?);
    }
    if let Some(name) = &arguments.coarse {
        select::coarse(name)?;
        exploration = exploration.applies_at_once();
    }
    search_options(arguments, exploration)
}

/// Applies the options of the search, which do not depend on the grain.
fn search_options(
    arguments: &ExploreArguments,
    mut exploration: Exploration,
) -> Result<Exploration, String> {
    if let Some(text) = &arguments.threads {
        let threads = number("--threads", text, 1, MOST_THREADS)?;
        let threads = usize::try_from(threads).ok().and_then(NonZeroUsize::new);
        exploration = exploration.threads(threads.expect("at least 1"));
    }
    if let Some(text) = &arguments.max_states {
        exploration = exploration.max_states(number("--max-states", text, 1, u64::MAX)?);
    }
    if let Some(text) = &arguments.max_memory {
        exploration = exploration.max_memory(bytes(text)?);
    }
    if let Some(text) = &arguments.max_time {
        let seconds = number("--max-time", text, 1, MOST_SECONDS)?;
        exploration = exploration.max_time(Duration::from_secs(seconds));
    }
    exploration = checkpoints(arguments, exploration)?;
    if arguments.depth_first {
        exploration = exploration.depth_first();
    }
    if arguments.no_reduction {
        exploration = exploration.without_reductions();
    }
    if arguments.no_symmetry {
        exploration = exploration.without_symmetry();
    }
    Ok(exploration)
}

/// The time between two checkpoints, in seconds.
const CHECKPOINT_EVERY: u64 = 600;

/// Applies the options of checkpoints.
fn checkpoints(
    arguments: &ExploreArguments,
    mut exploration: Exploration,
) -> Result<Exploration, String> {
    let file = arguments.checkpoint.as_ref().or(arguments.resume.as_ref());
    let seconds = match &arguments.checkpoint_every {
        Some(_) if file.is_none() => {
            return Err("`--checkpoint-every`: add `--checkpoint FILE`".to_string());
        }
        Some(text) => number("--checkpoint-every", text, 1, MOST_SECONDS)?,
        None => CHECKPOINT_EVERY,
    };
    if let Some(file) = file {
        exploration = exploration.checkpoints(file, Duration::from_secs(seconds));
    }
    Ok(exploration)
}

/// Larger numbers are typing errors.
const MOST_THREADS: u64 = 1_024;
const MOST_SECONDS: u64 = 1_000_000_000;

fn to_small(number: u64) -> u8 {
    u8::try_from(number).expect("checked to be small")
}

/// Parses a size of memory: a number of bytes, or a number of KiB, MiB or GiB with the letter K, M or G.
fn bytes(text: &str) -> Result<u64, String> {
    let wrong =
        || format!("`--max-memory {text}` is not a size of memory: write e.g. `4G` or `500M`");
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).filter(|bytes| *bytes > 0).ok_or_else(wrong)
}

fn search(
    selected: &Selected<'_>,
    bugs: &[String],
    exploration: Exploration,
    processes: &Processes,
) -> Result<ExplorationReport, String> {
    let stop = Arc::new(AtomicBool::new(false));
    stop_on_ctrl_c(&stop);
    let exploration = exploration.stop(stop);
    let ask = |observer| {
        guard::guarded(|| exploration::answer(&selected.scenario, bugs, &exploration, observer))
    };
    let answer = match processes.is_started {
        true => ask(Arc::new(Silent)),
        false => {
            let meter = Arc::new(SearchMeter::new(selected.entry.name.to_string()));
            let answer = ask(Arc::clone(&meter) as Arc<dyn Observer + Send + Sync>);
            meter.finish();
            answer
        }
    };
    let Answer { mut report, case, .. } = answer??;
    if let (Some(finding), Some(case)) = (&mut report.finding, case) {
        let (file, command) = saved(&selected.scenario.name, bugs, &case);
        (finding.case_file, finding.replay) = (Some(file), command);
    }
    Ok(report)
}

/// Writes the case. Returns its path, and the command that replays it.
fn saved(scenario: &str, bugs: &[String], case: &Case) -> (Result<String, String>, String) {
    let path = cases::path(scenario, bugs, "explored");
    match case_file::save(&path, case) {
        Ok(()) => {
            let path = path.display().to_string();
            let command = format!("{} replay {path} --timeline", commands::program());
            (Ok(path), command)
        }
        Err(error) => (Err(error.to_string()), "none without a case file".to_string()),
    }
}

/// The first Ctrl-C, SIGTERM or SIGHUP ends the search, which then reports; the second one ends the process.
fn stop_on_ctrl_c(stop: &Arc<AtomicBool>) {
    let stop = Arc::clone(stop);
    let handler = move || {
        if stop.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    };
    // If no handler can be installed, Ctrl-C ends the process as usual.
    let _ = ctrlc::set_handler(handler);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_memory() {
        assert_eq!(bytes("4G"), Ok(4 << 30));
        assert_eq!(bytes("500m"), Ok(500 << 20));
        assert_eq!(bytes("1024"), Ok(1024));
        assert_eq!(bytes("2KiB"), Ok(2048));
        for text in ["", "G", "-1G", "4T", "0", "1.5G", "99999999999G"] {
            assert!(bytes(text).is_err_and(|sentence| sentence.contains("e.g. `4G`")), "{text}");
        }
    }
}
