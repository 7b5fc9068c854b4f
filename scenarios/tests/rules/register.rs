//! The registers of properties, defects and mistakes, compared with the code.

use crate::book::{Book, Row};
use crate::text::{File, literals, without_tests};
use std::collections::BTreeSet;

/// The columns of a register's tables.
const COLUMNS: [&str; 5] = ["Id", "Name", "Monitor", "Asked by", "Objects to"];

/// The engines that check properties.
const ENGINES: [&str; 3] = ["sweep", "servers", "programs"];

/// Monitors that only record events, and judge nothing.
const NO_PROPERTY: [&str; 2] = ["recorder", "numbered"];

/// A property in the register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Property {
    /// File and line.
    pub(crate) place: String,
    pub(crate) id: String,
    /// The name that a violation prints.
    pub(crate) name: String,
    /// Types, functions or constants that check the property.
    pub(crate) monitors: Vec<String>,
    pub(crate) engines: Vec<String>,
    /// Defects, mutants and tests that violate the property.
    pub(crate) faults: Vec<String>,
}

/// Returns the properties of a book.
pub(crate) fn properties(book: &Book) -> Vec<Property> {
    let read = |row: &Row| {
        let cell = |column: &str| row.cell(column).unwrap_or_default().to_string();
        let names = |column| row.names(column).into_iter().map(str::to_string).collect();
        let engines = cell("Asked by").split(", ").map(str::to_string).collect();
        Property {
            place: format!("{}:{}", book.path, row.line),
            id: cell("Id"),
            name: cell("Name"),
            monitors: names("Monitor"),
            engines,
            faults: names("Objects to"),
        }
    };
    book.rows_with(&COLUMNS).map(read).collect()
}

/// Returns the ids that the book reserves for properties which are not checked yet.
pub(crate) fn unasked(book: &Book) -> BTreeSet<String> {
    let rows = book.rows_with(&["Id", "It would say"]);
    rows.filter_map(|row| row.cell("Id").map(str::to_string)).collect()
}

/// The names in the code.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// The server's defects.
    pub(crate) bugs: BTreeSet<String>,
    /// The recipes' mutants.
    pub(crate) mutants: BTreeSet<String>,
    /// Functions with `#[test]`, including those in `proptest!`.
    pub(crate) tests: BTreeSet<String>,
}

/// Returns the names of a file's test functions.
pub(crate) fn test_functions(file: &File) -> Vec<&str> {
    let mut is_test = false;
    let mut found = Vec::new();
    for line in file.text.lines().map(str::trim) {
        is_test |= line == "#[test]" || line == "proptest! {";
        if let Some(signature) = line.strip_prefix("fn ")
            && is_test
        {
            found.extend(signature.split('(').next());
            is_test = false;
        }
    }
    found
}

/// Returns properties without a planted fault, or with one that does not exist, or with engines that do not exist.
pub(crate) fn unplanted(properties: &[Property], known: &Known) -> Vec<String> {
    let mut wrong = Vec::new();
    for Property { place, id, engines, faults, .. } in properties {
        if faults.is_empty() {
            wrong.push(format!("{place}: {id} has no fault that makes it object"));
        }
        let is_known = |fault: &&String| {
            [&known.bugs, &known.mutants, &known.tests].iter().any(|names| names.contains(*fault))
        };
        let missing = faults.iter().filter(|fault| !is_known(fault));
        wrong.extend(
            missing.map(|fault| {
                format!("{place}: {id}: `{fault}` is no defect, no mutant and no test")
            }),
        );
        let strange = engines.iter().filter(|engine| !ENGINES.contains(&engine.as_str()));
        wrong.extend(strange.map(|engine| format!("{place}: {id}: `{engine}` is no engine")));
    }
    wrong
}

