//! A generated case over servers: how many there are, what they get wrong, and what may happen to them.

use std::fmt::{self, Write};
use vivarium_model::config::{Config, Election, TxnLogSync};
use vivarium_model::file_system::Metadata;
use vivarium_model::release::{Bug, Bugs};
use vivarium_sim::budget::Account;
use vivarium_sim::budget::servers::Budget;

/// What is watched beside the servers' own monitors, and so what makes one run another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Watched {
    /// Nothing.
    States,
    /// The order of proposals, commits and activations.
    Commits,
    /// The same among elections, crashes and the kinds of synchronisations.
    Order,
}

/// A case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// How many servers, and what may go wrong on one path.
    pub budget: Budget,
    /// How they elect.
    pub election: Election,
    /// What they get wrong.
    pub bugs: Vec<Bug>,
    /// After so many transactions a background snapshot is taken, if at all.
    pub snap_count: Option<u32>,
    /// When changes of directories and of files' lengths become durable.
    pub metadata: Metadata,
    /// So many transactions are kept in memory, to be sent as a DIFF.
    pub commit_log_count: usize,
    /// How much may be sent from the log on disk.
    pub txn_log_sync: TxnLogSync,
    /// What is watched.
    pub watched: Watched,
}

impl Case {
    /// What the servers are told.
    pub fn config(&self) -> Config {
        let plain = Config::new(self.budget.servers, 0);
        Config {
            bugs: self.bugs.iter().copied().fold(Bugs::NONE, Bugs::with),
            snap_count: self.snap_count.unwrap_or(plain.snap_count),
            metadata: self.metadata,
            commit_log_count: self.commit_log_count,
            txn_log_sync: self.txn_log_sync,
            ..plain
        }
    }

    /// Servers, what may happen to them, and defects: what a smaller case has fewer of.
    pub fn size(&self) -> usize {
        self.budget.sum() + self.bugs.len() + usize::from(self.snap_count.is_some())
    }

    /// The same search as a command, where a command can say it.
    pub fn command(&self) -> Option<String> {
        let plain = Config::new(self.budget.servers, 0);
        let kept = (self.commit_log_count, self.txn_log_sync);
        if self.snap_count.is_some() || kept != (plain.commit_log_count, plain.txn_log_sync) {
            return None;
        }
        let name = if self.election.is_oracle() { "broadcast" } else { "election" };
        let mut command = format!("vivarium explore {name}");
        for (account, number) in self.budget.each() {
            if account != Account::Upsets {
                let _ = write!(command, " {} {number}", account.flag());
            }
        }
        if self.metadata == Metadata::Ordered {
            command += " --metadata ordered";
        }
        if self.election == Election::Any {
            let (upsets, number) = (Account::Upsets.flag(), self.budget.upsets);
            let _ = write!(command, " --election any {upsets} {number}");
        }
        for bug in &self.bugs {
            let _ = write!(command, " --bug {bug}");
        }
        Some(command)
    }
}

/// Rust that makes the same case, to paste into a test.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bugs: Vec<String> = self.bugs.iter().map(|bug| format!("Bug::{bug}")).collect();
        writeln!(f, "Case {{")?;
        writeln!(f, "    budget: {:?},", self.budget)?;
        writeln!(f, "    election: Election::{:?},", self.election)?;
        writeln!(f, "    bugs: vec![{}],", bugs.join(", "))?;
        writeln!(f, "    snap_count: {:?},", self.snap_count)?;
        writeln!(f, "    metadata: Metadata::{:?},", self.metadata)?;
        writeln!(f, "    commit_log_count: {},", self.commit_log_count)?;
        writeln!(f, "    txn_log_sync: TxnLogSync::{:?},", self.txn_log_sync)?;
        writeln!(f, "    watched: Watched::{:?},", self.watched)?;
        f.write_str("}")
    }
}
