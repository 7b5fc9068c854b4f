//! Connections between processes: each pair of them has one.

use super::{Cluster, Shareable, lock};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use timely::communication::allocator::zero_copy::stream::Stream;
use vivarium_model::fingerprint::Fingerprint;

/// The time between two attempts, and the longest wait for the other side's hello.
const NAP: Duration = Duration::from_millis(50);
const FOR_A_HELLO: Duration = Duration::from_secs(10);

/// The first bytes of a hello.
const MAGIC: [u8; 8] = *b"vivarium";

/// The length of a hello, in bytes.
const LENGTH: usize = 48;

/// What each side says first. Both must agree on everything but who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hello {
    process: u64,
    processes: u32,
    threads: u32,
    meeting: u64,
    purpose: u128,
}

impl Hello {
    pub(super) fn new(
        cluster: &Cluster,
        meeting: u64,
        threads: usize,
        purpose: &Fingerprint,
    ) -> Hello {
        let (process, processes) = (cluster.process as u64, cluster.processes() as u32);
        Hello { process, processes, threads: threads as u32, meeting, purpose: purpose.0 }
    }

    fn bytes(&self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&self.process.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.processes.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.threads.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.meeting.to_le_bytes());
        bytes[32..].copy_from_slice(&self.purpose.to_le_bytes());
        bytes
    }

    /// Returns `None` if the other side is no process of Vivarium.
    fn read(bytes: &[u8; LENGTH]) -> Option<Hello> {
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let short = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let purpose = u128::from_le_bytes(bytes[32..].try_into().expect("16 bytes"));
        let (process, meeting) = (long(8), long(24));
        let hello = Hello { process, processes: short(16), threads: short(20), meeting, purpose };
        (bytes[..8] == MAGIC).then_some(hello)
    }

    /// Returns in what the other side does not agree.
    fn differs(&self, other: &Hello) -> Option<String> {
        if self.processes != other.processes {
            return Some(format!(
                "counts {} processes, and not {}",
                other.processes, self.processes
            ));
        }
        if self.threads != other.threads {
            let (theirs, ours) = (other.threads, self.threads);
            return Some(format!("has {theirs} threads, and not {ours}: give `--threads` to all"));
        }
        if self.meeting != other.meeting || self.purpose != other.purpose {
            let what = "makes another search, or is another program: give all the same command";
            return Some(what.to_string());
        }
        None
    }
}

/// Connects to all other processes. The streams are in the order of the processes, without one to this process.
///
/// # Errors
/// One sentence, if a process does not answer for so long, or does not agree.
pub(super) fn connect(
    cluster: &Cluster,
    hello: &Hello,
    patience: &Patience<'_>,
) -> Result<Vec<Option<TcpStream>>, String> {
    let mut streams: Vec<Option<TcpStream>> = (0..cluster.processes()).map(|_| None).collect();
    for (process, stream) in streams.iter_mut().enumerate().take(cluster.process) {
        *stream = Some(call(cluster, hello, process, patience)?);
    }
    await_calls(cluster, hello, &mut streams, patience)?;
    Ok(streams)
}

/// How a process waits for the others.
pub(super) struct Patience<'a> {
    pub(super) since: Instant,
    pub(super) most: Duration,
    pub(super) is_halted: &'a (dyn Fn() -> bool + Sync),
    /// Receives the name of a process that is still missing.
    pub(super) waits_for: &'a (dyn Fn(String) + Sync),
}

/// The time after which a process says for which one it waits.
const TO_MENTION: Duration = Duration::from_secs(2);

impl Patience<'_> {
    /// Waits a little for a process.
    ///
    /// # Errors
    /// One sentence, if the wait is over.
    fn wait(&self, missing: &str) -> Result<(), String> {
        if (self.is_halted)() {
            return Err(format!("{missing}, for which this one waited until it was stopped"));
        }
        if self.since.elapsed() >= self.most {
            return Err(format!("{missing}, which did not answer"));
        }
        if self.since.elapsed() >= TO_MENTION {
            (self.waits_for)(missing.to_string());
        }
        std::thread::sleep(NAP);
        Ok(())
    }
}

/// Connects to a process with a lower number.
fn call(
    cluster: &Cluster,
    hello: &Hello,
    process: usize,
    patience: &Patience<'_>,
) -> Result<TcpStream, String> {
    let name = cluster.name(process);
    loop {
        let called = TcpStream::connect(&cluster.addresses[process]).and_then(|mut stream| {
            greet(&mut stream, hello)?;
            Ok((hear(&mut stream)?, stream))
        });
        match called {
            Ok((Some(theirs), stream)) if theirs.process == process as u64 => {
                return match hello.differs(&theirs) {
                    None => ready(stream).map_err(|error| format!("{name}: {error}")),
                    Some(how) => Err(format!("{name}, which {how}")),
                };
            }
            Ok((Some(theirs), _)) => {
                return Err(format!("{name}, which says that it is process {}", theirs.process));
            }
            Ok((None, _)) => return Err(format!("{name}, which is no process of Vivarium")),
            Err(_) => patience.wait(&name)?,
        }
    }
}

