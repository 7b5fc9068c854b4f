//! The list, the pages and the guide's table of the findings agree; a real server shows one of the findings. The
//! latter is skipped with a message if ZooKeeper or Java is not installed.
#![cfg(feature = "explore")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use vivarium::conform::Installation;
use vivarium::findings::{FINDINGS, Finding, Narration, Outcome, Switch, Variant};
use vivarium_model::release::Release;

/// The headings of every page, in this order.
const HEADINGS: [&str; 6] = [
    "## What is lost",
    "## How the model comes to it",
    "## The rule in ZooKeeper",
    "## Tracker",
    "## On real servers",
    "## The control",
];

/// The number of attempts that may be inconclusive before the test fails.
const ATTEMPTS: usize = 3;

fn pages() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("findings")
}

fn tracker(finding: &Finding) -> String {
    finding.tracker.map_or("none found".to_owned(), |number| format!("ZOOKEEPER-{number}"))
}

#[test]
fn every_finding_has_a_page_that_tells_all() {
    for finding in FINDINGS {
        let path = pages().join(format!("{}.md", finding.name));
        let page = fs::read_to_string(&path);
        let page = page.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(page.starts_with(&format!("# {}\n", finding.name)), "{}", finding.name);
        let places: Vec<_> = HEADINGS.iter().map(|heading| page.find(heading)).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{}", finding.name);
        let (switch, search) = (finding.switch, finding.search.words(finding.switch));
        // A test of programs has no command.
        let command = search.strip_prefix('`').unwrap_or_default();
        for text in
            [finding.loses, finding.control, &switch.to_string(), &tracker(finding), command]
        {
            let words: Vec<&str> = page.split_whitespace().collect();
            assert!(words.join(" ").contains(text), "{}: {text} is missing", finding.name);
        }
    }
}

#[test]
fn every_page_is_of_a_finding_and_every_name_is_there_once() {
    let entries = fs::read_dir(pages()).expect("there are pages");
    // A folder has pages on a library, which no release of ZooKeeper has a switch for.
    let files = entries.map(|entry| entry.expect("a file").path()).filter(|path| path.is_file());
    let files: BTreeSet<PathBuf> = files.collect();
    let own = FINDINGS.iter().map(|finding| pages().join(format!("{}.md", finding.name)));
    assert_eq!(files, own.collect());
    assert_eq!(files.len(), FINDINGS.len());
}

#[test]
fn the_guide_has_a_row_for_each_finding_and_no_other() {
    let guide = pages().join("../guide/real-servers.md");
    let guide = fs::read_to_string(guide).expect("the chapter");
    for finding in FINDINGS {
        let begins = format!("| [`{0}`](../findings/{0}.md) |", finding.name);
        let row = guide.lines().find(|line| line.starts_with(&begins));
        let row = row.unwrap_or_else(|| panic!("{} is missing", finding.name));
        assert!(row.contains(&tracker(finding)), "{row}");
    }
    assert_eq!(guide.matches("\n| [`").count(), FINDINGS.len());
}

/// Also checks the number of findings without an entry in the tracker.
#[test]
fn readme_and_guide_say_how_many_findings_there_are() {
    let read = |path: &str| {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path));
        text.expect("it is there").split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let count = format!("{} defects of today's ZooKeeper", FINDINGS.len());
    for path in ["README.md", "guide/README.md", "guide/real-servers.md"] {
        assert!(read(path).contains(&count), "{path}: {count}");
    }
    let new = FINDINGS.iter().filter(|finding| finding.tracker.is_none()).count();
    assert!(read("README.md").contains(&format!("{new} of them have no entry")), "{new}");
}

#[test]
fn every_switch_is_a_defect_of_today() {
    for finding in FINDINGS {
        if let Switch::Bug(bug) = finding.switch {
            assert!(Release::Head.bugs().has(bug), "{bug}");
        }
        assert_eq!(Finding::named(finding.name).map(|found| found.name), Some(finding.name));
    }
}

/// Real servers have shown a finding on no release that lacks its defect by the table of releases.
#[test]
fn a_release_on_which_a_finding_was_seen_has_its_defect() {
    for finding in FINDINGS {
        assert!(!finding.seen_on.is_empty(), "{}: no real server has shown it", finding.name);
        let Switch::Bug(bug) = finding.switch else { continue };
        for release in finding.seen_on {
            let name = finding.name;
            assert!(release.bugs().has(bug), "{name} was seen on {release}, which lacks {bug}");
        }
    }
}

