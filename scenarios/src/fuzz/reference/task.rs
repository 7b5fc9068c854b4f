//! What a program in a process is: the statements that are left to it, and what it awaits.

use super::super::case::{Call, Statement, Watching};
use std::collections::{BTreeMap, VecDeque};

/// The number of a call of a program. No number is used twice.
pub(super) type Slot = u32;

/// One thing that a program awaits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Await {
    Call(Call),
    Watch(Watching, usize),
    /// The event of the watch that is kept.
    Event,
    State,
    Minute,
    Cancelled,
}

/// How the answers of what is awaited at once become one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Line {
    Both,
    First(&'static str, &'static str),
    /// The second answer is this word, whatever it is; or the first.
    Or(&'static str),
    Unless(&'static str),
}

/// What is awaited, with its slot once it is begun, and the answer once it is there.
pub(super) type Part = (Await, Option<Slot>, Option<String>);

/// Statements that run one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Thread {
    /// What is left to do, the present statement first.
    pub(super) left: VecDeque<Statement>,
    pub(super) parts: Vec<Part>,
    pub(super) line: Line,
    /// How often a retry has been tried, if the present statement is one.
    pub(super) tries: Option<u32>,
    pub(super) beside: bool,
    /// The first connect has not been answered: its answer is not written down.
    pub(super) begins: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kept {
    Nothing,
    Watch(Slot),
    Fired,
}

/// A program in a process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Task {
    pub(super) threads: Vec<Thread>,
    pub(super) notes: Vec<String>,
    pub(super) kept: Kept,
    pub(super) states: VecDeque<&'static str>,
    /// Answers that were not looked at.
    pub(super) answers: BTreeMap<Slot, Result<String, String>>,
    pub(super) next: Slot,
}

impl Thread {
    pub(super) fn new(left: VecDeque<Statement>, beside: bool) -> Thread {
        let line = Line::Both;
        Thread { left, parts: Vec::new(), line, tries: None, beside, begins: false }
    }
}

impl Task {
    /// A program that has not begun: connects, and then does all this.
    pub(super) fn new(statements: &[Statement]) -> Task {
        let mut left: VecDeque<Statement> = statements.iter().copied().collect();
        left.push_front(Statement::Do(Call::Connect));
        let thread = Thread { begins: true, ..Thread::new(left, false) };
        Task {
            threads: vec![thread],
            notes: Vec::new(),
            kept: Kept::Nothing,
            states: VecDeque::new(),
            answers: BTreeMap::new(),
            next: 0,
        }
    }
}
