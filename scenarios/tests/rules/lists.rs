//! Lists in documents: recipes, scenarios, names of files, and the number of findings.

use crate::text::{File, split_comment};
use std::collections::BTreeSet;

/// Returns the names between backquotes, with their lines, except in blocks of code.
pub(crate) fn quoted(file: &File) -> Vec<(usize, &str)> {
    let mut in_block = false;
    let mut found = Vec::new();
    for (at, line) in file.text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            found.extend(line.split('`').skip(1).step_by(2).map(|name| (at + 1, name)));
        }
    }
    found
}

/// Returns names that must be in backquotes in one of these documents and are not. The module `ack_queue` also names
/// the scenario `ack-queue`.
pub(crate) fn left_out<'a>(
    names: impl IntoIterator<Item = &'a str>,
    files: &[&File],
    what: &str,
) -> Vec<String> {
    let there: BTreeSet<String> =
        files.iter().flat_map(|file| quoted(file)).map(|(_, name)| same(name)).collect();
    let missing = names.into_iter().filter(|name| !there.contains(&same(name)));
    missing.map(|name| format!("{what} leaves out `{name}`")).collect()
}

fn same(name: &str) -> String {
    name.trim_end_matches('/').replace('-', "_")
}

/// Returns the recipes that have no row in any table of these documents whose first column is `Module` or `Recipe`.
pub(crate) fn without_row<'a>(
    recipes: impl IntoIterator<Item = &'a str>,
    files: &[&File],
) -> Vec<String> {
    let mut rows: BTreeSet<&str> = BTreeSet::new();
    for file in files {
        let mut of_recipes = None;
        for line in file.text.lines() {
            let Some(row) = line.strip_prefix("| ") else {
                of_recipes = line.starts_with('|').then_some(of_recipes).flatten();
                continue;
            };
            let first = row.split(" |").next().unwrap_or_default();
            match of_recipes {
                None => {
                    of_recipes = Some(["Module", "Recipe", "recipe", "module"].contains(&first))
                }
                Some(true) => rows.extend(first.split('`').skip(1).step_by(2)),
                Some(false) => {}
            }
        }
    }
    let missing = recipes.into_iter().filter(|recipe| !rows.contains(recipe));
    missing.map(|recipe| format!("the table of recipes has no row of `{recipe}`")).collect()
}

/// Returns the recipes: the modules of the crate that have a program to sweep, in a file `worker.rs`.
pub(crate) fn recipes(files: &[File]) -> BTreeSet<&str> {
    let workers = files.iter().filter_map(|file| file.path.strip_suffix("/worker.rs"));
    workers.filter_map(|folder| folder.strip_prefix("recipes/src/")).collect()
}

/// Returns the names of files and folders that exist in none of these folders.
pub(crate) fn lost_files(
    document: &File,
    bases: &[&str],
    exists: impl Fn(&str) -> bool,
) -> Vec<String> {
    let lost = quoted(document).into_iter().filter(|(_, name)| {
        let path = |base: &&str| match *base {
            "" => (*name).to_string(),
            base => format!("{base}/{name}"),
        };
        names_a_file(name) && !bases.iter().map(path).any(|path| exists(path.trim_end_matches('/')))
    });
    lost.map(|(line, name)| format!("{}:{line}: there is no `{name}`", document.path)).collect()
}

fn names_a_file(name: &str) -> bool {
    let is_path =
        name.contains('/') || [".rs", ".md", ".toml"].iter().any(|end| name.ends_with(end));
    let plain = |it: char| it.is_alphanumeric() || "/._-".contains(it);
    is_path && name.chars().all(plain) && !name.starts_with('/')
}

/// Returns rows of tables that name a file, followed by a function or type that this file does not have.
pub(crate) fn lost_items(document: &File, files: &[File], base: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for (at, line) in document.text.lines().enumerate().filter(|(_, line)| line.starts_with('|')) {
        for cell in line.split(" | ") {
            let mut file: Option<&File> = None;
            for name in cell.split('`').skip(1).step_by(2) {
                if name.ends_with(".rs") {
                    file = files.iter().find(|file| file.path == format!("{base}/{name}"));
                } else if let Some(file) = file
                    && !defines(file, name)
                {
                    wrong.push(format!(
                        "{}:{}: {} has no `{name}`",
                        document.path,
                        at + 1,
                        file.path
                    ));
                }
            }
        }
    }
    wrong
}

/// Returns true if a file defines the last part of `Type::function`.
fn defines(file: &File, name: &str) -> bool {
    let name = name.rsplit("::").next().unwrap_or(name);
    let keywords = ["fn ", "struct ", "enum ", "trait ", "const ", "type "];
    let is_of_name = |it: char| it.is_alphanumeric() || it == '_';
    let ends =
        |rest: &str| rest.strip_prefix(name).is_some_and(|rest| !rest.starts_with(is_of_name));
    let lines = file.text.lines().map(|line| split_comment(line).0);
    lines.into_iter().any(|line| keywords.iter().any(|word| line.split(word).skip(1).any(ends)))
}

