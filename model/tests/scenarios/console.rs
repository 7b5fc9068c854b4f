//! The commands of a story, one small function each.

use crate::faults::{
    break_connection, crash, cut, expire, heal, miss_wake_up, rejoin, restart, write_fails,
};
use crate::puppets::Puppets;
use crate::render;
use crate::support::{Engine, ask, create, delete, set};
use std::sync::Arc;
use vivarium_model::acl::{Acl, AclList, Id, Permissions};
use vivarium_model::config::{Config, TxnLogSync};
use vivarium_model::effect::Status;
use vivarium_model::file_system::Metadata;
use vivarium_model::host::Operation;
use vivarium_model::id::{ClientId, ServerId};
use vivarium_model::named::UnknownName;
use vivarium_model::op::{CreateMode, Data, Op, Request, Version};
use vivarium_model::path::CONFIG;
use vivarium_model::quorum::QuorumVerifier;
use vivarium_model::reconfiguration::Reconfiguration;
use vivarium_model::release::{Bug, Release};
use vivarium_model::step::Step;
use vivarium_model::timer::{ServerTimer, Timer};

/// The output of a command, or the reason for which it failed.
type Said = Result<String, String>;
type Command = fn(&mut Console, &[&str]) -> Result<(), String>;

/// Every command, with a description of its arguments.
pub(crate) const COMMANDS: &[(&str, &str, Command)] = &[
    (
        "ensemble",
        "servers=3 [observers=1] [joiners=1] [reconfig] [observer-masters] [unlogged-observers] [groups=group.1=1:2,...] clients=1 commit-log=500 snap-count=100000 piece=4 [txn-log-sync] [head] [read-only [strict-clients]] \
[local-sessions [upgrading]] [not-forwarded] [max-buffer=n] [ordered] [bug=<name> ...]",
        ensemble,
    ),
    ("begin", "until every server serves; then client n starts, at server n", begin),
    (
        "client",
        "1: create|set|restrict|delete|get|exists|children|sync|config|reconfig [+4|+4o|-2 ...]|[to 1 2o group.1=1 ...]|connect|close ... [long] [for=<user>]",
        client,
    ),
    ("run", "[until serving|leader|connected] [quietly]: all that is due", run),
    ("pass", "2s|200ms [quietly]: time, with all that becomes due", pass),
    ("step", "<kind> ...: one due step, held back or not", step),
    ("hold", "<kind> ...: do no such step until it is released", hold),
    ("release", "<kind> ...|all", release),
    (
        "fire",
        "init-limit|leader-silent|ping|finalize|connect-master <server> [<voter>]: a timer, now",
        fire,
    ),
    (
        "crash",
        "1 [survive=n] [torn] [snapshots] [cuts] [accepted-epoch] [current-epoch] [packets=n]",
        crash,
    ),
    ("restart", "1", restart),
    ("rejoin", "1: leaves its role, memory kept", rejoin),
    ("miss-wake-up", "1: its CommitProcessor sleeps although something waits", miss_wake_up),
    ("write-fails", "1: what is being written to its disk cannot be", write_fails),
    ("cut", "1 2: nothing passes between two servers", cut),
    ("heal", "1 2 | all", heal),
    ("break", "client|learner 1 [up=n] [down=n]: packets that still arrive", break_connection),
    ("expire", "1: the session of a client", expire),
    ("state", "who is what", state),
    ("disk", "1: log, snapshots and epoch files", disk),
    ("tree", "1: the znodes in memory", tree),
    ("show", "all|story: whether acks and applies are told", show),
];

/// An ensemble, and the steps that the story holds back.
#[derive(Default)]
pub(crate) struct Console {
    engine: Option<Engine<Puppets>>,
    held: Vec<String>,
    answers: Vec<String>,
    all: bool,
    quiet: bool,
}