/// Returns the name of a release in prose.
fn in_prose(release: &Release) -> String {
    if *release == Release::Head { "master".to_owned() } else { release.to_string() }
}

/// Returns the releases that a text names.
fn named_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|it: char| it.is_whitespace() || ",;:()".contains(it));
    let names: BTreeSet<String> = Release::ALL.iter().map(in_prose).collect();
    words
        .map(|word| word.trim_end_matches('.').to_owned())
        .filter(|it| names.contains(it))
        .collect()
}

/// Checks that a guide's row names the releases of the register, and that the table lacks the defect where the row says
/// `not`.
#[test]
fn the_guide_names_the_releases_on_which_a_finding_was_seen() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("guide/real-servers.md");
    let guide = fs::read_to_string(guide).expect("it is there");
    let mut lacking = 0;
    for finding in FINDINGS {
        let begins = format!("| [`{}`]", finding.name);
        let row = guide.lines().find(|line| line.starts_with(&begins)).expect("a row for each");
        let last = row.trim_end_matches(" |").rsplit(" | ").next().expect("the last column");
        let (seen, rest) = last.split_once("; ").unwrap_or((last, ""));
        let registered: Vec<String> = finding.seen_on.iter().map(in_prose).collect();
        assert_eq!(seen, registered.join(", "), "{}", finding.name);
        let (Switch::Bug(bug), Some(not)) = (finding.switch, rest.strip_prefix("not ")) else {
            continue;
        };
        let release = Release::named(not).expect("a release");
        assert!(!release.bugs().has(bug), "{}: by the table {release} has {bug}", finding.name);
        lacking += 1;
    }
    assert!(lacking >= 2, "{lacking}");
}

/// Checks that the pages say `shows the same` of no other releases than the register and the table.
#[test]
fn the_pages_name_no_release_on_which_a_finding_was_not_seen() {
    let mut compared = 0;
    for finding in FINDINGS {
        let page = fs::read_to_string(pages().join(format!("{}.md", finding.name)));
        let page = page.expect("there is a page for each").replace('\n', " ");
        let registered: BTreeSet<String> = finding.seen_on.iter().map(in_prose).collect();
        for sentence in page.split(". ") {
            let Some((of, _)) = sentence.split_once(" the same") else { continue };
            if !of.ends_with(" show") && !of.ends_with(" shows") {
                continue;
            }
            let named = named_in(of);
            compared += named.len();
            assert!(named.is_subset(&registered), "{}: {named:?} in: {sentence}", finding.name);
        }
    }
    assert!(compared >= 12, "{compared}");
}

#[test]
fn the_model_finds_what_a_search_finds_soon() {
    for name in ["acks-outlive-reconnect", "trunc-keeps-record-beyond", "sequence-counter-stays"] {
        let found = Finding::named(name).expect("it is one").search().expect("it can be searched");
        assert!(found.is_violated && !found.way.is_empty(), "{name}: {}", found.says);
    }
}

/// Returns a conclusive outcome.
fn outcome(finding: &Finding, installation: &Installation, variant: Variant) -> Outcome {
    let mut last = None;
    for _ in 0..ATTEMPTS {
        let mut tell = |line: &str| println!("{line}");
        let outcome = finding.reproduce(installation, variant, &mut Narration::new(&mut tell));
        match outcome.expect("nothing has to be installed") {
            Outcome::Inconclusive(why) => last = Some(why),
            outcome => return outcome,
        }
    }
    panic!("{}: {last:?}", finding.name)
}

#[test]
fn real_servers_show_a_phantom_and_the_control_does_not() {
    let installation = match Installation::find() {
        Ok(installation) => installation,
        Err(error) => return println!("skipped: {error}"),
    };
    let finding = Finding::named("trunc-keeps-record-beyond").expect("it is one");
    let shown = outcome(finding, &installation, Variant::Defect);
    assert!(matches!(shown, Outcome::Shown(_)), "{shown}");
    let kept = outcome(finding, &installation, Variant::Control);
    assert!(matches!(kept, Outcome::Kept(_)), "{kept}");
}
