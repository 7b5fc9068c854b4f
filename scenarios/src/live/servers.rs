//! The servers of a run: an ensemble that is started for it, or one that exists and is not struck.

use super::error::LiveError;
use crate::conform::{ConformError, Installation, Options, RealEnsemble};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};
use vivarium_client::{Client, CreateMode, Version, ZooKeeper};
use vivarium_model::setup::Setup;
use vivarium_model::txn::{Txn, TxnBody};
use vivarium_model::wire::log::read_log;

/// The shortest and longest session timeout of clients: those that a seed draws are for virtual time.
pub(super) const SESSION_TIMEOUTS: (Duration, Duration) =
    (Duration::from_secs(2), Duration::from_secs(6));

/// The longest wait for what needs no fault to end.
pub(super) const SOON: Duration = Duration::from_secs(60);

/// The znode whose creation is the last transaction of a run.
const LAST: &str = "/vivarium-live-end";

/// Where a run's programs work.
#[derive(Clone, Debug)]
pub enum Place {
    /// An ensemble of this many servers, started for each seed.
    Started {
        /// The number of servers.
        servers: usize,
        /// The ZooKeeper to start; that of the machine if there is none.
        installation: Option<Installation>,
    },
    /// An ensemble that exists. Its servers are not struck, and each seed works below a znode of its own.
    Existing {
        /// The servers.
        addresses: Vec<SocketAddr>,
        /// The znode below which all seeds work.
        root: String,
    },
}

/// The servers of a run.
pub(super) struct Servers {
    addresses: Vec<SocketAddr>,
    /// The path below which the programs work, empty for the whole tree.
    pub(super) root: String,
    ensemble: Option<RealEnsemble>,
}

impl Servers {
    /// Starts the servers of a seed, or returns the existing ones.
    pub(super) fn of(place: &Place, seed: u64) -> Result<Servers, LiveError> {
        let (servers, installation) = match place {
            Place::Started { servers, installation } => (*servers, installation.clone()),
            Place::Existing { addresses, root } => {
                let root = format!("{root}/seed-{seed}-{:08x}", number_of_the_run());
                return Ok(Servers { addresses: addresses.clone(), root, ensemble: None });
            }
        };
        let options = Options {
            tick_time: Duration::from_millis(500),
            session_timeouts: SESSION_TIMEOUTS.0..=SESSION_TIMEOUTS.1,
            settings: vec!["4lw.commands.whitelist=srvr,isro".to_owned()],
            ..Options::default()
        };
        let installation = installation.map_or_else(Installation::find, Ok)?;
        let ensemble = started(&installation, servers, &options)?;
        let addresses = (0..servers).map(|server| ensemble.address(server)).collect();
        Ok(Servers { addresses, root: String::new(), ensemble: Some(ensemble) })
    }

    /// Returns the servers' addresses.
    pub(super) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Returns the connect string of the servers themselves, without the programs' root.
    pub(super) fn connect_string(&self) -> String {
        let all: Vec<String> = self.addresses.iter().map(SocketAddr::to_string).collect();
        all.join(",")
    }

    /// Returns the number of servers that can be struck.
    pub(super) fn strikable(&self) -> usize {
        self.ensemble.as_ref().map_or(0, RealEnsemble::len)
    }

    /// Kills a server.
    pub(super) fn kill(&mut self, server: usize) {
        if let Some(ensemble) = &mut self.ensemble {
            ensemble.kill(server);
        }
    }

    /// Starts the servers again that do not run. One that cannot be started shows as programs that do not finish.
    pub(super) fn restart(&mut self) {
        let Some(ensemble) = &mut self.ensemble else { return };
        for server in 0..ensemble.len() {
            if ensemble.process(server).is_none() {
                let _ = ensemble.restart(server);
            }
        }
    }

    /// Sends a signal to a server's process.
    pub(super) fn signal(&self, server: usize, name: &str) {
        if let Some(process) = self.ensemble.as_ref().and_then(|all| all.process(server)) {
            // Without `kill` no server is paused, and the run is only quieter.
            let _ = Command::new("kill").args(["-s", name, &process.to_string()]).status();
        }
    }

    /// Creates the programs' root and the scenario's znodes. The counters of containers cannot be set on real servers.
    pub(super) async fn prepare(
        &self,
        zookeeper: &ZooKeeper,
        setup: &Setup,
    ) -> Result<(), vivarium_client::Error> {
        let parts: Vec<usize> = self.root.match_indices('/').map(|(at, _)| at).skip(1).collect();
        for end in parts.into_iter().chain([self.root.len()]).filter(|end| *end > 0) {
            create(zookeeper, &self.root[..end], CreateMode::Persistent).await?;
        }
        for znode in setup.znodes() {
            let mode = match znode.container {
                Some(_) => CreateMode::Container,
                None => CreateMode::Persistent,
            };
            create(zookeeper, &format!("{}{}", self.root, znode.path.as_str()), mode).await?;
        }
        Ok(())
    }

