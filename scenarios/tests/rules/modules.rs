//! Every Rust file is part of a program. A file that no `mod` names is not built, without a warning: its tests would
//! never run, and nothing would fail.

use super::text::{File, Kind, split_comment};

/// Folders in which Cargo considers each file a program of its own.
const OF_PROGRAMS: [&str; 4] = ["tests", "benches", "examples", "bin"];

/// Returns the files that are not built.
pub(crate) fn unbuilt(files: &[File]) -> Vec<String> {
    let rust: Vec<&File> = files.iter().filter(|file| file.kind() == Kind::Rust).collect();
    let by_path: Vec<&File> =
        rust.iter().copied().filter(|file| file.text.contains("#[path")).collect();
    let is_built = |file: &File| is_root(&file.path) || is_named(file, &rust, &by_path);
    let unbuilt = rust.iter().filter(|file| !is_built(file));
    unbuilt.map(|file| format!("{}: no `mod` names it, so no build has it", file.path)).collect()
}

/// Returns true if Cargo finds the file by itself.
fn is_root(path: &str) -> bool {
    let (folder, name) = parted(path);
    let (above, last) = parted(folder);
    match name {
        "lib.rs" | "main.rs" if last == "src" => true,
        "build.rs" => !folder.contains("/src") && !folder.contains("/tests"),
        "main.rs" => OF_PROGRAMS.contains(&parted(above).1),
        _ => OF_PROGRAMS.contains(&last),
    }
}

/// Returns true if a file that could be its parent declares the module, or a file that names modules by path does.
fn is_named(file: &File, rust: &[&File], by_path: &[&File]) -> bool {
    let (folder, name) = parted(&file.path);
    let (folder, module) = match name {
        "mod.rs" => parted(folder),
        _ => (folder, name.trim_end_matches(".rs")),
    };
    let in_folder = |parent: &str| {
        let (of, name) = parted(parent);
        let roots = ["mod.rs", "lib.rs", "main.rs"];
        of == folder && (roots.contains(&name) || OF_PROGRAMS.contains(&parted(folder).1))
    };
    let beside = format!("{folder}.rs");
    let by_place = |parent: &str| in_folder(parent) || parent == beside;
    let says = |parent: &File| {
        parent.text.lines().map(|line| split_comment(line).0).any(|line| {
            let declared = line.trim().trim_end_matches(';').split(' ').rev();
            let is_module = declared.take(2).eq([module, "mod"]);
            is_module && by_place(&parent.path)
                || path_of(line, parted(&parent.path).0).is_some_and(|path| path == file.path)
        })
    };
    let placed = rust.iter().filter(|parent| by_place(&parent.path));
    placed.chain(by_path).any(|parent| parent.path != file.path && says(parent))
}

/// Returns the file that a line `#[path = "…"]` in a file of `folder` names.
fn path_of(line: &str, folder: &str) -> Option<String> {
    let path = line.trim().strip_prefix("#[path = \"")?.strip_suffix("\"]")?;
    let mut parts: Vec<&str> = folder.split('/').collect();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Splits a path into its folder and its last part.
fn parted(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> Vec<String> {
        unbuilt(&files.iter().map(|(path, text)| File::new(path, text)).collect::<Vec<_>>())
    }

    #[test]
    fn what_no_mod_names_is_told() {
        let main = ("a/tests/sweeps/main.rs", "mod one;\n// mod two;\nmod three_and_more;\n");
        let files = ["one", "two", "three"].map(|name| format!("a/tests/sweeps/{name}.rs"));
        let [one, two, three] = files.each_ref().map(|path| (path.as_str(), ""));
        assert_eq!(
            of(&[main, one, two, three]),
            ["two", "three"].map(|name| format!(
                "a/tests/sweeps/{name}.rs: no `mod` names it, so no build has it"
            ))
        );
        // A `mod` in another folder does not name this file.
        let elsewhere = ("a/tests/users/main.rs", "mod two;\n");
        assert_eq!(of(&[elsewhere, two]).len(), 1);
        assert_eq!(of(&[("a/src/lib.rs", "mod b;\n"), ("a/src/b/c.rs", "mod c;\n")]).len(), 1);
        assert_eq!(of(&[("a/src/lib.rs", ""), ("a/src/b/mod.rs", "")]).len(), 1);
        assert_eq!(of(&[("a/src/lib.rs", ""), ("a/src/main/b.rs", "")]).len(), 1);
    }

    #[test]
    fn what_cargo_or_a_parent_names_is_built() {
        let none: [&str; 0] = [];
        let of_cargo =
            ["src/lib.rs", "src/main.rs", "tests/b.rs", "tests/b/main.rs", "benches/b.rs"];
        let of_cargo = of_cargo.map(|path| format!("a/{path}"));
        assert_eq!(of(&of_cargo.each_ref().map(|path| (path.as_str(), ""))), none);
        let parent = ("a/src/b/mod.rs", "pub(crate) mod c;\nmod d; // why\n");
        let children = [("a/src/b/c.rs", ""), ("a/src/b/d/mod.rs", "")];
        assert_eq!(of(&[("a/src/lib.rs", "pub mod b;"), parent, children[0], children[1]]), none);
        assert_eq!(of(&[("a/src/b.rs", "mod c;"), ("a/src/lib.rs", "mod b;"), children[0]]), none);
        let shared = [("a/tests/b.rs", "mod support;\n"), ("a/tests/support/mod.rs", "")];
        assert_eq!(of(&shared), none);
        let by_path = ("a/tests/b.rs", "#[path = \"b/c.rs\"]\nmod d;\n");
        assert_eq!(of(&[by_path, ("a/tests/b/c.rs", "")]), none);
        let above = ("a/tests/b/main.rs", "#[path = \"../d/mod.rs\"]\nmod d;\n");
        assert_eq!(of(&[above, ("a/tests/d/mod.rs", "")]), none);
        assert_eq!(of(&[above, ("a/tests/d/e/mod.rs", ""), ("b/tests/d/mod.rs", "")]).len(), 2);
    }
}
