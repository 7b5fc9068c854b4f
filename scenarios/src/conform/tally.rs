//! Counts of actions and of answered codes.

use super::heard::codes;
use super::pair::Both;
use std::collections::BTreeMap;
use vivarium_model::error::Error;

/// Counts by name and by code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    actions: BTreeMap<&'static str, u64>,
    codes: BTreeMap<Option<Error>, u64>,
    kept_back: u64,
}

impl Tally {
    /// Counts an action.
    pub fn action(&mut self, name: &'static str) {
        *self.actions.entry(name).or_default() += 1;
    }

    /// Counts what both servers answered alike.
    pub fn heard(&mut self, both: &Both) {
        for code in both.real.iter().flat_map(codes) {
            *self.codes.entry(code).or_default() += 1;
        }
        self.kept_back += both.kept_back;
    }

    /// Returns the number of answers that a real server sent only after a ping (ZOOKEEPER-4537).
    pub fn kept_back(&self) -> u64 {
        self.kept_back
    }

    /// Adds the counts of another tally.
    pub fn add(&mut self, other: &Tally) {
        for (name, count) in &other.actions {
            *self.actions.entry(name).or_default() += count;
        }
        for (code, count) in &other.codes {
            *self.codes.entry(*code).or_default() += count;
        }
        self.kept_back += other.kept_back;
    }

    /// Returns how often an action was done.
    pub fn of_action(&self, name: &str) -> u64 {
        self.actions.get(name).copied().unwrap_or(0)
    }

    /// Returns how often a code was answered; `None` is success.
    pub fn of_code(&self, code: Option<Error>) -> u64 {
        self.codes.get(&code).copied().unwrap_or(0)
    }

    /// Returns the number of actions except pings, which only ask for news.
    pub fn operations(&self) -> u64 {
        let total: u64 = self.actions.values().sum();
        total - self.of_action("ping")
    }
}