/// Returns properties without a monitor of the given type in the code that has the property's name.
pub(crate) fn unmonitored(properties: &[Property], files: &[File]) -> Vec<String> {
    let says = |code: &str, name: &str| literals(code).iter().any(|(_, literal)| *literal == name);
    let mut wrong = Vec::new();
    for Property { place, id, name, monitors, .. } in properties {
        let has = |monitor: &&String| {
            let code = files.iter().map(without_tests);
            code.into_iter().any(|code| defines(code, monitor) && says(code, name))
        };
        if monitors.is_empty() {
            wrong.push(format!("{place}: {id} has no monitor"));
        }
        let missing = monitors.iter().filter(|monitor| !has(monitor));
        wrong.extend(missing.map(|monitor| {
            format!("{place}: {id}: no file defines `{monitor}` and says \"{name}\"")
        }));
    }
    wrong
}

fn defines(code: &str, name: &str) -> bool {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let starts =
        |rest: &str| rest.strip_prefix(name).is_some_and(|rest| !rest.starts_with(is_word));
    ["struct ", "fn ", "const "].iter().any(|keyword| code.split(keyword).skip(1).any(starts))
}

/// Returns names of properties in the code that no register has: the names of monitors, and every string that looks
/// like a property's name.
pub(crate) fn unregistered(properties: &[Property], files: &[File]) -> Vec<String> {
    let registered: BTreeSet<&str> = properties.iter().map(|it| it.name.as_str()).collect();
    let mut wrong = Vec::new();
    for file in files {
        let code = without_tests(file);
        let looks_so = literals(code).into_iter().filter(|(_, literal)| is_name(literal));
        let names: BTreeSet<(usize, &str)> = looks_so.chain(monitor_names(code)).collect();
        for (line, name) in names {
            if !registered.contains(name) && !NO_PROPERTY.contains(&name) {
                wrong.push(format!("{}:{line}: \"{name}\" is in no register", file.path));
            }
        }
    }
    wrong
}

/// Returns true for texts such as `S5 no phantom` and `double barrier DB1 enter`: an id, followed by words, and
/// perhaps preceded by a recipe's name.
fn is_name(text: &str) -> bool {
    let is_plain = |word: &str| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    let mut words = text.split(' ').skip_while(|word| is_plain(word));
    let id = words.next().is_some_and(is_property_id);
    let word = words.next().is_some_and(|word| word.starts_with(|it: char| it.is_lowercase()));
    id && word && !text.contains(['{', ':'])
}

/// Returns true for one or two capital letters and a number.
pub(crate) fn is_property_id(word: &str) -> bool {
    let letters = letters(word);
    let number = &word[letters.len()..];
    (1..=2).contains(&letters.len())
        && (1..=2).contains(&number.len())
        && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the capital letters at the beginning of a property's id, which its whole group shares.
pub(crate) fn letters(id: &str) -> &str {
    let end = id.find(|letter: char| !letter.is_ascii_uppercase());
    &id[..end.unwrap_or(id.len())]
}

/// Returns the names of monitors that are literals: the first literal in a declaration, or the result of `name`.
fn monitor_names(code: &str) -> Vec<(usize, &str)> {
    let lines: Vec<&str> = code.lines().collect();
    let all = lines.iter().enumerate();
    let names = all.filter_map(|(at, line)| match line.trim_start() {
        line if line.starts_with("impl") && line.contains(" Declared for ") => {
            let last = lines[at..].iter().position(|line| line.contains("minds!"))?;
            let (past, name) = lines[at..=at + last].iter().enumerate().find_map(first_literal)?;
            Some((at + past + 1, name))
        }
        line if line.starts_with("impl Monitor for ") => {
            let name = lines[at..].iter().position(|line| line.contains("fn name(&self)"))?;
            let line = at + name + 1;
            let literal = lines.get(line)?.trim().strip_prefix('"')?.strip_suffix('"')?;
            Some((line + 1, literal))
        }
        _ => None,
    });
    names.collect()
}

/// Returns the first literal of a line, with the line's number.
fn first_literal<'a>((at, line): (usize, &&'a str)) -> Option<(usize, &'a str)> {
    let (_, after) = line.split_once('"')?;
    Some((at, after.split_once('"')?.0))
}

