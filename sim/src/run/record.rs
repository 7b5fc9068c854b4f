//! The record of a run in progress: counts always; steps, trace lines and hashes on demand.

use crate::run::heartbeat::{Heartbeat, Heartbeats};
use crate::run::standstill::Standstills;
use crate::run::{RunOptions, RunReport};
use crate::scenario::faults::Fault;
use crate::scenario::run::Run;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use vivarium_model::config::Config;
use vivarium_model::effect::Effects;
use vivarium_model::event::Event;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::id::ClientId;
use vivarium_model::mark::{Disruption, DisruptionCounter, MarkCounter};
use vivarium_model::property::{Measure, Objection, Telling, View};
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_model::trace::TraceLine;
use vivarium_model::verdict::Violation;

/// The number of milestones kept for a run's story: the last ones.
const STORY: usize = 1_000;

/// Selects what to record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keep {
    pub(crate) steps: bool,
    /// How many trace lines to keep: the last ones, without steps that only keep a connection alive.
    pub(crate) trace_last: usize,
    /// Whether to keep the rolling hash after each step.
    pub(crate) hashes: bool,
    /// The steps, counted from 0, whose consequences are kept as full text.
    pub(crate) texts: Range<u64>,
    /// Whether to keep the state of each monitor at the end.
    pub(crate) monitors: bool,
    pub(crate) telling: Telling,
    /// Where to publish the run's position, if a watchdog is to see it.
    pub(crate) pulses: Option<Arc<Heartbeats>>,
}

impl From<RunOptions> for Keep {
    fn from(options: RunOptions) -> Keep {
        Keep { steps: options.keep_steps, trace_last: options.trace_last, ..Keep::default() }
    }
}

/// All that a step caused, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caused {
    /// One line of words per note, event and effect.
    pub words: String,
    /// Every field of every event and effect, including data and digests, which `words` leaves out.
    pub full: String,
}

/// What has been recorded so far.
pub(crate) struct Record {
    seed: u64,
    config: Config,
    parameters: BTreeMap<String, String>,
    options_text: String,
    keep: Keep,
    pulse: Option<Heartbeat>,
    steps: u64,
    disruptions: DisruptionCounter,
    struck: BTreeMap<Fault, u64>,
    marks: MarkCounter,
    requests: u64,
    observed: BTreeMap<Arc<str>, u64>,
    recorded: Vec<(Time, Step)>,
    trace: VecDeque<Arc<TraceLine>>,
    standstills: Standstills,
    story: VecDeque<TraceLine>,
    hashes: Vec<Fingerprint>,
    texts: Vec<Caused>,
}

impl Record {
    /// Begins a record before the first step. Also returns the effects to use: they collect what the record needs.
    /// `options_text` describes the run for people.
    pub(crate) fn begin(run: &Run, options_text: String, keep: Keep) -> (Record, Effects) {
        let mut effects = Effects::hashed();
        if keep.trace_last > 0 || !keep.texts.is_empty() {
            effects.notes = Some(Vec::new());
        }
        let record = Record {
            pulse: keep.pulses.as_ref().map(|pulses| pulses.begin(run.seed)),
            seed: run.seed,
            config: run.config.clone(),
            parameters: run.parameters(),
            options_text,
            keep,
            steps: 0,
            disruptions: DisruptionCounter::new(),
            struck: BTreeMap::new(),
            marks: MarkCounter::new(&run.config),
            requests: 0,
            observed: BTreeMap::new(),
            recorded: Vec::new(),
            trace: VecDeque::new(),
            standstills: Standstills::default(),
            story: VecDeque::new(),
            hashes: Vec::new(),
            texts: Vec::new(),
        };
        (record, effects)
    }

    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// Publishes that a step is about to be taken.
    pub(crate) fn begins(&self, step: &Step) {
        if let Some(pulse) = &self.pulse {
            pulse.beat(step);
        }
    }

    /// Counts a planned fault that struck.
    pub(crate) fn fault(&mut self, fault: Fault) {
        *self.struck.entry(fault).or_default() += 1;
    }

    /// Counts a disruption that is not a step.
    pub(crate) fn slowed(&mut self, kind: Disruption) {
        self.disruptions.count(kind);
    }

