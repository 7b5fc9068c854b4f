//! Real servers, each of which reaches every other server's quorum port through a proxy of its own.

use super::addresses::{Addresses, Members};
use super::error::FindingError;
use super::link::{Direction, Hold, Link, down};
use super::quorum::Kind;
use super::session::{PATIENCE, Session};
use super::tracer::Tracer;
use crate::conform::process::{Process, mode, told};
use crate::conform::{ConformError, Installation, Options};
use std::fs::{self, File};
use std::io::Read;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use vivarium_model::id::ServerId;
use vivarium_model::zxid::Zxid;

/// The longest time of an election and the synchronisation after it.
const SERVES: Duration = Duration::from_secs(60);

/// Servers, running or not, and the links between them. They end when this value is dropped.
#[derive(Debug)]
pub(super) struct Ensemble {
    // Declared before the links and the directory, so that the processes are killed first.
    servers: Vec<Process>,
    links: Vec<Link>,
    elections: Vec<Link>,
    members: Vec<String>,
    /// Those of each server.
    options: Vec<Options>,
    installation: Installation,
    directory: TempDir,
}

/// Options that suit defects: real fsyncs, and limits long enough that a held link does not end its learner's role.
pub(super) fn options() -> Options {
    let fsync = "-Dzookeeper.forceSync=yes".to_owned();
    // Servers log their refusals as warnings and errors, and synchronisations at level `info`.
    let level = "-Dorg.slf4j.simpleLogger.defaultLogLevel=info".to_owned();
    Options {
        tick_time: Duration::from_millis(500),
        session_timeouts: Duration::from_secs(1)..=Duration::from_secs(120),
        java_arguments: vec![fsync, level],
        settings: vec!["initLimit=20".to_owned(), "syncLimit=60".to_owned()],
        ..Options::default()
    }
}

/// Like [`options`], with transaction logs that are no longer than their content; by default each is 64 MB from the
/// start.
pub(super) fn with_small_logs() -> Options {
    let mut options = options();
    options.java_arguments.push("-Dzookeeper.preAllocSize=64".to_owned());
    options
}

impl Ensemble {
    /// Prepares servers, without starting them.
    pub(super) fn prepare(
        installation: &Installation,
        count: usize,
        options: Options,
    ) -> Result<Ensemble, FindingError> {
        let directory = TempDir::with_prefix("zookeeper-").map_err(ConformError::Start)?;
        let addresses = Addresses::by_ports(&options, count)?;
        Ensemble::at(addresses, directory, installation, &options)
    }

    /// Prepares servers that can be reconfigured, without starting them.
    pub(super) fn reconfigurable(
        installation: &Installation,
        members: Members,
    ) -> Result<Ensemble, FindingError> {
        Ensemble::reconfigurable_with(installation, members, Vec::new())
    }

    /// The same with further lines of the servers' configuration files.
    pub(super) fn reconfigurable_with(
        installation: &Installation,
        members: Members,
        settings: Vec<String>,
    ) -> Result<Ensemble, FindingError> {
        let mut options = options();
        options.settings.push("reconfigEnabled=true".to_owned());
        options.settings.extend(settings);
        // By default only a superuser may reconfigure.
        options.java_arguments.push("-Dzookeeper.skipACL=yes".to_owned());
        let directory = TempDir::with_prefix("zookeeper-").map_err(ConformError::Start)?;
        let addresses = Addresses::by_names(members, directory.path())?;
        Ensemble::at(addresses, directory, installation, &options)
    }

    fn at(
        addresses: Addresses,
        directory: TempDir,
        installation: &Installation,
        options: &Options,
    ) -> Result<Ensemble, FindingError> {
        let Addresses { clients, lines: lists, links, elections, members, arguments } = addresses;
        let mut servers = Vec::new();
        for (at, (client, list)) in clients.into_iter().zip(lists).enumerate() {
            let lines: Vec<String> = options.lines().into_iter().chain(list).collect();
            let place = directory.path().join((at + 1).to_string());
            servers.push(Process::prepare(place, client, &lines, Some(at + 1))?);
        }
        let options = (0..servers.len()).map(|at| {
            let mut options = options.clone();
            options.java_arguments.extend(arguments.get(at).cloned());
            options
        });
        let (options, installation) = (options.collect(), installation.clone());
        Ok(Ensemble { servers, links, elections, members, options, installation, directory })
    }

