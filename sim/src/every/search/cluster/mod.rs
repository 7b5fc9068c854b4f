//! A search in several processes, on one machine or on many, on timely dataflow (Murray et al., "Naiad", SOSP 2013).
//!
//! # Who does what
//! Each process has a model of its own and some workers, one to a thread. A state's *owner* is a worker that follows
//! from its fingerprint: it keeps the record of the state ([`table`]). A state's *holder* is the worker that made it
//! first: it keeps the state itself until it is expanded. States are never sent, because monitors and programs cannot
//! be: only fingerprints, and now and then ways.
//!
//! # Rounds
//! The search goes breadth first, level by level, as in one process. In a round, each worker expands some of its states
//! of the lowest level, for a fifth of a second at most. It sends the fingerprint of each generated state to the owner,
//! which answers whether the state is new. A round is over when timely's frontier has passed its time: then all owners
//! have answered. What was not answered is known, and dropped. After each round, every worker tells every other one what
//! it holds and what it found ([`messages::Report`]), so all take the same decisions: the next level, a bound, the
//! best violation.
//!
//! If some workers hold many more states of the next level than others, they give some away ([`balance`]): as ways,
//! which the receiver takes anew from an initial state. Each must lead to the fingerprint that it had ([`ways`]).
//!
//! # The same result
//! The states, the levels and the way to a violation are those of a search in one process, because whatever depends on
//! an order of arrival is decided as it is there: the cheaper arrival wins, then the one with the least rank. When a
//! process ends or cannot be reached, the search ends in all others, with a sentence that names it.

mod balance;
mod connect;
mod dataflow;
mod gifts;
mod meeting;
mod messages;
mod network;
mod resumption;
mod saved;
mod table;
mod ways;
mod wire;
mod worker;

use super::super::model::Model;
use super::super::outcome::Bound;
use super::Options;
use super::shared::Shared;
use balance::SLACK;
use connect::Patience;
use meeting::Meeting;
use messages::Report;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::net::TcpListener;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use vivarium_model::fingerprint::Fingerprint;
use wire::Wire;
use worker::{Place, Worker};

/// How long a process waits for the others to start, and, once all have been there, for them to come to the next search.
const FOR_ALL_TO_START: Duration = Duration::from_secs(600);
const FOR_THE_NEXT: Duration = Duration::from_secs(120);

/// How long a process waits for its own name to be known.
const FOR_ITS_NAME: Duration = Duration::from_secs(60);

/// The processes that search together, and which of them this one is.
///
/// All processes must make the same searches in the same order, with the same number of threads. The connections between
/// them are not encrypted and not authenticated, so use a network of your own.
#[derive(Debug)]
pub struct Cluster {
    process: usize,
    addresses: Vec<String>,
    listener: TcpListener,
    /// The number of times that the processes have connected.
    meetings: AtomicU64,
    /// Why the processes are no longer together.
    broken: Mutex<Option<String>>,
    /// How many states more than the mean a worker may hold in any case.
    slack: u64,
}

