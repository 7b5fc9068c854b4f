//! Real servers of which each finds every other one's quorum port behind a proxy of its own.

use super::link::{Direction, Hold, Link, down};
use super::quorum::Kind;
use super::session::{PATIENCE, Session};
use super::tracer::Tracer;
use super::trouble::Trouble;
use crate::conform::process::{Process, mode, told};
use crate::conform::{ConformError, Installation, Options};
use std::fs::{self, File};
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use vivarium_model::id::ServerId;
use vivarium_model::zxid::Zxid;

/// How long an election and the synchronisation behind it may take.
const SERVES: Duration = Duration::from_secs(60);

/// Servers, running or not, and the links between them. They end when this is dropped.
#[derive(Debug)]
pub(super) struct Ensemble {
    // Before the links and the directory, so that the processes have ended when those go.
    servers: Vec<Process>,
    links: Vec<Link>,
    options: Options,
    installation: Installation,
    directory: TempDir,
}

/// What suits defects: fsyncs that are made, and time enough for a link to be held without its learner being
/// given up.
pub(super) fn options() -> Options {
    let fsync = "-Dzookeeper.forceSync=yes".to_owned();
    // What servers refuse, they say in warnings and errors; how they were synchronised, at level `info`.
    let level = "-Dorg.slf4j.simpleLogger.defaultLogLevel=info".to_owned();
    Options {
        tick_time: Duration::from_millis(500),
        session_timeouts: Duration::from_secs(1)..=Duration::from_secs(120),
        java_arguments: vec![fsync, level],
        settings: vec!["initLimit=20".to_owned(), "syncLimit=60".to_owned()],
        ..Options::default()
    }
}

/// The same with transaction logs as short as what is in them: they are 64 MB from the start otherwise.
pub(super) fn with_small_logs() -> Options {
    let mut options = options();
    options.java_arguments.push("-Dzookeeper.preAllocSize=64".to_owned());
    options
}

impl Ensemble {
    /// Prepares servers; none runs yet.
    pub(super) fn prepare(
        installation: &Installation,
        count: usize,
        options: Options,
    ) -> Result<Ensemble, Trouble> {
        let directory = TempDir::with_prefix("zookeeper-").map_err(ConformError::Start)?;
        let ports = free_ports(count * (count + 2))?;
        let (clients, rest) = ports.split_at(count);
        let (elections, rest) = rest.split_at(count);
        // A server's own quorum port, and the proxies for its learners.
        let quorum: Vec<&[u16]> = rest.chunks(count).collect();
        let mut links = Vec::new();
        let mut servers = Vec::new();
        for learner in 0..count {
            let mut lines = options.lines();
            for leader in 0..count {
                let port = quorum[leader][learner];
                let (election, number) = (elections[leader], leader + 1);
                lines.push(format!("server.{number}=127.0.0.1:{port}:{election}"));
                if learner != leader {
                    let target = loopback(quorum[leader][leader]);
                    let ids = (ServerId::at(learner), ServerId::at(leader));
                    links.push(Link::open(ids.0, ids.1, port, target)?);
                }
            }
            let place = directory.path().join((learner + 1).to_string());
            let address = loopback(clients[learner]);
            servers.push(Process::prepare(place, address, &lines, Some(learner + 1))?);
        }
        let installation = installation.clone();
        Ok(Ensemble { servers, links, options, installation, directory })
    }

