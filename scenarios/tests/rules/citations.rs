//! Citations: `rule 6.7.1`, `rules 2.1.2 and 2.8.6`, `recipe rule 2.8.3`.

use crate::book::{Book, is_id, section};
use crate::text::{File, Kind, Word};
use std::collections::BTreeSet;

/// Both books.
#[derive(Clone, Debug)]
pub(crate) struct Books {
    pub(crate) model: Book,
    pub(crate) recipes: Book,
}

/// The book that a citation means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Which {
    Model,
    Recipes,
}

impl Books {
    pub(crate) fn book(&self, which: Which) -> &Book {
        match which {
            Which::Model => &self.model,
            Which::Recipes => &self.recipes,
        }
    }
}

/// A citation of one rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Citation {
    pub(crate) line: usize,
    pub(crate) book: Which,
    pub(crate) id: String,
}

/// Words that mean documents which do not exist here, or that once named rules.
const GONE: [&str; 7] = [
    "semantics page",
    "semantics.md",
    "museum.md",
    "museum row",
    "reduction.md",
    "toolbox.md",
    "design.md",
];

/// Returns all citations in a list of words.
pub(crate) fn citations(words: &[Word<'_>]) -> Vec<Citation> {
    let cited = cited(words).into_iter();
    let citation = |(at, book): (usize, Which)| {
        let Word { text, line } = words[at];
        Citation { line, book, id: bare(text).to_string() }
    };
    cited.map(citation).collect()
}

/// Returns the indices of cited ids, each with its book.
fn cited(words: &[Word<'_>]) -> Vec<(usize, Which)> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let name = bare(word.text).to_lowercase();
        if !["rule", "rules"].contains(&name.as_str()) || ends_a_sentence(word.text) {
            continue;
        }
        let before = at.checked_sub(1).map(|before| bare(words[before].text).to_lowercase());
        let book = match before.as_deref() {
            Some("recipe") => Which::Recipes,
            _ => Which::Model,
        };
        found.extend(ids(words, at + 1).into_iter().map(|at| (at, book)));
    }
    found
}

/// Returns the indices of the ids that begin here: the first, whatever its number, and those that follow a comma,
/// `and`, `or`, `to`.
fn ids(words: &[Word<'_>], from: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut goes_on = true;
    for (at, word) in words.iter().enumerate().skip(from) {
        if ["and", "or", "to"].contains(&word.text) && !found.is_empty() {
            goes_on = true;
            continue;
        }
        let number = bare(word.text);
        let fits = match found.is_empty() {
            true => number.starts_with(|first: char| first.is_ascii_digit()),
            false => is_id(number),
        };
        if !(goes_on && fits) {
            break;
        }
        found.push(at);
        goes_on = word.text.ends_with(',');
    }
    found
}

/// Returns a word without the punctuation around it.
fn bare(word: &str) -> &str {
    let word = word.trim_matches(|character: char| !character.is_alphanumeric());
    word.trim_end_matches("'s")
}

fn ends_a_sentence(word: &str) -> bool {
    word.ends_with(['.', ':', ';', ',', ')'])
}

/// Returns the citations of rules that do not exist.
pub(crate) fn broken(books: &Books, file: &File) -> Vec<String> {
    let leads_nowhere = |it: &Citation| !books.book(it.book).rules.contains_key(&it.id);
    let broken = citations(&file.prose()).into_iter().filter(leads_nowhere);
    broken
        .map(|Citation { line, book, id }| {
            format!("{}:{line}: {} has no rule {id}", file.path, books.book(book).path)
        })
        .collect()
}

/// Returns the citations in printed text: strings, help texts and outputs must cite no document.
pub(crate) fn shown(file: &File) -> Vec<String> {
    let is_help = file.path.contains("/src/cli/") && file.kind() == Kind::Rust;
    let help = if is_help { file.help() } else { Vec::new() };
    // README and guide are for users: they may name a book, but cite no rule.
    let is_for_users = file.path == "README.md" || file.path.starts_with("scenarios/guide/");
    let prose = if is_for_users { file.prose() } else { Vec::new() };
    let words = [file.printed(), help, prose];
    let cited = words.iter().flat_map(|words| citations(words));
    cited
        .map(|Citation { line, id, .. }| {
            format!("{}:{line}: a user is pointed at rule {id}: say it in a sentence", file.path)
        })
        .collect()
}

/// Returns words that mean documents which do not exist here, and citations in another form.
pub(crate) fn stale(books: &Books, file: &File) -> Vec<String> {
    let gone = file.text.lines().enumerate().flat_map(|(at, line)| {
        let line = line.to_lowercase();
        let names = GONE.iter().filter(move |name| line.contains(**name));
        names.map(move |name| (at + 1, format!("`{name}` is no document of this repository")))
    });
    // In code, a number in brackets is no citation.
    let forms = [(file.prose(), true), (file.printed(), false)];
    let forms = forms.iter().flat_map(|(words, is_prose)| other_forms(books, words, *is_prose));
    gone.chain(forms).map(|(line, what)| format!("{}:{line}: {what}", file.path)).collect()
}

/// `semantics 6.7`, `recipes section 0`, `(6.7)`, `; 6.7)`, `6.7 rule 1`, `surprise 5`.
fn other_forms(books: &Books, words: &[Word<'_>], is_prose: bool) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let cited: BTreeSet<usize> = cited(words).into_iter().map(|(at, _)| at).collect();
    for (at, here) in words.iter().enumerate() {
        let after = words.get(at + 1).map_or("", |word| word.text);
        let [word, next] = [bare(here.text), bare(after)];
        let joined = !ends_a_sentence(here.text);
        let numbered = next.starts_with(|first: char| first.is_ascii_digit()) || next == "section";
        let old = ["semantics", "recipes", "museum", "surprise", "surprises"];
        let is_old = joined && numbered && old.contains(&word.to_lowercase().as_str());
        let is_split = joined && is_id(word) && ["rule", "row"].contains(&next);
        let is_bracketed = here.text.starts_with('(') || here.text.contains(')');
        let is_bare = is_prose && is_bracketed && !cited.contains(&at) && known(books, word);
        if is_old || is_split || is_bare {
            found.push((here.line, format!("`{} {after}`: write `rule N.N.N`", here.text)));
        }
    }
    found
}

fn known(books: &Books, id: &str) -> bool {
    is_id(id) && [&books.model, &books.recipes].iter().any(|book| book.rules.contains_key(id))
}

/// Returns the rules of a book that no code cites by their own numbers and that are not marked as context; and those
/// that are marked and cited.
pub(crate) fn uncited(book: &Book, cited: &BTreeSet<String>) -> Vec<String> {
    let rules = book.rules.iter().filter(|(id, _)| section(id) != id.as_str());
    rules
        .filter_map(|(id, rule)| {
            let what = match (cited.contains(id), rule.is_context) {
                (false, false) => "is cited by no code, and is not marked as context",
                (true, true) => "is marked as context, and code cites it",
                _ => return None,
            };
            Some(format!("{}:{}: rule {id} {what}", book.path, rule.line))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn books() -> Books {
        let model = "### 6.7 A\nSource: x.\n* **6.7.1** One.\n* **6.7.2** Two.\n";
        let recipes = "### 2.8 B\nSource: x.\n* **2.8.3** Three.\n";
        Books { model: Book::read("m.md", model), recipes: Book::read("r.md", recipes) }
    }

    fn ids(text: &str) -> Vec<(Which, String)> {
        let found = citations(&File::new("a.md", text).prose());
        found.into_iter().map(|it| (it.book, it.id)).collect()
    }

    #[test]
    fn citations_are_found_in_all_their_forms() {
        let model = |id: &str| (Which::Model, id.to_string());
        assert_eq!(ids("As it is (rule 6.7.1)."), [model("6.7.1")]);
        assert_eq!(
            ids("Rules 6.7, 6.7.1 and 6.7.2, in 3 places"),
            ["6.7", "6.7.1", "6.7.2"].map(model)
        );
        assert_eq!(ids("see recipe\nrule 2.8.3."), [(Which::Recipes, "2.8.3".to_string())]);
        assert_eq!(ids("rule 6 is broken"), [model("6")]);
        assert_eq!(ids("as a rule. 6.7 is a number, and a rule of its own"), []);
    }

    #[test]
    fn a_citation_that_leads_nowhere_is_named_with_its_place() {
        let file = File::new("a.rs", "/// It is (rule 6.7.1).\nfn f() {}\n// (rule\n// 6.7.9)\n");
        assert_eq!(broken(&books(), &file), ["a.rs:4: m.md has no rule 6.7.9"]);
        // A rule of one book is no rule of the other.
        let file = File::new("a.rs", "// recipe rule 6.7.1\n");
        assert_eq!(broken(&books(), &file), ["a.rs:1: r.md has no rule 6.7.1"]);
        let file = File::new("a.rs", "// rule 6.7.1, and rule 7\n");
        assert_eq!(broken(&books(), &file), ["a.rs:1: m.md has no rule 7"]);
    }

    #[test]
    fn what_is_printed_points_at_no_rule() {
        let text = "/// It is (rule 6.7.1).\nconst SAYS: &str = \"as by rule 6.7.1\";\n";
        let saw = "2: a user is pointed at rule 6.7.1: say it in a sentence";
        assert_eq!(shown(&File::new("a/src/b.rs", text)), [format!("a/src/b.rs:{saw}")]);
        let help = shown(&File::new("scenarios/src/cli/b.rs", text));
        assert_eq!(help.len(), 2, "{help:?}");
        assert_eq!(shown(&File::new("a.snap", "see rule 6.7.1")).len(), 1);
        assert_eq!(shown(&File::new("README.md", "see rule 6.7.1")).len(), 1);
        assert_eq!(shown(&File::new("scenarios/guide/a.md", "see rule 6.7.1")).len(), 1);
        assert_eq!(shown(&File::new("ARCHITECTURE.md", "see rule 6.7.1")), [""; 0]);
    }

    #[test]
    fn other_forms_and_lost_documents_are_told() {
        let told = |text: &str| stale(&books(), &File::new("a.rs", text)).len();
        for text in [
            "// (semantics 6.7)",
            "// Semantics 6.7 rule 1",
            "// (recipes\n// 2.8)",
            "// as recipes section 0 has it",
            "// surprise 5",
            "// it is so (6.7).",
            "// it is so (2.8.3, 6.7)",
            "// it is so (rule 2.8.3: for ever; 6.7).",
            "// the museum row 3",
            "f(\"semantics 6.7\")",
        ] {
            assert!(told(text) > 0, "{text}");
        }
        for text in [
            "// (rule 6.7), since 3.8.0 (3.9.1)",
            "// the semantics of recipes",
            "let pair = (6.7, 2.8);",
            "// recipes. 12 of them",
        ] {
            assert_eq!(told(text), 0, "{text}");
        }
    }

    #[test]
    fn rules_that_nobody_cites_are_listed() {
        let cited = |ids: &[&str]| ids.iter().map(ToString::to_string).collect();
        let book = &books().model;
        let saw = "rule 6.7.2 is cited by no code, and is not marked as context";
        assert_eq!(uncited(book, &cited(&["6.7.1"])), [format!("m.md:4: {saw}")]);
        // A citation of the section does not cite a single rule.
        assert_eq!(uncited(book, &cited(&["6.7"])).len(), 2);
        let book = Book::read("m.md", "### 6.7 A\n* **6.7.1** One. *(context)*\n");
        assert_eq!(uncited(&book, &cited(&[])), [""; 0]);
        assert_eq!(uncited(&book, &cited(&["6.7.1"])).len(), 1);
    }
}
