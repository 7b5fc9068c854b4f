//! A small engine for tests of the model alone: it takes due steps in any order, fires timers when nothing is due,
//! and runs programs that are scripts (which can be cloned, unlike futures).

// Each test binary uses a part of this.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::config::Config;
use vivarium_model::effect::{Effect, Effects, Status};
use vivarium_model::event::Event;
use vivarium_model::host::{Host, Input, Operation, Output};
use vivarium_model::id::{CallId, ClientId};
use vivarium_model::op::{CreateMode, Data, Op, Request, Version};
use vivarium_model::property::AskedOfServers;
use vivarium_model::property::Objection;
use vivarium_model::property::disks::Disks;
use vivarium_model::property::elections::Elections;
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_model::timer::Timer;
use vivarium_model::world::World;

/// A host whose programs are lists of operations; each begins when the previous one is answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Scripts {
    scripts: Vec<Vec<Operation>>,
    at: Vec<usize>,
    /// Every input, by client.
    pub heard: Vec<Vec<Input>>,
}

impl Scripts {
    pub(crate) fn new(scripts: Vec<Vec<Operation>>) -> Scripts {
        let (at, heard) = (vec![0; scripts.len()], vec![Vec::new(); scripts.len()]);
        Scripts { scripts, at, heard }
    }
}

impl Host for Scripts {
    fn start(&mut self, client: ClientId) {
        self.at[client.index()] = 0;
    }

    fn feed(&mut self, client: ClientId, input: Input, outputs: &mut Vec<Output>) {
        let index = client.index();
        // A watch has a call slot of its own; its events begin no operation.
        let goes_on = matches!(input, Input::Start | Input::Reply { call: CallId(0), .. });
        self.heard[index].push(input);
        if !goes_on {
            return;
        }
        match self.scripts[index].get(self.at[index]) {
            Some(operation) => {
                self.at[index] += 1;
                outputs.push(Output::Submit { call: CallId(0), operation: operation.clone() });
            }
            None => outputs.push(Output::Finished(Ok(()))),
        }
    }

    fn kill(&mut self, _client: ClientId) {}
}

/// Returns a request as a script's operation.
pub(crate) fn ask(request: Request) -> Operation {
    Operation::Request { request: Arc::new(request), watch: None, scope: None }
}

pub(crate) fn create(path: &str, mode: CreateMode) -> Operation {
    let data: Data = Data::from(*b"x");
    ask(Request::Write(Op::create(path, data, mode)))
}

pub(crate) fn set(path: &str, data: &[u8]) -> Operation {
    ask(Request::Write(Op::SetData { path: path.into(), data: data.into(), version: Version::Any }))
}

pub(crate) fn delete(path: &str) -> Operation {
    ask(Request::Write(Op::Delete { path: path.into(), version: Version::Any }))
}

pub(crate) fn children(path: &str) -> Operation {
    ask(Request::GetChildren { path: path.into(), watch: false })
}

/// Returns a few writes and reads that conflict with those of other clients.
pub(crate) fn busy_script(client: u8) -> Vec<Operation> {
    vec![
        Operation::Connect,
        create("/lock", CreateMode::Persistent),
        create("/lock/n-", CreateMode::EphemeralSequential),
        children("/lock"),
        set("/lock", &[client]),
        create(&format!("/own-{client}"), CreateMode::Ephemeral),
        delete("/own-1"),
        ask(Request::Sync { path: "/".into() }),
        children("/"),
        Operation::Close,
    ]
}

/// Numbers from a seed, for tests that must be repeatable.
#[derive(Clone, Debug)]
pub(crate) struct Dice(pub u64);

impl Dice {
    pub(crate) fn roll(&mut self, below: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % below.max(1) as u64) as usize
    }
}

#[derive(Clone)]
pub(crate) struct Engine<H = Scripts> {
    pub world: World<H>,
    pub due: Vec<Step>,
    pub timers: BTreeMap<Timer, u64>,
    pub now: u64,
    pub events: Vec<Event>,
    pub steps: u64,
    disks: Disks,
    elections: Elections,
    /// Prints every step, to examine a failing seed.
    pub verbose: bool,
}

