//! A soak: many clients of a real ensemble whose servers are killed in turn, for an hour or as long as asked for. In the end
//! no call, task, watch, session or ephemeral znode may be left, and memory may not have grown.
//!
//! ```text
//! cargo run --release -p vivarium-zk --example soak -- [MINUTES] [CLIENTS] [RELEASE]
//! ```
//!
//! RELEASE is one that `vivarium findings --get` has got; without it the machine's own ZooKeeper is started. Debian's 3.8.0
//! itself loses transactions when its servers are killed so often: its replicas differ after some time
//! (ZOOKEEPER-4409 and others), and locks wait for znodes that only some servers have.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::task::block_in_place;
use tokio::time::{Instant, sleep, timeout};
use vivarium::conform::{Installation, Options, RealEnsemble};
use vivarium::recipes::lock::Lock;
use vivarium::recipes::semaphore::Semaphore;
use vivarium_client::{
    AddWatchMode, Client, CreateMode, Error, SessionId, SessionState, Version, ZooKeeper,
};

/// The time between two kills, and the time that a server stays down.
const EVERY: Duration = Duration::from_secs(20);
const DOWN: Duration = Duration::from_secs(5);

/// The time between two lines of the report.
const REPORT: Duration = Duration::from_secs(60);

/// What happened so far.
#[derive(Default)]
struct Counts {
    rounds: AtomicU64,
    losses: AtomicU64,
    requests: AtomicU64,
    attempts: AtomicU64,
    expired: AtomicU64,
}

