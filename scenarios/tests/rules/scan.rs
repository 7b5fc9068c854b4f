//! Rust as far as imports need it: the modules that a file declares, its `use` lines, and the paths in its code.
//!
//! The scanner knows comments, literals, items under `#[cfg(test)]` and the braces of `use`; it expands no macro.

/// The modules and imports of a file, without tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scanned {
    /// The modules that `mod name;` declares.
    pub(crate) modules: Vec<String>,
    /// One entry for each name that a `use` brings in.
    pub(crate) uses: Vec<Use>,
    /// Paths of at least two segments outside of `use`, with their lines.
    pub(crate) paths: Vec<(usize, Vec<String>)>,
}

/// One name that a `use` brings in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Use {
    pub(crate) line: usize,
    pub(crate) path: Vec<String>,
    /// The name in this module; `None` for `*`, which brings in all names of `path`.
    pub(crate) name: Option<String>,
}

/// Reads one file of Rust.
pub(crate) fn scan(text: &str) -> Scanned {
    let code = without_words(text);
    let tokens = without_tests(tokens(&code));
    let mut scanned = Scanned::default();
    let mut at = 0;
    while at < tokens.len() {
        let after_attribute_or_item =
            at == 0 || [";", "}", "{", "]", ")", "pub"].contains(&tokens[at - 1].text);
        match tokens[at].text {
            "use" if after_attribute_or_item => at = read_use(&tokens, at + 1, &mut scanned.uses),
            "mod" if tokens.get(at + 2).is_some_and(|token| token.text == ";") => {
                scanned.modules.push(tokens[at + 1].text.to_string());
                at += 3;
            }
            _ => at = read_path(&tokens, at, &mut scanned.paths),
        }
    }
    scanned
}

#[derive(Clone, Copy, Debug)]
struct Token<'a> {
    text: &'a str,
    line: usize,
}

impl Token<'_> {
    fn is_name(&self) -> bool {
        self.text.starts_with(is_of_name)
    }
}

fn is_of_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Replaces comments and literals by blanks.
fn without_words(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => 1 + closing_quote(&rest[1..]),
            'r' if !kept.ends_with(is_of_name) => raw_end(rest).unwrap_or(0),
            '\'' => character_end(rest).unwrap_or(0),
            _ => 0,
        };
        let (word, behind) = rest.split_at(length.max(first.len_utf8()));
        if length == 0 {
            kept.push(first);
        } else {
            kept.push(' ');
            kept.extend(word.chars().filter(|character| *character == '\n'));
        }
        rest = behind;
    }
    kept
}

/// Returns the length of a string literal after its first quote, including its last quote.
fn closing_quote(text: &str) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the length of a raw string literal, if one begins here.
fn raw_end(text: &str) -> Option<usize> {
    let hashes = text[1..].bytes().take_while(|byte| *byte == b'#').count();
    let body = text[1 + hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    body.find(&end).map(|at| 2 + hashes + at + end.len())
}

/// Returns the length of a character literal, if this quote begins one and no lifetime.
fn character_end(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('\'')?;
    if inner.starts_with('\\') {
        return inner[2..].find('\'').map(|at| at + 4);
    }
    let first = inner.chars().next()?.len_utf8();
    inner[first..].starts_with('\'').then_some(first + 2)
}

fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    for (line, text) in code.lines().enumerate().map(|(at, text)| (at + 1, text)) {
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = match first {
                _ if is_of_name(first) => {
                    rest.find(|character| !is_of_name(character)).unwrap_or(rest.len())
                }
                ':' if rest.starts_with("::") => 2,
                _ => first.len_utf8(),
            };
            let (text, behind) = rest.split_at(length);
            found.push(Token { text, line });
            rest = behind.trim_start();
        }
    }
    found
}

/// Leaves out every item under `#[cfg(test)]`, and the whole file under `#![cfg(test)]`.
fn without_tests(tokens: Vec<Token<'_>>) -> Vec<Token<'_>> {
    let begins = |at: usize, words: &[&str]| {
        words
            .iter()
            .enumerate()
            .all(|(by, word)| tokens.get(at + by).is_some_and(|it| it.text == *word))
    };
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if begins(at, &["#", "!", "[", "cfg", "(", "test", ")", "]"]) {
            return Vec::new();
        }
        if begins(at, &["#", "[", "cfg", "(", "test", ")", "]"]) {
            at = item_end(&tokens, at + 7);
        } else {
            kept.push(tokens[at]);
            at += 1;
        }
    }
    kept
}