impl Engine {
    pub(crate) fn new(config: Config, scripts: Vec<Vec<Operation>>) -> Engine {
        Engine::with_host(config, Scripts::new(scripts))
    }
}

impl<H: Host> Engine<H> {
    /// Creates an engine for programs of another kind.
    pub(crate) fn with_host(config: Config, host: H) -> Engine<H> {
        // Here timers fire at any time the test chooses, so a session can end early, and a client can be late.
        let mut monitors = vivarium_model::property::zookeeper();
        monitors.retain(|monitor| !["S14", "H16"].contains(&&monitor.name()[..3]));
        let world = World::new(Arc::new(config), host, monitors);
        let mut engine = Engine {
            disks: Disks::new(world.ensemble(), AskedOfServers::ALL),
            elections: Elections::new(world.ensemble().config()),
            world,
            due: Vec::new(),
            timers: BTreeMap::new(),
            now: 0,
            events: Vec::new(),
            steps: 0,
            verbose: std::env::var_os("MODEL_TRACE").is_some(),
        };
        let mut effects = Effects::default();
        engine.world.begin(&mut effects);
        engine.absorb(effects);
        engine
    }

    fn absorb(&mut self, effects: Effects) {
        for effect in effects.effects {
            match effect {
                Effect::Due(step) => self.due.push(step),
                Effect::Random(client, call) => {
                    self.due.push(Step::Random { client, call, value: 7 });
                }
                Effect::Arm { timer, after, spread } => {
                    // The maximum of the spread: machines that retry immediately leave no time for others.
                    let deadline = self.now + (after + spread).as_micros() as u64;
                    self.timers.insert(timer, deadline);
                }
                Effect::Disarm(timer) => {
                    self.timers.remove(&timer);
                }
                // Blocked steps remain due here.
                Effect::Unblocked(_) => {}
            }
        }
        self.events.extend(effects.events);
    }

    /// Takes one step; a blocked one remains due.
    pub(crate) fn step(&mut self, step: Step) -> Result<Status, Objection> {
        let mut effects = Effects::default();
        if self.verbose {
            effects.notes = Some(Vec::new());
        }
        let before = self.world.ensemble().fingerprint();
        self.elections.before(&step, self.world.ensemble());
        let status = self.world.apply(Time(self.now), &step, &mut effects);
        if !matches!(status, Ok(Status::Done)) && status.is_ok() {
            // A refused step is not recorded, so a replay would miss its changes.
            let after = self.world.ensemble().fingerprint();
            assert_eq!(before, after, "{step} did not happen and changed something");
            assert!(effects.effects.is_empty() && effects.events.is_empty(), "{step}");
        }
        if self.verbose && !matches!(status, Ok(Status::Blocked(_))) {
            println!("{} {step}", Time(self.now));
            effects.notes.iter().flatten().for_each(|note| println!("      {note}"));
            effects.events.iter().for_each(|event| println!("      * {event:?}"));
        }
        let status = status?;
        let decided = match status {
            Status::Done => {
                self.elections.casts(&step, &effects.events, self.world.ensemble());
                self.elections.after(&effects.events, self.world.ensemble().config())
            }
            _ => Ok(()),
        };
        self.absorb(effects);
        if let Status::Blocked(_) = status {
            self.due.push(step);
        } else {
            self.steps += 1;
        }
        // Last, so that a story can continue after such an objection.
        decided?;
        if status == Status::Done {
            self.disks.after(&step, self.world.ensemble(), self.world.history())?;
        }
        Ok(status)
    }

    /// Fires a timer whose time has come, or takes any due step, or else lets time pass until the next timer. Returns
    /// false if there is nothing to do. Equal steps keep their order; the order of different ones is random.
    pub(crate) fn go(&mut self, dice: &mut Dice) -> Result<bool, Objection> {
        self.now += 1 + dice.roll(500) as u64;
        // Machines that keep each other busy must not stop the clock for all others.
        let is_overdue = self.next_timer().is_some_and(|(_, at)| at <= self.now);
        let tries = if is_overdue { 0 } else { self.due.len() };
        for _ in 0..tries {
            let step = self.due.swap_remove(dice.roll(self.due.len()));
            if !matches!(self.step(step)?, Status::Blocked(_)) {
                return Ok(true);
            }
        }
        let Some((timer, at)) = self.next_timer() else { return Ok(false) };
        self.timers.remove(&timer);
        self.now = self.now.max(at);
        self.step(Step::Fire(timer))?;
        Ok(true)
    }

