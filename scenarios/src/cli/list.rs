//! `vivarium list`: lists scenarios and switches.

use super::output::emit;
use super::{releases, select};
use crate::catalogue::{Entry, Group, Switches};
use vivarium_model::release::{Bug, Release};
use vivarium_reports::table::WIDTH;

/// Runs the command: an overview, or one scenario with all of its switches.
pub(super) fn list(name: Option<&str>, entries: &[Entry]) -> Result<u8, String> {
    let text = match name {
        None => overview(entries),
        Some(DEFECTS) => defects(),
        Some(PUBLISHED) => published(entries),
        Some(RELEASES) => releases::releases(),
        Some(name) => match Release::named(name) {
            Some(release) => of_release(release),
            None => details(select::entry(name, entries)?),
        },
    };
    Ok(emit(&text, 0))
}

/// The name under which the servers' defects are listed.
const DEFECTS: &str = "defects";

/// The name under which the releases are listed.
const RELEASES: &str = "releases";

/// The name under which the recipes as published are listed.
const PUBLISHED: &str = "published";

/// Lists the scenarios by subject, one line each. Those of published texts have a list of their own.
fn overview(entries: &[Entry]) -> String {
    let mut text = group(entries, Group::Recipe, "Recipes");
    text.push_str(&group(entries, Group::ZooKeeper, "ZooKeeper itself"));
    let published = entries.iter().filter(|entry| entry.group == Group::Published).count();
    text.push_str(&format!(
        "`vivarium list NAME` shows a scenario's mutants, `vivarium list {DEFECTS}` the servers',\n\
         `vivarium list {RELEASES}` which releases of ZooKeeper have which of these, and\n\
         `vivarium list {PUBLISHED}` the {published} recipes as published texts have them.\n"
    ));
    text
}

/// Lists the scenarios of published texts, one line each.
fn published(entries: &[Entry]) -> String {
    group(entries, Group::Published, "Recipes as published")
}

/// Lists the scenarios of one group, one line each if the names are short enough.
fn group(entries: &[Entry], group: Group, title: &str) -> String {
    let of_group = || entries.iter().filter(|entry| entry.group == group);
    let widest = of_group().map(|entry| entry.name.len()).max().unwrap_or_default();
    let line = |entry: &Entry| paragraph(&format!("  {:<widest$} ", entry.name), entry.summary);
    format!("{title}:\n{}", of_group().map(line).collect::<String>())
}

/// Describes one scenario with its faults, marks and mutants.
fn details(entry: &Entry) -> String {
    let scenario = (entry.build)(&Switches::default());
    let marks: Vec<&str> = scenario.marks.iter().map(|mark| mark.name()).collect();
    let faults: Vec<&str> = scenario.faults.iter().map(|fault| fault.name()).collect();
    let mut text = paragraph(&format!("{}: ", entry.name), entry.summary);
    if entry.is_swept() {
        text.push_str(&paragraph("  faults: ", &faults.join("; ")));
        if !marks.is_empty() {
            text.push_str(&paragraph("  marks: ", &marks.join("; ")));
        }
    } else {
        text.push_str("  servers without programs: explored, not swept\n");
    }
    for mutant in &entry.mutants {
        text.push_str(&switch(mutant.name, mutant.summary));
    }
    text
}

/// Lists the defects of the servers.
fn defects() -> String {
    let mut text = "Defects of the servers, for every scenario:\n".to_string();
    for bug in Bug::ALL {
        text.push_str(&switch(bug.name(), bug.summary()));
    }
    text
}

/// Lists the defects of the servers of a release.
fn of_release(release: Release) -> String {
    let mut text = match release {
        Release::Repaired => "repaired: none of the servers' defects\n".to_string(),
        release => format!("Defects of the servers that {release} has:\n"),
    };
    for bug in releases::defects(release) {
        text.push_str(&switch(bug.name(), bug.summary()));
    }
    text
}

fn switch(name: &str, summary: &str) -> String {
    paragraph(&format!("  --bug {name:<28} "), summary)
}

/// Wraps a text after its head into lines that are indented by the width of the head.
fn paragraph(head: &str, text: &str) -> String {
    let indent = " ".repeat(head.chars().count());
    let room = usize::from(WIDTH) - indent.len();
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always a last line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= room {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_string());
        }
    }
    format!("{head}{}\n", lines.join(&format!("\n{indent}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::catalogue;

    #[test]
    fn a_paragraph_keeps_to_its_width_and_loses_no_word() {
        let text = "word ".repeat(60);
        let set = paragraph("  head: ", &text);
        assert!(set.lines().all(|line| line.chars().count() <= usize::from(WIDTH)), "{set}");
        assert_eq!(set.matches("word").count(), 60);
        assert_eq!(paragraph("head: ", ""), "head: \n");
    }

    #[test]
    fn the_listings_name_every_scenario_and_every_switch() {
        let entries = catalogue();
        let all = overview(&entries) + &published(&entries);
        let whole = defects();
        for entry in &entries {
            assert!(all.contains(&format!("  {} ", entry.name)), "{all}");
            let own = details(entry);
            assert!(own.contains(&format!("{}: ", entry.name)), "{own}");
            for name in entry.switch_names() {
                let named = format!("--bug {name}");
                assert!(
                    own.contains(&named) || whole.contains(&named),
                    "{name} is missing in\n{own}"
                );
            }
        }
    }

    #[test]
    fn the_overview_fits_a_screen() {
        let lines = overview(&catalogue()).lines().count();
        assert!(lines <= 48, "{lines} lines");
    }
}
