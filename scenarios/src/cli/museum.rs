//! `vivarium museum`: the known defects, each found again by the seeds or the search that show it.

use super::output::emit;
use super::progress::Meter;
use super::select::{self, nearest};
use super::{guard, minimise};
use crate::catalogue::Entry;
use crate::minimising;
use crate::museum::{Budget, Exhibit, MUSEUM, Missed, Published, Shown, page, show};
use clap::Args;
use serde::Serialize;
use std::time::{Duration, Instant};
use vivarium_model::release::Release;
use vivarium_reports::numbers::{grouped, span};
use vivarium_reports::table::{WIDTH, of_names};
use vivarium_sim::HostKind;

#[derive(Args, Debug)]
pub(super) struct MuseumArguments {
    /// Which exhibits: names of defects or mutants, or numbers of issues as 4643 [default: the defects that releases have]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// All exhibits: also mutants of recipes, and defects planted to test the checkers
    #[arg(long, conflicts_with_all = ["names", "release"])]
    all: bool,
    /// Only the defects that this release has (see `vivarium list releases`)
    #[arg(long, value_name = "RELEASE")]
    release: Option<String>,
    /// Check that all exhibits, or those named, are found within their budgets: one line for each that is not
    #[arg(long, conflicts_with = "json")]
    check: bool,
    /// Look at no more than this number of seeds for each, if its own budget is larger
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    seeds: Option<String>,
    /// Look for the smallest run of each that a sweep finds, for at most this long [default: 10]
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, conflicts_with = "check")]
    #[arg(default_missing_value = "")]
    minimise: Option<String>,
    /// How many seeds at a time [default: one per core]
    #[arg(long, value_name = "J", allow_hyphen_values = true)]
    jobs: Option<String>,
    /// Print the page that says what each release can lose (scenarios/guide/which-zookeeper.md) instead
    #[arg(long, exclusive = true)]
    page: bool,
    /// Report as JSON
    #[arg(long)]
    json: bool,
}

/// An exhibit, and what looking for it gave.
#[derive(Serialize)]
struct Row {
    defect: &'static str,
    scenario: &'static str,
    /// The number of its ZOOKEEPER issue.
    tracker: Option<u16>,
    /// The releases that have it, as ranges; empty for what no release has.
    releases: String,
    property: String,
    engine: &'static str,
    found: bool,
    seed: Option<u64>,
    seeds: Option<u64>,
    states: Option<u64>,
    seconds: f64,
    /// The length of the violating run.
    steps: Option<u64>,
    /// The length of the minimised run, with `--minimise`.
    minimised: Option<u64>,
    published: Option<&'static Published>,
    /// The command that shows it again.
    again: String,
    /// Why it was not found.
    missed: Option<String>,
}

/// Runs the command and returns the exit code: 1 if an exhibit is not found.
pub(super) fn museum(arguments: &MuseumArguments, entries: &[Entry]) -> Result<u8, String> {
    if arguments.page {
        return Ok(emit(&page(), 0));
    }
    let exhibits = chosen(arguments)?;
    let budget =
        Budget { jobs: select::jobs(arguments.jobs.as_deref())?, seeds: seeds(arguments)? };
    let time = match &arguments.minimise {
        None => Duration::ZERO,
        Some(text) => minimise::time(Some(text))?,
    };
    let begun = Instant::now();
    let meter = Meter::of_exhibits("museum".to_owned(), exhibits.len() as u64);
    let mut rows = Vec::new();
    for (done, exhibit) in (1..).zip(&exhibits) {
        let entry = select::entry(exhibit.scenario, entries)?;
        let shown = guard::guarded(|| show(exhibit, entry, budget))?;
        rows.push(row(exhibit, shown, time)?);
        meter.update(done);
    }
    meter.finish();
    let missed = rows.iter().filter(|row| !row.found).count();
    let text = match (arguments.json, arguments.check) {
        (true, _) => serde_json::to_string_pretty(&rows).map_err(|error| error.to_string())? + "\n",
        (false, true) => checked(&rows, begun.elapsed()),
        (false, false) => table(&rows),
    };
    Ok(emit(&text, u8::from(missed > 0)))
}

/// Returns the exhibits that are asked for: by name; with `--check` or `--all` every one; else the defects that releases
/// have.
fn chosen(arguments: &MuseumArguments) -> Result<Vec<&'static Exhibit>, String> {
    let is_whole = arguments.all || arguments.check;
    let mut chosen: Vec<&Exhibit> = match arguments.names[..] {
        [] if is_whole => MUSEUM.iter().collect(),
        [] => MUSEUM.iter().filter(|exhibit| exhibit.change().is_some()).collect(),
        _ => {
            let is_asked = |it: &&Exhibit| arguments.names.iter().any(|name| it.is_named(name));
            MUSEUM.iter().filter(is_asked).collect()
        }
    };
    if let Some(name) =
        arguments.names.iter().find(|name| !MUSEUM.iter().any(|it| it.is_named(name)))
    {
        let hint = nearest(name, MUSEUM.iter().map(|it| it.switch));
        let hint = hint.map_or_else(
            || "`vivarium museum --all` lists what there is".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        return Err(format!("unknown exhibit `{name}`: {hint}"));
    }
    if arguments.release.is_some() {
        let release = select::release(arguments.release.as_deref())?;
        chosen.retain(|it| it.bug().is_some_and(|bug| release.bugs().has(bug)));
        if chosen.is_empty() {
            return Err(none_of(release));
        }
    }
    Ok(chosen)
}