    /// Returns the timer that fires next, and its time.
    pub(crate) fn next_timer(&self) -> Option<(Timer, u64)> {
        self.timers.iter().min_by_key(|(_, at)| **at).map(|(timer, at)| (*timer, *at))
    }
}

impl<H: Host> Engine<H> {
    /// Returns a fault, or the end of one, drawn from the dice; some draws have no effect.
    pub(crate) fn fault(&mut self, dice: &mut Dice) -> Step {
        use vivarium_model::id::{Machine, ServerId};
        use vivarium_model::step::{OldEpochs, Tail};
        let ensemble = self.world.ensemble();
        let server = ServerId(1 + dice.roll(usize::from(ensemble.config().servers)) as u8);
        let other = ServerId(1 + dice.roll(usize::from(ensemble.config().servers)) as u8);
        let client = ClientId(1 + dice.roll(ensemble.config().clients.len()) as u16);
        let few = |dice: &mut Dice| dice.roll(4) as u8;
        match dice.roll(11) {
            0 | 1 => Step::Crash {
                server,
                tail: Tail {
                    survive: few(dice),
                    torn: dice.roll(2) == 0,
                    snapshots: dice.roll(2) == 0,
                    cuts: dice.roll(2) == 0,
                    epochs: OldEpochs::ALL[dice.roll(4)],
                    packets: few(dice),
                },
            },
            2..=4 => Step::Restart(server),
            5 => Step::Rejoin(server),
            6 => match ensemble.client_connection(client) {
                Some(connection) => {
                    let (to_server, to_client) = (few(dice), few(dice));
                    Step::BreakClient { connection, to_server, to_client }
                }
                None => Step::Restart(server),
            },
            7 => match ensemble.learner_connection(server) {
                Some(connection) => {
                    let (to_leader, to_learner) = (few(dice), few(dice));
                    Step::BreakLearner { connection, to_leader, to_learner }
                }
                None => Step::Restart(server),
            },
            8 => Step::Cut { from: Machine::Server(server), to: Machine::Server(other) },
            9 => Step::Heal { from: Machine::Server(server), to: Machine::Server(other) },
            _ => match ensemble.session(client) {
                Some(session) => Step::Expire(session),
                None => Step::Restart(server),
            },
        }
    }

    /// Ends every fault: all servers up, all links open.
    pub(crate) fn heal(&mut self) -> Result<(), Objection> {
        use vivarium_model::id::{Machine, ServerId};
        let servers: Vec<ServerId> = self.world.ensemble().config().server_ids().collect();
        for from in &servers {
            self.step(Step::Restart(*from))?;
            for to in &servers {
                let (from, to) = (Machine::Server(*from), Machine::Server(*to));
                self.step(Step::Heal { from, to })?;
            }
        }
        Ok(())
    }

    pub(crate) fn all_finished(&self) -> bool {
        use vivarium_model::machines::ProgramState;
        let ensemble = self.world.ensemble();
        (0..ensemble.config().clients.len())
            .all(|at| ensemble.program(ClientId::at(at)) == ProgramState::Finished)
    }

    /// Returns what each machine waits for, for the message of a failing test.
    pub(crate) fn picture(&self) -> String {
        let ensemble = self.world.ensemble();
        let mut lines = vec![format!("at {} after {} steps", Time(self.now), self.steps)];
        for server in ensemble.config().server_ids() {
            lines.push(format!("{server}: {}", ensemble.state_of(server)));
        }
        for at in 0..ensemble.config().clients.len() {
            let client = ClientId::at(at);
            lines.push(format!("{client}: {}", ensemble.waits_for(client)));
        }
        lines.join("\n")
    }
}