impl Cluster {
    /// Makes this process one of several. Each has an address (`host:port`), and listens on it.
    ///
    /// # Errors
    /// One sentence, if there is no such process or its address cannot be listened on.
    pub fn new(process: usize, addresses: Vec<String>) -> Result<Cluster, String> {
        let own = addresses.get(process).ok_or_else(|| {
            format!(
                "there is no process {process} among {}: they are counted from 0",
                addresses.len()
            )
        })?;
        let until = Instant::now() + FOR_ITS_NAME;
        let listener = loop {
            match TcpListener::bind(own) {
                Ok(listener) => break listener,
                // A name service may not know a machine that has just started.
                Err(error) if is_unnamed(&error) && Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(200));
                }
                Err(error) => {
                    return Err(format!("process {process} cannot listen on `{own}`: {error}"));
                }
            }
        };
        Ok(Cluster::listening(process, addresses, listener))
    }

    /// Makes several processes on free ports of this machine, for threads that stand for them in a test. They divide the
    /// states of a small search among them, too.
    ///
    /// # Errors
    /// The error of the system.
    pub fn on_this_machine(processes: usize) -> io::Result<Vec<Cluster>> {
        let (addresses, listeners) = free(processes)?;
        let one = |(process, listener)| {
            let cluster = Cluster::listening(process, addresses.clone(), listener);
            Cluster { slack: 2, ..cluster }
        };
        Ok(listeners.into_iter().enumerate().map(one).collect())
    }

    /// Makes this process one of several. It listens on its own address already.
    pub fn listening(process: usize, addresses: Vec<String>, listener: TcpListener) -> Cluster {
        let (meetings, broken) = (AtomicU64::new(0), Mutex::default());
        Cluster { process, addresses, listener, meetings, broken, slack: SLACK }
    }

    /// Returns the number of this process, from 0.
    pub fn process(&self) -> usize {
        self.process
    }

    /// Returns the number of processes.
    pub fn processes(&self) -> usize {
        self.addresses.len()
    }

    /// Returns true for the process that reports: the first one.
    pub fn is_first(&self) -> bool {
        self.process == 0
    }

    /// Gives all processes what each of them says, in the order of the processes.
    ///
    /// # Errors
    /// One sentence, if the processes cannot connect, or one of them ends meanwhile.
    pub fn gather(&self, what: &str, said: String) -> Result<Vec<String>, String> {
        let said = Mutex::new(Some(said));
        let gathered = Mutex::new(Vec::new());
        self.together(1, &Fingerprint::of(what), &|| false, &|_| {}, |wire| {
            let said = lock(&said).take().expect("there is one thread");
            let reports = wire.report(Report { said, ..Report::default() })?;
            *lock(&gathered) = reports.into_iter().map(|report| report.said).collect();
            wire.part()
        })?;
        Ok(gathered.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Connects the processes, runs `work` in this many threads, and disconnects. All processes must do so for the
    /// same purpose.
    fn together(
        &self,
        threads: usize,
        purpose: &Fingerprint,
        is_halted: &(dyn Fn() -> bool + Sync),
        waits_for: &(dyn Fn(String) + Sync),
        work: impl Fn(Wire) -> Result<(), connect::Gone> + Sync,
    ) -> Result<(), String> {
        if let Some(sentence) = &*lock(&self.broken) {
            return Err(sentence.clone());
        }
        let meeting = self.meetings.fetch_add(1, Ordering::Relaxed);
        let most = if meeting == 0 { FOR_ALL_TO_START } else { FOR_THE_NEXT };
        let patience = Patience { since: Instant::now(), most, is_halted, waits_for };
        let hello = connect::Hello::new(self, meeting, threads, purpose);
        let ended = connect::connect(self, &hello, &patience)
            .and_then(|streams| network::run(self, streams, threads, work));
        if let Err(sentence) = &ended {
            lock(&self.broken).get_or_insert_with(|| sentence.clone());
        }
        ended
    }

    fn name(&self, process: usize) -> String {
        format!("process {process} at {}", self.addresses[process])
    }
}

/// Searches breadth first, together with the other processes.
pub(super) fn search<M: Model>(shared: &Shared<'_, M>, cluster: &Cluster) {
    let threads = shared.options.threads.get();
    let purpose = purpose(shared.options);
    let places: Vec<_> = (0..threads).map(|_| Mutex::new(Place::default())).collect();
    let meeting = Meeting::new(threads);
    let is_halted = || shared.is_halted();
    let waits_for = |missing| shared.waits_for(missing);
    let ended = cluster.together(threads, &purpose, &is_halted, &waits_for, |wire| {
        Worker::new(shared, cluster, &places, &meeting, wire).search()
    });
    if let Err(mut sentence) = ended {
        // The way to it cannot be known any more.
        if let Some(found) = shared.found() {
            sentence +=
                &format!(", after a violation of \"{}\" was found,", found.objection.property);
        }
        shared.halt(Bound::Cluster(sentence));
    }
}

/// Names what all processes must agree on: the program, the search, and the options by which each decides for itself what
/// all do next.
fn purpose(options: &Options) -> Fingerprint {
    let Options { of, max_states, max_depth, checkpoints, .. } = options;
    Fingerprint::of(&(program(), of, max_states, max_depth, checkpoints.is_some()))
}

/// Tells programs apart: by the version, and by the length, the first and the last bytes of the file. Another build of the
/// same version may have other properties.
fn program() -> (&'static str, u64, Vec<u8>) {
    const SOME: u64 = 1 << 16;
    let read = || -> io::Result<(u64, Vec<u8>)> {
        let mut file = File::open(std::env::current_exe()?)?;
        let length = file.metadata()?.len();
        let mut bytes = Vec::new();
        (&mut file).take(SOME).read_to_end(&mut bytes)?;
        file.seek(SeekFrom::Start(length.saturating_sub(SOME)))?;
        file.take(SOME).read_to_end(&mut bytes)?;
        Ok((length, bytes))
    };
    // Where the file cannot be read, the version has to do.
    let (length, bytes) = read().unwrap_or_default();
    (env!("CARGO_PKG_VERSION"), length, bytes)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns true if a name could not be found, rather than that it is another machine's or its port is taken.
fn is_unnamed(error: &io::Error) -> bool {
    use io::ErrorKind::{AddrInUse, AddrNotAvailable, InvalidInput, PermissionDenied};
    !matches!(error.kind(), AddrInUse | AddrNotAvailable | InvalidInput | PermissionDenied)
}

/// Listens on free ports of this machine, one for each of several processes. Returns their addresses, too.
///
/// # Errors
/// The error of the system.
pub fn free(processes: usize) -> io::Result<(Vec<String>, Vec<TcpListener>)> {
    let listeners = (0..processes).map(|_| TcpListener::bind("127.0.0.1:0"));
    let listeners = listeners.collect::<io::Result<Vec<_>>>()?;
    let addresses = listeners.iter().map(|listener| Ok(listener.local_addr()?.to_string()));
    Ok((addresses.collect::<io::Result<Vec<_>>>()?, listeners))
}

/// Several processes, by address, as a file names them.
///
/// # Errors
/// One sentence, if there are none, or fewer than asked for.
pub fn addresses(text: &str, processes: Option<usize>) -> Result<Vec<String>, String> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let mut all: Vec<String> = lines.filter(|line| !line.is_empty()).map(str::to_string).collect();
    if let Some(wrong) = all.iter().find(|line| !line.contains(':') || line.contains(' ')) {
        return Err(format!("`{wrong}` is no address: write one `host:port` on each line"));
    }
    let processes = processes.unwrap_or(all.len());
    if all.is_empty() || all.len() < processes {
        return Err(format!("it names {} addresses for {processes} processes", all.len()));
    }
    all.truncate(processes);
    Ok(all)
}

type Shareable<T> = Arc<Mutex<T>>;
