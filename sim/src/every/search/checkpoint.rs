//! Checkpoints: a breadth-first search that was killed, interrupted or bounded goes on from its last one.
//!
//! A checkpoint holds the table of visited states and the numbers of the states that wait. The states themselves are not
//! written: monitors and programs cannot be. Each visited state knows the state and the action by which it was reached,
//! so the waiting states are made anew from the initial ones, along these actions, and each must have the fingerprint
//! that it had. If a program, a property or Vivarium itself has changed, that shows.
//!
//! In a search in several processes, each worker writes a file of its own: its part of the visited states, the ways to the
//! states that it held, and the numbers of those that wait (`cluster`).
//!
//! The file is a line of text, a header in JSON, the visited states, the waiting ones, and a fingerprint of everything
//! before it. It takes 32 bytes for each visited state and 8 for each waiting one, and replaces an earlier file at once.

use super::super::visited::{Id, Visited};
use super::found::Found;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::hash::Hasher;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use vivarium_model::fingerprint::{Fingerprint, StableHasher};

/// The first line of a file.
const FIRST_LINE: &str = "a checkpoint of a vivarium search, format 3\n";

/// The version that wrote a checkpoint must be this one.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The longest header that is read.
const LONGEST_HEADER: u64 = 1 << 24;

/// Where and how often a search writes a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoints {
    /// The file. It is replaced.
    pub file: PathBuf,
    /// The time between two of them. Another one is written when a bound or an interrupt ends the search.
    pub every: Duration,
}

/// A checkpoint that was read.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    file: PathBuf,
    header: Header,
}

/// Everything but the states.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) version: String,
    /// What the search is of.
    pub(super) of: String,
    pub(super) elapsed: Duration,
    pub(super) counted: Counted,
    pub(super) withheld: Vec<String>,
    pub(super) found: Option<Found>,
    /// The number of visited states in each shard of the table.
    pub(super) visited: Vec<u64>,
    pub(super) waiting: u64,
    /// In a search in several processes: whose part this is.
    #[serde(default)]
    pub(super) part: Option<Part>,
}

/// A worker's part of a checkpoint of several processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Part {
    pub(super) worker: u64,
    pub(super) workers: u64,
    /// The moment of the search, the same in all parts: the number of its checkpoint, and a number of the search itself.
    pub(super) moment: (u64, u64),
    /// The number of steps in the worker's ways.
    pub(super) ways: u64,
}

impl Header {
    /// Returns the length of what follows, without the fingerprint.
    fn body(&self) -> u64 {
        let states = self.visited.iter().sum::<u64>();
        match &self.part {
            None => Visited::RECORD * states + 8 * self.waiting,
            Some(part) => {
                Part::RECORD * states + Part::STEP * part.ways + Part::WAITING * self.waiting
            }
        }
    }
}

impl Part {
    /// The sizes of a visited state, of a step, and of a waiting state, in bytes.
    pub(super) const RECORD: u64 = 40;
    pub(super) const STEP: u64 = 8;
    pub(super) const WAITING: u64 = 24;
}

/// The counts of a search.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Counted {
    pub(super) generated: u64,
    pub(super) distinct: u64,
    pub(super) may_close: u64,
    pub(super) withholding: u64,
    pub(super) outside: u64,
    pub(super) cut: i64,
    pub(super) depth: u32,
    pub(super) peak_frontier: i64,
    pub(super) peak_held: i64,
}

impl Counted {
    /// Adds what another process counted.
    #[cfg(feature = "cluster")]
    pub(super) fn add(&mut self, other: Counted) {
        self.generated += other.generated;
        self.distinct += other.distinct;
        self.may_close += other.may_close;
        self.withholding += other.withholding;
        self.outside += other.outside;
        self.cut += other.cut;
        self.depth = self.depth.max(other.depth);
        self.peak_frontier += other.peak_frontier;
        self.peak_held += other.peak_held;
    }
}

impl Checkpoint {
    /// Reads a checkpoint's header and checks that the file is whole.
    ///
    /// # Errors
    /// One sentence about what is wrong with the file.
    pub fn read(file: &Path) -> Result<Checkpoint, String> {
        let checkpoint = Checkpoint::read_any(file)?;
        match checkpoint.header.part {
            None => Ok(checkpoint),
            Some(_) => Err(format!(
                "`{}` cannot be resumed: it is a part of a checkpoint of several processes",
                file.display()
            )),
        }
    }

    /// The same of a checkpoint or a part of one.
    pub(super) fn read_any(file: &Path) -> Result<Checkpoint, String> {
        let name = file.display();
        let read = || -> io::Result<Result<Checkpoint, String>> {
            let mut input = Hashing::new(BufReader::new(File::open(file)?));
            let header = match header(&mut input)? {
                Ok(header) => header,
                Err(sentence) => return Ok(Err(sentence)),
            };
            io::copy(&mut (&mut input).take(header.body()), &mut io::sink())?;
            let (hash, mut input) = input.finish();
            let mut written = [0; 16];
            let is_whole = input.read_exact(&mut written).is_ok()
                && u128::from_le_bytes(written) == hash.0
                && input.read(&mut [0])? == 0;
            Ok(match is_whole {
                true => Ok(Checkpoint { file: file.to_path_buf(), header }),
                false => Err("it is cut off or damaged".to_string()),
            })
        };
        match read() {
            Ok(Ok(checkpoint)) => Ok(checkpoint),
            Ok(Err(sentence)) => Err(format!("`{name}` cannot be resumed: {sentence}")),
            Err(error) => Err(format!("`{name}` cannot be read: {error}")),
        }
    }

