//! Checkpoints of a search in several processes.
//!
//! Each worker writes its part to a file of its own. A checkpoint counts when all parts are there: each worker writes its
//! part beside the last one, all tell each other, and only then the new parts take the old ones' places. If a process is
//! killed in between, some have the new one in its place and some beside it. So a search that goes on looks at both, and
//! takes the last moment that all have a part of.

use super::super::super::model::Model;
use super::super::checkpoint::{Checkpoint, Header, Part, write_with};
use super::table::Table;
use super::ways::{Number, Ways};
use std::collections::HashSet;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use vivarium_model::fingerprint::Fingerprint;

/// A state that waits.
pub(super) struct Waiting {
    pub(super) number: Number,
    pub(super) level: u32,
    pub(super) state: u128,
}

/// Returns the file of a worker's part.
pub(super) fn file(all: &Path, worker: usize) -> PathBuf {
    with(all, &format!(".{worker}"))
}

/// Returns the file in which a part waits until all others are there.
fn beside(part: &Path) -> PathBuf {
    with(part, ".new")
}

fn with(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// Writes a worker's part beside the last one.
///
/// # Errors
/// The error of the file system.
pub(super) fn write(
    part: &Path,
    of: &str,
    header: Header,
    table: &Table,
    ways: &Ways,
    waiting: &[Waiting],
) -> io::Result<()> {
    let (states, count) = (table.length() as u64, waiting.len() as u64);
    let header = Header { visited: vec![states], waiting: count, ..header };
    write_with(&beside(part), of, header, |output| {
        table.write(output)?;
        ways.write(output)?;
        waiting.iter().try_for_each(|Waiting { number, level, state }| {
            output.write_all(&number.bytes())?;
            output.write_all(&level.to_le_bytes())?;
            output.write_all(&state.to_le_bytes())
        })
    })
}

/// Puts the new part in the last one's place.
///
/// # Errors
/// The error of the file system.
pub(super) fn keep(part: &Path) -> io::Result<()> {
    std::fs::rename(beside(part), part)
}

/// Returns the parts that a worker has of this search, or of another one that the same call makes.
pub(super) fn parts(part: &Path, of: &str, worker: usize, workers: usize) -> Vec<Checkpoint> {
    let read =
        [part.to_path_buf(), beside(part)].into_iter().map(|file| Checkpoint::read_any(&file));
    let is_ours = |checkpoint: &Checkpoint| {
        let Some(part) = checkpoint.header().part else { return false };
        let place = (part.worker, part.workers);
        checkpoint.of().lines().next() == of.lines().next()
            && place == (worker as u64, workers as u64)
    };
    read.filter_map(Result::ok).filter(is_ours).collect()
}

/// Reads the visited states, the ways and the waiting states of a part.
///
/// # Errors
/// The error of the file system, or one that says that the part is none.
pub(super) fn read(checkpoint: &Checkpoint) -> io::Result<(Table, Ways, Vec<Waiting>)> {
    let header = checkpoint.header();
    let Part { ways, .. } = header.part.ok_or_else(|| io::Error::other("it is no part"))?;
    let mut input = checkpoint.after_header()?;
    let table = Table::read(header.visited.iter().sum(), &mut input)?;
    let ways = Ways::read(ways, &mut input)?;
    let mut waiting = Vec::new();
    for _ in 0..header.waiting {
        let (mut number, mut level, mut state) = ([0; 4], [0; 4], [0; 16]);
        input.read_exact(&mut number)?;
        input.read_exact(&mut level)?;
        input.read_exact(&mut state)?;
        let number = ways.number(number).ok_or_else(|| io::Error::other("it is damaged"))?;
        let (level, state) = (u32::from_le_bytes(level), u128::from_le_bytes(state));
        waiting.push(Waiting { number, level, state });
    }
    Ok((table, ways, waiting))
}

/// Takes the ways to these states anew, and passes each state to `wait`.
///
/// # Errors
/// One sentence, if a way leads to another state than it did.
pub(super) fn anew<M: Model>(
    model: &M,
    ways: &Ways,
    waiting: &[Waiting],
    mut wait: impl FnMut(M::State, &Waiting),
) -> Result<(), String> {
    let mut steps = Vec::new();
    let mut known = HashSet::new();
    for one in waiting {
        let mut at = Some(one.number);
        while let Some(number) = at.filter(|number| known.insert(*number)) {
            let (before, action) = ways.step(number);
            steps.push((before, action, number));
            at = before;
        }
    }
    steps.sort_unstable();
    let mut order: Vec<&Waiting> = waiting.iter().collect();
    order.sort_unstable_by_key(|one| one.number);
    let after = |before: Option<Number>| {
        let from = steps.partition_point(|step| step.0 < before);
        steps[from..].iter().take_while(move |step| step.0 == before)
    };
    let mut stack: Vec<(Option<M::State>, Option<Number>)> = vec![(None, None)];
    while let Some((state, number)) = stack.pop() {
        if let (Some(state), Some(number)) = (&state, number) {
            let from = order.partition_point(|one| one.number < number);
            for one in order[from..].iter().take_while(|one| one.number == number) {
                if model.fingerprint(state) != Fingerprint(one.state) {
                    return Err(super::super::resume::differs());
                }
                wait(state.clone(), one);
            }
        }
        for (_, action, next) in after(number) {
            let reached = super::ways::checked_step(model, state.as_ref(), *action)?;
            let reached = reached.ok_or_else(super::super::resume::differs)?;
            stack.push((Some(reached), Some(*next)));
        }
    }
    Ok(())
}
