//! Real servers: one alone, or an ensemble.

use super::process::{Process, free_ports, mode};
use super::{ConformError, Installation, Options};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use tempfile::TempDir;

/// How often a start is tried again with other ports, because somebody took one between the moment
/// when it was found free and the moment when the server asked for it.
const ATTEMPTS: usize = 3;

/// One standalone server in a temporary directory. It ends when this is dropped.
#[derive(Debug)]
pub struct RealServer {
    // Before the directory, so that the process has ended when that goes.
    process: Process,
    _directory: TempDir,
}

impl RealServer {
    /// Starts the ZooKeeper of this machine and waits until it serves.
    pub fn start(options: &Options) -> Result<RealServer, ConformError> {
        RealServer::start_with(&Installation::find()?, options)
    }

    /// Starts a ZooKeeper and waits until it serves.
    pub fn start_with(
        installation: &Installation,
        options: &Options,
    ) -> Result<RealServer, ConformError> {
        with_other_ports(|| {
            let directory = TempDir::with_prefix("zookeeper-").map_err(ConformError::Start)?;
            let address = loopback(free_ports(1)?[0]);
            let place = directory.path().to_owned();
            let mut process = Process::prepare(place, address, &options.lines(), None)?;
            process.start(installation, options)?;
            process.wait(options.patience)?;
            Ok(RealServer { process, _directory: directory })
        })
    }

    /// Where it serves clients.
    pub fn address(&self) -> SocketAddr {
        self.process.address()
    }

    /// Where its snapshots and logs are.
    pub fn data(&self) -> PathBuf {
        self.process.data()
    }

    /// Kills it, as a crash would. What it wrote stays.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts it again on what it wrote, after [`RealServer::kill`], and waits until it serves.
    ///
    /// # Errors
    /// It does not come up.
    pub fn restart(
        &mut self,
        installation: &Installation,
        options: &Options,
    ) -> Result<(), ConformError> {
        self.process.start(installation, options)?;
        self.process.wait(options.patience)
    }
}

/// Several servers that elect a leader. They end when this is dropped.
#[derive(Debug)]
pub struct RealEnsemble {
    servers: Vec<Process>,
    installation: Installation,
    options: Options,
    _directory: TempDir,
}

impl RealEnsemble {
    /// Starts so many servers of this machine's ZooKeeper and waits until they all serve. Their
    /// `myid`s are from 1, in the order in which the methods here count them from 0.
    pub fn start(count: usize, options: &Options) -> Result<RealEnsemble, ConformError> {
        RealEnsemble::start_with(&Installation::find()?, count, options)
    }

    /// Starts so many servers and waits until they all serve.
    pub fn start_with(
        installation: &Installation,
        count: usize,
        options: &Options,
    ) -> Result<RealEnsemble, ConformError> {
        with_other_ports(|| {
            let mut ensemble = RealEnsemble::prepare(installation, count, options)?;
            for server in &mut ensemble.servers {
                server.start(installation, options)?;
            }
            for server in &mut ensemble.servers {
                server.wait(options.patience)?;
            }
            Ok(ensemble)
        })
    }

    fn prepare(
        installation: &Installation,
        count: usize,
        options: &Options,
    ) -> Result<RealEnsemble, ConformError> {
        let directory = TempDir::with_prefix("zookeeper-").map_err(ConformError::Start)?;
        let ports = free_ports(3 * count)?;
        let (clients, quorum) = ports.split_at(count);
        let mut lines = options.lines();
        lines.extend(quorum.chunks(2).enumerate().map(|(index, ports)| {
            format!("server.{}=127.0.0.1:{}:{}", index + 1, ports[0], ports[1])
        }));
        let servers = clients.iter().enumerate().map(|(index, port)| {
            let place = directory.path().join((index + 1).to_string());
            Process::prepare(place, loopback(*port), &lines, Some(index + 1))
        });
        Ok(RealEnsemble {
            servers: servers.collect::<Result<_, _>>()?,
            installation: installation.clone(),
            options: options.clone(),
            _directory: directory,
        })
    }

    /// How many servers, running or not.
    pub fn len(&self) -> usize {
        self.servers.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// Where the server at `index` serves clients.
    pub fn address(&self, index: usize) -> SocketAddr {
        self.servers[index].address()
    }

    /// Kills a server, as a crash would. What it wrote stays.
    pub fn kill(&mut self, index: usize) {
        self.servers[index].kill();
    }

    /// Starts a killed server on what it wrote, without waiting for it.
    pub fn restart(&mut self, index: usize) -> Result<(), ConformError> {
        self.servers[index].start(&self.installation, &self.options)
    }

    /// The ends of the servers' logs.
    pub fn logs(&self) -> String {
        let logs = self.servers.iter().zip(1..);
        logs.map(|(server, id)| format!("server {id}:\n{}\n", server.end_of_log())).collect()
    }

    /// The place of the server that leads.
    ///
    /// # Errors
    /// When none says so.
    pub fn leader(&mut self) -> Result<usize, ConformError> {
        let leads = |server: &Process| mode(server.address()).as_deref() == Some("leader");
        self.servers.iter().position(leads).ok_or(ConformError::NoLeader)
    }

    /// Waits until a server serves, as a leader or with one.
    pub fn wait(&mut self, index: usize) -> Result<(), ConformError> {
        self.servers[index].wait(self.options.patience)
    }
}

fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

/// Tries again where a server ended because its port was taken.
fn with_other_ports<T>(
    mut start: impl FnMut() -> Result<T, ConformError>,
) -> Result<T, ConformError> {
    for _ in 1..ATTEMPTS {
        match start() {
            Err(ConformError::Ended { log, .. }) if log.contains("BindException") => {}
            result => return result,
        }
    }
    start()
}
