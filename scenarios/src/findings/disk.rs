//! A server's disk in a run: the end of the log, and a limit that makes the disk full.

use super::ensemble::{Ensemble, SOON};
use super::error::FindingError;
use super::session::Session;
use std::fs;
use std::path::Path;
use std::process::Command;
use vivarium_model::op::{CreateMode, Op, Request};

/// The size of a filler, larger than the server's other files, so that only its log reaches a limit beyond it.
const FILLER: usize = 900_000;

/// Makes every server's log longer than its other files.
pub(super) fn fill_logs(ensemble: &Ensemble, client: &mut Session) -> Result<(), FindingError> {
    let filler = Op::create("/filler", vec![b'x'; FILLER], CreateMode::Persistent);
    client.ask(Request::Write(filler))?;
    client.create("/before")?;
    ensemble.until("/before in every log", SOON, |it| {
        it.all().into_iter().all(|server| it.has_logged(server, "/before"))
    })
}

/// Returns the end of the last record in the newest log file. The rest of the file is filled with zeros.
pub(super) fn end_of_log(directory: &Path) -> Result<u64, FindingError> {
    let files = fs::read_dir(directory)
        .map_err(FindingError::machine("the server's files cannot be listed"))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let zxid = |path: &Path| {
        u64::from_str_radix(path.file_name()?.to_str()?.strip_prefix("log.")?, 16).ok()
    };
    let newest = files.filter_map(|path| Some((zxid(&path)?, path))).max();
    let (_, newest) =
        newest.ok_or_else(|| FindingError::Otherwise("the server has no log".to_owned()))?;
    let log = fs::read(newest).map_err(FindingError::machine("the log cannot be read"))?;
    // Every record ends with a letter.
    Ok(log.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1) as u64)
}

/// Limits the length of a process's files: a write beyond the limit is truncated there, and the next one fails, as on a
/// full disk. Without a length, removes the limit.
pub(super) fn limit_files(process: u32, length: Option<u64>) -> Result<(), FindingError> {
    let length = length.map_or("unlimited".to_owned(), |length| length.to_string());
    // Only the soft limit, which any process may raise again.
    let limit = format!("--fsize={length}:");
    let status = Command::new("prlimit")
        .args(["--pid", &process.to_string(), &limit])
        .status()
        .map_err(FindingError::machine("prlimit cannot be run"))?;
    match status.success() {
        true => Ok(()),
        false => {
            Err(FindingError::Otherwise("prlimit could not limit a server's files".to_owned()))
        }
    }
}
