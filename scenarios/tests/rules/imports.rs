//! Imports between modules: which file uses which, imports of higher crates and layers, and cycles.
//!
//! A module imports another one if a `use` or a path in its code leads there, through any re-exports. Imports between
//! a module and its ancestors or descendants in the folder tree do not count: a folder and its files are one unit.

use crate::scan::{Scanned, Use, scan};
use crate::text::File;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A module: its crate's folder, then the names of the modules on the path to it.
pub(crate) type Key = Vec<String>;

/// All modules of some crates, without tests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Modules {
    modules: BTreeMap<Key, Module>,
    /// The folder of each crate, by the name that other crates use.
    crates: BTreeMap<String, String>,
}

#[derive(Clone, Debug)]
struct Module {
    file: String,
    scanned: Scanned,
}

/// An import.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Arrow {
    pub(crate) from: Key,
    pub(crate) to: Key,
    /// File and line.
    pub(crate) place: String,
}

/// An import that breaks the rules and is accepted, with its reason.
pub(crate) struct Known {
    pub(crate) from: &'static str,
    pub(crate) to: &'static str,
    pub(crate) why: &'static str,
}

/// The target of a path.
struct Found {
    module: Key,
    /// True if the path leads to an item of the module, not to the module itself.
    is_item: bool,
}

impl Modules {
    /// Reads the modules of crates, from each crate's `lib.rs`. A crate is given as its folder and the name that
    /// other crates use.
    pub(crate) fn read(files: &[File], crates: &[(&str, &str)]) -> Modules {
        let texts: BTreeMap<&str, &str> =
            files.iter().map(|file| (file.path.as_str(), file.text.as_str())).collect();
        let mut read = Modules::default();
        for (folder, name) in crates {
            read.crates.insert((*name).to_string(), (*folder).to_string());
            let mut open = vec![(vec![(*folder).to_string()], format!("{folder}/src/lib.rs"))];
            while let Some((key, file)) = open.pop() {
                let Some(text) = texts.get(file.as_str()) else { continue };
                let scanned = scan(text);
                for child in &scanned.modules {
                    let below: Key = key.iter().cloned().chain([child.clone()]).collect();
                    let path = format!("{folder}/src/{}", below[1..].join("/"));
                    let paths = [format!("{path}.rs"), format!("{path}/mod.rs")];
                    open.extend(paths.into_iter().map(|path| (below.clone(), path)));
                }
                read.modules.insert(key, Module { file, scanned });
            }
        }
        read
    }

    pub(crate) fn count(&self) -> usize {
        self.modules.len()
    }

    /// Returns the modules directly below a crate's root.
    pub(crate) fn top(&self, folder: &str) -> BTreeSet<&str> {
        let of_crate = self.modules.keys().filter(|key| key.len() == 2 && key[0] == folder);
        of_crate.map(|key| key[1].as_str()).collect()
    }

    /// Returns all imports, except those between a module and its ancestors or descendants.
    pub(crate) fn arrows(&self) -> Vec<Arrow> {
        let mut arrows = BTreeSet::new();
        for (from, Module { file, scanned }) in &self.modules {
            let uses = scanned.uses.iter().map(|it| (it.line, &it.path));
            let paths = scanned.paths.iter().map(|(line, path)| (*line, path));
            for (line, path) in uses.chain(paths) {
                let Some(Found { module: to, .. }) = self.resolve(from, path, 0) else { continue };
                if !from.starts_with(&to) && !to.starts_with(from) {
                    arrows.insert(Arrow {
                        from: from.clone(),
                        to,
                        place: format!("{file}:{line}"),
                    });
                }
            }
        }
        arrows.into_iter().collect()
    }

    /// Returns the target of a path in a module; `None` if it is outside of these crates or a local name.
    fn resolve(&self, from: &Key, path: &[String], depth: usize) -> Option<Found> {
        if depth > 10 {
            return None;
        }
        let first = path.first()?.as_str();
        let (start, passed) = match first {
            "crate" => (from[..1].to_vec(), 1),
            "self" => (from.clone(), 1),
            "super" => {
                let count = path.iter().take_while(|part| *part == "super").count();
                (from[..from.len().checked_sub(count)?].to_vec(), count)
            }
            _ => match self.crates.get(first) {
                Some(folder) => (vec![folder.clone()], 1),
                None => return self.walk(self.step(from, path, depth)?, &path[1..], depth),
            },
        };
        let start = self.modules.contains_key(&start).then_some(start)?;
        self.walk(Found { module: start, is_item: false }, &path[passed..], depth)
    }

    fn walk(&self, start: Found, path: &[String], depth: usize) -> Option<Found> {
        let mut found = start;
        for at in 0..path.len() {
            if found.is_item {
                break;
            }
            found = match self.step(&found.module, &path[at..], depth) {
                Some(next) => next,
                None => Found { is_item: true, ..found },
            };
        }
        Some(found)
    }

