//! A book of rules, read from its text: rules with their ids, and tables.

use std::collections::BTreeMap;

/// A rule, a section, or a row of a table that has an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    /// Its line in the book.
    pub(crate) line: usize,
    /// Whether the rule is marked as context, which need not be cited.
    pub(crate) is_context: bool,
}

/// A row of a table, by the names of its columns.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) line: usize,
    cells: BTreeMap<String, String>,
}

impl Row {
    /// Returns the content of a column; `None` if the table has no such column.
    pub(crate) fn cell(&self, column: &str) -> Option<&str> {
        self.cells.get(column).map(String::as_str)
    }

    /// Returns the names in backquotes in a column.
    pub(crate) fn names(&self, column: &str) -> Vec<&str> {
        let cell = self.cell(column).unwrap_or_default();
        cell.split('`').skip(1).step_by(2).collect()
    }
}

/// A book of rules.
#[derive(Clone, Debug, Default)]
pub(crate) struct Book {
    /// The path from the workspace's root.
    pub(crate) path: String,
    /// Rules and sections by their ids, such as `6.7.1` and `6.7`.
    pub(crate) rules: BTreeMap<String, Rule>,
    /// All rows of all tables.
    pub(crate) rows: Vec<Row>,
    /// Sections without a line that names their source, with their lines.
    pub(crate) sourceless: Vec<(usize, String)>,
    /// Ids that occur twice, with the second line.
    pub(crate) twice: Vec<(usize, String)>,
}

impl Book {
    /// Reads a book.
    pub(crate) fn read(path: &str, text: &str) -> Book {
        let mut book = Book { path: path.to_string(), ..Book::default() };
        let mut columns: Vec<String> = Vec::new();
        let mut section: Option<(usize, String)> = None;
        for (at, line) in text.lines().enumerate().map(|(at, line)| (at + 1, line)) {
            if line.starts_with("## ") {
                book.sourceless.extend(section.take());
            } else if let Some(title) = line.strip_prefix("### ") {
                book.sourceless.extend(section.take());
                let id = title.split(' ').next().unwrap_or_default();
                book.add(id, at, line);
                section = Some((at, id.to_string()));
            } else if line.starts_with("Source:") {
                section = None;
            } else if let Some(rule) = line.strip_prefix("* **") {
                book.add(rule.split("**").next().unwrap_or_default(), at, line);
            }
            if !line.starts_with('|') {
                columns.clear();
                continue;
            }
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            if columns.is_empty() {
                columns = cells.iter().map(ToString::to_string).collect();
            } else if !line.starts_with("|---") {
                book.row(at, line, &columns, &cells);
            }
        }
        book.sourceless.extend(section);
        book
    }

    fn add(&mut self, id: &str, at: usize, line: &str) {
        if !is_id(id) {
            return;
        }
        let rule = Rule { line: at, is_context: line.contains("*(context)*") };
        if self.rules.insert(id.to_string(), rule).is_some() {
            self.twice.push((at, id.to_string()));
        }
    }

    fn row(&mut self, at: usize, line: &str, columns: &[String], cells: &[&str]) {
        if columns.first().is_some_and(|first| first == "Rule") {
            self.add(cells.first().copied().unwrap_or_default(), at, line);
        }
        let cells = columns.iter().cloned().zip(cells.iter().map(ToString::to_string)).collect();
        self.rows.push(Row { line: at, cells });
    }

    /// Returns the rows of the tables that have these columns.
    pub(crate) fn rows_with(&self, columns: &[&str]) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| columns.iter().all(|name| row.cell(name).is_some()))
    }

    /// Returns the mistakes of the book itself.
    pub(crate) fn faults(&self) -> Vec<String> {
        let at =
            |(line, id): &(usize, String), what: &str| format!("{}:{line}: {id} {what}", self.path);
        let sourceless = self.sourceless.iter().map(|it| at(it, "does not say where it is from"));
        let twice = self.twice.iter().map(|it| at(it, "is there twice"));
        sourceless.chain(twice).collect()
    }
}

/// Returns true for two or three numbers separated by dots.
pub(crate) fn is_id(text: &str) -> bool {
    let numbers: Vec<&str> = text.split('.').collect();
    let is_number =
        |it: &&str| (1..=2).contains(&it.len()) && it.bytes().all(|byte| byte.is_ascii_digit());
    (2..=3).contains(&numbers.len()) && numbers.iter().all(is_number)
}

/// Returns the section of a rule or section: `6.7` for `6.7.1` and for `6.7`.
pub(crate) fn section(id: &str) -> &str {
    id.match_indices('.').nth(1).map_or(id, |(at, _)| &id[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# A book

## 1 One
### 1.1 First
Source: a class.

* **1.1.1** A rule.
* **1.1.2** Another. *(context)*

| Rule | If |
|---|---|
| 1.1.3 | a row |

### 1.2 Second

* **1.1.1** Again.

| Switch | Known |
|---|---|
| `One` | as `this` or `that` |
";

    #[test]
    fn rules_tables_and_what_is_wrong_with_them() {
        let book = Book::read("book.md", TEXT);
        let ids: Vec<&str> = book.rules.keys().map(String::as_str).collect();
        assert_eq!(ids, ["1.1", "1.1.1", "1.1.2", "1.1.3", "1.2"]);
        assert!(book.rules["1.1.2"].is_context && !book.rules["1.1.3"].is_context);
        let row = book.rows_with(&["Switch", "Known"]).next().expect("a table");
        assert_eq!((row.names("Switch"), row.names("Known")), (vec!["One"], vec!["this", "that"]));
        assert_eq!(
            book.faults(),
            ["book.md:14: 1.2 does not say where it is from", "book.md:16: 1.1.1 is there twice"]
        );
        assert_eq!((section("6.7.1"), section("6.7")), ("6.7", "6.7"));
    }
}
