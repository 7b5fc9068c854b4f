//! One seed's run on a real ensemble.

use super::judge::{Judged, Timed, judge, judging};
use super::plan::{Plan, Strike};
use super::proxy::{Loss, Proxy};
use super::surroundings::Around;
use crate::conform::{ConformError, Installation, Options, RealEnsemble};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use thiserror::Error;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use vivarium_client::{Client, ConnectError, CreateMode, ZooKeeper};
use vivarium_model::event::Event;
use vivarium_model::id::ClientId;
use vivarium_model::property::Objection;
use vivarium_model::setup::Setup;
use vivarium_model::txn::{Txn, TxnBody};
use vivarium_model::wire::log::read_log;
use vivarium_sim::{Drawn, Run, Scenario};

/// The shortest and longest session timeout of clients: those that a seed draws are for virtual time.
const SESSION_TIMEOUTS: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(6));

/// The longest wait for what needs no fault to end.
const SOON: Duration = Duration::from_secs(60);

/// The number of events that are shown before a violation.
const LAST_EVENTS: usize = 30;

/// The znode whose creation is the last transaction of a run.
const LAST: &str = "/vivarium-live-end";

/// How runs are made.
#[derive(Clone, Debug)]
pub struct LivePlan {
    /// The number of servers.
    pub servers: usize,
    /// The duration of the faults.
    pub faults_for: Duration,
    /// The time that programs have to finish after the faults.
    pub finish_within: Duration,
    /// The ZooKeeper to start; that of the machine if there is none.
    pub installation: Option<Installation>,
}

/// The end of a run.
#[derive(Clone, Debug)]
pub struct Ended {
    /// How often each kind struck ([`Strike::KINDS`]).
    pub strikes: [u64; Strike::KINDS.len()],
    /// The number of clients.
    pub clients: usize,
    /// The number of transactions.
    pub txns: usize,
    /// The number of events.
    pub events: usize,
    /// The number of properties that were judged.
    pub judged: usize,
    /// The properties that need servers' own events, and were not judged.
    pub not_judged: Vec<String>,
    /// The objection, and the last events before it; `None` if every property held.
    pub violation: Option<(Objection, Vec<String>)>,
}

/// Why a run has no result.
#[derive(Debug, Error)]
pub enum LiveError {
    /// There are no servers to run on.
    #[error(transparent)]
    Servers(#[from] ConformError),
    /// A client could not connect while nothing was at fault.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The scenario's znodes could not be created.
    #[error("the scenario's znodes cannot be created: {0}")]
    Setup(vivarium_client::Error),
    /// A file or a socket failed.
    #[error("{what}: {why}")]
    Machine {
        /// What failed.
        what: &'static str,
        /// The reason.
        why: String,
    },
    /// The servers' logs do not have the whole run.
    #[error("no server's log contains the whole run: {0}")]
    Log(String),
}

fn machine<E: std::fmt::Display>(what: &'static str) -> impl FnOnce(E) -> LiveError {
    move |why| LiveError::Machine { what, why: why.to_string() }
}

/// Runs one seed of a scenario.
///
/// # Errors
/// If the run has no result. A violation is a result.
pub fn run(scenario: &Scenario, seed: u64, plan: &LivePlan) -> Result<Ended, LiveError> {
    let options = Options {
        tick_time: Duration::from_millis(500),
        session_timeouts: SESSION_TIMEOUTS.0..=SESSION_TIMEOUTS.1,
        settings: vec!["4lw.commands.whitelist=srvr,isro".to_owned()],
        ..Options::default()
    };
    let installation = plan.installation.clone().map_or_else(Installation::find, Ok)?;
    let ensemble = RealEnsemble::start_with(&installation, plan.servers, &options)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(machine("no runtime can be started"))?;
    let ended = runtime.block_on(Live::new(scenario, seed, plan, ensemble)?.go());
    runtime.shutdown_background();
    ended
}

/// A run under way.
struct Live {
    run: Run,
    scenario: Scenario,
    plan: LivePlan,
    ensemble: RealEnsemble,
    events: Arc<Mutex<Timed>>,
    since: Instant,
    struck: Vec<(Duration, Strike)>,
    clients: Vec<OneClient>,
}

/// A client of the run, its program, and its proxies.
struct OneClient {
    client: Client,
    program: JoinHandle<Result<(), String>>,
    proxies: Vec<Proxy>,
    loss: Arc<Loss>,
}

impl Live {
    fn new(
        scenario: &Scenario,
        seed: u64,
        plan: &LivePlan,
        ensemble: RealEnsemble,
    ) -> Result<Live, LiveError> {
        Ok(Live {
            run: Drawn::draw(scenario, seed).run,
            scenario: scenario.clone(),
            plan: plan.clone(),
            ensemble,
            events: Arc::default(),
            since: Instant::now(),
            struck: Vec::new(),
            clients: Vec::new(),
        })
    }

