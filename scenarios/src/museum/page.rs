//! The page "Which ZooKeeper should I run, and what can it lose?", from the table of releases, the losses, the findings and
//! the harm to recipes.

use super::harmed::{HARMED, SEEDS};
use super::losses::{Consequence, Loss};
use crate::findings::{FINDINGS, Switch};
use std::collections::BTreeMap;
use std::fmt::Write;
use vivarium_model::release::{CHANGES, Release};

/// Returns the page as Markdown.
pub fn page() -> String {
    let losses = Loss::all();
    let has = |release: Release, loss: &Loss| release.bugs().has(loss.bug);
    let everywhere = |loss: &&Loss| releases().all(|release| has(release, loss));
    let common: Vec<&Loss> = losses.iter().filter(everywhere).collect();
    let mut text = String::from(BEGINNING);
    text.push_str(&overview(&losses));
    text.push_str(&advice(&losses, &common));
    text.push_str(
        "\n## Every release\n\nEach of the releases above can lose this, and so can master.\n",
    );
    text.push_str(&lists(&common, None));
    text.push_str(LIMITS);
    for finding in FINDINGS.iter().filter(|it| !matches!(it.switch, Switch::Bug(_))) {
        let seen = seen_on(finding.seen_on);
        let name = finding.name;
        let _ = writeln!(text, "* {} [`{name}`](../findings/{name}.md). {seen}.", finding.loses);
    }
    text.push_str(&of_recipes());
    for release in releases() {
        let is_own = |loss: &&Loss| has(release, loss) && !everywhere(loss);
        let own: Vec<&Loss> = losses.iter().filter(is_own).collect();
        let _ = writeln!(
            text,
            "\n## {}\n\nBesides what [every release](#every-release) can lose:",
            words(release)
        );
        text.push_str(&lists(&own, Some(release)));
        text.push_str(&recipes(release));
    }
    text
}

const BEGINNING: &str = "\
# Which ZooKeeper should I run, and what can it lose?

For each release that Vivarium has servers of: what it can lose, or which promise it breaks. Each sentence follows from a
defect, a switch of the modelled servers (`--bug NAME`), with the property that runs with it violate. *Seen on* names the
releases whose unmodified servers have shown it; a release that is not named there was not tried, or did not reach the
situation. `vivarium museum NAME` finds a defect again.

`vivarium museum --page` writes this page, and a test compares the two.

| Release | gone on every server | servers differ | promises | availability | in all | recipes harmed |
|---|---|---|---|---|---|---|
";

const LIMITS: &str = "
**By limits and settings**

";

/// Says how recipes were judged.
fn of_recipes() -> String {
    format!(
        "\n**Recipes** of this project were swept over each release, {SEEDS} seeds each, with every fault. The sections below \
         name those\nthat broke a promise of their own. Over every release, programs of each recipe also waited for good \
         for servers that did\nnot start again.\n"
    )
}

/// Returns the releases, from the oldest to master.
fn releases() -> impl DoubleEndedIterator<Item = Release> {
    Release::ALL.into_iter().filter(|release| *release != Release::Repaired)
}

fn words(release: Release) -> String {
    if release == Release::Head { "master".to_owned() } else { release.to_string() }
}

/// Returns how many losses of each kind a release has.
fn counts(release: Release, losses: &[Loss]) -> [usize; 4] {
    let of = |consequence| {
        let has = |loss: &&Loss| loss.consequence == consequence && release.bugs().has(loss.bug);
        losses.iter().filter(has).count()
    };
    Consequence::ALL.map(of)
}

fn overview(losses: &[Loss]) -> String {
    let row = |release: Release| {
        let counts = counts(release, losses);
        let cells: Vec<String> = counts.iter().map(ToString::to_string).collect();
        let name = words(release);
        let anchor = name.replace('.', "");
        let sum: usize = counts.iter().sum();
        let recipes = harmed(release).len();
        format!("| [{name}](#{anchor}) | {} | {sum} | {recipes} |\n", cells.join(" | "))
    };
    releases().map(row).collect()
}

/// Says which release has the fewest ways to lose an answered write.
fn advice(losses: &[Loss], common: &[&Loss]) -> String {
    let numbered = releases().filter(|release| *release != Release::Head);
    // Of equal ones the newest, which comes last.
    let best = numbered.rev().min_by_key(|release| {
        let counts = counts(*release, losses);
        (counts[0] + counts[1], counts.iter().sum::<usize>())
    });
    let best = best.expect("there are releases");
    let [lost, diverged, ..] = counts(best, losses);
    let everywhere = common.iter().filter(|loss| loss.consequence <= Consequence::Diverged).count();
    format!(
        "\nOf these releases, **{best}** has the fewest ways to lose data: {lost} on every server and {diverged} on one. \
         {everywhere} ways are in\nevery release, and none of them is repaired in master.\n"
    )
}

/// Lists losses by consequence; of one release, or of all.
fn lists(losses: &[&Loss], of: Option<Release>) -> String {
    let mut text = String::new();
    for consequence in Consequence::ALL {
        let of_kind = losses.iter().filter(|loss| loss.consequence == consequence);
        let lines: String = of_kind.map(|loss| line(loss, of)).collect();
        if !lines.is_empty() {
            let _ = write!(text, "\n**{}**\n\n{lines}", consequence.title());
        }
    }
    if text.is_empty() { "\nNothing.\n".to_owned() } else { text }
}

fn line(loss: &Loss, of: Option<Release>) -> String {
    let change = CHANGES.iter().find(|change| change.bug == loss.bug).expect("each has one");
    let tracker = loss.finding.map_or(change.tracker.map(u32::from), |finding| finding.tracker);
    let tracker =
        tracker.map_or("no issue found".to_owned(), |number| format!("ZOOKEEPER-{number}"));
    let properties: Vec<&str> = loss.properties().into_iter().collect();
    let properties = match properties.is_empty() {
        true => "violates no property by itself".to_owned(),
        false => format!("violates {}", properties.join(", ")),
    };
    let page = loss.finding.map_or(String::new(), |finding| {
        format!("; [the finding](../findings/{}.md)", finding.name)
    });
    let seen = match (of, loss.seen_on()) {
        (_, []) => String::new(),
        (Some(release), seen) if seen.contains(&release) => {
            " Seen on a real server of this release.".to_owned()
        }
        (_, seen) => format!(" {}.", seen_on(seen)),
    };
    format!("* {} `{}`, {tracker}; {properties}{page}.{seen}\n", loss.says, loss.bug)
}

fn seen_on(releases: &[Release]) -> String {
    let names: Vec<String> = releases.iter().copied().map(words).collect();
    format!("Seen on {}", names.join(", "))
}

/// Returns the recipes that broke promises of their own over a release, each with these.
fn harmed(release: Release) -> BTreeMap<&'static str, Vec<&'static str>> {
    let mut harmed: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for harm in HARMED.iter().filter(|harm| harm.release == release) {
        harmed.entry(harm.recipe).or_default().push(harm.property);
    }
    harmed
}

/// Says which recipes broke a promise of their own over a release.
fn recipes(release: Release) -> String {
    let harmed = harmed(release);
    let command = format!("`vivarium recipes --release {release} --seeds {SEEDS}`");
    if harmed.is_empty() {
        return format!("\n**Recipes**: none broke a promise of its own ({command}).\n");
    }
    let words = harmed.iter().map(|(recipe, breaks)| format!("`{recipe}` ({})", breaks.join(", ")));
    let words: Vec<String> = words.collect();
    format!("\n**Recipes** that broke a promise of their own ({command}): {}.\n", words.join(", "))
}
