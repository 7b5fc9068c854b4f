//! A search in several processes: those that this command starts on its machine, or those of a file of hosts.

use super::arguments::ExploreArguments;
use super::numbers::number;
use crate::exploration::Exploration;
use std::fs;
use std::io::{self, stdin};
use std::net::TcpListener;
use std::num::NonZeroUsize;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use vivarium_sim::every::{Checkpoint, Cluster, addresses, free};

/// The variable by which a process that this command started knows its number and all addresses. Its standard input is
/// the socket on which it listens.
const STARTED: &str = "VIVARIUM_PROCESS";

/// Larger numbers are typing errors.
const MOST_PROCESSES: u64 = 1_024;

/// How long started processes have to end after the search.
const TO_END: Duration = Duration::from_secs(10);

/// The processes of a search.
#[derive(Default)]
pub(super) struct Processes {
    cluster: Option<Arc<Cluster>>,
    /// The number of processes that share this machine.
    sharing: usize,
    /// True if this process was started by another one.
    pub(super) is_started: bool,
    started: Vec<Child>,
}

impl Processes {
    /// Begins the processes that the arguments ask for.
    ///
    /// # Errors
    /// One sentence about what is wrong with the arguments or the file, or why a process could not be started.
    pub(super) fn begin(arguments: &ExploreArguments) -> Result<Processes, String> {
        let asked = match &arguments.processes {
            Some(text) => Some(number("--processes", text, 1, MOST_PROCESSES)? as usize),
            None => None,
        };
        if let Ok(told) = std::env::var(STARTED) {
            return Processes::started(&told);
        }
        match (&arguments.hosts, &arguments.process, asked) {
            (Some(file), Some(process), _) => {
                let text = fs::read_to_string(file).map_err(|error| {
                    format!("the hosts `{}` cannot be read: {error}", file.display())
                })?;
                let all = addresses(&text, asked)
                    .map_err(|sentence| format!("the hosts `{}`: {sentence}", file.display()))?;
                let process = number("--process", process, 0, all.len() as u64 - 1)? as usize;
                Ok(Processes::of(Cluster::new(process, all)?, 1))
            }
            (Some(_), None, _) => {
                Err("`--hosts`: add `--process I`, which of them this is, from 0".to_string())
            }
            (None, Some(_), _) => Err("`--process`: add `--hosts FILE`".to_string()),
            (None, None, None) => Ok(Processes::default()),
            (None, None, Some(1)) => Ok(Processes::default()),
            (None, None, Some(processes)) => Processes::start(processes),
        }
    }

    fn of(cluster: Cluster, sharing: usize) -> Processes {
        let cluster = Some(Arc::new(cluster));
        Processes { cluster, sharing, is_started: false, started: Vec::new() }
    }

    /// Starts the other processes on this machine.
    fn start(processes: usize) -> Result<Processes, String> {
        let cannot = |error: io::Error| format!("the other processes cannot be started: {error}");
        let (addresses, mut listeners) = free(processes).map_err(cannot)?;
        let own = listeners.remove(0);
        let mut all = Processes::of(Cluster::listening(0, addresses.clone(), own), processes);
        for (process, listener) in (1..).zip(listeners) {
            let told = format!("{process} {}", addresses.join(" "));
            all.started.push(command(&told, listener)?.spawn().map_err(cannot)?);
        }
        Ok(all)
    }

    /// Takes part as a process that another one started.
    fn started(told: &str) -> Result<Processes, String> {
        let wrong = || format!("`{STARTED}={told}` is for processes that Vivarium starts itself");
        let mut words = told.split(' ').map(str::to_string);
        let process = words.next().and_then(|word| word.parse().ok()).ok_or_else(wrong)?;
        let addresses: Vec<String> = words.collect();
        if process == 0 || process >= addresses.len() {
            return Err(wrong());
        }
        let listener = listener().map_err(|error| format!("{}: {error}", wrong()))?;
        let sharing = addresses.len();
        let cluster = Cluster::listening(process, addresses, listener);
        let mut all = Processes::of(cluster, sharing);
        all.is_started = true;
        Ok(all)
    }

    /// Returns the number of this process and that of all, if it is one of several.
    pub(super) fn place(&self) -> Option<(usize, usize)> {
        self.cluster.as_ref().map(|cluster| (cluster.process(), cluster.processes()))
    }

    /// Returns true if another process reports.
    pub(super) fn is_other(&self) -> bool {
        self.cluster.as_ref().is_some_and(|cluster| !cluster.is_first())
    }

    /// Searches with these processes, or goes on from their checkpoint. Those on one machine share its processors and its
    /// memory, unless the arguments say how.
    ///
    /// # Errors
    /// One sentence, if the checkpoint of a search in one process cannot be read.
    pub(super) fn of_search(
        &self,
        arguments: &ExploreArguments,
        mut exploration: Exploration,
    ) -> Result<Exploration, String> {
        let Some(cluster) = &self.cluster else {
            return match &arguments.resume {
                None => Ok(exploration),
                Some(file) => Ok(exploration.resume(Checkpoint::read(file)?)),
            };
        };
        if arguments.threads.is_none() {
            let each = exploration.options.threads.get() / self.sharing;
            exploration = exploration.threads(NonZeroUsize::new(each).unwrap_or(NonZeroUsize::MIN));
        }
        if arguments.max_memory.is_none()
            && let Some(bytes) = exploration.options.max_memory
        {
            exploration = exploration.max_memory(bytes / self.sharing as u64);
        }
        if let Some(file) = &arguments.resume {
            exploration = exploration.resume_together(file);
        }
        Ok(exploration.cluster(Arc::clone(cluster)))
    }
}

/// Returns the command that starts one more process like this one.
#[cfg(unix)]
fn command(told: &str, listener: TcpListener) -> Result<Command, String> {
    let program = std::env::current_exe()
        .map_err(|error| format!("this program cannot be started again: {error}"))?;
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1)).env(STARTED, told).stdout(Stdio::null());
    command.stdin(Stdio::from(std::os::fd::OwnedFd::from(listener)));
    Ok(command)
}

/// Returns the socket that is this process's standard input.
#[cfg(unix)]
fn listener() -> io::Result<TcpListener> {
    use std::os::fd::AsFd as _;
    stdin().as_fd().try_clone_to_owned().map(TcpListener::from)
}

#[cfg(not(unix))]
fn command(_told: &str, _listener: TcpListener) -> Result<Command, String> {
    Err("on this system, start each process yourself, with `--hosts` and `--process`".to_string())
}

#[cfg(not(unix))]
fn listener() -> io::Result<TcpListener> {
    let _ = stdin();
    Err(io::ErrorKind::Unsupported.into())
}

impl Drop for Processes {
    /// Waits for the started processes, and ends those that do not end.
    fn drop(&mut self) {
        let until = Instant::now() + TO_END;
        for child in &mut self.started {
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(5));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
