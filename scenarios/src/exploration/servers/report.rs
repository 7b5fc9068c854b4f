//! The words of a report: what a search over servers varies and what it leaves out.

use super::super::faults;
use vivarium_model::config::{Config, Election};
use vivarium_model::file_system::Metadata;
use vivarium_model::property;
use vivarium_reports::exploration::Dimension;
use vivarium_sim::budget::Account;
use vivarium_sim::budget::servers::Budget;

/// The properties that are checked in addition to the monitors: those of states, after every step, and that of runs
/// at whose end every server serves.
const OF_STATES: [&str; 6] = [
    "S3 committed means durable",
    "S6 durable recovery",
    "S7 contiguous log",
    "S8 memory within the disk",
    "S9 epochs in order",
    "L2 everybody serves in the end",
];

/// Returns the names of all properties that are checked.
pub(super) fn properties() -> Vec<String> {
    let monitors = property::servers();
    let monitors = monitors.iter().map(|monitor| monitor.name());
    monitors.chain(OF_STATES).map(str::to_string).collect()
}

/// The options of the search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// The budget of a path.
    pub(super) budget: Budget,
    /// How leaders are elected.
    pub(super) election: Election,
    /// Whether a server applies a commit in the step in which it learns of it.
    pub(super) applies_at_once: bool,
    /// The snapCount; `None` for no background snapshots.
    pub(super) snap_count: Option<u32>,
    /// When changes of directories and of files' lengths become durable.
    pub(super) metadata: Metadata,
}

impl Asked {
    /// Returns the options as a line.
    pub(super) fn words(self) -> String {
        let Asked { budget, election, applies_at_once, snap_count, metadata } = self;
        let counted = budget.each().filter(|(account, _)| match account {
            Account::Servers | Account::Observers => false,
            Account::Upsets => election == Election::Any,
            _ => true,
        });
        let counted: Vec<String> =
            counted.map(|(account, number)| account.counted(number)).collect();
        let servers = match budget.observers {
            0 => Account::Servers.counted(budget.servers),
            some => format!(
                "{} and {}",
                Account::Servers.counted(budget.servers),
                Account::Observers.counted(some)
            ),
        };
        let election = match election {
            Election::Oracle => "elections by oracle",
            Election::Any => "any member of a quorum elected",
            Election::Fast => "elections as in the code",
            Election::ByLot => "elections by lot",
        };
        let coarse = if applies_at_once { ", what is committed applied at once" } else { "" };
        let snapshots = match snap_count {
            Some(count) => format!(", snapCount {count}"),
            None => String::new(),
        };
        let ordered = match metadata {
            Metadata::Unordered => "",
            Metadata::Ordered => ", metadata durable in their order",
        };
        format!(
            "{servers} over the ensemble grain, {election}{coarse}{snapshots}{ordered}; budget: {}",
            counted.join(", ")
        )
    }

    /// Returns the dimensions that such a search varies, and those that it leaves out.
    pub(super) fn dimensions(self) -> Vec<Dimension> {
        let Asked { budget, election, applies_at_once, snap_count, metadata } = self;
        let elections = match election {
            Election::Oracle => Dimension::new(
                "elections",
                true,
                "by oracle: each quorum elects its best candidate; --election fast brings in the votes, \
                 --election any every other candidate",
            ),
            Election::Any => Dimension::new(
                "elections",
                true,
                "each quorum elects any of its members, whatever their epochs and zxids; --election fast brings in \
             the votes",
            ),
            Election::Fast | Election::ByLot => Dimension::new(
                "elections",
                true,
                "as in the code: each order of votes and timers, up to the third round",
            ),
        };
        let applied = match applies_at_once {
            true => "--coarse commit-apply: in the step in which a server learns of the commit",
            false => "at any moment after a server has learned of the commit",
        };
        let mut rows = Vec::new();
        for (account, number) in budget.each() {
            match account {
                Account::Servers => {
                    let how = format!("{number}: {}", account.how());
                    rows.push(Dimension::new(account.row(), true, how));
                }
                Account::Observers if number > 0 => {
                    let how = format!("{number}: {}", account.how());
                    rows.push(Dimension::new(account.row(), true, how));
                }
                Account::Observers => {
                    let how = format!("{} brings them in", account.flag());
                    rows.push(Dimension::new(account.row(), false, how));
                }
                Account::Upsets => {
                    rows.push(elections.clone());
                    rows.push(match election {
                        Election::Any => faults(account, number),
                        _ => {
                            let how = "--election any brings it in";
                            Dimension::new(account.row(), false, how)
                        }
                    });
                }
                _ => rows.push(faults(account, number)),
            }
        }
        rows.extend([
            Dimension::new("commit and apply", !applies_at_once, applied),
            match snap_count {
                Some(count) if !self.reaches(count) => Dimension::new(
                    "background snapshots",
                    false,
                    format!(
                        "snapCount {count} is never reached with {}",
                        Account::Txns.counted(budget.txns)
                    ),
                ),
                Some(count) => Dimension::new(
                    "background snapshots",
                    true,
                    format!(
                        "snapCount {count}: written while transactions are applied, in pieces of 4 znodes"
                    ),
                ),
                None => {
                    Dimension::new("background snapshots", false, "--snap-count brings them in")
                }
            },
            match metadata {
                Metadata::Unordered => Dimension::new(
                    "metadata of files",
                    true,
                    "renames, truncations and deletions durable when they are fsynced, and in any order, as POSIX has it",
                ),
                Metadata::Ordered => Dimension::new(
                    "metadata of files",
                    true,
                    "--metadata ordered: renames, truncations and deletions durable in their order, at the latest with \
                     the next fsync of any file",
                ),
            },
            Dimension::new("clients, sessions", false, "only at the service grain"),
        ]);
        rows
    }

    /// Returns true if a server can log enough transactions for a background snapshot to begin.
    fn reaches(self, snap_count: u32) -> bool {
        let Budget { servers, txns, .. } = self.budget;
        let config = Config { snap_count, ..Config::new(servers, 0) };
        let limits = config.server_ids().filter_map(|server| config.snapshot_limit(server));
        limits.min().is_some_and(|least| u32::from(txns) > least)
    }
}
