//! `vivarium recipes --release`: reports how a release's defects harm recipes.
//!
//! Only the promises of a recipe are checked: its own monitors, that programs end well, and that they end. ZooKeeper's
//! own properties would be violated first, and say nothing about the recipe. If servers disagree on what is committed,
//! a recipe cannot be judged, so such runs are counted separately. The same holds for runs in which an assertion of the
//! model fails, because a server answers from a tree that its leader never had. The ensembles have no observers: what a
//! client loses at one of those is the observer's defect, whatever the recipe.

use super::{How, Line, swept, timed};
use crate::catalogue::{Entry, Switches};
use crate::cli::output::emit;
use crate::sweeping::seeds::SeedRange;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vivarium_model::property;
use vivarium_model::property::AskedOfServers;
use vivarium_model::release::{Bug, Bugs, Release};
use vivarium_reports::numbers::grouped;
use vivarium_reports::table::{WIDTH, of_rows};
use vivarium_sim::demands::ASSERTION;
use vivarium_sim::{Choice, Scenario};

/// How many runs with violations of one property are repeated without each defect: the first ones.
const ATTRIBUTED: u64 = 20;

/// Sweeps every recipe with the release, and repeats harmed runs without each of its defects. The exit code is 1 if
/// a recipe is harmed.
pub(super) fn harm(release: Release, entries: &[&Entry], how: &How) -> Result<u8, String> {
    let mut rows = Vec::new();
    for entry in entries {
        emit(&format!("{}: {}\n", entry.name, entry.summary), 0);
        let (harmed, took) = timed(|| harmed(entry, release.bugs(), how))?;
        for Harm { property, seeds, needed } in &harmed {
            let runs = match seeds[..] {
                [only] => format!("seed {only}"),
                _ => format!("{} seeds, the first {}", grouped(seeds.len() as u64), seeds[0]),
            };
            let by = in_words(needed, (seeds.len() as u64).min(ATTRIBUTED));
            emit(&format!("  {property}: {runs}; {by}\n"), 0);
            rows.push([entry.name.to_string(), property.clone(), by, grouped(seeds.len() as u64)]);
        }
        let says = if harmed.is_empty() { "not harmed" } else { "harmed" }.to_string();
        emit(&Line { asked: how.seeds_in_words(), says, took }.text(), 0);
    }
    let (seeds, recipes) = (how.seeds_in_words(), entries.len());
    if rows.is_empty() {
        return Ok(emit(&format!("\nno recipe of {recipes} is harmed in {seeds}\n"), 0));
    }
    let header = ["recipe", "breaks", "not without this defect", "runs"];
    let table = of_rows(header, rows, 3, WIDTH);
    let again = "one of these runs again: the same command with RECIPE and --seeds SEED..SEED+1";
    Ok(emit(&format!("\n{table}\n{seeds} each; {again}\n"), 1))
}

/// The violations of one property.
struct Harm {
    property: String,
    seeds: Vec<u64>,
    /// In how many of the first [`ATTRIBUTED`] runs the property holds if only this defect is repaired.
    needed: BTreeMap<Bug, u64>,
}

/// The label of runs in which a recipe cannot be judged.
const DISAGREE: &str = "(servers disagree)";

fn harmed(entry: &Entry, bugs: Bugs, how: &How) -> Result<Vec<Harm>, String> {
    let mut all: BTreeMap<String, Harm> = BTreeMap::new();
    for (seed, property) in violating(entry, bugs, how)? {
        let new =
            || Harm { property: property.clone(), seeds: Vec::new(), needed: BTreeMap::new() };
        let harm = all.entry(property.clone()).or_insert_with(new);
        harm.seeds.push(seed);
        if harm.seeds.len() as u64 > ATTRIBUTED {
            continue;
        }
        let alone = How { seeds: just(seed)?, ..*how };
        for bug in bugs.iter() {
            let others = bugs.iter().filter(|other| *other != bug).collect();
            if violating(entry, others, &alone)?.is_empty() {
                *harm.needed.entry(bug).or_default() += 1;
            }
        }
    }
    Ok(all.into_values().collect())
}

fn just(seed: u64) -> Result<SeedRange, String> {
    let end = seed.checked_add(1).ok_or("the largest possible seed cannot be run alone")?;
    SeedRange::parse(&format!("{seed}..{end}")).map_err(|error| error.to_string())
}

/// Returns the seeds with violations, and the property that each violates.
fn violating(entry: &Entry, bugs: Bugs, how: &How) -> Result<BTreeMap<u64, String>, String> {
    let switches = Switches { bugs, ..Switches::default() };
    let scenario = of_the_recipe_alone((entry.build)(&switches));
    let (swept, _) = swept(entry.name.to_string(), &scenario, how, true)?;
    let general = general();
    let word = |property: String| match general.contains(&*property) || property == ASSERTION {
        true => DISAGREE.to_string(),
        false => property,
    };
    let violating = swept.report.totals.violating.into_iter();
    Ok(violating.map(|(seed, property)| (seed, word(property))).collect())
}

/// Returns the names of ZooKeeper's own properties.
fn general() -> BTreeSet<&'static str> {
    property::zookeeper().iter().map(|monitor| monitor.name()).collect()
}

/// Returns the scenario without ZooKeeper's own properties, and without observers.
fn of_the_recipe_alone(scenario: Scenario) -> Scenario {
    let general = general();
    let monitors = scenario.monitors;
    let own = move |drawn: &_| {
        let all = monitors(drawn).into_iter();
        all.filter(|monitor| !general.contains(monitor.name())).collect()
    };
    let (monitors, observers) = (Arc::new(own), Choice::from(0));
    Scenario { monitors, observers, of_servers: AskedOfServers::NONE, ..scenario }
}

fn in_words(needed: &BTreeMap<Bug, u64>, of: u64) -> String {
    if needed.is_empty() {
        return "more than one leads there".to_string();
    }
    let kinds = needed.iter().map(|(bug, count)| format!("{} ({count} of {of})", bug.name()));
    kinds.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Group, catalogue};
    use crate::museum::{HARMED, Harm};
    use vivarium_sim::HostKind;

    /// The page on releases says what these runs show.
    #[test]
    fn the_recorded_harm_is_found_again() {
        let entries = catalogue();
        for Harm { release, recipe, property, seed } in HARMED {
            let entry = entries.iter().find(|entry| entry.name == *recipe);
            let entry = entry.expect("it is in the catalogue");
            assert_eq!(entry.group, Group::Recipe);
            let how = How {
                seeds: just(*seed).expect("a seed"),
                jobs: 1,
                host: HostKind::Direct,
                max_states: 0,
                max_states_of_many: 0,
                max_time: None,
                threads: None,
            };
            let found = violating(entry, release.bugs(), &how).expect("it can be swept");
            let found = found.get(seed).map(String::as_str);
            assert_eq!(found, Some(*property), "{recipe} over {release}, seed {seed}");
        }
    }
}
