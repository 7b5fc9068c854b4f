//! Simulates a power loss of a server: computes what its disk may contain afterwards.
//!
//! fsync(2) guarantees that a write, truncation or creation is on the disk only after an fsync of that file has
//! returned. Even then, the file's entry in the directory may be missing, unless the directory is fsynced too. The
//! order in which the rest is written is unspecified. So a power loss preserves what was fsynced, and for every other
//! change, either the state before or the state after it. strace's output tells which changes are covered:
//! [`power_fails`] undoes the changes of some files that no fsync can have covered, keeps all other files unchanged,
//! and never undoes a change that may be on the disk.
//!
//! [`power_fails`] demands less of a server than it might. It treats a file's entry as being as durable as its content,
//! and renames as durable, although ZooKeeper fsyncs no directory. [`power_takes_renames`] undoes renames, and nothing
//! else.

use super::Variant;
use super::disk_trace::{CALLS, DiskTrace, Renamed};
use super::ensemble::Ensemble;
use super::error::FindingError;
use super::tracer::Tracer;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use vivarium_model::id::ServerId;

/// Watches what a running server does to its files.
#[derive(Debug)]
pub(super) struct DiskWatch {
    tracer: Tracer,
    /// The directory of the files.
    files: PathBuf,
    /// Copies of all files when everything was on the disk.
    copies: TempDir,
    /// The line of the trace at that time.
    since: usize,
}

impl DiskWatch {
    /// Begins to watch, with further arguments for strace. Existing files are written to disk first.
    pub(super) fn begin(
        ensemble: &Ensemble,
        server: ServerId,
        arguments: &[&str],
    ) -> Result<DiskWatch, FindingError> {
        let watched = ["-y", "-s", "0", "-e", CALLS];
        let tracer = ensemble.trace(server, &[&watched[..], arguments].concat())?;
        let files = ensemble.files(server);
        let (copies, since) = written_through(&files, &tracer)?;
        Ok(DiskWatch { tracer, files, copies, since })
    }

    /// Writes everything to disk, as the system does by itself sooner or later.
    pub(super) fn writes_through(&mut self) -> Result<(), FindingError> {
        (self.copies, self.since) = written_through(&self.files, &self.tracer)?;
        Ok(())
    }
}

/// Fsyncs all files and the directory, and copies the files. Changes that the server makes meanwhile count as later
/// changes.
fn written_through(files: &Path, tracer: &Tracer) -> Result<(TempDir, usize), FindingError> {
    let failed = "a server's files could not be written through and copied";
    let since = tracer.trace()?.lines().count();
    let copies = TempDir::with_prefix("disk-").map_err(FindingError::machine(failed))?;
    for name in names(files)? {
        let path = files.join(&name);
        let written = File::open(&path).and_then(|file| file.sync_all());
        written.map_err(FindingError::machine(failed))?;
        fs::copy(&path, copies.path().join(&name)).map_err(FindingError::machine(failed))?;
    }
    let directory = File::open(files).and_then(|directory| directory.sync_all());
    directory.map_err(FindingError::machine(failed))?;
    Ok((copies, since))
}

fn names(directory: &Path) -> Result<BTreeSet<OsString>, FindingError> {
    let entries = fs::read_dir(directory)
        .map_err(FindingError::machine("a server's files cannot be listed"))?;
    Ok(entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect())
}

/// What happened to a file in a power loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The file was created and never fsynced, so it is gone.
    Gone,
    /// Changes that were never fsynced are undone.
    AsBefore,
    /// Another file was renamed to this name without a later fsync of the directory, so the rename is undone.
    NotRenamed,
    /// The file was changed and fsynced, so it is unchanged.
    Stays,
}

/// The files that a power loss could have affected, because they had been changed.
#[derive(Clone, Debug)]
pub(super) struct Loss {
    fates: Vec<(String, Fate)>,
}

