//! Files as words: comments are separated from code, and a sentence can continue on the next line.

/// The kind of a file, which tells which parts of it are prose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Rust: comments are prose, and string literals may be printed.
    Rust,
    /// Prose as a whole: documents, scenario texts, manifests.
    Prose,
    /// The output of a program.
    Printed,
}

impl Kind {
    /// Returns the kind by the end of the file's name; `None` for a file without text.
    pub(crate) fn of(path: &str) -> Option<Kind> {
        match path.rsplit_once('.')?.1 {
            "rs" => Some(Kind::Rust),
            "md" | "txt" | "toml" => Some(Kind::Prose),
            "snap" => Some(Kind::Printed),
            _ => None,
        }
    }
}

/// A file of the workspace.
#[derive(Clone, Debug)]
pub(crate) struct File {
    /// The path from the workspace's root.
    pub(crate) path: String,
    /// The whole text.
    pub(crate) text: String,
}

impl File {
    /// Creates a file with this text.
    pub(crate) fn new(path: &str, text: &str) -> File {
        File { path: path.to_string(), text: text.to_string() }
    }

    /// Returns the file's kind; a file that is no [`Kind`] counts as prose.
    pub(crate) fn kind(&self) -> Kind {
        Kind::of(&self.path).unwrap_or(Kind::Prose)
    }

    /// Returns the words of prose: comments of Rust, and documents.
    pub(crate) fn prose(&self) -> Vec<Word<'_>> {
        self.words(|line| match self.kind() {
            Kind::Rust => split_comment(line).1,
            Kind::Prose => unmarked(line),
            Kind::Printed => "",
        })
    }

    /// Returns the words that may be printed: everything except comments.
    pub(crate) fn printed(&self) -> Vec<Word<'_>> {
        self.words(|line| match self.kind() {
            Kind::Rust => split_comment(line).0,
            Kind::Prose => "",
            Kind::Printed => line,
        })
    }

    /// Returns the words of documentation comments, which clap prints as help.
    pub(crate) fn help(&self) -> Vec<Word<'_>> {
        self.words(|line| line.trim_start().strip_prefix("///").unwrap_or(""))
    }

    fn words<'a>(&'a self, part: impl Fn(&'a str) -> &'a str) -> Vec<Word<'a>> {
        let lines = self.text.lines().enumerate();
        lines.flat_map(|(at, line)| words(part(line), at + 1)).collect()
    }
}

/// A word with its line, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word<'a> {
    pub(crate) text: &'a str,
    pub(crate) line: usize,
}

fn words(text: &str, line: usize) -> impl Iterator<Item = Word<'_>> {
    let parts = text.split(|it: char| it.is_whitespace() || it == '"');
    parts.filter(|text| !text.is_empty()).map(move |text| Word { text, line })
}

/// Returns a line without the marks at its beginning that are no part of the sentence.
fn unmarked(line: &str) -> &str {
    line.trim_start().trim_start_matches(['#', '*', '|', '>'])
}

/// Splits a line of Rust into its code and its comment.
pub(crate) fn split_comment(line: &str) -> (&str, &str) {
    let mut quoted = false;
    let mut escaped = false;
    for (at, character) in line.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = quoted,
            '"' if !line[..at].ends_with('\'') => quoted = !quoted,
            '/' if !quoted && line[at..].starts_with("//") => {
                let comment = line[at..].trim_start_matches('/').trim_start_matches('!');
                return (&line[..at], comment);
            }
            _ => {}
        }
    }
    (line, "")
}

/// Returns the string literals of Rust code that begin and end on one line.
pub(crate) fn literals(text: &str) -> Vec<(usize, &str)> {
    let code = text.lines().map(|line| split_comment(line).0).enumerate();
    code.flat_map(|(at, line)| line.split('"').skip(1).step_by(2).map(move |it| (at + 1, it)))
        .collect()
}

/// Returns Rust code without its tests: nothing of a file of tests, and other files up to the module of tests at the
/// end.
pub(crate) fn without_tests(file: &File) -> &str {
    let of_tests = ["/tests/", "/examples/"].iter().any(|part| file.path.contains(part))
        || ["tests.rs", "testing.rs"].iter().any(|end| file.path.ends_with(end));
    if of_tests || file.kind() != Kind::Rust {
        return "";
    }
    let text = file.text.as_str();
    match text.find("#[cfg(test)]\nmod tests {") {
        Some(at) => &text[..at],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_told_from_code_and_from_what_only_looks_so() {
        assert_eq!(split_comment("    /// of this"), ("    ", " of this"));
        assert_eq!(split_comment("//! of that"), ("", " of that"));
        assert_eq!(split_comment("let x = 1; // why"), ("let x = 1; ", " why"));
        let link = "let x = \"http://here\"; // why";
        assert_eq!(split_comment(link), ("let x = \"http://here\"; ", " why"));
        assert_eq!(split_comment("let quote = '\"'; // why").1, " why");
        assert_eq!(literals("f(\"a b\", \"c\"); // \"d\""), [(1, "a b"), (1, "c")]);
    }

    #[test]
    fn a_sentence_goes_on_in_the_next_line() {
        let file = File::new("a.rs", "/// As it says (rule\n/// 1.1.1).\nfn f() {}\n");
        let words: Vec<(&str, usize)> =
            file.prose().iter().map(|word| (word.text, word.line)).collect();
        assert_eq!(words, [("As", 1), ("it", 1), ("says", 1), ("(rule", 1), ("1.1.1).", 2)]);
    }

    #[test]
    fn tests_are_left_out() {
        let file = File::new("model/src/a.rs", "one\n#[cfg(test)]\nmod tests {\ntwo\n}\n");
        assert_eq!(without_tests(&file), "one\n");
        let tests = File::new("model/src/a_tests.rs", "one\n");
        assert_eq!(without_tests(&tests), "");
    }
}
