//! Real servers: a standalone server, or an ensemble.

use super::options::Member;
use super::process::{Process, free_ports, mode};
use super::{ConformError, Installation, Options};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How often a start is tried with other ports, because another process may take a free port before the server does.
const ATTEMPTS: usize = 3;

/// A standalone server in a temporary directory. It ends when this value is dropped.
#[derive(Debug)]
pub struct RealServer {
    // Declared before the directory, so that the process is killed before the directory is deleted.
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

    /// Returns the address at which it serves clients.
    pub fn address(&self) -> SocketAddr {
        self.process.address()
    }

    /// Returns the directory of its snapshots and logs.
    pub fn data(&self) -> PathBuf {
        self.process.data()
    }

    /// Kills the server, as a crash would. Its files are kept.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Restarts the server on its files after [`RealServer::kill`], and waits until it serves.
    ///
    /// # Errors
    /// Fails if the server does not serve in time.
    pub fn restart(
        &mut self,
        installation: &Installation,
        options: &Options,
    ) -> Result<(), ConformError> {
        self.process.start(installation, options)?;
        self.process.wait(options.patience)
    }
}

/// An ensemble of servers that elect a leader. They end when this value is dropped.
#[derive(Debug)]
pub struct RealEnsemble {
    servers: Vec<Process>,
    members: Vec<Member>,
    installation: Installation,
    options: Options,
    _directory: TempDir,
}

impl RealEnsemble {
    /// Starts `count` servers of this machine's ZooKeeper and waits until all serve. Their `myid`s count from 1, the
    /// indices of the methods here from 0.
    pub fn start(count: usize, options: &Options) -> Result<RealEnsemble, ConformError> {
        RealEnsemble::start_with(&Installation::find()?, count, options)
    }

    /// Starts `count` servers and waits until all serve.
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
        let members: Vec<Member> = quorum
            .chunks(2)
            .zip(clients)
            .map(|(ports, client)| Member { quorum: ports[0], election: ports[1], client: *client })
            .collect();
        let mut lines = options.lines();
        let listed = members.iter().enumerate();
        lines.extend(listed.map(|(index, member)| options.member(index, count, *member)));
        let servers = clients.iter().enumerate().map(|(index, port)| {
            let place = directory.path().join((index + 1).to_string());
            let own = options.own_line(index, count);
            let lines: Vec<String> = lines.iter().cloned().chain(own).collect();
            Process::prepare(place, loopback(*port), &lines, Some(index + 1))
        });
        Ok(RealEnsemble {
            servers: servers.collect::<Result<_, _>>()?,
            members,
            installation: installation.clone(),
            options: options.clone(),
            _directory: directory,
        })
    }

    /// Returns the number of servers, running or not.
    pub fn len(&self) -> usize {
        self.servers.len()
    }

    /// Returns true if there are no servers.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// Returns the address at which the server at `index` serves clients.
    pub fn address(&self, index: usize) -> SocketAddr {
        self.servers[index].address()
    }

    /// Returns the server at `index` as a configuration lists it.
    pub(super) fn line(&self, index: usize, observes: bool) -> String {
        self.members[index].line(index, observes)
    }

    /// Waits until the server at `index` reports this mode.
    pub(super) fn wait_for_mode(&mut self, index: usize, wanted: &str) -> Result<(), ConformError> {
        self.wait_until(index, |ensemble| ensemble.reports(index, wanted))
    }

    /// Waits until one of these servers leads.
    pub(super) fn wait_for_leader(&mut self, among: &[usize]) -> Result<(), ConformError> {
        let Some(first) = among.first() else { return Ok(()) };
        self.wait_until(*first, |ensemble| among.iter().any(|it| ensemble.reports(*it, "leader")))
    }

    fn reports(&self, index: usize, wanted: &str) -> bool {
        mode(self.address(index)).as_deref() == Some(wanted)
    }

    /// Waits for a condition, as long as the server at `index` runs.
    fn wait_until(
        &mut self,
        index: usize,
        is_met: impl Fn(&RealEnsemble) -> bool,
    ) -> Result<(), ConformError> {
        let (start, patience) = (Instant::now(), self.options.patience);
        while !is_met(self) {
            self.servers[index].check()?;
            if start.elapsed() > patience {
                let log = self.servers[index].end_of_log();
                return Err(ConformError::Silent { patience, log });
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Kills a server, as a crash would. Its files are kept.
    pub fn kill(&mut self, index: usize) {
        self.servers[index].kill();
    }

    /// Restarts a killed server on its files, without waiting for it.
    pub fn restart(&mut self, index: usize) -> Result<(), ConformError> {
        self.servers[index].start(&self.installation, &self.options)
    }

    /// Returns the directory of a server's snapshots and logs.
    pub fn data(&self, index: usize) -> PathBuf {
        self.servers[index].data()
    }

    /// Returns the id of a server's process, if it runs.
    pub fn process(&self, index: usize) -> Option<u32> {
        self.servers[index].process()
    }

    /// Returns the last lines of the servers' logs.
    pub fn logs(&self) -> String {
        let logs = self.servers.iter().zip(1..);
        logs.map(|(server, id)| format!("server {id}:\n{}\n", server.end_of_log())).collect()
    }

    /// Returns the index of the leader.
    ///
    /// # Errors
    /// Fails if no server reports that it leads.
    pub fn leader(&mut self) -> Result<usize, ConformError> {
        let leads = |server: &Process| mode(server.address()).as_deref() == Some("leader");
        self.servers.iter().position(leads).ok_or(ConformError::NoLeader)
    }

    /// Waits until a server serves, as a leader or as a follower.
    pub fn wait(&mut self, index: usize) -> Result<(), ConformError> {
        self.servers[index].wait(self.options.patience)
    }
}

fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

/// Tries again if a server ended because its port was taken.
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
