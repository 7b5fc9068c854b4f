//! Layers: which crate may import which, and which module of a crate which other. ARCHITECTURE.md states both, in a
//! block of lines such as
//!
//! ```layers
//! model
//!     vocabulary < tree, wire < server
//! sim imports model
//!     host < run
//! ```
//!
//! A module imports only modules before a `<` to its left. Modules with commas between them import none of each other.

use crate::imports::{Arrow, Modules, spelled};
use std::collections::BTreeMap;

/// The layers that a document states for each crate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layers(BTreeMap<String, Crate>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Crate {
    imports: Vec<String>,
    /// The modules below the root, lowest layer first.
    layers: Vec<Vec<String>>,
}

impl Layers {
    /// Reads the block `layers` of a document.
    pub(crate) fn read(text: &str) -> Layers {
        let mut found = Layers::default();
        let lines = text.lines().skip_while(|line| *line != "```layers").skip(1);
        let mut name = String::new();
        for line in lines.take_while(|line| *line != "```") {
            if line.starts_with(' ') {
                let layers = &mut found.0.entry(name.clone()).or_default().layers;
                for (at, layer) in line.split('<').map(str::trim).enumerate() {
                    if at > 0 || layers.is_empty() {
                        layers.push(Vec::new());
                    }
                    let names = layer.split(',').map(str::trim).filter(|name| !name.is_empty());
                    layers.last_mut().expect("there is one").extend(names.map(str::to_string));
                }
                continue;
            }
            let (first, imports) = line.split_once(" imports ").unwrap_or((line, ""));
            name = first.trim().to_string();
            let imports = imports.split(',').map(str::trim).filter(|name| !name.is_empty());
            let imports = imports.map(str::to_string).collect();
            found.0.insert(name.clone(), Crate { imports, layers: Vec::new() });
        }
        found
    }

    /// Returns modules without a layer, and names in layers that are no modules.
    pub(crate) fn strange(&self, modules: &Modules, crates: &[(&str, &str)]) -> Vec<String> {
        let mut wrong = Vec::new();
        for (folder, _) in crates {
            let Some(Crate { layers, .. }) = self.0.get(*folder) else {
                wrong.push(format!("{folder}: no layers are stated"));
                continue;
            };
            let stated: Vec<&str> = layers.iter().flatten().map(String::as_str).collect();
            let there = modules.top(folder);
            let missing = there.iter().filter(|module| !stated.contains(module));
            wrong.extend(missing.map(|module| format!("{folder}: `{module}` is in no layer")));
            let gone = stated.iter().filter(|module| !there.contains(*module));
            wrong.extend(
                gone.map(|module| {
                    format!("{folder}: a layer names `{module}`, which is not there")
                }),
            );
        }
        wrong
    }

    /// Returns imports that lead up, or to the same layer.
    pub(crate) fn up(&self, arrows: &[Arrow]) -> Vec<String> {
        let wrong = arrows.iter().filter(|arrow| !self.allows(arrow));
        let told = wrong.map(|Arrow { from, to, place }| {
            format!(
                "{place}: `{}` may not import `{}`, which is no layer below it",
                spelled(from),
                spelled(to)
            )
        });
        told.collect()
    }

    fn allows(&self, Arrow { from, to, .. }: &Arrow) -> bool {
        let Some(of) = self.0.get(&from[0]) else { return false };
        if from[0] != to[0] {
            return of.imports.contains(&to[0]);
        }
        let layer = |key: &[String]| {
            of.layers.iter().position(|layer| layer.contains(&key[1])).unwrap_or(usize::MAX)
        };
        from[1] == to[1] || layer(to) < layer(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::File;

    const CRATES: [(&str, &str); 2] = [("low", "of_low"), ("high", "of_high")];

    const STATED: &str =
        "# Map\n```layers\nlow\n    a < b, c\n    < d\nhigh imports low\n    e\n```\n    x < y\n";

    fn wrong(file: &str, text: &str) -> (Vec<String>, Vec<String>) {
        let mut files = vec![
            File::new("low/src/lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\n"),
            File::new("high/src/lib.rs", "pub mod e;\n"),
        ];
        for path in
            ["low/src/a.rs", "low/src/b.rs", "low/src/c.rs", "low/src/d.rs", "high/src/e.rs"]
        {
            files.push(File::new(path, if path == file { text } else { "" }));
        }
        let modules = Modules::read(&files, &CRATES);
        let layers = Layers::read(STATED);
        (layers.strange(&modules, &CRATES), layers.up(&modules.arrows()))
    }

    #[test]
    fn an_arrow_up_or_aside_is_told() {
        let none: [&str; 0] = [];
        assert_eq!(wrong("low/src/d.rs", "use crate::{a, b, c};"), (vec![], vec![]));
        assert_eq!(wrong("high/src/e.rs", "use of_low::a;").1, none);
        let (_, saw) = wrong("low/src/a.rs", "\nuse crate::d;");
        assert_eq!(
            saw,
            ["low/src/a.rs:2: `low::a` may not import `low::d`, which is no layer below it"]
        );
        let (_, saw) = wrong("low/src/b.rs", "fn f(x: super::c::X) {}");
        assert_eq!(
            saw,
            ["low/src/b.rs:1: `low::b` may not import `low::c`, which is no layer below it"]
        );
        let (_, saw) = wrong("low/src/d.rs", "use of_high::e;");
        assert_eq!(
            saw,
            ["low/src/d.rs:1: `low::d` may not import `high::e`, which is no layer below it"]
        );
    }

    #[test]
    fn a_module_without_a_layer_is_told() {
        let layers = Layers::read("```layers\nlow\n    a < gone\n```\n");
        let files = [File::new("low/src/lib.rs", "mod a;\nmod b;\n")];
        let files = files
            .into_iter()
            .chain(["a", "b"].map(|it| File::new(&format!("low/src/{it}.rs"), "")));
        let modules = Modules::read(&files.collect::<Vec<_>>(), &CRATES);
        assert_eq!(
            layers.strange(&modules, &CRATES),
            [
                "low: `b` is in no layer",
                "low: a layer names `gone`, which is not there",
                "high: no layers are stated",
            ]
        );
    }
}
