//! One seed's run on a real ensemble.

use super::error::{LiveError, machine};
use super::judge::{Judged, Timed, judge, judging};
use super::plan::{Plan, Strike};
use super::proxy::{Loss, Proxy};
use super::servers::{Place, SESSION_TIMEOUTS, SOON, Servers};
use super::surroundings::Around;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use vivarium_client::{Client, join_all};
use vivarium_model::event::Event;
use vivarium_model::id::ClientId;
use vivarium_model::property::Objection;
use vivarium_sim::{Drawn, Run, Scenario};

/// The number of events that are shown before a violation.
const LAST_EVENTS: usize = 30;

/// How runs are made.
#[derive(Clone, Debug)]
pub struct LivePlan {
    /// Where the programs work.
    pub place: Place,
    /// The duration of the faults.
    pub faults_for: Duration,
    /// The time that programs have to finish after the faults.
    pub finish_within: Duration,
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

/// Runs one seed of a scenario.
///
/// # Errors
/// If the run has no result. A violation is a result.
pub fn run(scenario: &Scenario, seed: u64, plan: &LivePlan) -> Result<Ended, LiveError> {
    let servers = Servers::of(&plan.place, seed)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(machine("no runtime can be started"))?;
    let ended = runtime.block_on(Live::new(scenario, seed, plan, servers).go());
    runtime.shutdown_background();
    ended
}

/// A run under way.
struct Live {
    run: Run,
    scenario: Scenario,
    plan: LivePlan,
    servers: Servers,
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
    fn new(scenario: &Scenario, seed: u64, plan: &LivePlan, servers: Servers) -> Live {
        Live {
            run: Drawn::draw(scenario, seed).run,
            scenario: scenario.clone(),
            plan: plan.clone(),
            servers,
            events: Arc::default(),
            since: Instant::now(),
            struck: Vec::new(),
            clients: Vec::new(),
        }
    }

    async fn go(mut self) -> Result<Ended, LiveError> {
        let direct = Client::builder(&self.servers.connect_string()).connect_within(SOON);
        let direct = direct.connect().await?;
        let prepared = self.servers.prepare(&direct, &self.run.config.setup).await;
        prepared.map_err(LiveError::Setup)?;
        let setup = direct.session().expect("it is connected");
        direct.close().await;
        self.start_clients().await?;
        self.strike_until_the_end().await;
        let stuck = self.finish().await;
        // What clients do from here on is no part of the run.
        let events = std::mem::take(&mut *lock(&self.events));
        let txns = self.servers.logged().await?;
        if self.servers.strikable() == 0 {
            self.close().await;
            self.servers.clean().await;
        }
        let (clients, count) = (self.clients.len(), txns.len());
        let (mut monitors, mut not_judged) = judging((self.scenario.monitors)(&self.run));
        if self.servers.strikable() == 0 {
            // Monitors cannot judge without the servers' logs.
            not_judged.extend(monitors.drain(..).map(|monitor| monitor.name().to_owned()));
        }
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

    async fn start_clients(&mut self) -> Result<(), LiveError> {
        let (around, mut posted) = Around::new();
        let programs = (self.scenario.programs)(&self.run);
        for (index, program) in programs.into_iter().enumerate() {
            let (mut proxies, loss) = (Vec::new(), Arc::new(Loss::default()));
            for server in self.servers.addresses() {
                let proxy = Proxy::new(*server, Arc::clone(&loss)).await;
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
        let proxies: Vec<String> =
            proxies.iter().map(|proxy| proxy.address().to_string()).collect();
        let chroot = format!("{}{}", self.servers.root, config.chroot);
        let events = (Arc::clone(&self.events), self.since);
        let timeout = config.session_timeout.clamp(SESSION_TIMEOUTS.0, SESSION_TIMEOUTS.1);
        let client = Client::builder(&format!("{}{chroot}", proxies.join(",")))
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
        let mut plan = Plan::new(self.run.seed, self.clients.len(), self.servers.strikable());
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
                let thief = Client::builder(&self.servers.connect_string()).resume(resumed);
                // Without a quorum no server closes it.
                let thief = thief.connect_within(Duration::from_secs(3)).connect().await;
                if let Ok(thief) = thief {
                    let _ = timeout(Duration::from_secs(3), thief.close()).await;
                }
            }
            Strike::Cancel { client } => self.clients[client].client.cancel(),
            Strike::Kill { server, lasting } => {
                self.servers.kill(server);
                sleep(lasting).await;
                self.servers.restart();
            }
            Strike::Pause { server, lasting } => {
                self.servers.signal(server, "STOP");
                sleep(lasting).await;
                self.servers.signal(server, "CONT");
            }
        }
    }

    fn each_proxy(&self, client: usize, act: impl Fn(&Proxy)) {
        self.clients[client].proxies.iter().for_each(act);
    }

    /// Waits until all programs have finished that must. Returns an objection if one does not, or panics.
    async fn finish(&mut self) -> Option<Objection> {
        self.servers.restart();
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

    /// Ends the clients' sessions, which would otherwise stay at servers that are not ours until they expire.
    async fn close(&self) {
        let closing = self.clients.iter().map(|one| one.client.clone().close());
        // A session that cannot be closed expires.
        let _ = timeout(SOON, join_all(closing)).await;
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