    /// Records a step that was taken, including one that a monitor objected to.
    pub(crate) fn step(&mut self, step: Step, effects: &Effects, view: View<'_>) {
        let at = view.at();
        self.disruptions.step(&step);
        for event in &effects.events {
            self.marks.event(view, event);
            self.count(event);
        }
        if self.keep.texts.contains(&self.steps) {
            let (words, full) = (effects.to_string(), format!("{effects:#?}"));
            self.texts.push(Caused { words, full });
        }
        self.steps += 1;
        if self.keep.steps {
            self.recorded.push((at, step));
        }
        if self.keep.hashes {
            self.hashes.push(hash(effects));
        }
        if self.keep.trace_last > 0 {
            self.trace(at, step, effects);
        }
    }

    /// Counts requests and observations, from which a sweep can tell whether programs did anything.
    fn count(&mut self, event: &Event) {
        match event {
            Event::Sent { .. } => self.requests += 1,
            Event::Observed { observation, .. } => {
                let name = observation.name();
                match self.observed.get_mut(name) {
                    Some(count) => *count += 1,
                    None => drop(self.observed.insert(Arc::from(name), 1)),
                }
            }
            _ => {}
        }
    }

    fn trace(&mut self, at: Time, step: Step, effects: &Effects) {
        let notes = effects.notes.clone().unwrap_or_default();
        let told = effects.events.iter().filter(|event| !event.is_left_out_of_timelines());
        let events: Vec<Event> = told.cloned().collect();
        let number = self.steps;
        let turns: Vec<_> = events.iter().filter(|event| event.is_milestone()).cloned().collect();
        if step.is_milestone() || !turns.is_empty() {
            if self.story.len() == STORY {
                self.story.pop_front();
            }
            self.story.push_back(TraceLine { at, number, step, notes: Vec::new(), events: turns });
        }
        // A trace of all steps needs no selection.
        let chooses = self.keep.trace_last != usize::MAX;
        if chooses {
            self.standstills.step(at, number, &events);
        }
        let is_ping = effects.keep_alive || matches!(step, Step::Fire(timer) if timer.is_ping());
        if is_ping && events.is_empty() && chooses {
            return;
        }
        if self.trace.len() == self.keep.trace_last {
            self.trace.pop_front();
        }
        self.trace.push_back(Arc::new(TraceLine { at, number, step, notes, events }));
        if chooses {
            self.standstills.shown(&self.trace);
        }
    }

    /// Ends the record. `unfinished` lists the unfinished programs if they are the violation.
    pub(crate) fn close(
        mut self,
        outcome: Result<(), Objection>,
        effects: &Effects,
        view: View<'_>,
        measured: Vec<Measure>,
        unfinished: &[ClientId],
    ) -> Closed {
        let at = view.at();
        self.marks.finish(view);
        let hash = hash(effects);
        let violation = outcome.err().map(|objection| Violation {
            objection,
            seed: Some(self.seed),
            at,
            step: self.steps,
            hash,
        });
        let (stopped, lines) = match self.standstills.of(unfinished) {
            Some((stopped, lines)) => (Some(stopped), lines.to_vec()),
            None => (None, self.trace.into()),
        };
        // Releases the standstills' references to trace lines, so that the lines below are unwrapped without a clone.
        drop(self.standstills);
        let report = RunReport {
            seed: self.seed,
            steps: self.steps,
            simulated: at.since(Time::ZERO),
            disruptions: self.disruptions.counts().clone(),
            struck: self.struck,
            scripted: Vec::new(),
            marks: self.marks.counts().clone(),
            requests: self.requests,
            observed: self.observed,
            measured,
            hash,
            violation,
            recorded: self.recorded,
            trace: lines.into_iter().map(Arc::unwrap_or_clone).collect(),
            story: self.story.into(),
            stopped,
            options_text: self.options_text,
            parameters: self.parameters,
            config: self.config,
        };
        let (hashes, texts) = (self.hashes, self.texts);
        Closed { report, hashes, texts, monitors: Vec::new() }
    }
}

/// The record of a run that has ended.
#[derive(Debug)]
pub(crate) struct Closed {
    /// The part that every caller needs.
    pub(crate) report: RunReport,
    /// The rolling hash after each step, if [`Keep::hashes`] was set.
    pub(crate) hashes: Vec<Fingerprint>,
    /// The texts selected by [`Keep::texts`].
    pub(crate) texts: Vec<Caused>,
    /// Each monitor's name and the fingerprint of its state, if [`Keep::monitors`] was set.
    pub(crate) monitors: Vec<(String, Fingerprint)>,
}

impl Closed {
    /// Frees what is only needed to examine a violation.
    pub(crate) fn forget_steps(&mut self) {
        (self.report.recorded, self.hashes) = Default::default();
    }
}

fn hash(effects: &Effects) -> Fingerprint {
    effects.hasher.as_ref().expect("simulated runs are hashed").fingerprint()
}