    async fn go(mut self) -> Result<Ended, LiveError> {
        let direct = Client::builder(&self.servers()).connect_within(SOON).connect().await?;
        prepare(&direct, &self.run.config.setup).await.map_err(LiveError::Setup)?;
        let setup = direct.session().expect("it is connected");
        direct.close().await;
        self.start_clients().await?;
        self.strike_until_the_end().await;
        let stuck = self.finish().await;
        // What clients do from here on is no part of the run.
        let events = std::mem::take(&mut *lock(&self.events));
        let txns = self.logged().await?;
        let (clients, count) = (self.clients.len(), txns.len());
        let (monitors, not_judged) = judging((self.scenario.monitors)(&self.run));
        let judging_count = monitors.len();
        let config = Arc::new(self.run.config.clone());
        let is_finished = stuck.is_none();
        let judged = Judged { config: &config, events: &events, txns, setup, is_finished };
        // A property's objection says more than a program that waits for ever.
        let violation = judge(monitors, judged).err().or(stuck.map(|stuck| (stuck, events.len())));
        let violation = violation.map(|(objection, at)| (objection, self.last_of(&events, at)));
        let mut strikes = [0; Strike::KINDS.len()];
        self.struck.iter().for_each(|(_, strike)| strikes[strike.kind()] += 1);
        // Not every reply that was to be lost was waited for.
        strikes[Strike::LOST_REPLY] = self.clients.iter().map(|one| one.loss.lost()).sum();
        let (txns, events) = (count, events.len());
        Ok(Ended { strikes, clients, txns, events, judged: judging_count, not_judged, violation })
    }

    /// Returns the connect string of the servers themselves.
    fn servers(&self) -> String {
        let all = (0..self.ensemble.len()).map(|index| self.ensemble.address(index).to_string());
        all.collect::<Vec<_>>().join(",")
    }

    async fn start_clients(&mut self) -> Result<(), LiveError> {
        let (around, mut posted) = Around::new();
        let programs = (self.scenario.programs)(&self.run);
        for (index, program) in programs.into_iter().enumerate() {
            let (mut proxies, loss) = (Vec::new(), Arc::new(Loss::default()));
            for server in 0..self.ensemble.len() {
                let proxy = Proxy::new(self.ensemble.address(server), Arc::clone(&loss)).await;
                proxies.push(proxy.map_err(machine("a proxy cannot listen"))?);
            }
            let client = self.client(index, &proxies, around.clone())?;
            let (zookeeper, id) = (client.zookeeper(), id_of(index));
            self.tell(Event::Started { client: id });
            let events = (Arc::clone(&self.events), self.since);
            let program = tokio::spawn(async move {
                let result = program.run(zookeeper).await;
                tell(&events, Event::Finished { client: id, result: result.clone() });
                result
            });
            self.clients.push(OneClient { client, program, proxies, loss });
        }
        let receivers: Vec<Client> = self.clients.iter().map(|one| one.client.clone()).collect();
        tokio::spawn(async move {
            while let Some((from, to, body)) = posted.recv().await {
                if let Some(client) =
                    usize::from(to.0).checked_sub(1).and_then(|at| receivers.get(at))
                {
                    client.deliver(from, body);
                }
            }
        });
        Ok(())
    }

    fn client(&self, index: usize, proxies: &[Proxy], around: Around) -> Result<Client, LiveError> {
        let config = &self.run.config.clients[index];
        let servers: Vec<String> =
            proxies.iter().map(|proxy| proxy.address().to_string()).collect();
        let events = (Arc::clone(&self.events), self.since);
        let timeout = config.session_timeout.clamp(SESSION_TIMEOUTS.0, SESSION_TIMEOUTS.1);
        let client = Client::builder(&format!("{}{}", servers.join(","), config.chroot))
            .session_timeout(timeout)
            .expires_locally(config.expires_locally)
            .client_id(id_of(index))
            .seed(self.run.seed.wrapping_mul(251).wrapping_add(index as u64))
            .surroundings(around)
            .events(move |event: Event| tell(&events, event))
            .start()?;
        Ok(client)
    }

    fn tell(&self, event: Event) {
        tell(&(Arc::clone(&self.events), self.since), event);
    }

    async fn strike_until_the_end(&mut self) {
        let mut plan = Plan::new(self.run.seed, self.clients.len(), self.ensemble.len());
        let end = Instant::now() + self.plan.faults_for;
        loop {
            let (pause, strike) = plan.next();
            if Instant::now() + pause > end || self.all_finished() {
                return;
            }
            sleep(pause).await;
            self.strike(strike).await;
        }
    }

    fn all_finished(&self) -> bool {
        self.clients.iter().all(|one| one.program.is_finished())
    }

