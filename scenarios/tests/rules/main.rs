//! The books of rules (`model/RULES.md`, `recipes/RULES.md`) agree with everything that cites them.
//!
//! Citations lead to a rule, rules are cited, users read sentences and no numbers of rules, and the registers'
//! statements about properties, monitors and planted faults are true. Every file is built. Imports lead down, as
//! ARCHITECTURE.md states, and form no cycle; the lists in the documents are complete. Each check takes texts, and is
//! shown to detect a mistake (the tests of its module).

mod book;
mod citations;
mod imports;
mod known;
mod layers;
mod lists;
mod modules;
mod register;
mod scan;
mod text;

use book::Book;
use citations::{Books, Which};
use imports::{Arrow, Modules};
use layers::Layers;
use register::{Known, Property};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use text::{File, Kind};
use vivarium::catalogue::{Entry, Switches, catalogue};
use vivarium_model::property::{self, Asked, Monitor};
use vivarium_model::release::Bug;
use vivarium_sim::Drawn;

/// Folders that are not read: one without files of the workspace, and this test, whose texts contain mistakes on
/// purpose.
const LEFT_OUT: [&str; 2] = [".git", "scenarios/tests/rules"];

/// The crates: their folders, and their names in code.
const CRATES: [(&str, &str); 6] = [
    ("model", "vivarium_model"),
    ("recipes", "vivarium_recipes"),
    ("sim", "vivarium_sim"),
    ("sim/live", "vivarium_client"),
    ("reports", "vivarium_reports"),
    ("scenarios", "vivarium"),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace is above its crates")
}

/// Returns every text file of the workspace.
fn files() -> &'static [File] {
    static FILES: OnceLock<Vec<File>> = OnceLock::new();
    FILES.get_or_init(|| {
        let mut files = Vec::new();
        collect(root(), "", &mut files);
        assert!(files.len() > 300, "{} files are not the workspace", files.len());
        files
    })
}

fn collect(directory: &Path, path: &str, files: &mut Vec<File>) {
    let mut entries: Vec<_> = fs::read_dir(directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()))
        .map(|entry| entry.expect("it is readable"))
        .collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().into_string().expect("names are text");
        let path = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
        let is_directory = entry.file_type().expect("it has a type").is_dir();
        if LEFT_OUT.contains(&path.as_str()) || is_directory && name.starts_with("target") {
            continue;
        }
        if is_directory {
            collect(&entry.path(), &path, files);
        } else if Kind::of(&name).is_some() {
            let text = fs::read_to_string(entry.path());
            files.push(File { text: text.unwrap_or_else(|error| panic!("{path}: {error}")), path });
        }
    }
}

fn file(path: &str) -> &'static File {
    let found = files().iter().find(|file| file.path == path);
    found.unwrap_or_else(|| panic!("there is no {path}"))
}

fn modules_of_crates() -> &'static Modules {
    static MODULES: OnceLock<Modules> = OnceLock::new();
    MODULES.get_or_init(|| {
        let modules = Modules::read(files(), &CRATES);
        assert!(modules.count() > 600, "{} modules are not the crates", modules.count());
        modules
    })
}

/// Returns the imports without the accepted ones; and accepted ones that do not exist.
fn imports_but_known() -> &'static (Vec<Arrow>, Vec<String>) {
    static IMPORTS: OnceLock<(Vec<Arrow>, Vec<String>)> = OnceLock::new();
    IMPORTS.get_or_init(|| imports::without_known(modules_of_crates().arrows(), &known::IMPORTS))
}

/// Returns the documents about recipes for users: the README and the chapters of the guide.
fn guide() -> Vec<&'static File> {
    let is_chapter =
        |file: &&File| file.path.starts_with("scenarios/guide/") && file.path.ends_with(".md");
    [file("README.md")].into_iter().chain(files().iter().filter(is_chapter)).collect()
}

fn books() -> &'static Books {
    static BOOKS: OnceLock<Books> = OnceLock::new();
    BOOKS.get_or_init(|| {
        let read = |path: &str| Book::read(path, &file(path).text);
        Books { model: read("model/RULES.md"), recipes: read("recipes/RULES.md") }
    })
}

fn registered() -> Vec<Property> {
    let [model, recipes] = [&books().model, &books().recipes];
    register::properties(model).into_iter().chain(register::properties(recipes)).collect()
}

fn bugs() -> BTreeSet<String> {
    Bug::ALL.into_iter().map(|bug| bug.name().to_string()).collect()
}

/// Returns the names of the mutants of every recipe.
fn mutants() -> BTreeSet<String> {
    let entries = catalogue().into_iter();
    entries.flat_map(|entry| entry.mutants).map(|mutant| mutant.name.to_string()).collect()
}

