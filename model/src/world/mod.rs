//! The world: one grain of ZooKeeper, the host of its programs, the committed history and the
//! monitors.
//!
//! [`World::apply`] is the one definition of what a [`Step`] does. The simulator, the explorer and the replay of
//! cases differ only in how they choose the next step. A world is cheap to clone, because clones share whatever a
//! step does not change.
//!
#![doc = include_str!("README.md")]

pub mod grain;
pub mod history;
mod pieces;
mod standstill;
pub mod witnesses;

use crate::ensemble::Ensemble;
use crate::program::exchange::Exchange;
use crate::program::host::{self, Host, Output};
use crate::program::machines::ProgramState;
use crate::property::{Monitor, Monitors, Objection, Telling};
use crate::vocabulary::config::Config;
use crate::vocabulary::effect::{Effects, Status};
use crate::vocabulary::event::Event;
use crate::vocabulary::fingerprint::Fingerprint;
use crate::vocabulary::id::ClientId;
use crate::vocabulary::note::Note;
use crate::vocabulary::outside::Outside;
use crate::vocabulary::step::Step;
use crate::vocabulary::time::Time;
use crate::world::grain::Grain;
use crate::world::history::History;
use crate::world::witnesses::Witnesses;
use std::sync::Arc;

/// Everything that a run can change.
#[derive(Clone)]
pub struct World<H, G = Ensemble> {
    grain: G,
    host: H,
    witnesses: Witnesses,
    outputs: Vec<Output>,
    /// What [`Step::Outside`] counts, without the first ones if they were taken out.
    outside: Vec<Arc<Outside>>,
    /// The number of inputs that were taken out.
    taken_out: usize,
}

impl<H: Host> World<H> {
    /// Returns a world of servers before its first step.
    pub fn new(config: Arc<Config>, host: H, monitors: Vec<Box<dyn Monitor>>) -> World<H> {
        World::over(Ensemble::new(config), host, monitors)
    }

    /// Returns the servers, disks, links and clients.
    pub fn ensemble(&self) -> &Ensemble {
        &self.grain
    }
}

impl<H: Host, G: Grain> World<H, G> {
    /// Returns a world before its first step.
    pub fn over(grain: G, host: H, mut monitors: Vec<Box<dyn Monitor>>) -> World<H, G> {
        monitors.iter_mut().for_each(|monitor| monitor.begin(grain.config()));
        let history = History::beginning_with(grain.config().first_tree());
        World {
            grain,
            host,
            witnesses: Witnesses::new(Arc::new(history), Monitors::new(monitors)),
            outputs: Vec::new(),
            outside: Vec::new(),
            taken_out: 0,
        }
    }

    /// Adds an input from outside and returns the step that does it.
    ///
    /// # Panics
    /// After 2^32 inputs.
    pub fn from_outside(&mut self, input: Outside) -> Step {
        let number = self.taken_out + self.outside.len();
        let number = u32::try_from(number).expect("a run has at most 2^32 inputs");
        self.outside.push(Arc::new(input));
        Step::Outside(number)
    }

    /// Returns the inputs from outside that were not taken out.
    pub fn outside(&self) -> &[Arc<Outside>] {
        &self.outside
    }

    /// Takes out the inputs from outside, whose steps have been taken: a world that runs for days does not keep them.
    pub fn take_out_inputs(&mut self) -> Vec<Arc<Outside>> {
        self.taken_out += self.outside.len();
        std::mem::take(&mut self.outside)
    }

    fn input_from_outside(&self, number: u32) -> Option<Arc<Outside>> {
        let index = (number as usize).checked_sub(self.taken_out)?;
        self.outside.get(index).cloned()
    }

    /// Prepares the first step: servers start, and the start of every program becomes due.
    pub fn begin(&mut self, effects: &mut Effects) {
        self.grain.begin(effects);
    }

    /// Returns ZooKeeper and its clients.
    pub fn grain(&self) -> &G {
        &self.grain
    }

    /// Returns ZooKeeper and its clients, to prepare a step.
    pub fn grain_mut(&mut self) -> &mut G {
        &mut self.grain
    }

    /// Returns the host of the programs.
    pub fn host(&self) -> &H {
        &self.host
    }

    /// Returns the committed history.
    pub fn history(&self) -> &History {
        self.witnesses.history()
    }

    /// Returns the host of the programs, for changes.
    pub fn host_mut(&mut self) -> &mut H {
        &mut self.host
    }

    /// Returns the monitors.
    pub fn monitors(&self) -> &Monitors {
        self.witnesses.monitors()
    }

    /// Chooses which monitors receive the events that follow.
    pub fn tell(&mut self, telling: Telling) {
        self.witnesses.tell(telling);
    }