/// Compares a table of switches with the existing switches.
pub(crate) fn switches(
    book: &Book,
    listed: &[(usize, &str)],
    all: &BTreeSet<String>,
) -> Vec<String> {
    let names: BTreeSet<&str> = listed.iter().map(|(_, name)| *name).collect();
    let strange = listed.iter().filter(|(_, name)| !all.contains(*name));
    let strange = strange.map(|(line, name)| format!("{}:{line}: there is no `{name}`", book.path));
    let missing = all.iter().filter(|name| !names.contains(name.as_str()));
    strange.chain(missing.map(|name| format!("{}: `{name}` is missing", book.path))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGISTER: &str = "\
| Id | Name | What holds | Monitor | Asked by | Objects to |
|---|---|---|---|---|---|
| S1 | S1 one | a thing | `One` | sweep, servers | `Keeps`, `a_test` |
| S2 | S2 two | another | `Two` | dreams | – |
";

    const CODE: &str = "\
pub(crate) struct One;
impl Declared for One {
    const DECLARATION: Declaration<Self> =
        Declaration::everywhere(\"S1 one\", LooksBack::Tip, minds! { |this, view, event|
            _ => Err(this.objection(\"it is so\")),
        });
}
";

    fn read() -> Vec<Property> {
        properties(&Book::read("m.md", REGISTER))
    }

    fn names(all: &[&str]) -> BTreeSet<String> {
        all.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_missing_planted_fault_is_told() {
        let known =
            Known { bugs: names(&["Keeps"]), tests: names(&["a_test"]), ..Known::default() };
        assert_eq!(
            unplanted(&read(), &known),
            ["m.md:4: S2 has no fault that makes it object", "m.md:4: S2: `dreams` is no engine"]
        );
        let known = Known { bugs: names(&["Keeps"]), ..Known::default() };
        let saw = unplanted(&read(), &known);
        assert_eq!(saw[0], "m.md:3: S1: `a_test` is no defect, no mutant and no test");
    }

    #[test]
    fn a_property_without_its_monitor_is_told() {
        let saw = unmonitored(&read(), &[File::new("a.rs", CODE)]);
        assert_eq!(saw, ["m.md:4: S2: no file defines `Two` and says \"S2 two\""]);
        // Tests do not count.
        let saw = unmonitored(&read(), &[File::new("a/tests/a.rs", CODE)]);
        assert_eq!(saw.len(), 2, "{saw:?}");
        let renamed = CODE.replace("S1 one", "S1 won");
        assert_eq!(unmonitored(&read(), &[File::new("a.rs", &renamed)]).len(), 2);
    }

    #[test]
    fn a_monitor_that_is_in_no_register_is_told() {
        assert_eq!(unregistered(&read(), &[File::new("a.rs", CODE)]), [""; 0]);
        let saw = unregistered(&read(), &[File::new("a.rs", &CODE.replace("S1 one", "mine"))]);
        assert_eq!(saw, ["a.rs:4: \"mine\" is in no register"]);
        let text = "Objection::new(\"lock M9 nine\", saw); f(\"S1: x\"); f(\"S3\");\n";
        let saw = unregistered(&read(), &[File::new("a.rs", text)]);
        assert_eq!(saw, ["a.rs:1: \"lock M9 nine\" is in no register"]);
    }

    #[test]
    fn tests_are_known_by_their_attribute() {
        let text =
            "#[test]\nfn one() {}\nfn two() {}\nproptest! {\n  /// x\n  fn three(x: i32) {}\n}";
        assert_eq!(test_functions(&File::new("a.rs", text)), ["one", "three"]);
    }

    #[test]
    fn switches_and_their_table_are_the_same() {
        let book = Book::read("m.md", "");
        let saw = switches(&book, &[(1, "One"), (2, "Three")], &names(&["One", "Two"]));
        assert_eq!(saw, ["m.md:2: there is no `Three`", "m.md: `Two` is missing"]);
    }
}
