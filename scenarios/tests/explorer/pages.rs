//! The pages of recipes agree with the results of `vivarium recipes --write`, and are not older than the recipes: the
//! small searches are repeated here.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use vivarium::catalogue::{Entry, Group, Switches, catalogue};
use vivarium::explore;
use vivarium::prelude::*;

/// Searches up to this number of states are repeated.
const SMALL: u64 = 6_000;

/// Returns the rows of a recipe's page: the request, and its result.
fn page(name: &str) -> BTreeMap<String, String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../recipes/explored");
    let path = directory.join(format!("{name}.md"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| {
        panic!("`vivarium recipes {name} --write recipes/explored` has not been run: {error}")
    });
    let cells = |line: &str| {
        let line = line.strip_prefix("| ")?.strip_suffix(" |")?;
        let (asked, came) = line.split_once(" | ")?;
        Some((asked.to_string(), came.to_string()))
    };
    text.lines().filter_map(cells).collect()
}

/// Returns the number of states in `held in all 1,234 states`.
fn states(says: &str) -> Option<u64> {
    let number = says.strip_prefix("held in all ")?.strip_suffix(" states")?;
    number.replace(',', "").parse().ok()
}

fn explored_again(entry: &Entry, asked: &str) -> Option<u64> {
    let two = Exploration::new().unbounded().clients(2);
    let asked = match asked {
        "2 clients" => two,
        "2 clients, 1 lost connection" => two.lost(1),
        "2 clients, 1 expiry" => two.expiries(1),
        "2 clients, 1 cancellation" => two.cancels(1),
        "2 clients, 1 killed program" => two.kills(1),
        _ => return None,
    };
    let scenario = (entry.build)(&Switches::default());
    match explore(&scenario, &asked).expect("it can be explored").verdict {
        Verdict::Exhausted { states, .. } => Some(states),
        other => panic!("{}: {other}", entry.name),
    }
}

#[test]
fn what_is_said_of_small_searches_is_so() {
    let mut again = 0;
    for entry in catalogue().iter().filter(|entry| entry.group == Group::Recipe) {
        for (asked, says) in page(entry.name) {
            let small = states(&says).filter(|states| *states <= SMALL);
            let Some(said) = small else { continue };
            if let Some(states) = explored_again(entry, &asked) {
                let name = entry.name;
                assert_eq!(
                    states, said,
                    "{name}, {asked}: run `vivarium recipes {name} --write recipes/explored` again"
                );
                again += 1;
            }
        }
    }
    assert!(again >= 20, "{again} searches are small");
}

/// Returns the number of seeds in `5,000 seeds`.
fn seeds(asked: &str) -> Option<u64> {
    asked.strip_suffix(" seeds")?.replace(',', "").parse().ok()
}

#[test]
fn every_recipe_says_how_far_it_was_swept_and_that_nothing_objects() {
    for entry in catalogue().iter().filter(|entry| entry.group == Group::Recipe) {
        let (name, page) = (entry.name, page(entry.name));
        assert!(page.len() >= 9, "{name}: {page:?}");
        for (asked, says) in &page {
            let is_right = match seeds(asked) {
                Some(seeds) => seeds >= 5_000 && says == "held, with every fault",
                None => states(says).is_some() || says.starts_with("held until it was stopped by "),
            };
            assert!(is_right, "{name}, {asked}: {says}");
        }
        assert!(page.keys().any(|asked| seeds(asked).is_some()), "{name}: {page:?}");
    }
}