    /// Returns the fingerprint of the grain, the history and the event monitors. It leaves out the host, whose
    /// programs are functions of their inputs; an engine that must distinguish them adds its own part.
    pub fn fingerprint(&self) -> Fingerprint {
        self.with_witnesses(self.grain.fingerprint())
    }

    /// Returns the fingerprint computed without caches.
    pub fn recomputed_fingerprint(&self) -> Fingerprint {
        self.with_witnesses(self.grain.recomputed_fingerprint())
    }

    fn with_witnesses(&self, grain: Fingerprint) -> Fingerprint {
        let mut whole = grain;
        whole.add(self.witnesses.fingerprint());
        whole
    }

    /// Takes one step at this time. The caller must clear `effects` between steps.
    ///
    /// # Errors
    /// The objection of a monitor to the step.
    pub fn apply(
        &mut self,
        at: Time,
        step: &Step,
        effects: &mut Effects,
    ) -> Result<Status, Objection> {
        effects.hears_exchanges = self.witnesses.hear_exchanges();
        let status = match *step {
            Step::Input(client) => match self.grain.take_input(client) {
                Ok(told) => {
                    let (for_listeners, over) = (told.is_for_listeners(), told.over);
                    let input = told.input;
                    effects.absorb(&(at, step));
                    effects.note(|| Note::Received { client, input: input.clone() });
                    effects.exchange(client, || Exchange::Told(input.clone()));
                    self.host.feed(client, input, &mut self.outputs);
                    let over = over.filter(|_| !for_listeners || !self.outputs.is_empty());
                    self.carry_out(client, at, effects);
                    if let Some(over) = over {
                        effects.event(Event::LearnsOfEnd { client, over });
                    }
                    if let Some(client) = self.host.woken_from_outside() {
                        let saw = host::woken_from_outside(client);
                        return Err(Objection::new(host::FUNCTION_OF_ITS_INPUTS, saw));
                    }
                    Status::Done
                }
                Err(status) => status,
            },
            Step::Outside(number) => match self.input_from_outside(number) {
                Some(input) => {
                    let status = self.grain.outside(&input, effects);
                    if status == Status::Done {
                        effects.absorb(&*input);
                    }
                    status
                }
                None => Status::NotEnabled,
            },
            _ => self.grain.apply(at, step, effects),
        };
        if status != Status::Done {
            debug_assert!(effects.events.is_empty(), "{step} did nothing and said something");
            return Ok(status);
        }
        match *step {
            Step::Start(client) => self.host.start(client),
            Step::Kill(client) => self.host.kill(client),
            Step::Input(_) => {}
            _ => {}
        }
        if !matches!(step, Step::Input(_)) {
            effects.absorb(&(at, step));
        }
        self.witnesses.witness(at, &mut effects.events)?;
        self.witnesses.exchanges(at, &effects.exchanges)?;
        Ok(Status::Done)
    }

    /// Describes what a client's program waits for and, if the tree shows it, why that will not happen.
    pub fn waits_for(&self, client: ClientId) -> String {
        let words = self.grain.waits_for(client);
        if self.grain.program(client) != ProgramState::Running {
            return words;
        }
        if !self.host.awaits_its_handle(client) {
            return host::awaits_another_future(&words);
        }
        // The program has no pending call that would show that it waits for an event of its session.
        let words = match words.strip_prefix("nothing: ").filter(|_| self.host.listens_only(client))
        {
            Some(state) => format!("the next event of its session ({state})"),
            None => words,
        };
        let machine = self.grain.machine(client);
        match standstill::reason(machine.session(), machine.awaited(), self.history().tree()) {
            Some(reason) => format!("{words} ({reason})"),
            None => words,
        }
    }

    /// Ends the run, after all faults were healed and activity has ceased: monitors check what should have happened
    /// by now.
    ///
    /// # Errors
    /// The objection of a monitor.
    pub fn end(&mut self, at: Time) -> Result<(), Objection> {
        self.witnesses.end(at)
    }

    fn carry_out(&mut self, client: ClientId, at: Time, effects: &mut Effects) {
        for output in self.outputs.drain(..) {
            effects.absorb(&output);
            let note = effects.notes.is_some().then(|| Note::Did(output.clone()));
            let events = effects.events.len();
            self.grain.output(client, output, at, effects);
            // An output that caused an event (a request sent, an observation) needs no note.
            if let Some(note) = note.filter(|_| effects.events.len() == events) {
                effects.note(|| note);
            }
        }
    }

    /// Lets the monitors check the state when no step but the passing of time is possible.
    ///
    /// # Errors
    /// The objection of a monitor.
    pub fn at_rest(&mut self, at: Time) -> Result<(), Objection> {
        self.witnesses.at_rest(at)
    }
}
