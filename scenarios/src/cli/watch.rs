//! `vivarium watch`: runs a command again whenever a source file changes.

use super::arguments::WatchArguments;
use super::output::to_stderr;
use notify::{Event, RecursiveMode, Watcher};
use std::fmt;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use vivarium_reports::numbers::span;

/// Changes within this time of each other are one: an editor writes several files, and some twice.
const QUIET: Duration = Duration::from_millis(300);

/// The command by default. Tests replay their regression cases first.
const COMMAND: [&str; 2] = ["cargo", "test"];

/// Runs the command at once and after each change, until the process is ended. Returns only if it cannot watch.
pub(super) fn watch(arguments: &WatchArguments) -> Result<u8, String> {
    let given = &arguments.folder;
    let unwatched =
        |why: &dyn fmt::Display| format!("`{}` cannot be watched: {why}", given.display());
    // The paths of changes begin with the folder that is watched, which may itself be below one named `target`.
    let folder = given.canonicalize().map_err(|error| unwatched(&error))?;
    let (sender, changes) = channel();
    let root = folder.clone();
    let tell = move |event: notify::Result<Event>| {
        if event.is_ok_and(|event| is_change(&event, &root)) {
            // The receiver is gone only when the process ends.
            let _ = sender.send(());
        }
    };
    let mut watcher = notify::recommended_watcher(tell).map_err(|error| unwatched(&error))?;
    let watched = watcher.watch(&folder, RecursiveMode::Recursive);
    watched.map_err(|error| unwatched(&error))?;
    let words = match &arguments.command[..] {
        [] => COMMAND.map(str::to_string).to_vec(),
        words => words.to_vec(),
    };
    loop {
        run(&words)?;
        to_stderr(&format!("watching {} until Ctrl-C", given.display()));
        if !next_change(&changes) {
            return Err("the watch has ended".to_string());
        }
    }
}

/// Waits for a change, and until nothing has changed for a while. Returns false if no change can come any more.
fn next_change(changes: &Receiver<()>) -> bool {
    if changes.recv().is_err() {
        return false;
    }
    loop {
        match changes.recv_timeout(QUIET) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
}

/// Runs the command, and says how it ended.
fn run(words: &[String]) -> Result<(), String> {
    let (program, arguments) = words.split_first().expect("there is a command");
    let command = words.join(" ");
    to_stderr(&format!("running `{command}`"));
    let begun = Instant::now();
    let status = Command::new(program)
        .args(arguments)
        .status()
        .map_err(|error| format!("`{command}` cannot be run: {error}"))?;
    let took = span(begun.elapsed());
    match status.success() {
        true => to_stderr(&format!("`{command}` succeeded in {took}")),
        false => to_stderr(&format!("`{command}` failed ({status}) in {took}")),
    }
    Ok(())
}

/// Returns true if a source file changed: not what builds and tests write.
fn is_change(event: &Event, root: &Path) -> bool {
    let within = |path: &Path| is_source(path.strip_prefix(root).unwrap_or(path));
    !event.kind.is_access() && event.paths.iter().any(|path| within(path))
}

fn is_source(path: &Path) -> bool {
    let is_known =
        path.extension().is_some_and(|extension| extension == "rs" || extension == "toml");
    is_known && !path.components().any(|part| part.as_os_str() == "target")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_builds_and_tests_write_is_no_change() {
        for path in ["src/lib.rs", "Cargo.toml", "a/b/c.rs"] {
            assert!(is_source(Path::new(path)), "{path}");
        }
        for path in
            ["target/debug/build/a/out/b.rs", "vivarium-regressions/a.json", "README.md", "src"]
        {
            assert!(!is_source(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn changes_in_a_row_are_one() {
        let (sender, changes) = channel();
        for _ in 0..5 {
            sender.send(()).expect("there is a receiver");
        }
        assert!(next_change(&changes));
        drop(sender);
        assert!(!next_change(&changes), "there was only one");
    }
}
