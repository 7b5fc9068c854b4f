//! What a search over servers varies and what it leaves out, in words.

use super::super::faults;
use std::collections::BTreeMap;
use vivarium_model::config::{Config, Election};
use vivarium_model::file_system::Metadata;
use vivarium_model::property;
use vivarium_model::words::plural;
use vivarium_reports::exploration::Dimension;
use vivarium_sim::every::servers::Budget;

/// What is asked beside the monitors: the state properties, after every step, and at the end of every
/// run that everybody serves.
const OF_STATES: [&str; 6] = [
    "S3 committed means durable",
    "S6 durable recovery",
    "S7 contiguous log",
    "S8 memory within the disk",
    "S9 epochs in order",
    "L2 everybody serves in the end",
];

/// All that is asked.
pub(super) fn properties() -> Vec<String> {
    let monitors = property::servers();
    let monitors = monitors.iter().map(|monitor| monitor.name());
    monitors.chain(OF_STATES).map(str::to_string).collect()
}

/// What was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// What may happen on a path.
    pub(super) budget: Budget,
    /// How leaders are elected.
    pub(super) election: Election,
    /// Whether what is committed is applied in the same step.
    pub(super) applies_at_once: bool,
    /// After how many transactions a background snapshot is taken; never, if nothing is said.
    pub(super) snap_count: Option<u32>,
    /// When changes of directories and of files' lengths become durable.
    pub(super) metadata: Metadata,
}

impl Asked {
    /// As a line.
    pub(super) fn words(self) -> String {
        let Asked { budget, election, applies_at_once, snap_count, metadata } = self;
        let Budget { servers, txns, crashes, breaks, timeouts, fsync_errors, upsets } = budget;
        let budget = [
            plural(txns.into(), "transaction"),
            match crashes {
                1 => "1 crash".to_string(),
                _ => format!("{crashes} crashes"),
            },
            plural(breaks.into(), "broken connection"),
            plural(timeouts.into(), "timeout"),
            plural(fsync_errors.into(), "fsync error"),
            plural(upsets.into(), "upset"),
        ];
        let budget = &budget[..budget.len() - usize::from(election != Election::Any)];
        let servers = plural(servers.into(), "server");
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
            budget.join(", ")
        )
    }

    /// The budget as a case notes it.
    pub(super) fn parameters(self) -> BTreeMap<String, String> {
        let Budget { servers, txns, crashes, breaks, timeouts, fsync_errors, upsets } = self.budget;
        let kinds = [
            ("servers", servers),
            ("txns", txns),
            ("crashes", crashes),
            ("breaks", breaks),
            ("timeouts", timeouts),
            ("fsync_errors", fsync_errors),
            ("upsets", upsets),
        ];
        kinds.into_iter().map(|(name, number)| (name.to_string(), number.to_string())).collect()
    }

    /// What such a search varies, and what it leaves out.
    pub(super) fn dimensions(self) -> Vec<Dimension> {
        let Asked { budget, election, applies_at_once, snap_count, metadata } = self;
        let Budget { servers, txns, crashes, breaks, timeouts, fsync_errors, upsets } = budget;
        let order = "every order in which packets, disk operations and starts take turns";
        let proposed = "proposed by an established leader at any moment";
        let crash = "with each part of the unsynced log lost (a torn record counts as lost), with and \
                 without unsynced snapshots, and each number of packets that still arrive";
        let broken = "with each number of packets that still arrive";
        let timeout = "a server leaves its role though nothing is wrong (where it is the only way on, it \
                   does so anyway)";
        let failed = "a write to a log or its fsync fails, with each part of the unsynced log lost, and its server \
                  leaves its role; or a write of a snapshot, and its process exits";
        let upset = "a server is elected that needs the vote of one that is ahead of it";
        let elections = match election {
            Election::Oracle => Dimension::new(
                "elections",
                true,
                "by oracle: each quorum elects whom it would; --election fast brings in the votes, --election \
             any whomever it could be made to follow",
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
            false => "at any later moment than a server learns of the commit",
        };
        vec![
            Dimension::new("servers", true, format!("{servers}: {order}")),
            faults("transactions", txns, "--txns", proposed),
            faults("crashes", crashes, "--crashes", crash),
            faults("broken connections", breaks, "--breaks", broken),
            faults("timeouts", timeouts, "--timeouts", timeout),
            faults("fsync errors", fsync_errors, "--fsync-errors", failed),
            elections,
            match election {
                Election::Any => faults("upsets", upsets, "--upsets", upset),
                _ => Dimension::new("upsets", false, "--election any brings it in"),
            },
            Dimension::new("commit and apply", !applies_at_once, applied),
            match snap_count {
                Some(count) if !self.reaches(count) => Dimension::new(
                    "background snapshots",
                    false,
                    format!(
                        "snapCount {count} is never reached with {}",
                        plural(txns.into(), "transaction")
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
        ]
    }
    /// Whether some server can log more transactions than it takes for a background snapshot to begin.
    fn reaches(self, snap_count: u32) -> bool {
        let Budget { servers, txns, .. } = self.budget;
        let config = Config { snap_count, ..Config::new(servers, 0) };
        let limits = config.server_ids().filter_map(|server| config.snapshot_limit(server));
        limits.min().is_some_and(|least| u32::from(txns) > least)
    }
}