    /// Prepares and starts servers and waits until all serve. Returns the leader, too.
    pub(super) fn start_all(
        installation: &Installation,
        count: usize,
        options: Options,
    ) -> Result<(Ensemble, ServerId), FindingError> {
        let mut ensemble = Ensemble::prepare(installation, count, options)?;
        let all = ensemble.all();
        ensemble.start(&all)?;
        let leader = ensemble.serving(&all)?;
        Ok((ensemble, leader))
    }

    /// Returns all servers.
    pub(super) fn all(&self) -> Vec<ServerId> {
        (0..self.servers.len()).map(ServerId::at).collect()
    }

    /// Returns all servers except one.
    pub(super) fn others(&self, server: ServerId) -> Vec<ServerId> {
        self.all().into_iter().filter(|other| *other != server).collect()
    }

    /// Starts servers on their existing files, without waiting for them.
    pub(super) fn start(&mut self, servers: &[ServerId]) -> Result<(), FindingError> {
        for server in servers {
            let at = server.index();
            self.servers[at].start(&self.installation, &self.options[at])?;
        }
        Ok(())
    }

    /// Kills servers, as a crash would, and then cuts and releases every link.
    pub(super) fn crash(&mut self, servers: &[ServerId]) {
        for server in servers {
            self.servers[server.index()].kill();
        }
        for link in self.links.iter().chain(&self.elections) {
            link.cut();
            link.release();
        }
    }

    /// Returns the status with which a server's process has ended by itself since its last start; `None` if it runs.
    pub(super) fn has_ended(&mut self, server: ServerId) -> Option<String> {
        match self.servers[server.index()].check() {
            Err(ConformError::Ended { status, .. }) => Some(status),
            _ => None,
        }
    }

    /// Fails if the process of one of these servers has ended by itself: a server that does not serve must still run, or the
    /// reason is another one than the finding's.
    pub(super) fn all_run(&mut self, servers: &[ServerId]) -> Result<(), FindingError> {
        for server in servers {
            self.servers[server.index()].check()?;
            // An earlier check may have found that it has ended.
            self.process(*server)?;
        }
        Ok(())
    }

    /// Kills a server and leaves the links unchanged.
    pub(super) fn kill(&mut self, server: ServerId) {
        self.servers[server.index()].kill();
    }

    /// Kills a server that is being traced.
    pub(super) fn kill_traced(&mut self, server: ServerId, tracer: Tracer) {
        if let Some(process) = self.servers[server.index()].process() {
            tracer.kill(process);
        }
        self.kill(server);
    }

