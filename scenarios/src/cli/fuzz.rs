//! `vivarium fuzz-explorer`: compares all kinds of searches of generated programs or servers.

use super::arguments::FuzzArguments;
use super::guard;
use super::output::{emit, to_stderr};
use super::select::nearest;
use crate::fuzz::{self, Fuzzed, MOST_STATES, servers};
use crate::sweeping::seeds::{SeedRange, parse_seed};
use std::cell::Cell;
use std::fmt::{Display, Write};
use std::ops::Range;
use std::time::{Duration, Instant};
use vivarium_model::named::{Named, UnknownName};

/// The default number of cases.
const CASES: u64 = 1_000;

/// The interval between progress reports.
const PERIOD: Duration = Duration::from_secs(5);

/// The cases to compare, and the most states of each.
struct Asked {
    seed: u64,
    cases: SeedRange,
    most: usize,
}

/// Compares these cases, optionally with a planted mistake, and reports progress.
type Compare<'a, C, F> =
    dyn Fn(Range<u64>, Option<F>, &dyn Fn(&Fuzzed<C>) -> bool) -> Fuzzed<C> + 'a;

/// A kind of cases.
struct Family<'a, C, F> {
    /// The flag that selects it.
    flag: &'static str,
    size: fn(&C) -> usize,
    /// Returns the command for the same search.
    command: fn(&C) -> Option<String>,
    compare: &'a Compare<'a, C, F>,
}

/// Runs the command and returns the exit code.
pub(super) fn fuzz(arguments: &FuzzArguments) -> Result<u8, String> {
    let asked = asked(arguments)?;
    let (seed, most) = (asked.seed, asked.most);
    let flaw = arguments.flaw.as_deref();
    if arguments.servers {
        let family = Family {
            flag: " --servers",
            size: servers::Case::size,
            command: servers::Case::command,
            compare: &|cases, flaw, progress| servers::fuzz(seed, cases, flaw, most, progress),
        };
        return run(&family, &asked, flaw);
    }
    let family = Family {
        flag: "",
        size: fuzz::Case::size,
        command: |_case| None,
        compare: &|cases, flaw, progress| fuzz::fuzz(seed, cases, flaw, most, progress),
    };
    run(&family, &asked, flaw)
}

fn asked(arguments: &FuzzArguments) -> Result<Asked, String> {
    let cases = match &arguments.cases {
        Some(text) if parse_seed(text) == Ok(0) => {
            return Err(format!("`--cases {text}`: give at least 1"));
        }
        Some(text) => SeedRange::parse(text).map_err(|error| format!("--cases: {error}"))?,
        None => SeedRange::count(CASES).expect("some"),
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
    Ok(Asked { seed, cases, most })
}

fn run<C: Display, F: Named>(
    family: &Family<'_, C, F>,
    asked: &Asked,
    flaw: Option<&str>,
) -> Result<u8, String> {
    let search = |flaw| guard::guarded(|| told(family, asked, flaw));
    match flaw {
        None => {
            let fuzzed = search(None)?;
            let code = u8::from(fuzzed.difference.is_some());
            Ok(emit(&report(family, asked, None, &fuzzed), code))
        }
        Some("all") => {
            let mut text = String::new();
            let mut missed = false;
            for flaw in F::VARIANTS {
                let fuzzed = search(Some(*flaw))?;
                missed |= fuzzed.difference.is_none();
                let _ = writeln!(text, "{:<30}{}", flaw.name(), found(family, &fuzzed));
            }
            Ok(emit(&text, u8::from(missed)))
        }
        Some(name) => {
            let flaw = named(name)?;
            let fuzzed = search(Some(flaw))?;
            let code = u8::from(fuzzed.difference.is_some());
            Ok(emit(&report(family, asked, Some(name), &fuzzed), code))
        }
    }
}

fn named<F: Named>(name: &str) -> Result<F, String> {
    name.parse().map_err(|unknown: UnknownName| {
        match nearest(name, F::VARIANTS.iter().map(|flaw| flaw.name())) {
            Some(near) => format!("no mistake is called `{name}`: did you mean `{near}`?"),
            None => format!("no mistake is called `{name}`: there are {}", unknown.known),
        }
    })
}

/// Compares the cases, and reports progress on standard error.
fn told<C, F>(family: &Family<'_, C, F>, asked: &Asked, flaw: Option<F>) -> Fuzzed<C> {
    let (begun, last) = (Instant::now(), Cell::new(Instant::now()));
    let range = asked.cases.range();
    let all = range.end - range.start;
    (family.compare)(range, flaw, &|fuzzed| {
        if last.get().elapsed() >= PERIOD {
            last.set(Instant::now());
            let done = fuzzed.compared + fuzzed.too_large;
            let seconds = begun.elapsed().as_secs();
            to_stderr(&format!("{done} of {all} cases in {seconds} s, no difference"));
        }
        true
    })
}

fn found<C, F>(family: &Family<'_, C, F>, fuzzed: &Fuzzed<C>) -> String {
    match &fuzzed.difference {
        Some((number, case, difference)) => {
            let nth = fuzzed.compared + fuzzed.too_large + 1;
            let size = (family.size)(case);
            let told = difference.to_string();
            let first = told.lines().next().unwrap_or_default();
            format!("found by case {number} (the {nth}. tried, size {size}): {first}")
        }
        None => format!("NOT FOUND in {} cases", fuzzed.compared),
    }
}

fn report<C: Display, F>(
    family: &Family<'_, C, F>,
    asked: &Asked,
    flaw: Option<&str>,
    fuzzed: &Fuzzed<C>,
) -> String {
    let Fuzzed { compared, too_large, states, outcomes, interpreted, difference } = fuzzed;
    let mut text = String::new();
    let _ = writeln!(text, "cases compared              {compared}");
    let _ = writeln!(text, "too large to be compared    {too_large}");
    let _ = writeln!(text, "states without reductions   {}", states.0);
    let _ = writeln!(text, "states with all of them     {}", states.1);
    let _ = writeln!(text, "outcomes                    {outcomes}");
    if interpreted.0 > 0 {
        let _ = writeln!(text, "compared with the reference {}", interpreted.0);
        let _ = writeln!(text, "states of the reference     {}", interpreted.1);
    }
    match difference {
        None => text.push_str("fuzz-explorer: no difference\n"),
        Some((number, case, difference)) => {
            let (seed, most, end) = (asked.seed, asked.most, number + 1);
            let _ = writeln!(text, "\n{difference}\n\n{case}\n");
            if let Some(command) = (family.command)(case) {
                let _ = writeln!(text, "searched  {command}");
            }
            let flaw = flaw.map(|name| format!(" --flaw {name}")).unwrap_or_default();
            let _ = writeln!(
                text,
                "again     vivarium fuzz-explorer{} --seed {seed} --cases {number}..{end} \
                 --max-states {most}{flaw}\n\
                 fuzz-explorer: DIFFERENCE in case {number}",
                family.flag
            );
        }
    }
    text
}