impl Console {
    /// Executes one line, and returns what happened.
    pub(crate) fn run(&mut self, line: &str) -> Said {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        let name = words.remove(0);
        self.quiet = words.last() == Some(&"quietly");
        if self.quiet {
            words.pop();
        }
        let command = COMMANDS.iter().find(|(known, ..)| *known == name);
        let (_, _, command) = command.ok_or_else(|| format!("no such command: {name}"))?;
        let mut said = String::new();
        if let Some(engine) = &mut self.engine {
            engine.events.clear();
        } else if name != "ensemble" {
            return Err("no ensemble yet".into());
        }
        let result = command(self, &words);
        let all = self.all;
        let quiet = self.quiet;
        for event in self.engine().events.drain(..).filter(|_| !quiet) {
            if let Some(line) = render::event(&event, all) {
                said += &format!("{line}\n");
            }
        }
        self.answers.drain(..).for_each(|line| said += &format!("{line}\n"));
        let said = said.replace(&".".repeat(LONG_PATH - "/ab".len()), "…");
        result.map(|()| said.clone()).map_err(|error| said + &error)
    }

    pub(crate) fn engine(&mut self) -> &mut Engine<Puppets> {
        self.engine.as_mut().expect("there is an ensemble")
    }

    fn answer(&mut self, line: String) {
        self.answers.push(line);
    }

    pub(crate) fn step(&mut self, step: Step) -> Result<Status, String> {
        self.engine().step(step).map_err(|objection| objection.to_string())
    }

