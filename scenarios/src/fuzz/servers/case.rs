//! A generated case of servers: their number, their defects, and the possible faults.

use std::fmt::{self, Write};
use vivarium_model::config::{Config, Election, TxnLogSync};
use vivarium_model::file_system::Metadata;
use vivarium_model::release::{Bug, Bugs};
use vivarium_sim::budget::Account;
use vivarium_sim::budget::servers::Budget;

/// What is watched besides the servers' own monitors, which decides which runs count as different.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Watched {
    /// Nothing else.
    States,
    /// The order of proposals, commits and activations.
    Commits,
    /// The same, including elections, crashes and the kinds of synchronisations.
    Order,
}

/// A generated case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The number of servers, and the possible faults on one path.
    pub budget: Budget,
    /// How leaders are elected.
    pub election: Election,
    /// The defects of the servers.
    pub bugs: Vec<Bug>,
    /// The number of transactions after which a background snapshot is taken, if at all.
    pub snap_count: Option<u32>,
    /// When changes of directories and of files' lengths become durable.
    pub metadata: Metadata,
    /// The number of transactions that are kept in memory for a DIFF.
    pub commit_log_count: usize,
    /// How much may be sent from the log on disk.
    pub txn_log_sync: TxnLogSync,
    /// What is watched.
    pub watched: Watched,
}

impl Case {
    /// Returns the servers' configuration.
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

    /// Returns the number of servers, faults and defects; a smaller case has fewer.
    pub fn size(&self) -> usize {
        self.budget.sum() + self.bugs.len() + usize::from(self.snap_count.is_some())
    }

    /// Returns the command for the same search, if one exists.
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

/// Prints Rust code for the case, to paste into a test.
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