/// Returns the monitors of all sweeps, except ZooKeeper's own properties.
fn of_recipes() -> Vec<Box<dyn Monitor>> {
    let of_zookeeper: BTreeSet<&str> =
        property::zookeeper().iter().map(|monitor| monitor.name()).collect();
    let swept = catalogue().into_iter().filter(Entry::is_swept);
    let scenarios = swept.map(|entry| (entry.build)(&Switches::default()));
    let asked = scenarios.flat_map(|scenario| (scenario.monitors)(&Drawn::draw(&scenario, 0).run));
    asked.filter(|monitor| !of_zookeeper.contains(monitor.name())).collect()
}

#[track_caller]
fn none(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

fn of_every_file(check: impl Fn(&File) -> Vec<String>) -> Vec<String> {
    files().iter().flat_map(check).collect()
}

/// (The check does not read this test's own folder.)
#[test]
fn every_file_is_built() {
    none(&modules::unbuilt(files()));
}

#[test]
fn imports_lead_down() {
    let layers = Layers::read(&file("ARCHITECTURE.md").text);
    none(&layers.strange(modules_of_crates(), &CRATES));
    let (arrows, stale) = imports_but_known();
    assert!(arrows.len() > 5_000, "{} imports are not those of the crates", arrows.len());
    none(stale);
    none(&layers.up(arrows));
}

#[test]
fn imports_close_no_circle() {
    none(&imports::circles(&imports_but_known().0));
}

#[test]
fn the_map_leaves_out_no_recipe_and_no_scenario() {
    let map = file("ARCHITECTURE.md");
    none(&lists::left_out(modules_of_crates().top("recipes"), &[map], &map.path));
    let own = catalogue().into_iter().filter(|entry| !entry.is_published());
    let own: Vec<&str> = own.map(|entry| entry.name).collect();
    assert!(own.len() > 20, "{own:?}");
    none(&lists::left_out(own, &[map], &map.path));
}

#[test]
fn the_table_of_recipes_is_complete() {
    let recipes = lists::recipes(files());
    assert!(recipes.len() >= 20, "{recipes:?}");
    let missing = lists::without_row(recipes, &guide());
    assert_eq!(missing, [""; 0]);
}

#[test]
fn files_and_functions_of_the_map_are_there() {
    let map = file("ARCHITECTURE.md");
    let sources = CRATES.map(|(folder, _)| format!("{folder}/src"));
    let crates = CRATES.map(|(folder, _)| folder);
    let bases: Vec<&str> =
        [""].into_iter().chain(crates).chain(sources.iter().map(String::as_str)).collect();
    none(&lists::lost_files(map, &bases, |path| root().join(path).exists()));
    none(&lists::lost_items(map, files(), "model/src"));
}

#[test]
fn the_changelog_counts_the_findings_of_the_register() {
    let count = lists::findings(file("scenarios/src/findings/register.rs"));
    assert!(count > 20, "{count}");
    none(&lists::other_count(file("CHANGELOG.md"), count));
}

#[test]
fn the_books_are_whole() {
    let faults = [&books().model, &books().recipes].map(Book::faults);
    none(&faults.concat());
    let rules = |book: &Book| book.rules.len();
    assert!(rules(&books().model) > 150 && rules(&books().recipes) > 15);
}

#[test]
fn every_citation_leads_to_a_rule() {
    none(&of_every_file(|file| citations::broken(books(), file)));
}

#[test]
fn rules_are_cited_in_one_form_and_documents_are_those_of_the_repository() {
    none(&of_every_file(|file| citations::stale(books(), file)));
}

#[test]
fn users_are_told_sentences_and_not_numbers() {
    assert!(files().iter().any(|file| file.path.contains("/src/cli/")), "who prints the help?");
    none(&of_every_file(citations::shown));
}

#[test]
fn every_rule_is_cited_by_code() {
    let code = files().iter().filter(|file| !file.path.ends_with(".md"));
    let all: Vec<_> = code.flat_map(|file| citations::citations(&file.prose())).collect();
    let cited = |which: Which| {
        let of_book = all.iter().filter(|citation| citation.book == which);
        of_book.map(|citation| citation.id.clone()).collect::<BTreeSet<_>>()
    };
    let uncited = [Which::Model, Which::Recipes]
        .map(|which| citations::uncited(books().book(which), &cited(which)));
    none(&uncited.concat());
}

#[test]
fn tables_name_rules_that_there_are() {
    let of_book = |book: &Book| {
        let mut wrong = Vec::new();
        for row in book.rows_with(&["Switch"]) {
            let column = if row.cell("Rule").is_some() { "Rule" } else { "Breaks rule" };
            let rules = row.cell(column).unwrap_or_default().split(", ");
            let missing = rules.filter(|id| !book.rules.contains_key(*id));
            wrong.extend(missing.map(|id| format!("{}:{}: no rule {id}", book.path, row.line)));
        }
        wrong
    };
    none(&of_book(&books().model));
}

#[test]
fn every_property_has_its_monitor() {
    none(&register::unmonitored(&registered(), files()));
}

#[test]
fn every_monitor_is_in_a_register() {
    none(&register::unregistered(&registered(), files()));
}

#[test]
fn every_property_has_a_planted_fault() {
    let tests = files().iter().flat_map(register::test_functions).map(str::to_string);
    let known = Known { bugs: bugs(), mutants: mutants(), tests: tests.collect() };
    none(&register::unplanted(&registered(), &known));
}

#[test]
fn the_tables_of_defects_and_mistakes_are_those_of_the_code() {
    let model = &books().model;
    let rows = model.rows_with(&["Switch"]);
    let listed = rows.flat_map(|row| row.names("Switch").into_iter().map(|name| (row.line, name)));
    let mut wrong = register::switches(model, &listed.collect::<Vec<_>>(), &bugs());
    let recipes = &books().recipes;
    let rows = recipes.rows_with(&["Name", "Mutant"]);
    let switched = rows.filter(|row| row.cell("Mutant") == Some("yes"));
    let listed =
        switched.flat_map(|row| row.names("Name").into_iter().map(|name| (row.line, name)));
    wrong.extend(register::switches(recipes, &listed.collect::<Vec<_>>(), &mutants()));
    none(&wrong);
}

/// The register's statements about engines agree with the properties that the engines check.
#[test]
fn engines_ask_what_the_register_says() {
    let asked = |engine: &str| {
        let by = |it: &Property| it.engines.iter().any(|name| name == engine);
        let names = registered().into_iter().filter(by).map(|it| it.name);
        names.collect::<BTreeSet<_>>()
    };
    let [sweep, servers, programs] = ["sweep", "servers", "programs"].map(asked);
    for monitor in property::zookeeper() {
        assert!(sweep.contains(monitor.name()), "sweeps ask {}", monitor.name());
    }
    for monitor in property::servers() {
        assert!(servers.contains(monitor.name()), "searches over servers ask {}", monitor.name());
    }
    let of_recipes = of_recipes();
    assert!(of_recipes.len() >= 7, "the lock alone has as many");
    for monitor in &of_recipes {
        let is_searched = monitor.asked() == Asked::Everywhere;
        assert_eq!(programs.contains(monitor.name()), is_searched, "{}", monitor.name());
        // At rest no time passes, which only a search can detect.
        let is_swept = sweep.contains(monitor.name()) || programs.contains(monitor.name());
        assert!(is_swept, "{} is asked", monitor.name());
    }
    let known = |name: &str| {
        let zookeeper = property::zookeeper();
        zookeeper.iter().chain(&of_recipes).any(|monitor| monitor.name() == name)
    };
    // Properties of disks and machines, properties that an engine checks itself, and those that the scenario `calm`
    // adds have no monitor in every sweep.
    let others = ["S3 ", "S6 ", "S7 ", "S15 ", "S17 ", "S21 ", "L3 ", "L7 ", "L8 ", "L9 "];
    let engines = ["program", "progress", "assertion", "a function"];
    let others: Vec<&str> = others.into_iter().chain(engines).collect();
    let strange = sweep
        .iter()
        .filter(|name| !known(name) && !others.iter().any(|other| name.starts_with(other)));
    assert_eq!(strange.collect::<Vec<_>>(), [""; 0]);
}

/// If a comment mentions S5 or M2, such a property exists, or the register says why not.
#[test]
fn every_property_that_is_spoken_of_is_in_a_register() {
    let mut ids: BTreeSet<String> = registered().into_iter().map(|it| it.id).collect();
    ids.extend([&books().model, &books().recipes].into_iter().flat_map(register::unasked));
    let kinds: BTreeSet<&str> = ids.iter().map(|id| register::letters(id)).collect();
    let wrong = of_every_file(|file| {
        let words = file.prose();
        let parts = words.iter().flat_map(|word| {
            let parts = word.text.split(['–', '/', '(', ')', ',', ';', ':', '.', '\'', '`', '*']);
            parts.map(move |part| (word.line, part))
        });
        let spoken = parts.filter(|(_, part)| {
            register::is_property_id(part) && kinds.contains(register::letters(part))
        });
        let strange = spoken.filter(|(_, part)| !ids.contains(*part));
        let told =
            strange.map(|(line, part)| format!("{}:{line}: {part} is in no register", file.path));
        told.collect()
    });
    none(&wrong);
}