    /// Takes the first due step that is neither held back nor blocked.
    fn go(&mut self) -> Result<bool, String> {
        for at in 0..self.engine().due.len() {
            let step = self.engine().due[at];
            let name = kind(self.engine(), &step);
            if self.held.contains(&name) {
                continue;
            }
            self.engine().due.remove(at);
            if matches!(self.step(step)?, Status::Blocked(_)) {
                // The step keeps its place among equal ones.
                let step = self.engine().due.pop().expect("a blocked step stays due");
                self.engine().due.insert(at, step);
                continue;
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Lets time pass until the next timer, if it is not later than `until`.
    fn let_time_pass(&mut self, until: u64) -> Result<bool, String> {
        match self.engine().next_timer() {
            Some((timer, at)) if at <= until => {
                self.engine().timers.remove(&timer);
                self.engine().now = self.engine().now.max(at);
                self.step(Step::Fire(timer))?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    pub(crate) fn server(&mut self, word: Option<&&str>) -> Result<ServerId, String> {
        let word = word.ok_or("which server?")?;
        let id = word.parse().map_err(|_| format!("{word} is no server"))?;
        let known = (1..=self.engine().world.ensemble().config().servers).contains(&id);
        if known { Ok(ServerId(id)) } else { Err(format!("no server {id}")) }
    }

    pub(crate) fn client_id(&mut self, word: Option<&&str>) -> Result<ClientId, String> {
        let word = word.ok_or("which client?")?.trim_end_matches(':');
        let id = word.parse().map_err(|_| format!("{word} is no client"))?;
        let clients = self.engine().world.ensemble().config().clients.len();
        let known = (1..=clients).contains(&usize::from(id));
        if known { Ok(ClientId(id)) } else { Err(format!("no client {id}")) }
    }
}

/// Returns the name of a due step in stories.
fn kind(engine: &Engine<Puppets>, step: &Step) -> String {
    let ensemble = engine.world.ensemble();
    match step {
        Step::ToServer(connection) => match ensemble.server_of(*connection) {
            Some(server) => format!("to-server {} {}", connection.client.0, server.0),
            None => "nothing".into(),
        },
        Step::ToClient(connection) => format!("to-client {}", connection.client.0),
        Step::ToLeader(connection) => format!("to-leader {}", connection.learner.0),
        Step::ToLearner(connection) => format!("to-learner {}", connection.learner.0),
        Step::Vote { from, to } => format!("vote {} {}", from.0, to.0),
        Step::Append(server) => format!("append {}", server.0),
        Step::Fsync(server) => format!("fsync {}", server.0),
        Step::Apply(server) => format!("apply {}", server.0),
        Step::MissWakeUp(server) => format!("miss-wake-up {}", server.0),
        Step::ApplyRest(server) => format!("apply-rest {}", server.0),
        Step::Write(server) => format!("write {}", server.0),
        Step::Snapshot(server) => format!("snapshot {}", server.0),
        Step::Stream(connection) => format!("stream {}", connection.learner.0),
        other => other.to_string(),
    }
}

/// Finds `name=value` among the words.
pub(crate) fn value<T: std::str::FromStr>(
    words: &[&str],
    name: &str,
    default: T,
) -> Result<T, String> {
    let found = words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    found.map_or(Ok(default), |it| it.parse().map_err(|_| format!("{name}={it} is no number")))
}

fn ensemble(console: &mut Console, words: &[&str]) -> Result<(), String> {
    let mut config = Config::new(value(words, "servers", 3)?, value(words, "clients", 0)?);
    config.observers = value(words, "observers", 0)?;
    config.joiners = value(words, "joiners", 0)?;
    // Without ACLs every client is an operator.
    config.options.reconfig_enabled = words.contains(&"reconfig");
    config.options.skip_acl = config.options.reconfig_enabled;
    config.options.observer_masters = words.contains(&"observer-masters");
    config.options.observer_sync_enabled = !words.contains(&"unlogged-observers");
    if let Some(groups) = words.iter().find_map(|word| word.strip_prefix("groups=")) {
        config.options.hierarchy = Some(groups.parse()?);
    }
    config.commit_log_count = value(words, "commit-log", config.commit_log_count)?;
    // Stories have few znodes and short logs, so they state explicitly that a leader sends from its log on disk.
    config.txn_log_sync =
        if words.contains(&"txn-log-sync") { TxnLogSync::Unlimited } else { TxnLogSync::Off };
    config.snap_count = value(words, "snap-count", config.snap_count)?;
    config.snapshot_piece = value(words, "piece", config.snapshot_piece)?;
    config.options.max_buffer = value(words, "max-buffer", config.options.max_buffer)?;
    if words.contains(&"ordered") {
        config.metadata = Metadata::Ordered;
    }
    config.options.read_only_mode = words.contains(&"read-only");
    config.options.local_sessions = words.contains(&"local-sessions");
    config.options.local_sessions_upgrading = words.contains(&"upgrading");
    config.options.forward_learner_requests_to_commit_processor_disabled =
        words.contains(&"not-forwarded");
    for client in &mut config.clients {
        client.can_be_read_only =
            config.options.read_only_mode && !words.contains(&"strict-clients");
    }
    if words.contains(&"head") {
        config.bugs = Release::Head.bugs();
    }
    for name in words.iter().filter_map(|word| word.strip_prefix("bug=")) {
        let bug: Bug = name.parse().map_err(|error: UnknownName| error.to_string())?;
        config.bugs = config.bugs.with(bug);
    }
    *console = Console::default();
    console.engine = Some(Engine::with_host(config, Puppets::default()));
    // Programs start when the story starts them.
    console.engine().due.retain(|step| !matches!(step, Step::Start(_)));
    console.engine().events.clear();
    Ok(())
}

fn begin(console: &mut Console, _words: &[&str]) -> Result<(), String> {
    run(console, &["until", "serving"])?;
    for at in 0..console.engine().world.ensemble().config().clients.len() {
        console.step(Step::Start(ClientId::at(at)))?;
        while console.go()? {}
    }
    console.engine().events.clear();
    Ok(())
}

/// Returns an ACL that gives one user all permissions, and lets every client write and change the ACL.
fn only(user: &str) -> AclList {
    let user = Id::new("digest", format!("{user}:hash"));
    AclList::new([
        Acl::new(Permissions::ALL, user),
        Acl::new(Permissions::WRITE | Permissions::ADMIN, Id::ANYONE),
    ])
}

/// The length of a long path, in bytes: a name of two letters, followed by dots, which are printed as an ellipsis.
const LONG_PATH: usize = 400;

fn client(console: &mut Console, words: &[&str]) -> Result<(), String> {
    let client = console.client_id(words.first())?;
    let path = *words.get(2).unwrap_or(&"/");
    let long = format!("{path:.<LONG_PATH$}");
    let path = if words.contains(&"long") { &*long } else { path };
    let watch = words.contains(&"watch");
    let operation = match *words.get(1).ok_or("what shall it do?")? {
        "create" => {
            let mode = match (words.contains(&"ephemeral"), words.contains(&"sequential")) {
                _ if words.contains(&"container") => CreateMode::Container,
                (false, false) => CreateMode::Persistent,
                (true, false) => CreateMode::Ephemeral,
                (false, true) => CreateMode::PersistentSequential,
                (true, true) => CreateMode::EphemeralSequential,
            };
            match words.iter().find_map(|word| word.strip_prefix("for=")) {
                Some(user) => ask(Request::Write(Op::Create {
                    path: path.into(),
                    data: Data::from(&b""[..]),
                    mode,
                    acl: only(user),
                })),
                None => create(path, mode),
            }
        }
        "restrict" => {
            let acl = only(words.get(3).ok_or("to whom?")?);
            ask(Request::SetAcl { path: path.into(), acl, version: Version::Any })
        }
        "set" => set(path, words.get(3).ok_or("set what?")?.as_bytes()),
        "delete" => delete(path),
        "get" => ask(Request::GetData { path: path.into(), watch }),
        "exists" => ask(Request::Exists { path: path.into(), watch }),
        "children" => ask(Request::GetChildren { path: path.into(), watch }),
        "sync" => ask(Request::Sync { path: Arc::from(path) }),
        "config" => ask(Request::GetData { path: CONFIG.into(), watch }),
        "reconfig" => ask(Request::Reconfig(reconfiguration(&words[2..])?)),
        "connect" => Operation::Connect,
        "close" => Operation::Close,
        other => return Err(format!("clients cannot {other}")),
    };
    let orders = &mut console.engine().world.host_mut().orders;
    orders.entry(client).or_default().push(operation);
    if console.engine().world.ensemble().can_cancel(client) {
        console.step(Step::Cancel(client))?;
        let input = Step::Input(client);
        console.engine().due.retain(|step| *step != input);
        while console.step(input)? == Status::Done {}
    }
    Ok(())
}

/// Reads `+4` (joins as a participant), `+4o` (as an observer) and `-2` (leaves), or after `to` a whole configuration.
fn reconfiguration(words: &[&str]) -> Result<Reconfiguration, String> {
    if let Some((&"to", members)) = words.split_first() {
        let lines: Result<Vec<String>, String> = members.iter().map(|word| member(word)).collect();
        return Ok(Reconfiguration::whole(lines?.iter().map(String::as_str)));
    }
    let (mut joining, mut leaving) = (Vec::new(), Vec::new());
    for word in words {
        let number = |text: &str| text.parse().map_err(|_| format!("{word} is no server"));
        match (word.strip_prefix('+'), word.strip_prefix('-')) {
            (Some(server), _) => joining.push(member(server)?),
            (_, Some(server)) => leaving.push(number(server)?),
            _ => return Err(format!("{word} is no change of the members")),
        }
    }
    Ok(Reconfiguration::incremental(joining.iter().map(String::as_str), leaving))
}

/// Reads `4` (a participant), `4o` (an observer), or a line of a configuration's groups.
fn member(word: &str) -> Result<String, String> {
    if word.contains('=') {
        return Ok(word.to_owned());
    }
    let (id, observes) = match word.strip_suffix('o') {
        Some(id) => (id, true),
        None => (word, false),
    };
    let id = id.parse().map_err(|_| format!("{word} is no server"))?;
    Ok(QuorumVerifier::line(ServerId(id), observes))
}

fn run(console: &mut Console, words: &[&str]) -> Result<(), String> {
    let Some(goal) = words.get(1) else {
        while console.go()? {}
        return Ok(());
    };
    // A client that does not know yet that its connection is gone still seems connected.
    while *goal == "connected" && console.go()? {}
    let start = console.engine().steps;
    while !reached(console, goal)? {
        if !console.go()? && !console.let_time_pass(u64::MAX)? {
            return Err(format!("nothing more happens, and not {goal}"));
        }
        if console.engine().steps - start > 5_000 {
            return Err(format!("not {goal} after 5000 steps"));
        }
    }
    Ok(())
}

fn reached(console: &mut Console, goal: &str) -> Result<bool, String> {
    let ensemble = console.engine().world.ensemble();
    let mut servers = ensemble.config().server_ids().filter(|server| ensemble.is_up(*server));
    match goal {
        "serving" => Ok(servers.all(|server| ensemble.is_serving(server))),
        "leader" => Ok(ensemble.leader().is_some()),
        "connected" => Ok((0..ensemble.config().clients.len())
            .map(|at| ensemble.waits_for(ClientId::at(at)))
            .all(|it| !it.contains("next attempt") && !it.contains("accept its session"))),
        other => Err(format!("nobody knows when {other} is reached")),
    }
}

fn pass(console: &mut Console, words: &[&str]) -> Result<(), String> {
    let word = *words.first().ok_or("how much time?")?;
    let (number, unit) = word.split_at(word.trim_end_matches(char::is_alphabetic).len());
    let number: u64 = number.parse().map_err(|_| format!("{word} is no time"))?;
    let micros = number * if unit == "ms" { 1_000 } else { 1_000_000 };
    let until = console.engine().now + micros;
    let start = console.engine().steps;
    while console.go()? || console.let_time_pass(until)? {
        if console.engine().steps - start > 20_000 {
            return Err("too much happens".into());
        }
    }
    console.engine().now = until;
    Ok(())
}

fn step(console: &mut Console, words: &[&str]) -> Result<(), String> {
    let wanted = words.join(" ");
    let due = console.engine().due.clone();
    let at = due.iter().position(|step| kind(console.engine(), step) == wanted);
    let at = at.ok_or_else(|| format!("nothing of the kind is due: {wanted}"))?;
    let step = console.engine().due.remove(at);
    match console.step(step)? {
        Status::Blocked(blocker) => Err(format!("blocked by {blocker:?}")),
        Status::Done => Ok(()),
        Status::NotEnabled => Err("it is not possible any more".into()),
    }
}

fn hold(console: &mut Console, words: &[&str]) -> Result<(), String> {
    console.held.push(words.join(" "));
    Ok(())
}

fn release(console: &mut Console, words: &[&str]) -> Result<(), String> {
    let wanted = words.join(" ");
    let before = console.held.len();
    console.held.retain(|held| wanted != "all" && *held != wanted);
    if console.held.len() < before { Ok(()) } else { Err(format!("{wanted} is not held")) }
}

fn fire(console: &mut Console, words: &[&str]) -> Result<(), String> {
    let server = console.server(words.get(1))?;
    let timer = match *words.first().ok_or("which timer?")? {
        "init-limit" => ServerTimer::InitLimit,
        "leader-silent" => ServerTimer::LeaderSilent,
        "ping" => ServerTimer::Ping,
        "finalize" => ServerTimer::Finalize,
        "connect-master" => ServerTimer::ConnectMaster(console.server(words.get(2))?),
        other => return Err(format!("no timer {other}")),
    };
    let timer = Timer::Server(server, timer);
    if console.engine().timers.remove(&timer).is_none() {
        return Err(format!("{timer} is not armed"));
    }
    console.step(Step::Fire(timer)).map(|_| ())
}

fn state(console: &mut Console, _words: &[&str]) -> Result<(), String> {
    let ensemble = console.engine().world.ensemble();
    let mut lines = Vec::new();
    for server in ensemble.config().server_ids() {
        lines.push(format!("{server}: {}", ensemble.state_of(server)));
    }
    for at in 0..ensemble.config().clients.len() {
        let client = ClientId::at(at);
        let attached = ensemble.attached_to(client);
        let attached = attached.map_or("nowhere".into(), |server| format!("at {server}"));
        lines.push(format!("{client} {attached} waits for {}", ensemble.waits_for(client)));
    }
    lines.into_iter().for_each(|line| console.answer(line));
    Ok(())
}

fn disk(console: &mut Console, words: &[&str]) -> Result<(), String> {
    let server = console.server(words.first())?;
    let line = render::disk(console.engine().world.ensemble(), server);
    console.answer(format!("{server}: {line}"));
    Ok(())
}

fn tree(console: &mut Console, words: &[&str]) -> Result<(), String> {
    let server = console.server(words.first())?;
    let line = render::tree(console.engine().world.ensemble(), server);
    console.answer(format!("{server}: {line}"));
    Ok(())
}

fn show(console: &mut Console, words: &[&str]) -> Result<(), String> {
    console.all = words.first() == Some(&"all");
    Ok(())
}