    /// Resolves the first part of a path in a module: a child, or a name that a `use` has brought in.
    fn step(&self, module: &Key, path: &[String], depth: usize) -> Option<Found> {
        let name = path.first()?;
        let child: Key = module.iter().cloned().chain([name.clone()]).collect();
        if self.modules.contains_key(&child) {
            return Some(Found { module: child, is_item: false });
        }
        let uses = &self.modules.get(module)?.scanned.uses;
        // `use a::a;` does not resolve to itself.
        let is_other = |it: &&Use| it.name.as_ref() == Some(name) && it.path.first() != Some(name);
        if let Some(it) = uses.iter().find(is_other) {
            return self.resolve(module, &it.path, depth + 1);
        }
        let globs = uses.iter().filter(|it| it.name.is_none() && it.path.first() != Some(name));
        globs.into_iter().find_map(|it| {
            let Found { module, .. } = self.resolve(module, &it.path, depth + 1)?;
            self.step(&module, &path[..1], depth + 1)
        })
    }
}

/// Returns a key in the form `model::tree`.
pub(crate) fn spelled(key: &[String]) -> String {
    key.join("::")
}

impl Known {
    fn fits(&self, arrow: &Arrow) -> bool {
        let within = |key: &Key, name: &str| {
            let rest = spelled(key);
            rest.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        within(&arrow.from, self.from) && within(&arrow.to, self.to)
    }
}

/// Returns the imports without the accepted ones; and, as mistakes, accepted ones without an import or a reason.
pub(crate) fn without_known(arrows: Vec<Arrow>, known: &[Known]) -> (Vec<Arrow>, Vec<String>) {
    let stale =
        known.iter().filter(|it| !arrows.iter().any(|arrow| it.fits(arrow)) || it.why.is_empty());
    let stale = stale.map(|it| {
        format!(
            "`{}` does not import `{}`, or no reason is given: strike it from the known imports",
            it.from, it.to
        )
    });
    let stale = stale.collect();
    (arrows.into_iter().filter(|arrow| !known.iter().any(|it| it.fits(arrow))).collect(), stale)
}

/// Returns cycles of imports among the modules of one folder, one cycle of each set of modules.
pub(crate) fn circles(arrows: &[Arrow]) -> Vec<String> {
    let mut folders: BTreeMap<&[String], BTreeMap<(&str, &str), &Arrow>> = BTreeMap::new();
    for arrow in arrows {
        let common = arrow.from.iter().zip(&arrow.to).take_while(|(from, to)| from == to).count();
        if common > 0 {
            let [from, to] = [&arrow.from, &arrow.to].map(|key| key[common].as_str());
            folders.entry(&arrow.from[..common]).or_default().entry((from, to)).or_insert(arrow);
        }
    }
    let mut circles = Vec::new();
    for (folder, imports) in folders {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        for (from, to) in imports.keys() {
            let Some(way) = shortest(&imports, to, from).filter(|_| !seen.contains(from)) else {
                continue;
            };
            seen.extend(&way);
            let steps = [*from].into_iter().chain(way.iter().copied());
            let steps: Vec<&str> = steps.collect();
            let told = steps.windows(2).map(|pair| {
                let arrow = imports[&(pair[0], pair[1])];
                format!("{} → {} ({})", pair[0], pair[1], arrow.place)
            });
            circles.push(format!(
                "{}: a circle: {}",
                spelled(folder),
                told.collect::<Vec<_>>().join(", ")
            ));
        }
    }
    circles
}

/// Returns the shortest path from one module of a folder to another, both included.
fn shortest<'a>(
    imports: &BTreeMap<(&'a str, &'a str), &Arrow>,
    from: &'a str,
    to: &str,
) -> Option<Vec<&'a str>> {
    let mut before: BTreeMap<&str, &str> = BTreeMap::from([(from, from)]);
    let mut open = VecDeque::from([from]);
    while let Some(at) = open.pop_front() {
        if at == to {
            let mut way = vec![at];
            while way[way.len() - 1] != from {
                way.push(before[way[way.len() - 1]]);
            }
            way.reverse();
            return Some(way);
        }
        for (_, next) in imports.keys().filter(|(from, _)| *from == at) {
            if !before.contains_key(next) {
                before.insert(next, at);
                open.push_back(next);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRATES: [(&str, &str); 2] = [("low", "of_low"), ("high", "of_high")];

    fn read(files: &[(&str, &str)]) -> Modules {
        let files: Vec<File> = files.iter().map(|(path, text)| File::new(path, text)).collect();
        Modules::read(&files, &CRATES)
    }

    fn arrows(files: &[(&str, &str)]) -> Vec<String> {
        let spell = |it: Arrow| format!("{} → {} {}", spelled(&it.from), spelled(&it.to), it.place);
        read(files).arrows().into_iter().map(spell).collect()
    }

    #[test]
    fn an_import_leads_through_re_exports_to_the_module_that_has_the_item() {
        let root = ("low/src/lib.rs", "mod a;\nmod b;\nmod user;\npub use a::inner as shown;\n");
        let a = ("low/src/a/mod.rs", "pub mod inner;\npub use inner::One;\npub struct Own;\n");
        let inner = ("low/src/a/inner.rs", "pub struct One;\n");
        let b = ("low/src/b.rs", "use super::a::*;\n");
        let of = |text: &'static str| arrows(&[root, a, inner, b, ("low/src/user.rs", text)]);
        let through = "low::b → low::a low/src/b.rs:1";
        assert_eq!(
            of("use crate::a::{One};"),
            [through, "low::user → low::a::inner low/src/user.rs:1"]
        );
        assert_eq!(
            of("\nuse super::shown::One;"),
            [through, "low::user → low::a::inner low/src/user.rs:2"]
        );
        assert_eq!(
            of("fn f() -> crate::a::Own {}"),
            [through, "low::user → low::a low/src/user.rs:1"]
        );
        assert_eq!(of("use crate::a;\nfn f() { a::One }").len(), 3);
        assert_eq!(of("use crate::b::One;").len(), 2);
        // Names that are no modules, other crates, and the parent's own items.
        assert_eq!(
            of("use std::fmt;\nuse serde::Serialize;\nfn f() { fmt::a(Self::One) }"),
            [through]
        );
        let child = ("low/src/a/inner.rs", "use super::Own;\nuse crate::a::Own as Same;\n");
        assert_eq!(
            arrows(&[root, a, child, ("low/src/b.rs", ""), ("low/src/user.rs", "")]),
            [""; 0]
        );
    }

    #[test]
    fn an_import_of_another_crate_and_no_test_is_found() {
        let low = ("low/src/lib.rs", "pub mod a;\npub use a::One;\n");
        let a = ("low/src/a.rs", "pub struct One;\n#[cfg(test)]\nmod tests { use of_high::b; }\n");
        let high = ("high/src/lib.rs", "mod b;\n#[cfg(test)]\nmod only_in_tests;\n");
        let b = ("high/src/b.rs", "use of_low::One;\n");
        let tests = ("high/src/only_in_tests.rs", "use crate::b;\n");
        let saw = arrows(&[low, a, high, b, tests]);
        assert_eq!(saw, ["high::b → low::a high/src/b.rs:1"]);
    }

    fn three(a: &str, b: &str, c: &str) -> Vec<Arrow> {
        let root = ("low/src/lib.rs", "mod a;\nmod b;\nmod c;\n");
        read(&[root, ("low/src/a.rs", a), ("low/src/b.rs", b), ("low/src/c.rs", c)]).arrows()
    }

    #[test]
    fn a_circle_of_siblings_is_told_with_its_imports() {
        assert_eq!(circles(&three("use crate::b;", "use crate::c;", "")), [""; 0]);
        assert_eq!(
            circles(&three("use crate::b;", "use crate::c;", "use super::a;")),
            [
                "low: a circle: a → b (low/src/a.rs:1), b → c (low/src/b.rs:1), c → a (low/src/c.rs:1)"
            ]
        );
        let folder = [
            ("low/src/lib.rs", "mod a;\nmod b;\n"),
            ("low/src/a/mod.rs", "mod one;\nmod two;\nuse crate::b;\n"),
            ("low/src/a/one.rs", "use super::two;\n"),
            ("low/src/a/two.rs", "use super::one;\n"),
            // A folder is one of its parent's modules, whichever of its files is imported.
            ("low/src/b.rs", "use crate::a::two;\n"),
        ];
        let saw = circles(&read(&folder).arrows());
        assert_eq!(
            saw,
            [
                "low: a circle: a → b (low/src/a/mod.rs:3), b → a (low/src/b.rs:1)",
                "low::a: a circle: one → two (low/src/a/one.rs:1), two → one (low/src/a/two.rs:1)",
            ]
        );
    }

    #[test]
    fn a_known_import_closes_no_circle_and_must_be_there() {
        let known = |to| [Known { from: "low::c", to, why: "for the test" }];
        let circle = || three("use crate::b;", "use crate::c;", "use super::a;");
        let (rest, stale) = without_known(circle(), &known("low::a"));
        assert_eq!((circles(&rest), stale), (vec![], vec![]));
        let (rest, stale) = without_known(circle(), &known("low::b"));
        assert_eq!(circles(&rest).len(), 1);
        assert_eq!(
            stale,
            [
                "`low::c` does not import `low::b`, or no reason is given: strike it from the known imports"
            ]
        );
        let unreasoned = [Known { from: "low::c", to: "low::a", why: "" }];
        assert_eq!(without_known(circle(), &unreasoned).1.len(), 1);
    }
}
