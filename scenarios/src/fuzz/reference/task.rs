//! The state of a program in a process: its remaining statements, and what it awaits.

use super::super::case::{Call, Statement, Watching};
use std::collections::{BTreeMap, VecDeque};

/// The number of a program's call. No number is used twice.
pub(super) type Slot = u32;

/// One thing that a program awaits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Await {
    Call(Call),
    Watch(Watching, usize),
    /// The event of the kept watch.
    Event,
    State,
    Minute,
    Cancelled,
}

/// How the answers of concurrent calls are combined into one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Line {
    Both,
    First(&'static str, &'static str),
    /// The second answer is replaced by this word; or the first answer.
    Or(&'static str),
    Unless(&'static str),
}

/// What is awaited, its slot once it has begun, and its answer once it has arrived.
pub(super) type Part = (Await, Option<Slot>, Option<String>);

/// Statements that run one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Thread {
    /// The remaining statements, the present one first.
    pub(super) left: VecDeque<Statement>,
    pub(super) parts: Vec<Part>,
    pub(super) line: Line,
    /// The number of attempts, if the present statement is a retry.
    pub(super) tries: Option<u32>,
    pub(super) beside: bool,
    /// True until the first connect is answered; that answer is not recorded.
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
    /// Answers that were not read yet.
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
    /// Creates a program that first connects and then runs these statements.
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