/// Returns the end of the item that begins here: after its `;`, its braces, or a field's comma.
fn item_end(tokens: &[Token<'_>], from: usize) -> usize {
    let mut depth = 0;
    let mut keyword = None;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        let known = [
            "use", "fn", "mod", "impl", "struct", "enum", "trait", "const", "static", "type", "let",
        ];
        if depth == 0 && keyword.is_none() && known.contains(&token.text) {
            keyword = Some(token.text);
        }
        match token.text {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" if depth == 0 => return at,
            "}" | ")" | "]" => {
                depth -= 1;
                let is_body = token.text == "}"
                    && !matches!(keyword, Some("use" | "let" | "const" | "static"));
                if depth == 0 && is_body {
                    return at + 1;
                }
            }
            ";" if depth == 0 => return at + 1,
            "," if depth == 0 && keyword.is_none() => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

/// Reads the tree of a `use` after the keyword, up to its `;`.
fn read_use(tokens: &[Token<'_>], from: usize, uses: &mut Vec<Use>) -> usize {
    let mut prefixes: Vec<usize> = Vec::new();
    let mut path: Vec<String> = Vec::new();
    let mut name: Option<Option<String>> = None;
    let mut line = 0;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        match token.text {
            "{" => prefixes.push(path.len()),
            "," | "}" | ";" => {
                if let Some(name) = name.take() {
                    uses.push(Use { line, path: path.clone(), name });
                }
                path.truncate(prefixes.last().copied().unwrap_or(0));
                if token.text == "}" {
                    prefixes.pop();
                }
                if token.text == ";" {
                    return at + 1;
                }
            }
            "*" => (name, line) = (Some(None), token.line),
            "as" | "::" => {}
            // `a::{self}` brings in `a`.
            "self" if !path.is_empty() => (name, line) = (Some(path.last().cloned()), token.line),
            text if tokens[at - 1].text == "as" => name = Some(Some(text.to_string())),
            text => {
                path.push(text.to_string());
                (name, line) = (Some(Some(text.to_string())), token.line);
            }
        }
    }
    tokens.len()
}

/// Reads a path if one begins here; otherwise passes one token.
fn read_path(tokens: &[Token<'_>], from: usize, paths: &mut Vec<(usize, Vec<String>)>) -> usize {
    let is_part = from > 0 && ["::", "."].contains(&tokens[from - 1].text);
    let mut path = Vec::new();
    let mut at = from;
    while tokens.get(at).is_some_and(Token::is_name) {
        path.push(tokens[at].text.to_string());
        at += 1;
        match tokens.get(at) {
            Some(token) if token.text == "::" => at += 1,
            _ => break,
        }
    }
    if path.len() > 1 && !is_part {
        paths.push((tokens[from].line, path));
    }
    at.max(from + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(text: &str) -> Vec<String> {
        let uses = scan(text).uses.into_iter();
        uses.map(|it| {
            let name = it.name.unwrap_or_else(|| "*".to_string());
            format!("{} {} {name}", it.line, it.path.join("::"))
        })
        .collect()
    }

    #[test]
    fn a_tree_of_names_is_one_use_for_each() {
        let text =
            "pub(crate) use crate::a::{\n    self, b::{C, D as E},\n    f::*,\n};\nuse super::g;\n";
        assert_eq!(
            uses(text),
            [
                "2 crate::a a",
                "2 crate::a::b::C C",
                "2 crate::a::b::D E",
                "3 crate::a::f *",
                "5 super::g g",
            ]
        );
        assert_eq!(uses("use a;\n#[rustfmt::skip]\nuse b::{c};"), ["1 a a", "3 b::c c"]);
        assert_eq!(uses("fn f() -> impl Iterator<Item = u8> + use<'_> { it }"), [""; 0]);
    }

    #[test]
    fn comments_literals_and_tests_have_no_imports() {
        let text = "// use a::b;\n/* use c::d; */ let x = \"use e::f; \\\" g::h\"; let y = '\"'; i::j();\n";
        assert_eq!(scan(text).paths, [(2, vec!["i".to_string(), "j".to_string()])]);
        assert_eq!(scan("let x = r#\"a::b \"c\" \"#; fn f<'a>(x: &'a str) {}"), Scanned::default());
        let text = "#[cfg(test)]\nmod tests {\n  use a::b;\n  fn f() { c::d() }\n}\n#[cfg(test)]\nmod testing;\n\
                    #[cfg(test)]\nuse e::{f, g};\nmod h;\n";
        let saw = scan(text);
        assert_eq!((saw.modules, saw.uses, saw.paths), (vec!["h".to_string()], vec![], vec![]));
        let text = "struct A {\n #[cfg(test)]\n b: c::D,\n e: f::G,\n}\n#[cfg(test)]\nfn h<I, J>() { k::l() }\n";
        assert_eq!(scan(text).paths, [(4, vec!["f".to_string(), "G".to_string()])]);
        assert_eq!(scan("#![cfg(test)]\nuse a::b;"), Scanned::default());
    }

    #[test]
    fn paths_in_code_are_found_once() {
        let saw = scan("fn f(x: crate::a::B) -> super::C { x.d::<E>(self::f::G::new) }");
        let saw: Vec<String> = saw.paths.into_iter().map(|(_, path)| path.join("::")).collect();
        assert_eq!(saw, ["crate::a::B", "super::C", "self::f::G::new"]);
    }
}
