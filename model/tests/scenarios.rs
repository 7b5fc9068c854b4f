//! The server protocol, told as scenarios: each file of `scenarios/` is a story with commands and the outcome that
//! ZooKeeper's rules demand.
//!
//! ```text
//! # Prose: what happens, and which rule it shows.
//!
//! ensemble servers=3
//! run until serving
//! ----
//! server 3 leads (round 1)
//! ...
//! ```
//!
//! Lines with `#` are prose. A block consists of commands, a line `----`, and their expected output, up to the next
//! empty line. The commands are the functions of `scenarios/console.rs` and `scenarios/faults.rs`, listed in
//! `COMMANDS` of the former. A run is deterministic: due steps are taken in the order in which they became due,
//! except those that the story holds back.
//!
//! A mismatch prints both outputs. `UPDATE_SCENARIOS=1 cargo test -p vivarium-zk-model --test scenarios` writes the
//! actual output into the files: read the difference before you commit it. `SCENARIO=<part of a name>` runs only some
//! files.

mod support;

#[path = "scenarios/console.rs"]
mod console;
#[path = "scenarios/faults.rs"]
mod faults;
#[path = "scenarios/puppets.rs"]
mod puppets;
#[path = "scenarios/render.rs"]
mod render;

use console::Console;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// One block of a file.
struct Block<'a> {
    /// The lines up to and including `----`.
    head: Vec<&'a str>,
    expected: String,
    line: usize,
}

/// Returns the file as it would be if every expectation were met, and the mismatches.
fn run_file(text: &str) -> (String, Vec<String>) {
    let (mut console, mut written, mut mismatches) = (Console::default(), String::new(), vec![]);
    for block in blocks(text) {
        let commands = block.head.iter().filter(|line| !line.starts_with('#') && **line != "----");
        let commands: Vec<&str> = commands.copied().collect();
        let mut actual = String::new();
        for command in commands.into_iter().filter(|command| !command.trim().is_empty()) {
            actual += &console.run(command).unwrap_or_else(|error| format!("{error} (ERROR)\n"));
        }
        if actual != block.expected {
            let expected = &block.expected;
            let line = block.line;
            mismatches.push(format!("line {line}\nexpected:\n{expected}actual:\n{actual}"));
        }
        for line in block.head {
            writeln!(written, "{line}").expect("a string takes it");
        }
        writeln!(written, "{actual}").expect("a string takes it");
    }
    (format!("{}\n", written.trim_end()), mismatches)
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let (mut head, mut expects) = (Vec::new(), false);
    for (at, line) in text.lines().enumerate() {
        if expects && line.is_empty() {
            expects = false;
        } else if expects {
            let block = blocks.last_mut().expect("an expectation has a block");
            block.expected += &format!("{line}\n");
        } else {
            head.push(line);
            if line == "----" {
                let head = std::mem::take(&mut head);
                blocks.push(Block { head, expected: String::new(), line: at + 1 });
                expects = true;
            }
        }
    }
    let rest = head.iter().all(|line| line.trim().is_empty());
    assert!(rest, "commands without a `----` behind them: {head:?}");
    blocks
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let wanted = std::env::var("SCENARIO").unwrap_or_default();
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|it| it == "txt"))
        .filter(|path| path.to_string_lossy().contains(&wanted))
        .collect();
    paths.sort();
    paths
}

#[test]
fn every_story_ends_as_told() {
    let update = std::env::var_os("UPDATE_SCENARIOS").is_some();
    let mut failures = String::new();
    let files = files();
    assert!(!files.is_empty(), "no scenario was found");
    for file in files {
        let text = std::fs::read_to_string(&file).expect("it is text");
        let (written, mismatches) = run_file(&text);
        if update && written != text {
            std::fs::write(&file, written).expect("it can be written");
        } else {
            let name = file.file_name().expect("a file has a name").to_string_lossy();
            for mismatch in mismatches {
                failures += &format!("\n{name}, {mismatch}");
            }
        }
    }
    assert!(failures.is_empty(), "{failures}\nUPDATE_SCENARIOS=1 writes what was said");
}

#[test]
fn a_wrong_expectation_is_noticed_and_rewritten() {
    let text = "# A story.\n\nensemble servers=1\n----\nnonsense\n\nstate\n----\n";
    let (written, mismatches) = run_file(text);
    assert_eq!(mismatches.len(), 2);
    assert!(!written.contains("nonsense"));
    let (again, mismatches) = run_file(&written);
    assert_eq!(again, written);
    assert_eq!(mismatches, Vec::<String>::new());
}

#[test]
fn a_command_that_makes_no_sense_says_so() {
    let mut console = Console::default();
    assert_eq!(console.run("state"), Err("no ensemble yet".into()));
    console.run("ensemble servers=1").expect("it starts");
    assert_eq!(console.run("dance"), Err("no such command: dance".into()));
    assert_eq!(console.run("crash 7"), Err("no server 7".into()));
    assert_eq!(console.run("step fsync 1"), Err("nothing of the kind is due: fsync 1".into()));
}