    /// Returns all transactions of the run, from a server's log; none if the servers are not ours.
    pub(super) async fn logged(&self) -> Result<Vec<Txn>, LiveError> {
        let Some(ensemble) = &self.ensemble else { return Ok(Vec::new()) };
        let direct = Client::builder(&self.connect_string()).connect_within(SOON).connect().await?;
        let writing = async {
            while let Err(error) = direct.create(LAST, b"", CreateMode::Persistent).await {
                match error {
                    vivarium_client::Error::NodeExists => return,
                    vivarium_client::Error::SessionExpired => drop(direct.connect().await),
                    _ => {}
                }
            }
        };
        let written = timeout(SOON, writing).await;
        written.map_err(|_| LiveError::Log("the last write was not answered".to_owned()))?;
        let end = Instant::now() + SOON;
        loop {
            let mut why = String::new();
            for server in 0..ensemble.len() {
                match whole_log(&ensemble.data(server)) {
                    Ok(txns) => return Ok(txns),
                    Err(error) => why = error,
                }
            }
            if Instant::now() > end {
                return Err(LiveError::Log(why));
            }
            sleep(Duration::from_millis(200)).await;
        }
    }

    /// Deletes what the run has left on an ensemble that is not ours. What cannot be deleted stays, below the run's root.
    pub(super) async fn clean(&self) {
        let direct = Client::builder(&self.connect_string()).connect_within(SOON).connect().await;
        if let Ok(direct) = direct {
            let _ = timeout(SOON, delete_all(&direct, &self.root)).await;
            direct.close().await;
        }
    }
}

/// Starts an ensemble. Its first election can take longer than any wait on a busy machine: then another ensemble is started,
/// twice at most.
fn started(
    installation: &Installation,
    servers: usize,
    options: &Options,
) -> Result<RealEnsemble, ConformError> {
    for _ in 0..2 {
        match RealEnsemble::start_with(installation, servers, options) {
            Err(ConformError::Silent { .. }) => {}
            started => return started,
        }
    }
    RealEnsemble::start_with(installation, servers, options)
}

/// A number that differs from run to run.
fn number_of_the_run() -> u32 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.subsec_nanos() ^ since.as_secs() as u32)
}

async fn create(
    zookeeper: &ZooKeeper,
    path: &str,
    mode: CreateMode,
) -> Result<(), vivarium_client::Error> {
    match zookeeper.create(path, b"", mode).await {
        Ok(_) | Err(vivarium_client::Error::NodeExists) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Deletes a znode and everything below it.
async fn delete_all(zookeeper: &ZooKeeper, root: &str) -> Result<(), vivarium_client::Error> {
    let (mut found, mut at) = (vec![root.to_owned()], 0);
    while at < found.len() {
        let children = zookeeper.get_children(&found[at]).await?;
        let parent = found[at].clone();
        found.extend(children.iter().map(|child| format!("{parent}/{child}")));
        at += 1;
    }
    for path in found.iter().rev() {
        zookeeper.delete(path, Version::Any).await?;
    }
    Ok(())
}

/// Returns the transactions of a server's log before the session that has made the last one, if they are those of the
/// whole run: without a gap, from the first.
fn whole_log(data: &Path) -> Result<Vec<Txn>, String> {
    let directory = data.join("version-2");
    let entries = fs::read_dir(&directory).map_err(|error| error.to_string())?;
    let zxid = |path: &Path| {
        u64::from_str_radix(path.file_name()?.to_str()?.strip_prefix("log.")?, 16).ok()
    };
    let mut files: Vec<_> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter_map(|path| Some((zxid(&path)?, path)))
        .collect();
    files.sort();
    let mut txns: Vec<Txn> = Vec::new();
    for (_, path) in files {
        let bytes = fs::read(&path).map_err(|error| error.to_string())?;
        txns.extend(read_log(&bytes).map_err(|error| error.to_string())?);
    }
    for pair in txns.windows(2) {
        let follows = pair[0].zxid.next() == Some(pair[1].zxid)
            || pair[1].zxid.epoch() > pair[0].zxid.epoch() && pair[1].zxid.counter() == 1;
        if !follows {
            return Err(format!(
                "its transaction {} follows {}, so transactions are missing in \
                 between",
                pair[1].zxid, pair[0].zxid
            ));
        }
    }
    let is_last =
        |txn: &&Txn| matches!(&txn.body, TxnBody::Create { path, .. } if path.as_str() == LAST);
    let last = txns.iter().find(is_last).map(|txn| txn.session);
    match txns.first() {
        Some(first) if first.zxid.counter() == 1 && last.is_some() => {}
        _ => {
            return Err(
                "it does not begin with the first transaction or does not contain the last write"
                    .to_owned(),
            );
        }
    }
    let end = txns.iter().position(|txn| Some(txn.session) == last).unwrap_or(txns.len());
    txns.truncate(end);
    Ok(txns)
}