/// Returns the number of findings in the register.
pub(crate) fn findings(register: &File) -> usize {
    register.text.lines().filter(|line| line.trim_start().starts_with("name: \"")).count()
}

/// Returns a mistake if the first number in the changelog's entry of findings is not `count`.
pub(crate) fn other_count(changelog: &File, count: usize) -> Vec<String> {
    let entry =
        changelog.text.lines().enumerate().find(|(_, line)| line.starts_with("* **Findings**"));
    let Some((at, _)) = entry else {
        return vec![format!("{}: there is no entry `* **Findings**`", changelog.path)];
    };
    let words = changelog.text.lines().skip(at).flat_map(|line| line.split([' ', ',', '.']));
    match words.into_iter().find_map(number) {
        Some(said) if said == count => Vec::new(),
        said => {
            let said = said.map_or("no number".to_string(), |said| said.to_string());
            vec![format!("{}:{}: says {said}; the register has {count}", changelog.path, at + 1)]
        }
    }
}

/// Parses `27`, or `twenty-seven`.
fn number(word: &str) -> Option<usize> {
    const SMALL: [&str; 20] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    const TENS: [&str; 8] =
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    let small = |word: &str| SMALL.iter().position(|it| *it == word);
    let tens = |word: &str| TENS.iter().position(|it| *it == word).map(|at| (at + 2) * 10);
    match word.split_once('-') {
        Some((ten, one)) => Some(tens(ten)? + small(one)?),
        None => word.parse().ok().or_else(|| small(word)).or_else(|| tens(word)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_a_document_leaves_out_is_told() {
        let map = File::new("MAP.md", "`lock` and `ack_queue/`\n```\n`counter`\n```\n");
        assert_eq!(left_out(["lock", "ack-queue"], &[&map], "MAP.md"), [""; 0]);
        assert_eq!(left_out(["counter"], &[&map], "MAP.md"), ["MAP.md leaves out `counter`"]);
    }

    #[test]
    fn a_recipe_without_a_row_is_told() {
        let table = "| Module | What |\n|---|---|\n| `lock` | the `queue` |\n\n| flag | what |\n|---|---|\n| `names` | x |\n";
        let readme = File::new("README.md", table);
        let chapter = File::new("guide/a.md", "| Recipe | What |\n|---|---|\n| `cache` | x |\n");
        let saw = without_row(["cache", "lock", "names", "queue"], &[&readme, &chapter]);
        assert_eq!(
            saw,
            ["names", "queue"].map(|it| format!("the table of recipes has no row of `{it}`"))
        );
        let files =
            ["recipes/src/lock/worker.rs", "recipes/src/once/mod.rs", "sim/src/a/worker.rs"];
        let files = files.map(|path| File::new(path, ""));
        assert_eq!(recipes(&files).into_iter().collect::<Vec<_>>(), ["lock"]);
    }

    #[test]
    fn a_file_that_is_not_there_is_told() {
        let paths = ["a/src/one.rs", "a/src/two", "MAP.md"];
        let map = File::new(
            "MAP.md",
            "`one.rs` `two/` `MAP.md`\n`three.rs` `four/` `/znode` `x / y` `a::b`\n",
        );
        assert_eq!(
            lost_files(&map, &["", "a/src"], |path| paths.contains(&path)),
            ["MAP.md:2: there is no `three.rs`", "MAP.md:2: there is no `four/`"]
        );
    }

    #[test]
    fn a_function_that_is_in_another_file_is_told() {
        let files = [File::new(
            "a/src/one.rs",
            "impl It {\n    pub(crate) fn goes(&self) {}\n}\n// fn other()\n",
        )];
        let map = File::new(
            "MAP.md",
            "| 1 | `one.rs`, `It::goes` | `Step::Other` |\n| 2 | `one.rs`, `other` | |\n",
        );
        assert_eq!(lost_items(&map, &files, "a/src"), ["MAP.md:2: a/src/one.rs has no `other`"]);
    }

    #[test]
    fn a_count_that_the_register_does_not_have_is_told() {
        let register =
            File::new("register.rs", "A {\n    name: \"one\",\n},\nA {\n    name: \"two\",\n}\n");
        let log = |text: &str| File::new("LOG.md", text);
        assert_eq!(findings(&register), 2);
        assert_eq!(other_count(&log("* **Findings**: shows two defects\n"), 2), [""; 0]);
        assert_eq!(other_count(&log("* **Findings**: shows\n  27 defects\n"), 27), [""; 0]);
        assert_eq!(
            other_count(&log("x\n* **Findings**: shows twenty-seven defects\n"), 28),
            ["LOG.md:2: says 27; the register has 28"]
        );
        assert_eq!(
            other_count(&log("* **Findings**: many\n"), 2),
            ["LOG.md:1: says no number; the register has 2"]
        );
        assert_eq!(other_count(&log(""), 2).len(), 1);
    }
}