/// Waits for the processes with higher numbers.
fn await_calls(
    cluster: &Cluster,
    hello: &Hello,
    streams: &mut [Option<TcpStream>],
    patience: &Patience<'_>,
) -> Result<(), String> {
    let own = |error: io::Error| format!("{}: {error}", cluster.name(cluster.process));
    cluster.listener.set_nonblocking(true).map_err(own)?;
    while let Some(missing) = (cluster.process + 1..streams.len()).find(|at| streams[*at].is_none())
    {
        let Ok((mut stream, _)) = cluster.listener.accept() else {
            patience.wait(&cluster.name(missing))?;
            continue;
        };
        let heard = stream.set_nonblocking(false).and_then(|()| hear(&mut stream));
        // Others connect, too, by mistake or to look for open ports.
        let Ok(Some(theirs)) = heard else { continue };
        let process = usize::try_from(theirs.process).unwrap_or(usize::MAX);
        let is_expected = process > cluster.process && process < streams.len();
        let _ = greet(&mut stream, hello);
        if let Some(how) = hello.differs(&theirs) {
            return Err(format!("process {process}, which {how}"));
        }
        if !is_expected || streams[process].is_some() {
            return Err(format!("process {process}, which is there twice"));
        }
        streams[process] = Some(ready(stream).map_err(own)?);
    }
    Ok(())
}

fn greet(stream: &mut TcpStream, hello: &Hello) -> io::Result<()> {
    stream.set_write_timeout(Some(FOR_A_HELLO))?;
    stream.write_all(&hello.bytes())
}

fn hear(stream: &mut TcpStream) -> io::Result<Option<Hello>> {
    stream.set_read_timeout(Some(FOR_A_HELLO))?;
    let mut bytes = [0; LENGTH];
    stream.read_exact(&mut bytes)?;
    Ok(Hello::read(&bytes))
}

fn ready(stream: TcpStream) -> io::Result<TcpStream> {
    stream.set_read_timeout(None)?;
    stream.set_write_timeout(None)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// A process was lost, so the search cannot go on.
#[derive(Debug)]
pub(super) struct Gone;

/// The processes that were lost.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// True when all processes know that nothing more is needed of each other.
    is_over: AtomicBool,
    is_lost: AtomicBool,
    /// True when no worker uses the connections any more.
    is_left: AtomicBool,
    first: Shareable<Option<usize>>,
}

impl Losses {
    /// Fails if a process was lost.
    pub(super) fn check(&self) -> Result<(), Gone> {
        if self.is_lost.load(Ordering::Acquire) { Err(Gone) } else { Ok(()) }
    }

    pub(super) fn record(&self, process: usize) {
        lock(&self.first).get_or_insert(process);
        self.is_lost.store(true, Ordering::Release);
    }

    pub(super) fn first(&self) -> Option<usize> {
        *lock(&self.first)
    }

    pub(super) fn over(&self) {
        self.is_over.store(true, Ordering::Release);
    }

    pub(super) fn leave(&self) {
        self.is_left.store(true, Ordering::Release);
    }
}

/// A connection to another process. Its loss is recorded instead of a panic in timely's threads.
pub(super) struct Link {
    pub(super) stream: TcpStream,
    pub(super) process: usize,
    pub(super) losses: Arc<Losses>,
}

impl Read for Link {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.stream.read(buffer) {
            Ok(length) if length > 0 => Ok(length),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            _ if self.losses.is_over.load(Ordering::Acquire) => Ok(0),
            _ => {
                self.losses.record(self.process);
                // The worker's end of the queue must not find this thread gone.
                while !self.losses.is_left.load(Ordering::Acquire) {
                    std::thread::sleep(NAP);
                }
                std::panic::resume_unwind(Box::new(Gone));
            }
        }
    }
}

impl Write for Link {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self.stream.write(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Ok(length) if length > 0 => Ok(length),
            // What is written to a lost process is of no use. The reading side ends the search.
            _ => Ok(buffer.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = self.stream.flush();
        Ok(())
    }
}

impl Stream for Link {
    fn try_clone(&self) -> io::Result<Link> {
        let stream = self.stream.try_clone()?;
        Ok(Link { stream, process: self.process, losses: Arc::clone(&self.losses) })
    }

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.stream.set_nonblocking(nonblocking)
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        let _ = self.stream.shutdown(how);
        Ok(())
    }
}