    /// Prepares servers, starts all of them and waits until they serve; and which one leads.
    pub(super) fn start_all(
        installation: &Installation,
        count: usize,
        options: Options,
    ) -> Result<(Ensemble, ServerId), Trouble> {
        let mut ensemble = Ensemble::prepare(installation, count, options)?;
        let all = ensemble.all();
        ensemble.start(&all)?;
        let leader = ensemble.serving(&all)?;
        Ok((ensemble, leader))
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<ServerId> {
        (0..self.servers.len()).map(ServerId::at).collect()
    }

    /// All but one.
    pub(super) fn others(&self, server: ServerId) -> Vec<ServerId> {
        self.all().into_iter().filter(|other| *other != server).collect()
    }

    /// Starts servers on what they wrote before, without waiting for them.
    pub(super) fn start(&mut self, servers: &[ServerId]) -> Result<(), Trouble> {
        for server in servers {
            self.servers[server.index()].start(&self.installation, &self.options)?;
        }
        Ok(())
    }

    /// Kills servers at once, as a crash would, and then cuts and frees every link.
    pub(super) fn crash(&mut self, servers: &[ServerId]) {
        for server in servers {
            self.servers[server.index()].kill();
        }
        for link in &self.links {
            link.cut();
            link.release();
        }
    }

    /// The status with which a server's process has ended by itself, since it was started last; `None` if it runs.
    pub(super) fn has_ended(&mut self, server: ServerId) -> Option<String> {
        match self.servers[server.index()].check() {
            Err(ConformError::Ended { status, .. }) => Some(status),
            _ => None,
        }
    }

    /// Kills one server and leaves the links as they are.
    pub(super) fn kill(&mut self, server: ServerId) {
        self.servers[server.index()].kill();
    }

    /// Kills one server that is being traced.
    pub(super) fn kill_traced(&mut self, server: ServerId, tracer: Tracer) {
        if let Some(process) = self.servers[server.index()].process() {
            tracer.kill(process);
        }
        self.kill(server);
    }

    /// Waits until all of these serve, one of them as the leader; which one.
    pub(super) fn serving(&mut self, servers: &[ServerId]) -> Result<ServerId, Trouble> {
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
                return Err(Trouble::NotSeen {
                    what: format!("{names} serving"),
                    patience: SERVES,
                });
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until one server serves; false if it does not within so long, or its process has ended.
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

    /// Starts a server and waits until it serves; how its leader brought it up to date.
    pub(super) fn brings_up_to_date(
        &mut self,
        server: ServerId,
        leader: ServerId,
    ) -> Result<String, Trouble> {
        self.start(&[server])?;
        self.serving(&[server, leader])?;
        let by = self.link(server, leader).synchronised();
        Ok(by.map_or("nothing".to_owned(), |(kind, zxid)| format!("{kind} to {zxid}")))
    }

    /// What a server says it is: `leader` or `follower`; `None` if it does not serve.
    pub(super) fn mode(&self, server: ServerId) -> Option<String> {
        mode(self.address(server))
    }

    /// How many requests a server has taken and not answered.
    pub(super) fn outstanding(&self, server: ServerId) -> Option<usize> {
        told(self.address(server), "Outstanding: ")?.trim().parse().ok()
    }

    /// The last transaction that a server has applied.
    pub(super) fn applied(&self, server: ServerId) -> Option<Zxid> {
        let told = told(self.address(server), "Zxid: 0x")?;
        Some(Zxid(u64::from_str_radix(told.trim(), 16).ok()?))
    }

    /// Where a server serves clients.
    pub(super) fn address(&self, server: ServerId) -> SocketAddr {
        self.servers[server.index()].address()
    }

    /// A new session at a server.
    pub(super) fn session(&self, server: ServerId) -> Result<Session, Trouble> {
        Session::begin(self.address(server))
    }

    /// The link from a learner to a leader.
    pub(super) fn link(&self, learner: ServerId, leader: ServerId) -> &Link {
        let row = learner.index() * (self.servers.len() - 1);
        let column = leader.index() - usize::from(leader.index() > learner.index());
        &self.links[row + column]
    }

    /// All links to a leader.
    pub(super) fn links_to(&self, leader: ServerId) -> impl Iterator<Item = &Link> {
        self.others(leader).into_iter().map(move |learner| self.link(learner, leader))
    }

    /// All links of a learner.
    pub(super) fn links_of(&self, learner: ServerId) -> impl Iterator<Item = &Link> {
        self.others(learner).into_iter().map(move |leader| self.link(learner, leader))
    }

    /// Holds packets on every link to a leader.
    pub(super) fn hold_all(&self, leader: ServerId, direction: Direction, hold: Hold) {
        self.links_to(leader).for_each(|link| link.hold(direction, hold));
    }

    /// A learner has all that is committed so far, and hears of no proposal behind that.
    pub(super) fn hears_no_more(
        &self,
        learner: ServerId,
        leader: ServerId,
        client: &mut Session,
    ) -> Result<(), Trouble> {
        let link = self.link(learner, leader);
        let mark = link.mark();
        let before = client.create("/before")?;
        link.wait(down(Kind::Commit, Some(before)), mark, SOON)?;
        link.hold(Direction::Down, Hold::From(Kind::Proposal));
        Ok(())
    }

    /// The files of a server: logs, snapshots, epochs.
    pub(super) fn files(&self, server: ServerId) -> PathBuf {
        self.servers[server.index()].data().join("version-2")
    }

    /// The names of those files whose name begins so, in order.
    pub(super) fn named(&self, server: ServerId, beginning: &str) -> Vec<String> {
        let entries = fs::read_dir(self.files(server)).into_iter().flatten();
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| name.starts_with(beginning)).collect();
        names.sort();
        names
    }

    /// Whether the beginning of a transaction log of a server speaks of a path.
    pub(super) fn has_logged(&self, server: ServerId, path: &str) -> bool {
        // Logs are made large at once, and written from the beginning: these runs write little.
        const BEGINNING: u64 = 1 << 20;
        let speaks = |name: &String| {
            let mut bytes = Vec::new();
            let file = File::open(self.files(server).join(name));
            let read = file.and_then(|file| file.take(BEGINNING).read_to_end(&mut bytes));
            read.is_ok() && bytes.windows(path.len()).any(|bytes| bytes == path.as_bytes())
        };
        self.named(server, "log.").iter().any(speaks)
    }

    /// All that a server has told of itself so far.
    pub(super) fn log(&self, server: ServerId) -> String {
        self.servers[server.index()].log()
    }

    /// The number of a running server's process.
    pub(super) fn process(&self, server: ServerId) -> Result<u32, Trouble> {
        let process = self.servers[server.index()].process();
        process.ok_or_else(|| Trouble::Otherwise(format!("{server} is down")))
    }

    /// strace on a server.
    pub(super) fn trace(&self, server: ServerId, arguments: &[&str]) -> Result<Tracer, Trouble> {
        Tracer::attach(self.process(server)?, arguments, self.directory.path())
    }

    /// A server's CommitProcessor stands still at the next thing that it is woken for, until it is let go. All other
    /// threads of the server go on.
    pub(super) fn stop_commits(&self, server: ServerId) -> Result<Tracer, Trouble> {
        self.stop_commits_at(server, "futex")
    }

    /// A server's CommitProcessor stands still at the end of its next system call of this name, until it is let go.
    pub(super) fn stop_commits_at(&self, server: ServerId, call: &str) -> Result<Tracer, Trouble> {
        let trace = format!("trace={call}");
        let inject = format!("inject={call}:delay_exit=120000000");
        let stands_still = ["-e", &trace, "-e", &inject];
        let process = self.process(server)?;
        let directory = self.directory.path();
        Tracer::attach_to_thread(process, "CommitProcessor", &stands_still, directory)
    }

    /// Which of these servers have a znode, each asked by a session of its own.
    pub(super) fn who_has(
        &self,
        path: &str,
        servers: &[ServerId],
    ) -> Result<Vec<ServerId>, Trouble> {
        let mut have = Vec::new();
        for server in servers {
            if self.session(*server)?.has(path)? {
                have.push(*server);
            }
        }
        Ok(have)
    }

    /// Waits until something is so.
    pub(super) fn until(
        &self,
        what: &str,
        patience: Duration,
        mut is_so: impl FnMut(&Ensemble) -> bool,
    ) -> Result<(), Trouble> {
        let begun = Instant::now();
        while !is_so(self) {
            if begun.elapsed() > patience {
                return Err(Trouble::NotSeen { what: what.to_owned(), patience });
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

/// Servers in words.
pub(super) fn listed(servers: &[ServerId]) -> String {
    let names: Vec<String> = servers.iter().map(|server| server.0.to_string()).collect();
    match names.as_slice() {
        [] => "no server".to_owned(),
        [one] => format!("server {one}"),
        [most @ .., last] => format!("servers {} and {last}", most.join(", ")),
    }
}

fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

/// Ports that nobody listens on. They are below those that systems give to outgoing connections, because a killed
/// server must find its own again when it comes back.
fn free_ports(count: usize) -> Result<Vec<u16>, Trouble> {
    let first = 18_000 + u16::try_from(std::process::id() % 97).unwrap_or(0) * 100;
    let listeners: Vec<TcpListener> = (first..32_000)
        .filter_map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok())
        .take(count)
        .collect();
    let addresses = listeners.iter().filter_map(|listener| listener.local_addr().ok());
    let ports: Vec<u16> = addresses.map(|address| address.port()).collect();
    match ports.len() == count {
        true => Ok(ports),
        false => Err(Trouble::Otherwise("there are not enough free ports".to_owned())),
    }
}

/// Longer than any packet takes that is not held.
pub(super) const SOON: Duration = PATIENCE;
