//! Findings: defects of today's ZooKeeper that break a promise. The model finds each, and real servers show it.
//!
//! A [`Finding`] is a row of [`FINDINGS`]. [`Finding::search`] looks for it in the model, in this process;
//! [`Finding::reproduce`] brings unmodified servers on the loopback interface to where it shows, or, as a control,
//! through the same without what triggers it. What stands between the servers are proxies that hold, delay and cut
//! packets, signals, and strace, which slows system calls or has them fail, and tells what a power loss may undo.
//! `scenarios/findings` has a page for each.
//!
//! Files: `register` has the list, `model` the searches; one file for each finding; `ensemble`, `link` (with `link_state`,
//! `relay` and `quorum`), `session`, `bulk`, `tracer`, `slow_snapshot` and `power_loss` (with `disk_trace`) are what real
//! servers are led by. `tests/real/findings.rs` keeps the list, the pages and the README together.

mod acks_outlive_reconnect;
mod acl_by_number;
mod acl_unknown_at_start;
mod apply_outlives_role;
mod bulk;
mod container_list_is_old;
mod disk;
mod disk_trace;
mod diverged;
mod ensemble;
mod failed_write_comes_later;
mod first_snapshot_unsynced;
mod fsync_error_keeps_memory;
mod interrupted_trunc_keeps_tree;
mod leader_ignores_newer_epoch;
mod link;
mod link_state;
mod long_record_unreadable;
mod loss;
mod model;
mod outstanding_acl_is_old;
mod phantom;
mod power_loss;
mod programs;
mod quorum;
mod refuse_newer_zxid;
mod register;
mod relay;
mod rename_unsynced;
mod restart;
mod sequence_counter_stays;
mod session;
mod slow_snapshot;
mod snap_keeps_old_log;
mod snapshot_ahead_of_log;
mod snapshot_outlives_role;
mod snapshot_written_in_place;
mod sync_at_leader;
mod sync_overtakes_commits;
mod tale;
mod torn_record_hides_log;
mod tracer;
mod transaction_log;
mod trouble;
mod trunc_cuts_committed;
mod trunc_keeps_newer_snapshot;
mod trunc_keeps_record_beyond;
mod trunc_snapshot_unsynced;
mod trunc_unsynced;

pub use model::{Found, Search, Switch};
pub use register::FINDINGS;
pub use tale::{Outcome, Tale};
pub use trouble::Trouble;

use crate::conform::Installation;

/// A defect of today's ZooKeeper.
#[derive(Clone, Copy, Debug)]
pub struct Finding {
    /// Its name on the command line, and that of its page.
    pub name: &'static str,
    /// What turns it on in the model.
    pub switch: Switch,
    /// What a user of ZooKeeper loses, in one sentence.
    pub loses: &'static str,
    /// The number of its ZOOKEEPER issue, where one was found.
    pub tracker: Option<u32>,
    /// How the model is asked for it.
    pub search: Search,
    /// What the control run leaves out or does otherwise.
    pub control: &'static str,
    /// Whether strace is needed.
    pub needs_strace: bool,
    reproduction: Reproduction,
}

type Reproduction = fn(&Installation, Variant, &mut Tale<'_>) -> Result<Outcome, Trouble>;

/// Which of the two runs of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// With what triggers the defect.
    Defect,
    /// The same without.
    Control,
}

impl Finding {
    /// The finding of this name.
    pub fn named(name: &str) -> Option<&'static Finding> {
        FINDINGS.iter().find(|finding| finding.name == name)
    }

    /// Looks for the defect in the model.
    ///
    /// # Errors
    /// The search could not be made.
    pub fn search(&self) -> Result<Found, String> {
        model::search(self.switch, &self.search)
    }

    /// Whether the programs are there that its servers are led by. (That ZooKeeper is, [`Installation::find`] says.)
    ///
    /// # Errors
    /// One has to be installed first.
    pub fn check(&self) -> Result<(), Trouble> {
        match self.needs_strace {
            true => tracer::Tracer::check(),
            false => Ok(()),
        }
    }

    /// Runs real servers. Whatever kept the run from its end is the outcome [`Outcome::Inconclusive`].
    ///
    /// # Errors
    /// Something has to be installed first: [`Trouble::is_missing`].
    pub fn reproduce(
        &self,
        installation: &Installation,
        variant: Variant,
        tale: &mut Tale<'_>,
    ) -> Result<Outcome, Trouble> {
        self.check()?;
        match (self.reproduction)(installation, variant, tale) {
            Err(trouble) if trouble.is_missing() => Err(trouble),
            Err(trouble) => Ok(Outcome::Inconclusive(trouble.to_string())),
            Ok(outcome) => Ok(outcome),
        }
    }
}