impl vivarium_client::Metrics for ClientCounts {
    fn request(&self, _: &vivarium_model::op::Request, _: Duration, error: Option<Error>) {
        self.0.requests.fetch_add(1, Ordering::Relaxed);
        if error == Some(Error::ConnectionLoss) {
            self.0.losses.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn attempt(&self, _: &str) {
        self.0.attempts.fetch_add(1, Ordering::Relaxed);
    }

    fn session(&self, _: Option<SessionId>, state: SessionState) {
        if state == SessionState::Expired {
            self.0.expired.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The counts as a client's metrics.
struct ClientCounts(Arc<Counts>);

fn main() {
    match asked() {
        Ok(left) if left.is_empty() => println!("nothing is left"),
        Ok(left) => {
            left.iter().for_each(|one| println!("LEFT: {one}"));
            std::process::exit(1);
        }
        Err(error) => {
            eprintln!("error: {error}");
            std::process::exit(3);
        }
    }
}

/// Runs the soak that the arguments ask for.
fn asked() -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let minutes = number(arguments.next(), 60)?;
    let clients = number(arguments.next(), 50)?;
    let installation = match arguments.next() {
        Some(release) => Installation::of_release(&release)?,
        None => Installation::find()?,
    };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let lasting = Duration::from_secs(60 * u64::from(minutes));
    runtime.block_on(soak(lasting, clients as usize, &installation))
}

fn number(text: Option<String>, default: u32) -> Result<u32, String> {
    let Some(text) = text else { return Ok(default) };
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(format!("minutes and clients are numbers from 1, not `{text}`")),
    }
}

/// Runs the soak, and returns what is left in the end.
async fn soak(
    lasting: Duration,
    clients: usize,
    installation: &Installation,
) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let options =
        Options { settings: vec!["4lw.commands.whitelist=*".to_owned()], ..Options::default() };
    let mut ensemble = RealEnsemble::start_with(installation, 3, &options)?;
    let addresses: Vec<SocketAddr> = (0..3).map(|server| ensemble.address(server)).collect();
    let servers: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
    let servers = servers.join(",");
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let (before, counts) = (tasks(), Arc::new(Counts::default()));
    let (ends, begin) = (Arc::new(AtomicBool::new(false)), Instant::now());
    let mut all = Vec::new();
    for number in 0..clients {
        let builder = Client::builder(&servers).session_timeout(Duration::from_secs(10));
        let client = builder.metrics(ClientCounts(Arc::clone(&counts))).connect().await?;
        let work = work(client.zookeeper(), number as u64, Arc::clone(&ends), Arc::clone(&counts));
        all.push((client.clone(), tokio::spawn(work)));
    }
    let mut memory = Vec::new();
    let (mut kills, mut down, mut reported) = (0, None, begin);
    while begin.elapsed() < lasting {
        sleep(DOWN).await;
        match down.take() {
            Some(server) => block_in_place(|| ensemble.restart(server))?,
            None if Instant::now() - begin > EVERY * (kills + 1) => {
                let server = kills as usize % 3;
                ensemble.kill(server);
                (kills, down) = (kills + 1, Some(server));
            }
            None => {}
        }
        if reported.elapsed() >= REPORT {
            reported = Instant::now();
            let calls: usize = all.iter().map(|(client, _)| client.pending_calls()).sum();
            memory.push(resident());
            println!(
                "{:3} min: {:6} kB, {} tasks, {calls} calls; {} rounds, {} requests, {} lost, {} attempts, \
                 {} sessions expired, {kills} kills",
                begin.elapsed().as_secs() / 60,
                resident(),
                tasks(),
                counts.rounds.load(Ordering::Relaxed),
                counts.requests.load(Ordering::Relaxed),
                counts.losses.load(Ordering::Relaxed),
                counts.attempts.load(Ordering::Relaxed),
                counts.expired.load(Ordering::Relaxed),
            );
        }
    }
    if let Some(server) = down {
        block_in_place(|| ensemble.restart(server))?;
    }
    ends.store(true, Ordering::Relaxed);
    let (mut left, mut clients) = (Vec::new(), Vec::new());
    for (number, (client, work)) in all.into_iter().enumerate() {
        match timeout(Duration::from_secs(120), work).await {
            Ok(Ok(())) => {}
            Ok(Err(panicked)) => left.push(format!("client {number}: {panicked}")),
            Err(_) => left.push(format!("client {number} has not ended its work after 120 s")),
        }
        // Background work of the recipes ends by itself, for instance the deletion of a znode.
        let settled = async {
            while client.outstanding() > 0 || client.pending_calls() > 0 {
                sleep(Duration::from_millis(50)).await;
            }
        };
        if timeout(Duration::from_secs(30), settled).await.is_err() {
            left.push(format!("client {number} still has {} calls", client.pending_calls()));
        }
        clients.push(client);
    }
    left.extend(differences(&addresses).await?);
    for client in clients {
        client.close().await;
    }
    sleep(Duration::from_secs(2)).await;
    if tasks() > before {
        left.push(format!("{} tasks", tasks() - before));
    }
    left.extend(of_servers(&addresses));
    // The first minutes fill caches and pools.
    let settled = memory.get(memory.len() / 4).copied().unwrap_or_default();
    let last = memory.last().copied().unwrap_or_default();
    println!("memory: {settled} kB after a quarter of the time, {last} kB in the end");
    if last > settled + settled / 5 + 4_096 {
        left.push(format!("{} kB of memory", last - settled));
    }
    Ok(left)
}

/// A client's work: locks, permits, watches that are begun and dropped, ephemeral znodes, tasks.
async fn work(zookeeper: ZooKeeper, seed: u64, ends: Arc<AtomicBool>, counts: Arc<Counts>) {
    let mut random = fastrand::Rng::with_seed(seed);
    while !ends.load(Ordering::Relaxed) {
        let ended = round(&zookeeper, &mut random).await;
        if ended == Err(Error::SessionExpired) {
            zookeeper.connect().await;
        }
        counts.rounds.fetch_add(1, Ordering::Relaxed);
        sleep(Duration::from_millis(random.u64(50..300))).await;
    }
}

async fn round(zookeeper: &ZooKeeper, random: &mut fastrand::Rng) -> Result<(), Error> {
    let place = random.u8(..10);
    match random.u8(..6) {
        0 | 1 => {
            let lock = Lock::new(zookeeper.clone(), format!("/lock-{place}"));
            if let Ok(guard) = lock.acquire_timeout(Duration::from_secs(5)).await {
                zookeeper.sleep(Duration::from_millis(5)).await;
                guard.release().await;
            }
        }
        2 => {
            let semaphore = Semaphore::new(zookeeper.clone(), "/permits", 3);
            if let Ok(permit) = semaphore.acquire_timeout(Duration::from_secs(5)).await {
                zookeeper.sleep(Duration::from_millis(5)).await;
                permit.release().await;
            }
        }
        3 => {
            let mut watch = zookeeper.add_watch("/", AddWatchMode::PersistentRecursive).await?;
            for _ in 0..20 {
                let _ = zookeeper.timeout(Duration::from_millis(20), watch.next()).await;
            }
        }
        4 => {
            let path = format!("/mine-{}", random.u32(..));
            zookeeper.create(&path, &[0; 500], CreateMode::Ephemeral).await?;
            let (_, _watch) = zookeeper.exists_watch(&format!("/lock-{place}")).await?;
            let get = zookeeper.get_data(&path);
            let _ = zookeeper.timeout(Duration::from_micros(random.u64(..500)), get).await;
            zookeeper.delete(&path, Version::Any).await?;
        }
        _ => {
            let inner = zookeeper.clone();
            zookeeper.spawn(async move {
                let _ = inner.get_children("/").await;
            });
        }
    }
    Ok(())
}

/// Returns what the servers still hold of clients that have closed their sessions.
fn of_servers(addresses: &[SocketAddr]) -> Vec<String> {
    let mut left = Vec::new();
    for address in addresses {
        let told = ask(*address, "mntr").unwrap_or_else(|error| format!("mntr: {error}"));
        let number = |name: &str| {
            let line = told.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().parse::<f64>().ok()
        };
        for name in ["zk_ephemerals_count", "zk_watch_count", "zk_global_sessions"] {
            match number(name) {
                Some(0.0) => {}
                Some(number) => left.push(format!("{address}: {name} {number}")),
                None => left.push(format!("{address}: no {name}")),
            }
        }
    }
    left
}

/// Returns the znodes that only some servers have, or have otherwise: then a server has lost a transaction, and it is no
/// wonder that a client waits.
async fn differences(addresses: &[SocketAddr]) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut trees = Vec::new();
    for address in addresses {
        let client = Client::connect(&address.to_string()).await?;
        client.sync("/").await?;
        let (mut paths, mut tree) = (vec!["/".to_owned()], BTreeMap::new());
        while let Some(path) = paths.pop() {
            let (names, stat) = client.get_children2(&path).await?;
            let parent = path.trim_end_matches('/');
            paths.extend(names.iter().map(|name| format!("{parent}/{name}")));
            tree.insert(path, (stat.czxid, stat.mzxid, stat.version));
        }
        client.close().await;
        trees.push(tree);
    }
    let all: BTreeSet<&String> = trees.iter().flat_map(BTreeMap::keys).collect();
    let differ = all
        .into_iter()
        .filter(|path| trees.iter().any(|tree| tree.get(*path) != trees[0].get(*path)));
    Ok(differ.map(|path| format!("the servers differ in {path}")).collect())
}

fn ask(address: SocketAddr, word: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(word.as_bytes())?;
    let mut told = String::new();
    stream.read_to_string(&mut told)?;
    Ok(told)
}

/// The resident memory of this process, in kB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse().ok()).unwrap_or(0)
}
