//! Reads strace's record of a server's files: which were changed, and which changes an fsync has covered since.
//!
//! Positions in the trace are line numbers. A call that is interrupted by another thread's line has two positions,
//! because it is printed in two parts.

use std::collections::BTreeMap;
use std::path::Path;

/// strace's filter: all calls by which a server changes its files or makes the system write them to disk. Calls with a
/// question mark do not exist on every machine.
pub(super) const CALLS: &str = "trace=?open,openat,?creat,write,pwrite64,writev,pwritev,pwritev2,ftruncate,truncate,\
                                fallocate,?unlink,unlinkat,?rename,renameat,renameat2,fsync,fdatasync";

/// A successful call.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Event {
    call: Call,
    begins: usize,
    ends: usize,
}

/// The effect of a call on the file with this path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Call {
    /// Writes to the file, truncates it, or creates it.
    Changes(String),
    /// Removes the file from its directory.
    Removes(String),
    /// Renames the file.
    Renames { from: String, to: String },
    /// Writes the file to disk; for a directory, its entries.
    Syncs(String),
}

/// A whole trace.
#[derive(Clone, Debug, Default)]
pub(super) struct DiskTrace {
    events: Vec<Event>,
    is_whole: bool,
}

/// The changes of a file since a position in the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// The number of changes that an fsync may have covered, because it ended after they began.
    pub(super) covered: usize,
    /// The number of changes after the last fsync.
    pub(super) open: usize,
}

/// A file that was renamed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Renamed {
    pub(super) from: String,
    pub(super) to: String,
    /// Whether an fsync of the directory may have covered the rename, because it ended after the rename began.
    pub(super) is_covered: bool,
}

impl DiskTrace {
    /// Parses the output of strace with `-f -y`.
    pub(super) fn read(text: &str) -> DiskTrace {
        let mut trace = DiskTrace::default();
        // The unfinished call of each thread, and its line.
        let mut begun: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
        for (line, words) in text.lines().enumerate() {
            let Some((thread, said)) = words.split_once(' ') else { continue };
            let said = said.trim_start();
            if said.starts_with("+++ killed by SIGKILL") {
                trace.is_whole = true;
            } else if let Some(head) = said.strip_suffix("<unfinished ...>") {
                begun.insert(thread, (head, line));
            } else if let Some(tail) = said.strip_prefix("<... ") {
                let Some((head, begins)) = begun.remove(thread) else { continue };
                let tail = tail.split_once("resumed>").map_or("", |(_, tail)| tail);
                trace.note(&format!("{head}{tail}"), begins, line);
            } else {
                trace.note(said, line, line);
            }
        }
        trace
    }

    fn note(&mut self, said: &str, begins: usize, ends: usize) {
        if let Some(call) = call(said) {
            self.events.push(Event { call, begins, ends });
        }
    }

    /// Returns true if the trace extends to the end of the process by SIGKILL.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Returns the changes after a line of the file that has this path in the end.
    pub(super) fn changes(&self, path: &Path, since: usize) -> Changes {
        let mut name = path.to_string_lossy().into_owned();
        let directory = path.parent().map(|parent| parent.to_string_lossy().into_owned());
        let (mut begun, mut last_sync) = (Vec::new(), None);
        // Backwards, because the file may have had another name before.
        for event in self.events.iter().rev().filter(|event| event.ends >= since) {
            match &event.call {
                Call::Syncs(synced) if *synced == name || Some(synced) == directory.as_ref() => {
                    last_sync = last_sync.max(Some(event.ends));
                }
                Call::Changes(changed) | Call::Removes(changed) if *changed == name => {
                    begun.push(event.begins);
                }
                Call::Renames { from, to } if *to == name => name.clone_from(from),
                _ => {}
            }
        }
        let covered = begun.iter().filter(|begun| last_sync > Some(**begun)).count();
        Changes { covered, open: begun.len() - covered }
    }

    /// Returns the renames in a directory after a line, in order.
    pub(super) fn renamed(&self, directory: &Path, since: usize) -> Vec<Renamed> {
        let events = || self.events.iter().filter(|event| event.ends >= since);
        let is_sync =
            |call: &Call| matches!(call, Call::Syncs(path) if Path::new(path) == directory);
        let last_sync = events().filter(|event| is_sync(&event.call)).map(|event| event.ends).max();
        let renamed = events().filter_map(|event| match &event.call {
            Call::Renames { from, to } if Path::new(to).parent() == Some(directory) => {
                let is_covered = last_sync > Some(event.begins);
                Some(Renamed { from: from.clone(), to: to.clone(), is_covered })
            }
            _ => None,
        });
        renamed.collect()
    }
}

