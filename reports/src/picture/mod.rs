//! A picture of a run: the data of a space-time diagram, without a word about how it is drawn.
//!
//! A [`Picture`] has a lane per machine and a row per step. The page (HTML) and the exports to other viewers (the Trace
//! Event Format of Chrome and Perfetto, ShiViz's log format) are made from it.

pub mod page;
pub mod perfetto;
mod places;
pub mod shiviz;

use serde::Serialize;

/// A run as a space-time diagram. Lanes, steps, lines and states are named by their positions in these lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Picture {
    /// The scenario with its bugs, such as `lock with NoGuid`.
    pub title: String,
    /// What the run is, a pair of name and value per line: property, what it saw, seed, hash, replay.
    pub facts: Vec<(String, String)>,
    /// What the seed stands for, one option per line; empty if the run has no seed.
    pub options: Vec<String>,
    /// The machines: servers first.
    pub lanes: Vec<Lane>,
    /// The steps, in order.
    pub steps: Vec<PictureStep>,
    /// The packets.
    pub arrows: Vec<Arrow>,
    /// What a lane was in for a while: its role, or a fault.
    pub spans: Vec<Span>,
    /// What a program believed for a while.
    pub bars: Vec<Bar>,
    /// The texts that states consist of, each once.
    pub lines: Vec<String>,
    /// The violation, if there was one.
    pub violation: Option<Objected>,
    /// The minimised run as numbered sentences; empty if it was not minimised.
    pub script: Vec<Sentence>,
    /// The probability of the violation over the steps, if it was examined.
    pub curve: Option<Curve>,
}

/// A machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lane {
    /// Its name, such as `server 1`.
    pub name: String,
    /// What kind of machine it is.
    pub kind: LaneKind,
}

/// The kinds of machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LaneKind {
    /// A ZooKeeper server.
    Server,
    /// A client machine with its program.
    Client,
}

/// The kinds of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepKind {
    /// A packet is read.
    Packet,
    /// A thread or a disk of a server completes something.
    Server,
    /// A timer fires.
    Timer,
    /// A program takes an input.
    Program,
    /// A fault.
    Fault,
    /// The end of a fault.
    Mending,
}

/// A step of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PictureStep {
    /// Its number in the run, from 1.
    pub number: u64,
    /// Virtual time, in microseconds since the start of the run. All zero where no time passes (explored runs).
    pub at: u64,
    /// The lanes it happened on; the first is where it is drawn. Empty for a step of the whole ensemble.
    pub lanes: Vec<usize>,
    /// Its kind.
    pub kind: StepKind,
    /// The step in words.
    pub words: String,
    /// What the machines say about it.
    pub notes: Vec<String>,
    /// The events, in words.
    pub events: Vec<String>,
    /// True if the step or one of its events is a milestone: a fault, an election, a session, a write, an observation.
    pub milestone: bool,
    /// The paths of znodes that it concerns.
    pub paths: Vec<String>,
    /// The lanes whose state the step changed, with the new state: positions in [`Picture::lines`].
    pub states: Vec<(usize, Vec<usize>)>,
}

/// A packet from its sending to its reading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Arrow {
    /// The lane of the sender.
    pub from: usize,
    /// The step in which it was sent.
    pub sent: usize,
    /// The lane of the receiver.
    pub to: usize,
    /// The step in which it was read or lost. `None` if the run ended before.
    pub ended: Option<usize>,
    /// True if it was lost.
    pub lost: bool,
    /// What it is, in words; empty if unknown.
    pub words: String,
    /// True if it only keeps a connection alive.
    pub ping: bool,
}

/// The kinds of spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpanKind {
    /// A server looks for a leader.
    Looking,
    /// A server follows and has not begun to serve.
    Synchronising,
    /// A server follows.
    Following,
    /// A server leads.
    Leading,
    /// A server's process is down.
    Down,
    /// A link of the machine is cut.
    Cut,
    /// A client machine is paused.
    Paused,
    /// A client is connected.
    Connected,
    /// A client has a session and no connection.
    Disconnected,
    /// A client's session is over.
    Expired,
}

/// A time in which a machine was something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    /// The machine's lane.
    pub lane: usize,
    /// What it was.
    pub kind: SpanKind,
    /// The step in which it became so.
    pub from: usize,
    /// The step in which it ceased to be so. `None` if the run ended before.
    pub to: Option<usize>,
    /// More in words, such as `epoch 2` or `to server 3`.
    pub label: String,
}

/// What a program believed for a while, such as that it held the lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bar {
    /// The client's lane.
    pub lane: usize,
    /// The belief, such as `holds /lock`.
    pub label: String,
    /// The step in which it began.
    pub from: usize,
    /// The step in which it ended. `None` if the run ended before.
    pub to: Option<usize>,
}

/// The violation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Objected {
    /// The property.
    pub property: String,
    /// What the monitor saw.
    pub saw: String,
    /// The step after which it objected.
    pub step: Option<usize>,
    /// The lanes it concerns.
    pub lanes: Vec<usize>,
}

/// A sentence of a minimised run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sentence {
    /// Its number, from 1.
    pub number: usize,
    /// The sentence.
    pub words: String,
    /// True for a fault.
    pub fault: bool,
    /// The step that it is about, if this picture shows that step.
    pub step: Option<usize>,
}

/// How probable the violation was after each of some steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Curve {
    /// The points, in order of steps.
    pub points: Vec<CurvePoint>,
    /// The number of the step at which the probability rises the most.
    pub jump: u64,
    /// What the jump means, in words.
    pub words: String,
}

/// One point of a [`Curve`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CurvePoint {
    /// The number of the last step that was taken as recorded.
    pub step: u64,
    /// How many runs went on from there.
    pub runs: u32,
    /// How many of them violated the property.
    pub violating: u32,
}