    /// Waits until all these servers serve, one of them as the leader. Returns the leader.
    pub(super) fn serving(&mut self, servers: &[ServerId]) -> Result<ServerId, FindingError> {
        let begun = Instant::now();
        loop {
            let modes: Vec<_> = servers.iter().map(|server| self.mode(*server)).collect();
            let leads = |mode: &Option<String>| mode.as_deref() == Some("leader");
            if let Some(at) = modes.iter().position(leads)
                && modes.iter().all(Option::is_some)
            {
                return Ok(servers[at]);
            }
            for server in servers {
                self.servers[server.index()].check()?;
            }
            if begun.elapsed() > SERVES {
                let names = listed(servers);
                return Err(FindingError::NotSeen {
                    what: format!("{names} serving"),
                    patience: SERVES,
                });
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until a server serves. Returns false if it does not in time, or if its process has ended.
    pub(super) fn serves_within(&mut self, server: ServerId, patience: Duration) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < patience && self.servers[server.index()].check().is_ok() {
            if self.mode(server).is_some() {
                return true;
            }
            thread::sleep(Duration::from_millis(50));
        }
        false
    }

    /// Starts a server and waits until it serves. Returns how its leader synchronised it.
    pub(super) fn brings_up_to_date(
        &mut self,
        server: ServerId,
        leader: ServerId,
    ) -> Result<String, FindingError> {
        self.start(&[server])?;
        self.serving(&[server, leader])?;
        let by = self.link(server, leader).synchronised();
        Ok(by.map_or("nothing".to_owned(), |(kind, zxid)| format!("{kind} to {zxid}")))
    }

    /// Returns the mode that a server reports: `leader`, `follower` or `observer`; `None` if it does not serve.
    pub(super) fn mode(&self, server: ServerId) -> Option<String> {
        mode(self.address(server))
    }

    /// Returns the number of requests that a server has received and not answered.
    pub(super) fn outstanding(&self, server: ServerId) -> Option<usize> {
        told(self.address(server), "Outstanding: ")?.trim().parse().ok()
    }

    /// Returns the last transaction that a server has applied.
    pub(super) fn applied(&self, server: ServerId) -> Option<Zxid> {
        let told = told(self.address(server), "Zxid: 0x")?;
        Some(Zxid(u64::from_str_radix(told.trim(), 16).ok()?))
    }

    /// Returns the address at which a server serves clients.
    pub(super) fn address(&self, server: ServerId) -> SocketAddr {
        self.servers[server.index()].address()
    }

    /// Begins a session at a server.
    pub(super) fn session(&self, server: ServerId) -> Result<Session, FindingError> {
        Session::begin(self.address(server))
    }

    /// Returns a server of a reconfigurable ensemble as a configuration lists it as a voter.
    pub(super) fn member(&self, server: ServerId) -> &str {
        &self.members[server.index()]
    }

    /// Returns the name of the file that holds a server's committed configuration; its end is the version. `None` if the
    /// server has no such file.
    pub(super) fn configuration(&self, server: ServerId) -> Option<String> {
        let text = fs::read_to_string(self.servers[server.index()].settings()).ok()?;
        let file = text.lines().find_map(|line| line.strip_prefix("dynamicConfigFile="))?;
        Some(file.rsplit('/').next().unwrap_or(file).to_owned())
    }

    /// Returns the link from a learner to a leader.
    pub(super) fn link(&self, learner: ServerId, leader: ServerId) -> &Link {
        let row = learner.index() * (self.servers.len() - 1);
        let column = leader.index() - usize::from(leader.index() > learner.index());
        &self.links[row + column]
    }

    /// Separates these servers of a reconfigurable ensemble from all others.
    pub(super) fn cut_off(&self, servers: &[ServerId]) {
        let ends =
            |link: &&Link| servers.contains(&link.learner()) != servers.contains(&link.leader());
        for link in self.links.iter().chain(&self.elections).filter(ends) {
            link.refuse(true);
            link.cut();
        }
    }

    /// Returns all links to a leader.
    pub(super) fn links_to(&self, leader: ServerId) -> impl Iterator<Item = &Link> {
        self.others(leader).into_iter().map(move |learner| self.link(learner, leader))
    }

    /// Returns all links of a learner.
    pub(super) fn links_of(&self, learner: ServerId) -> impl Iterator<Item = &Link> {
        self.others(learner).into_iter().map(move |leader| self.link(learner, leader))
    }

    /// Holds packets on every link to a leader.
    pub(super) fn hold_all(&self, leader: ServerId, direction: Direction, hold: Hold) {
        self.links_to(leader).for_each(|link| link.hold(direction, hold));
    }

    /// Waits until a learner has received all commits so far, and holds all later proposals.
    pub(super) fn hears_no_more(
        &self,
        learner: ServerId,
        leader: ServerId,
        client: &mut Session,
    ) -> Result<(), FindingError> {
        let link = self.link(learner, leader);
        let mark = link.mark();
        let before = client.create("/before")?;
        link.wait(down(Kind::Commit, Some(before)), mark, SOON)?;
        link.hold(Direction::Down, Hold::From(Kind::Proposal));
        Ok(())
    }

    /// Returns the directory of a server's logs, snapshots and epochs.
    pub(super) fn files(&self, server: ServerId) -> PathBuf {
        self.servers[server.index()].data().join("version-2")
    }

    /// Returns the names of the files with this beginning, in order.
    pub(super) fn named(&self, server: ServerId, beginning: &str) -> Vec<String> {
        let entries = fs::read_dir(self.files(server)).into_iter().flatten();
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| name.starts_with(beginning)).collect();
        names.sort();
        names
    }

    /// Returns true if the beginning of a server's transaction log mentions a path.
    pub(super) fn has_logged(&self, server: ServerId, path: &str) -> bool {
        // Log files are allocated large and written from the beginning, and these runs write little.
        const BEGINNING: u64 = 1 << 20;
        let speaks = |name: &String| {
            let mut bytes = Vec::new();
            let file = File::open(self.files(server).join(name));
            let read = file.and_then(|file| file.take(BEGINNING).read_to_end(&mut bytes));
            read.is_ok() && bytes.windows(path.len()).any(|bytes| bytes == path.as_bytes())
        };
        self.named(server, "log.").iter().any(speaks)
    }

    /// Returns everything that a server has logged so far.
    pub(super) fn log(&self, server: ServerId) -> String {
        self.servers[server.index()].log()
    }

    /// Returns the process id of a running server.
    pub(super) fn process(&self, server: ServerId) -> Result<u32, FindingError> {
        let process = self.servers[server.index()].process();
        process.ok_or_else(|| FindingError::Otherwise(format!("{server} is down")))
    }

    /// Attaches strace to a server.
    pub(super) fn trace(
        &self,
        server: ServerId,
        arguments: &[&str],
    ) -> Result<Tracer, FindingError> {
        Tracer::attach(self.process(server)?, arguments, self.directory.path())
    }

    /// Holds a server's CommitProcessor at its next wake-up until it is released. All other threads of the server
    /// continue.
    pub(super) fn stop_commits(&self, server: ServerId) -> Result<Tracer, FindingError> {
        self.stop_commits_at(server, "futex")
    }

    /// Holds a server's CommitProcessor at the end of its next system call of this name, until it is released.
    pub(super) fn stop_commits_at(
        &self,
        server: ServerId,
        call: &str,
    ) -> Result<Tracer, FindingError> {
        let trace = format!("trace={call}");
        let inject = format!("inject={call}:delay_exit=120000000");
        let stands_still = ["-e", &trace, "-e", &inject];
        let process = self.process(server)?;
        let directory = self.directory.path();
        Tracer::attach_to_thread(process, "CommitProcessor", &stands_still, directory)
    }

    /// Returns those of these servers that have a znode. Each is asked by a session of its own.
    pub(super) fn who_has(
        &self,
        path: &str,
        servers: &[ServerId],
    ) -> Result<Vec<ServerId>, FindingError> {
        let mut have = Vec::new();
        for server in servers {
            if self.session(*server)?.has(path)? {
                have.push(*server);
            }
        }
        Ok(have)
    }

    /// Waits until a condition holds.
    pub(super) fn until(
        &self,
        what: &str,
        patience: Duration,
        mut is_so: impl FnMut(&Ensemble) -> bool,
    ) -> Result<(), FindingError> {
        let begun = Instant::now();
        while !is_so(self) {
            if begun.elapsed() > patience {
                return Err(FindingError::NotSeen { what: what.to_owned(), patience });
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

/// Lists servers in words.
pub(super) fn listed(servers: &[ServerId]) -> String {
    let names: Vec<String> = servers.iter().map(|server| server.0.to_string()).collect();
    match names.as_slice() {
        [] => "no server".to_owned(),
        [one] => format!("server {one}"),
        [most @ .., last] => format!("servers {} and {last}", most.join(", ")),
    }
}

/// Longer than any packet takes that is not held.
pub(super) const SOON: Duration = PATIENCE;