    async fn strike(&mut self, strike: Strike) {
        self.struck.push((self.since.elapsed(), strike));
        match strike {
            Strike::Cut { client } => self.each_proxy(client, Proxy::cut),
            Strike::LoseReply { client, write } => self.clients[client].loss.lose(write),
            Strike::Hold { client, lasting } => {
                self.each_proxy(client, |proxy| proxy.hold(true));
                sleep(lasting).await;
                self.each_proxy(client, |proxy| proxy.hold(false));
            }
            Strike::Expire { client } => {
                let Some(resumed) = self.clients[client].client.resumed() else { return };
                let thief = Client::builder(&self.servers()).resume(resumed);
                // Without a quorum no server closes it.
                let thief = thief.connect_within(Duration::from_secs(3)).connect().await;
                if let Ok(thief) = thief {
                    let _ = timeout(Duration::from_secs(3), thief.close()).await;
                }
            }
            Strike::Cancel { client } => self.clients[client].client.cancel(),
            Strike::Kill { server, lasting } => {
                self.ensemble.kill(server);
                sleep(lasting).await;
                // Tried again when the faults end.
                let _ = self.ensemble.restart(server);
            }
            Strike::Pause { server, lasting } => {
                self.signal(server, "STOP");
                sleep(lasting).await;
                self.signal(server, "CONT");
            }
        }
    }

    fn each_proxy(&self, client: usize, act: impl Fn(&Proxy)) {
        self.clients[client].proxies.iter().for_each(act);
    }

    fn signal(&self, server: usize, name: &str) {
        if let Some(process) = self.ensemble.process(server) {
            // Without `kill` nothing is paused, and the run is only quieter.
            let _ = Command::new("kill").args(["-s", name, &process.to_string()]).status();
        }
    }

    /// Waits until all programs have finished that must. Returns an objection if one does not, or panics.
    async fn finish(&mut self) -> Option<Objection> {
        for server in 0..self.ensemble.len() {
            if self.ensemble.process(server).is_none() {
                // A server that cannot be started again shows as programs that do not finish.
                let _ = self.ensemble.restart(server);
            }
        }
        let end = Instant::now() + self.plan.finish_within;
        for index in 0..self.clients.len() {
            let serves = self.run.config.clients[index].serves;
            let program = &mut self.clients[index].program;
            if serves {
                program.abort();
                continue;
            }
            let saw = match tokio::time::timeout_at(end, program).await {
                Ok(Ok(Ok(()))) => continue,
                Ok(Ok(Err(error))) => format!("{} returned an error: {error}", id_of(index)),
                Ok(Err(panicked)) => format!("{}: {panicked}", id_of(index)),
                Err(_) => format!(
                    "{} has not finished {:?} after the last fault",
                    id_of(index),
                    self.plan.finish_within
                ),
            };
            return Some(Objection::new("program", saw));
        }
        None
    }

    /// Returns the last events before the one at `end` and what struck meanwhile, in words.
    fn last_of(&self, events: &Timed, end: usize) -> Vec<String> {
        let end = (end + 1).min(events.len());
        let shown = &events[end.saturating_sub(LAST_EVENTS)..end];
        let (first, last) = (shown.first().map(|(at, _)| *at), shown.last().map(|(at, _)| *at));
        let mut lines: Vec<(Duration, String)> =
            shown.iter().map(|(at, event)| (*at, event.to_string())).collect();
        let struck = self.struck.iter().filter(|(at, _)| Some(*at) >= first && Some(*at) <= last);
        lines.extend(struck.map(|(at, strike)| (*at, format!("** {strike}"))));
        lines.sort_by_key(|(at, _)| *at);
        lines.iter().map(|(at, line)| format!("{:9.3} s  {line}", at.as_secs_f64())).collect()
    }

    /// Returns all transactions of the run, from a server's log.
    async fn logged(&mut self) -> Result<Vec<Txn>, LiveError> {
        let direct = Client::builder(&self.servers()).connect_within(SOON).connect().await?;
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
            for server in 0..self.ensemble.len() {
                match whole_log(&self.ensemble.data(server)) {
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
}

fn id_of(index: usize) -> ClientId {
    ClientId(u16::try_from(index + 1).expect("a run has at most 255 clients"))
}

fn lock(events: &Mutex<Timed>) -> std::sync::MutexGuard<'_, Timed> {
    events.lock().unwrap_or_else(PoisonError::into_inner)
}

fn tell((events, since): &(Arc<Mutex<Timed>>, Instant), event: Event) {
    let at = since.elapsed();
    lock(events).push((at, event));
}

/// Creates the scenario's znodes. The counters of containers cannot be set on real servers.
async fn prepare(zookeeper: &ZooKeeper, setup: &Setup) -> Result<(), vivarium_client::Error> {
    for znode in setup.znodes() {
        let mode = match znode.container {
            Some(_) => CreateMode::Container,
            None => CreateMode::Persistent,
        };
        match zookeeper.create(znode.path.as_str(), b"", mode).await {
            Ok(_) | Err(vivarium_client::Error::NodeExists) => {}
            Err(error) => return Err(error),
        }
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