impl Loss {
    /// Checks that the loss is as the run needs it: with the defect, some file is affected; in the control, none is.
    pub(super) fn suits(&self, variant: Variant) -> Result<(), FindingError> {
        let stays = |(_, fate): &(String, Fate)| *fate == Fate::Stays;
        let suits = match variant {
            Variant::Defect => self.fates.iter().any(|fate| !stays(fate)),
            Variant::Control => self.fates.iter().all(stays),
        };
        match suits {
            true => Ok(()),
            false => {
                Err(FindingError::Otherwise(format!("the power loss came at another time: {self}")))
            }
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.fates.is_empty() {
            return f.write_str("nothing was changed that is not on the disk");
        }
        for (at, (name, fate)) in self.fates.iter().enumerate() {
            let fate = match fate {
                Fate::Gone => "was never fsynced, and is gone",
                Fate::AsBefore => "was not fsynced since it was changed, and is as before",
                Fate::NotRenamed => {
                    "was replaced by a renaming without an fsync of the directory, and is as before"
                }
                Fate::Stays => "was fsynced, and stays",
            };
            write!(f, "{}{name} {fate}", if at == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

/// Kills a server, and undoes the changes of the files with this beginning of their names that no fsync can have
/// covered.
pub(super) fn power_fails(
    ensemble: &mut Ensemble,
    server: ServerId,
    watch: DiskWatch,
    beginning: &str,
) -> Result<Loss, FindingError> {
    let Stopped { trace, since, files, copies } = stop(ensemble, server, watch)?;
    let mut fates = Vec::new();
    for name in names(&files)?.union(&names(copies.path())?) {
        let name_in_words = name.to_string_lossy().into_owned();
        if name_in_words.starts_with(beginning) {
            let (path, copy) = (files.join(name), copies.path().join(name));
            let fate = strike(&trace, since, &path, &copy)?;
            fates.extend(fate.map(|fate| (name_in_words, fate)));
        }
    }
    Ok(Loss { fates })
}

/// Kills a server, and undoes every rename of its files without a later fsync of its directory. The new file is then
/// there under its temporary name.
pub(super) fn power_takes_renames(
    ensemble: &mut Ensemble,
    server: ServerId,
    watch: DiskWatch,
) -> Result<Loss, FindingError> {
    let Stopped { trace, since, files, copies } = stop(ensemble, server, watch)?;
    let fates = undo_renames(&trace.renamed(&files, since), copies.path())?;
    Ok(Loss { fates })
}

/// Restores each file's copy from before the renames, if there is one.
fn undo_renames(renamed: &[Renamed], copies: &Path) -> Result<Vec<(String, Fate)>, FindingError> {
    let failed = "a renaming could not be undone";
    let mut fates = Vec::new();
    for path in renamed.iter().map(|it| &it.to).collect::<BTreeSet<_>>() {
        let of_it = || renamed.iter().filter(|it| it.to == *path);
        let name = Path::new(path).file_name().unwrap_or_default();
        let fate = match (of_it().any(|it| it.is_covered), of_it().rfind(|it| !it.is_covered)) {
            (_, None) => Fate::Stays,
            (true, Some(_)) => {
                // A rename that an fsync has covered is kept, but no copy shows the file at that time.
                let again =
                    format!("{path} was renamed before an fsync of its directory and after");
                return Err(FindingError::Otherwise(again));
            }
            (false, Some(last)) => {
                fs::rename(path, &last.from).map_err(FindingError::machine(failed))?;
                let copy = copies.join(name);
                if copy.exists() {
                    fs::copy(copy, path).map_err(FindingError::machine(failed))?;
                }
                Fate::NotRenamed
            }
        };
        fates.push((name.to_string_lossy().into_owned(), fate));
    }
    Ok(fates)
}

/// A watched server that was killed.
struct Stopped {
    trace: DiskTrace,
    since: usize,
    files: PathBuf,
    copies: TempDir,
}

fn stop(
    ensemble: &mut Ensemble,
    server: ServerId,
    watch: DiskWatch,
) -> Result<Stopped, FindingError> {
    let DiskWatch { tracer, files, copies, since } = watch;
    let text = tracer.kill_and_read(ensemble.process(server)?)?;
    ensemble.kill(server);
    let trace = DiskTrace::read(&text);
    match trace.is_whole() {
        true => Ok(Stopped { trace, since, files, copies }),
        false => {
            Err(FindingError::Otherwise(format!("the trace of {server} does not reach its end")))
        }
    }
}

/// Restores one file to the state before its changes, if a power loss may do so.
fn strike(
    trace: &DiskTrace,
    since: usize,
    path: &Path,
    copy: &Path,
) -> Result<Option<Fate>, FindingError> {
    let failed = "a file could not be brought to an earlier state";
    let changes = trace.changes(path, since);
    match (changes.covered, changes.open) {
        (0, 0) => Ok(None),
        (_, 0) => Ok(Some(Fate::Stays)),
        (0, _) if copy.exists() => {
            fs::copy(copy, path).map_err(FindingError::machine(failed))?;
            Ok(Some(Fate::AsBefore))
        }
        (0, _) => {
            // The server itself may have removed it.
            if path.exists() {
                fs::remove_file(path).map_err(FindingError::machine(failed))?;
            }
            Ok(Some(Fate::Gone))
        }
        // No copy shows the file at that time.
        (_, _) => Err(FindingError::Otherwise(format!(
            "{} was fsynced and changed again: a power loss may undo no more than the latter",
            path.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Strikes a file with the content `now`, whose copy (if any) has the content `before`.
    fn struck(
        lines: &[&str],
        before: Option<&str>,
    ) -> (Result<Option<Fate>, FindingError>, String) {
        let directory = TempDir::new().expect("a directory");
        let (path, copy) = (directory.path().join("log"), directory.path().join("copy"));
        fs::write(&path, "now").expect("it is written");
        if let Some(before) = before {
            fs::write(&copy, before).expect("it is written");
        }
        let lines: Vec<String> =
            lines.iter().map(|line| line.replace("FILE", &path.display().to_string())).collect();
        let trace = DiskTrace::read(&lines.join("\n"));
        let fate = strike(&trace, 0, &path, &copy);
        (fate, fs::read_to_string(&path).unwrap_or_default())
    }

    #[test]
    fn only_what_was_never_fsynced_is_undone() {
        let (write, fsync) = ("7 write(3<FILE>, \"\"..., 3) = 3", "7 fsync(3<FILE>) = 0");
        let fate = |lines: &[&str], before| {
            let (fate, is_now) = struck(lines, before);
            (fate.expect("it may be"), is_now)
        };
        assert_eq!(fate(&[], Some("old")), (None, "now".to_owned()));
        assert_eq!(fate(&[write], Some("old")), (Some(Fate::AsBefore), "old".to_owned()));
        assert_eq!(fate(&[write], None), (Some(Fate::Gone), String::new()));
        assert_eq!(fate(&[write, fsync], Some("old")), (Some(Fate::Stays), "now".to_owned()));
        assert_eq!(fate(&[fsync, write], Some("old")), (Some(Fate::AsBefore), "old".to_owned()));
    }

    #[test]
    fn what_may_be_on_the_disk_is_not_touched() {
        let (write, fsync) = ("7 write(3<FILE>, \"\"..., 3) = 3", "7 fsync(3<FILE>) = 0");
        let (fate, is_now) = struck(&[write, fsync, write], Some("old"));
        assert!(fate.is_err_and(|trouble| trouble.to_string().contains("was fsynced")));
        assert_eq!(is_now, "now");
    }

    #[test]
    fn a_renaming_that_is_undone_leaves_both_files() {
        let (files, copies) =
            (TempDir::new().expect("a directory"), TempDir::new().expect("another"));
        let at = |name: &str| files.path().join(name).display().to_string();
        let renamed = |is_covered| Renamed { from: at("epoch.tmp"), to: at("epoch"), is_covered };
        let read = |name: &str| fs::read_to_string(at(name)).ok();
        fs::write(at("epoch"), "2").expect("it is written");
        fs::write(copies.path().join("epoch"), "1").expect("it is written");
        let fates = undo_renames(&[renamed(true)], copies.path()).expect("it may stay");
        assert_eq!(fates, [("epoch".to_owned(), Fate::Stays)]);
        assert_eq!((read("epoch"), read("epoch.tmp")), (Some("2".to_owned()), None));
        let fates = undo_renames(&[renamed(false)], copies.path()).expect("it may be undone");
        assert_eq!(fates, [("epoch".to_owned(), Fate::NotRenamed)]);
        assert_eq!(
            (read("epoch"), read("epoch.tmp")),
            (Some("1".to_owned()), Some("2".to_owned()))
        );
        assert!(undo_renames(&[renamed(true), renamed(false)], copies.path()).is_err());
    }
}