fn none_of(release: Release) -> String {
    match release {
        Release::Repaired => "HEAD repaired has no defect to show: give another release".to_owned(),
        release => format!(
            "{release} has none of these defects: `vivarium list {release}` names those that it has"
        ),
    }
}

fn seeds(arguments: &MuseumArguments) -> Result<Option<u64>, String> {
    let Some(text) = &arguments.seeds else { return Ok(None) };
    match text.replace('_', "").parse() {
        Ok(seeds) if seeds > 0 => Ok(Some(seeds)),
        _ => Err(format!("`--seeds {text}` is not a number of seeds")),
    }
}

fn row(exhibit: &Exhibit, shown: Result<Shown, Missed>, time: Duration) -> Result<Row, String> {
    let change = exhibit.change();
    let row = Row {
        defect: exhibit.switch,
        scenario: exhibit.scenario,
        tracker: change.and_then(|change| change.tracker),
        releases: change.map_or_else(String::new, |change| change.releases()),
        property: exhibit.property.to_owned(),
        engine: exhibit.by.engine(),
        found: false,
        seed: None,
        seeds: None,
        states: None,
        seconds: 0.0,
        steps: None,
        minimised: None,
        published: exhibit.published(),
        again: exhibit.again(None),
        missed: None,
    };
    let shown = match shown {
        Err(Missed(why)) => return Ok(Row { missed: Some(why), ..row }),
        Ok(shown) => shown,
    };
    let minimised = minimised(&shown, time)?;
    Ok(Row {
        found: true,
        property: shown.property,
        seed: shown.seed,
        seeds: shown.seed.map(|_| shown.tried),
        states: shown.seed.is_none().then_some(shown.tried),
        seconds: shown.took.as_secs_f64(),
        steps: Some(shown.steps),
        minimised,
        again: exhibit.again(shown.seed),
        ..row
    })
}

/// Returns the length of the smallest run that violates the same property and is found within this time.
fn minimised(shown: &Shown, time: Duration) -> Result<Option<u64>, String> {
    let Some((scenario, case)) = shown.case.as_ref().filter(|_| !time.is_zero()) else {
        return Ok(None);
    };
    let servers = minimise::servers_alone(case);
    let host = HostKind::Direct;
    let found =
        guard::guarded(|| minimising::smallest(scenario, case, servers.as_ref(), host, time))??;
    Ok(found.map(|found| found.minimal.after.steps))
}

fn table(rows: &[Row]) -> String {
    let header = ["defect", "tracker", "releases", "violates", "found by", "time", "steps"];
    let table = of_names(header, rows.iter().map(cells), header.len() - 2, WIDTH);
    let published: String = rows.iter().filter_map(published).collect();
    let published = match published.is_empty() {
        true => String::new(),
        false => format!("\nOthers have found these by model checkers:\n{published}"),
    };
    format!(
        "{table}\n{published}\n{}A seed again: vivarium replay SCENARIO --seed SEED --bug DEFECT (--json has the command of each)\n",
        missed(rows)
    )
}

fn cells(row: &Row) -> [String; 7] {
    let by = match (row.seed, row.states) {
        (Some(seed), _) => {
            let seeds = count(row.seeds.unwrap_or_default(), "seed");
            format!("{}, seed {seed}, after {seeds}", row.scenario)
        }
        (None, Some(states)) => format!("search, after {}", count(states, "state")),
        (None, None) => "NOT FOUND".to_owned(),
    };
    let steps = row.steps.map_or_else(|| "-".to_owned(), grouped);
    let steps = match row.minimised {
        Some(minimised) => format!("{}, as found {steps}", grouped(minimised)),
        None => steps,
    };
    [
        row.defect.to_owned(),
        row.tracker.map_or_else(|| "-".to_owned(), |number| number.to_string()),
        if row.releases.is_empty() { "none".to_owned() } else { row.releases.clone() },
        short(&row.property),
        by,
        if row.found { span(Duration::from_secs_f64(row.seconds)) } else { "-".to_owned() },
        steps,
    ]
}

fn count(count: u64, unit: &str) -> String {
    format!("{} {unit}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// Returns the words of a property's name up to its number: `S5` of `S5 no phantom`, `lock M6` of `lock M6 one znode`.
fn short(property: &str) -> String {
    let words: Vec<&str> = property.split(' ').collect();
    let number = words.iter().position(|word| word.ends_with(|it: char| it.is_ascii_digit()));
    words[..=number.unwrap_or(words.len() - 1)].join(" ")
}

fn published(row: &Row) -> Option<String> {
    let Published { seconds, states, depth, source, .. } = row.published?;
    let (defect, states) = (row.defect, grouped(*states));
    Some(format!("  {defect}: {seconds} s, {states} states, {depth} steps ({source})\n"))
}

fn missed(rows: &[Row]) -> String {
    let line = |row: &Row| {
        let why = row.missed.as_ref()?;
        Some(format!("not found: {} with {}: {why}\n", row.scenario, row.defect))
    };
    rows.iter().filter_map(line).collect()
}

/// Reports a check: a line for each exhibit that is not found, and the sum.
fn checked(rows: &[Row], took: Duration) -> String {
    let found = rows.iter().filter(|row| row.found).count();
    let (found, all) = (grouped(found as u64), grouped(rows.len() as u64));
    format!("{}{found} of {all} exhibits are found ({})\n", missed(rows), span(took))
}
