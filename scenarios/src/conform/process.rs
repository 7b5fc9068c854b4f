//! A server process: it is started in a directory of its own, and killed in the end.

use super::{ConformError, Installation, Options};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The number of log lines that an error shows.
const LOG_LINES: usize = 20;

/// The longest wait for a server's answer to `srvr`. A server that is just starting can accept the question and never
/// answer it.
const LOOK: Duration = Duration::from_millis(300);

/// A server's directory and its process, if it runs. Dropping it kills the process.
#[derive(Debug)]
pub(crate) struct Process {
    address: SocketAddr,
    directory: PathBuf,
    child: Option<Child>,
}

fn data_of(directory: &Path) -> PathBuf {
    directory.join("data")
}

impl Process {
    /// Prepares a directory for a server that will serve clients at `address`. `lines` is all of `zoo.cfg` except
    /// directory and port; `id` is the server's number in an ensemble.
    pub(crate) fn prepare(
        directory: PathBuf,
        address: SocketAddr,
        lines: &[String],
        id: Option<usize>,
    ) -> Result<Process, ConformError> {
        let data = data_of(&directory);
        fs::create_dir_all(&data).map_err(ConformError::Start)?;
        if let Some(id) = id {
            fs::write(data.join("myid"), id.to_string()).map_err(ConformError::Start)?;
        }
        let process = Process { address, directory, child: None };
        let mut config = File::create(process.settings()).map_err(ConformError::Start)?;
        let own = [
            format!("dataDir={}", data.display()),
            format!("clientPort={}", address.port()),
            format!("clientPortAddress={}", address.ip()),
        ];
        for line in own.iter().chain(lines) {
            writeln!(config, "{line}").map_err(ConformError::Start)?;
        }
        Ok(process)
    }

    /// Returns the directory of its snapshots and logs.
    pub(crate) fn data(&self) -> PathBuf {
        data_of(&self.directory)
    }

    /// Returns the file of its settings, which it rewrites when it is reconfigured.
    pub(crate) fn settings(&self) -> PathBuf {
        self.directory.join("zoo.cfg")
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts the process, without waiting until it serves.
    pub(crate) fn start(
        &mut self,
        installation: &Installation,
        options: &Options,
    ) -> Result<(), ConformError> {
        assert!(self.child.is_none(), "the server runs already");
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.log_file())
            .map_err(ConformError::Start)?;
        let child = Command::new(&installation.java)
            .args(options.arguments())
            .arg("-cp")
            .arg(&installation.class_path)
            .arg("org.apache.zookeeper.server.quorum.QuorumPeerMain")
            .arg(self.settings())
            .current_dir(&self.directory)
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(ConformError::Start)?)
            .stderr(log)
            .spawn()
            .map_err(ConformError::Start)?;
        self.child = Some(child);
        Ok(())
    }

    /// Waits until the server serves clients.
    pub(crate) fn wait(&mut self, patience: Duration) -> Result<(), ConformError> {
        assert!(self.child.is_some(), "the server was started");
        let start = Instant::now();
        loop {
            self.check()?;
            if serves(self.address) {
                return Ok(());
            }
            if start.elapsed() > patience {
                return Err(ConformError::Silent { patience, log: self.end_of_log() });
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Kills the process, as a crash would. Its files are kept.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // An error means that the process has ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Returns the process id, if the process was started.
    pub(crate) fn process(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Fails if the process has ended by itself.
    pub(crate) fn check(&mut self) -> Result<(), ConformError> {
        let Some(child) = self.child.as_mut() else { return Ok(()) };
        match child.try_wait().map_err(ConformError::Start)? {
            None => Ok(()),
            Some(status) => {
                self.child = None;
                Err(ConformError::Ended { status: status.to_string(), log: self.end_of_log() })
            }
        }
    }

    pub(crate) fn log(&self) -> String {
        let bytes = fs::read(self.log_file()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn log_file(&self) -> PathBuf {
        self.directory.join("log")
    }

    pub(crate) fn end_of_log(&self) -> String {
        end_of(&self.log_file()).unwrap_or_else(|error| format!("(no log: {error})"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns the last lines of a file.
fn end_of(file: &Path) -> io::Result<String> {
    let text = String::from_utf8_lossy(&fs::read(file)?).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    Ok(lines[lines.len().saturating_sub(LOG_LINES)..].join("\n"))
}

/// Returns true if a server serves clients: its answer to `srvr` then contains its mode. Unlike a ConnectRequest, this
/// creates no session, so it does not become the server's first transaction.
fn serves(address: SocketAddr) -> bool {
    mode(address).is_some()
}

/// Returns the mode that a server reports: `leader`, `follower` or `standalone`; `None` if it does not serve.
pub(crate) fn mode(address: SocketAddr) -> Option<String> {
    told(address, "Mode: ")
}

/// Returns the rest of the line with this beginning in a server's answer to `srvr`; `None` if the server does not
/// serve.
pub(crate) fn told(address: SocketAddr, beginning: &str) -> Option<String> {
    let ask = || -> io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&address, LOOK)?;
        stream.set_read_timeout(Some(LOOK))?;
        stream.write_all(b"srvr")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = ask().ok()?;
    answer.lines().find_map(|line| line.strip_prefix(beginning)).map(str::to_owned)
}

/// Returns unused ports of the loopback interface.
pub(crate) fn free_ports(count: usize) -> Result<Vec<u16>, ConformError> {
    // All ports are bound at the same time, so that none is returned twice.
    let listeners: Vec<TcpListener> = (0..count)
        .map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
        .collect::<io::Result<_>>()
        .map_err(ConformError::Start)?;
    let ports = listeners.iter().map(|listener| Ok(listener.local_addr()?.port()));
    ports.collect::<io::Result<_>>().map_err(ConformError::Start)
}