    /// Returns what the search is of ([`Options::of`](super::Options::of)).
    pub fn of(&self) -> &str {
        &self.header.of
    }

    /// Returns the number of visited states.
    pub fn states(&self) -> u64 {
        self.header.counted.distinct
    }

    /// Returns the greatest depth visited, in world steps.
    pub fn depth(&self) -> u32 {
        self.header.counted.depth
    }

    pub(super) fn header(&self) -> &Header {
        &self.header
    }

    /// Reads the visited and the waiting states.
    ///
    /// # Errors
    /// The error of the file system.
    pub(super) fn states_of(&self, visited: &Visited) -> io::Result<Vec<(Id, u32)>> {
        let mut input = self.after_header()?;
        visited.fill(&self.header.visited, &mut input)?;
        let mut waiting = Vec::new();
        for _ in 0..self.header.waiting {
            let (mut id, mut level) = ([0; 4], [0; 4]);
            input.read_exact(&mut id)?;
            input.read_exact(&mut level)?;
            waiting.push((Id::of(u32::from_le_bytes(id)), u32::from_le_bytes(level)));
        }
        Ok(waiting)
    }

    /// Opens the file at the first visited state.
    ///
    /// # Errors
    /// The error of the file system.
    pub(super) fn after_header(&self) -> io::Result<impl Read> {
        let mut input = Hashing::new(BufReader::new(File::open(&self.file)?));
        header(&mut input)?.map_err(io::Error::other)?;
        Ok(input)
    }
}

/// Reads the first line and the header.
fn header(input: &mut Hashing<impl BufRead>) -> io::Result<Result<Header, String>> {
    let mut first = vec![0; FIRST_LINE.len()];
    if input.read_exact(&mut first).is_err() || first != FIRST_LINE.as_bytes() {
        return Ok(Err("it is no checkpoint of this format".to_string()));
    }
    let mut length = [0; 8];
    input.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > LONGEST_HEADER {
        return Ok(Err("it is damaged".to_string()));
    }
    let mut text = vec![0; length as usize];
    input.read_exact(&mut text)?;
    let Ok(header) = serde_json::from_slice::<Header>(&text) else {
        return Ok(Err("its header cannot be read".to_string()));
    };
    Ok(match header.version == VERSION {
        true => Ok(header),
        false => Err(format!(
            "version {} of Vivarium wrote it, and this is version {VERSION}",
            header.version
        )),
    })
}

/// Writes a checkpoint, and puts it in the place of an earlier one when it is whole.
///
/// # Errors
/// The error of the file system.
pub(super) fn write(
    file: &Path,
    of: &str,
    header: Header,
    visited: &Visited,
    waiting: &[(Id, u32)],
) -> io::Result<()> {
    let visited_states = visited.lengths();
    let header = Header { visited: visited_states, waiting: waiting.len() as u64, ..header };
    write_with(file, of, header, |output| {
        visited.write(output)?;
        waiting.iter().try_for_each(|(id, level)| {
            output.write_all(&id.number().to_le_bytes())?;
            output.write_all(&level.to_le_bytes())
        })
    })
}

/// Writes a checkpoint whose states `body` writes, and puts it in the place of an earlier one when it is whole.
///
/// # Errors
/// The error of the file system.
pub(super) fn write_with(
    file: &Path,
    of: &str,
    header: Header,
    body: impl FnOnce(&mut Hashing<BufWriter<File>>) -> io::Result<()>,
) -> io::Result<()> {
    let header = Header { version: VERSION.to_string(), of: of.to_string(), ..header };
    let mut unfinished = file.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let unfinished = PathBuf::from(unfinished);
    let mut output = Hashing::new(BufWriter::new(File::create(&unfinished)?));
    let text = serde_json::to_vec(&header).map_err(io::Error::other)?;
    output.write_all(FIRST_LINE.as_bytes())?;
    output.write_all(&(text.len() as u64).to_le_bytes())?;
    output.write_all(&text)?;
    body(&mut output)?;
    let (hash, mut output) = output.finish();
    output.write_all(&hash.0.to_le_bytes())?;
    output.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    std::fs::rename(&unfinished, file)
}

/// A file whose bytes are hashed as they pass.
pub(super) struct Hashing<T> {
    file: T,
    hasher: StableHasher,
}

impl<T> Hashing<T> {
    fn new(file: T) -> Hashing<T> {
        Hashing { file, hasher: StableHasher::new() }
    }

    fn finish(self) -> (Fingerprint, T) {
        (self.hasher.finished(), self.file)
    }
}

impl<T: Read> Read for Hashing<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.hasher.write(&buffer[..count]);
        Ok(count)
    }
}

impl<T: Write> Write for Hashing<T> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let count = self.file.write(buffer)?;
        self.hasher.write(&buffer[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