/// Returns the effect of a call that succeeded and concerns a file.
fn call(said: &str) -> Option<Call> {
    let (name, rest) = said.split_once('(')?;
    let (arguments, result) = rest.rsplit_once(" = ")?;
    let number: String = result.chars().take_while(char::is_ascii_digit).collect();
    if number.is_empty() {
        return None;
    }
    Some(match name {
        "fsync" | "fdatasync" => Call::Syncs(described(arguments)?),
        "open" | "openat" | "creat" => {
            let is_emptied = name == "creat" || arguments.contains("O_TRUNC");
            is_emptied.then_some(())?;
            Call::Changes(described(result)?)
        }
        "unlink" | "unlinkat" => Call::Removes(quoted(arguments).next()?),
        "truncate" => Call::Changes(quoted(arguments).next()?),
        "rename" | "renameat" | "renameat2" => {
            let mut paths = quoted(arguments);
            Call::Renames { from: paths.next()?, to: paths.next()? }
        }
        _ => Call::Changes(described(arguments)?),
    })
}

/// Returns the path in a file descriptor: `5</a/file>`. Sockets and pipes have none.
fn described(words: &str) -> Option<String> {
    let (_, path) = words.split_once('<')?;
    let (path, _) = path.split_once('>')?;
    path.starts_with('/').then(|| path.to_owned())
}

/// Returns the paths among a call's arguments.
fn quoted(arguments: &str) -> impl Iterator<Item = String> {
    arguments.split('"').skip(1).step_by(2).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(lines: &[&str], path: &str, since: usize) -> (usize, usize) {
        let Changes { covered, open } =
            DiskTrace::read(&lines.join("\n")).changes(Path::new(path), since);
        (covered, open)
    }

    #[test]
    fn what_is_behind_the_last_fsync_is_open() {
        let lines = [
            "7 write(3</d/log>, \"\"..., 10) = 10",
            "7 fdatasync(3</d/log>) = 0 (DELAYED)",
            "7 ftruncate(3</d/log>, 5) = 0",
            "7 write(4<TCP:[127.0.0.1:1->127.0.0.1:2]>, \"\"..., 10) = 10",
            "7 fdatasync(3</d/log>) = ?",
            "7 +++ killed by SIGKILL +++",
        ];
        assert_eq!(changes(&lines, "/d/log", 0), (1, 1));
        assert_eq!(changes(&lines, "/d/log", 1), (0, 1));
        assert_eq!(changes(&lines, "/d/other", 0), (0, 0));
        assert!(DiskTrace::read(&lines.join("\n")).is_whole());
        assert!(!DiskTrace::read(&lines[..5].join("\n")).is_whole());
    }

    #[test]
    fn a_call_that_others_fall_into_begins_and_ends() {
        let lines = [
            "7 fdatasync(3</d/log> <unfinished ...>",
            "8 write(3</d/log>, \"\"..., 10) = 10",
            "7 <... fdatasync resumed>) = 0",
            "8 write(3</d/log>, \"\"..., 10 <unfinished ...>",
            "7 fdatasync(3</d/log>) = 0",
            "8 <... write resumed>) = 10",
            "8 write(3</d/log>, \"\"..., 10) = -1 ENOSPC (No space left on device)",
        ];
        // An fsync may cover what is written while it runs.
        assert_eq!(changes(&lines, "/d/log", 0), (2, 0));
    }

    #[test]
    fn a_file_that_was_fsynced_under_another_name_is_fsynced() {
        let lines = [
            "7 openat(AT_FDCWD</>, \"/d/file.tmp\", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3</d/file.tmp>",
            "7 write(3</d/file.tmp>, \"\"..., 10) = 10",
            "7 fsync(3</d/file.tmp>) = 0",
            "7 rename(\"/d/file.tmp\", \"/d/file\") = 0",
            "7 openat(AT_FDCWD</>, \"/d/file\", O_RDONLY) = 3</d/file>",
        ];
        assert_eq!(changes(&lines, "/d/file", 0), (2, 0));
    }

    #[test]
    fn a_removal_stays_open_until_the_directory_is_fsynced() {
        let lines = ["7 unlinkat(AT_FDCWD</>, \"/d/log\", 0) = 0", "7 fsync(5</d>) = 0"];
        assert_eq!(changes(&lines[..1], "/d/log", 0), (0, 1));
        assert_eq!(changes(&lines, "/d/log", 0), (1, 0));
    }

    #[test]
    fn a_renaming_is_covered_by_an_fsync_of_its_directory_only() {
        let lines = [
            "7 fsync(3</d/file.tmp>) = 0",
            "7 rename(\"/d/file.tmp\", \"/d/file\") = 0",
            "7 rename(\"/e/file.tmp\", \"/e/file\") = 0",
            "7 fsync(3</d/file>) = 0",
            "7 fsync(5</d>) = 0",
        ];
        let renamed = |lines: &[&str], since| {
            DiskTrace::read(&lines.join("\n")).renamed(Path::new("/d"), since)
        };
        let of = |is_covered| {
            let (from, to) = ("/d/file.tmp".to_owned(), "/d/file".to_owned());
            vec![Renamed { from, to, is_covered }]
        };
        assert_eq!(renamed(&lines[..4], 0), of(false));
        assert_eq!(renamed(&lines, 0), of(true));
        assert_eq!(renamed(&lines, 2), []);
    }
}
