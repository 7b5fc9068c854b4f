//! `vivarium fuzz-explorer`: generated programs, searched in all ways, must come to the same.

use super::arguments::FuzzArguments;
use super::guard;
use super::output::{emit, to_stderr};
use super::select::nearest;
use crate::fuzz::{Flaw, Fuzzed, MOST_STATES, fuzz as compare_all};
use crate::seeds::{SeedRange, parse_seed};
use std::cell::Cell;
use std::fmt::Write;
use std::time::{Duration, Instant};

/// How many cases, where nobody says.
const CASES: u64 = 1_000;

/// How often progress is told.
const PERIOD: Duration = Duration::from_secs(5);

/// Runs the command and returns the exit code.
pub(super) fn fuzz(arguments: &FuzzArguments) -> Result<u8, String> {
    let cases = match &arguments.cases {
        Some(text) => SeedRange::parse(text).map_err(|error| format!("--cases: {error}"))?,
        None => SeedRange::count(CASES),
    };
    let seed = match &arguments.seed {
        Some(text) => parse_seed(text).map_err(|error| format!("--seed: {error}"))?,
        None => 1,
    };
    let most = match &arguments.max_states {
        Some(text) => text.replace(['_', ','], "").parse().map_err(|_| {
            format!("`--max-states {text}` is not a number: write e.g. `--max-states 20000`")
        })?,
        None => MOST_STATES,
    };
    let search = |flaw| guard::guarded(|| told(seed, &cases, flaw, most));
    match arguments.flaw.as_deref() {
        None => {
            let fuzzed = search(None)?;
            let code = u8::from(fuzzed.difference.is_some());
            Ok(emit(&report(seed, &fuzzed), code))
        }
        Some("all") => {
            let mut text = String::new();
            let mut missed = false;
            for flaw in Flaw::ALL {
                let fuzzed = search(Some(flaw))?;
                missed |= fuzzed.difference.is_none();
                let _ = writeln!(text, "{:<26}{}", format!("{flaw:?}"), found(&fuzzed));
            }
            Ok(emit(&text, u8::from(missed)))
        }
        Some(name) => {
            let flaw = named(name)?;
            let fuzzed = search(Some(flaw))?;
            let code = u8::from(fuzzed.difference.is_some());
            Ok(emit(&report(seed, &fuzzed), code))
        }
    }
}

fn named(name: &str) -> Result<Flaw, String> {
    let names: Vec<String> = Flaw::ALL.iter().map(|flaw| format!("{flaw:?}")).collect();
    let at = names.iter().position(|known| known == name);
    at.map(|at| Flaw::ALL[at]).ok_or_else(|| {
        match nearest(name, names.iter().map(String::as_str)) {
            Some(near) => format!("no mistake is called `{name}`: did you mean `{near}`?"),
            None => format!("no mistake is called `{name}`: there are {}", names.join(", ")),
        }
    })
}

/// Compares, and tells on standard error how far it is.
fn told(seed: u64, cases: &SeedRange, flaw: Option<Flaw>, most: usize) -> Fuzzed {
    let (begun, last) = (Instant::now(), Cell::new(Instant::now()));
    let range = cases.range();
    let all = range.end - range.start;
    compare_all(seed, range, flaw, most, &|fuzzed| {
        if last.get().elapsed() >= PERIOD {
            last.set(Instant::now());
            let done = fuzzed.compared + fuzzed.too_large;
            let seconds = begun.elapsed().as_secs();
            to_stderr(&format!("{done} of {all} cases in {seconds} s, no difference"));
        }
        true
    })
}

fn found(fuzzed: &Fuzzed) -> String {
    match &fuzzed.difference {
        Some((number, case, difference)) => {
            let nth = fuzzed.compared + fuzzed.too_large + 1;
            format!("found by case {number} (the {nth}. tried, size {}): {difference}", case.size())
        }
        None => format!("NOT FOUND in {} cases", fuzzed.compared),
    }
}

fn report(seed: u64, fuzzed: &Fuzzed) -> String {
    let Fuzzed { compared, too_large, states, outcomes, interpreted, difference } = fuzzed;
    let mut text = String::new();
    let _ = writeln!(text, "cases compared              {compared}");
    let _ = writeln!(text, "too large to be compared    {too_large}");
    let _ = writeln!(text, "states without reductions   {}", states.0);
    let _ = writeln!(text, "states with all of them     {}", states.1);
    let _ = writeln!(text, "outcomes                    {outcomes}");
    let _ = writeln!(text, "compared with the reference {}", interpreted.0);
    let _ = writeln!(text, "states of the reference     {}", interpreted.1);
    match difference {
        None => text.push_str("fuzz-explorer: no difference\n"),
        Some((number, case, difference)) => {
            let _ = writeln!(text, "\n{difference}\n\n{case}\n");
            let end = number + 1;
            let _ = writeln!(
                text,
                "again     vivarium fuzz-explorer --seed {seed} --cases {number}..{end}\n\
                 fuzz-explorer: DIFFERENCE in case {number}"
            );
        }
    }
    text
}
