//! Findings: defects of today's ZooKeeper that break a promise. The model finds each, and real servers show it.
//!
//! A [`Finding`] is a row of [`FINDINGS`]. [`Finding::search`] looks for it in the model, in this process.
//! [`Finding::reproduce`] runs unmodified servers on the loopback interface until the defect shows, or, as a control,
//! the same run without the trigger. Proxies between the servers hold, delay and cut packets. Signals and strace slow
//! down system calls or make them fail, and strace's output tells what a power loss may undo. `scenarios/findings` has
//! a page for each finding.
//!
//! Files: `register` has the list, `model` the searches, and each finding has a file. `ensemble`, `addresses`, `link`
//! (with `link_state`, `relay` and `quorum`), `session`, `bulk`, `tracer`, `slow_snapshot` and `power_loss` (with
//! `disk_trace`) control real servers. `tests/real/findings.rs` keeps the list, the pages and the README consistent.

mod acks_outlive_reconnect;
mod acl_by_number;
mod acl_unknown_at_start;
mod addresses;
mod apply_outlives_role;
mod bulk;
mod container_list_is_old;
mod disk;
mod disk_trace;
mod diverged;
mod ensemble;
mod error;
mod failed_write_comes_later;
mod first_snapshot_unsynced;
mod fsync_error_keeps_memory;
mod interrupted_trunc_keeps_tree;
mod joiner_keeps_vote;
mod leader_ignores_newer_epoch;
mod link;
mod link_state;
mod long_record_unreadable;
mod loss;
mod model;
mod narration;
mod next_config_deleted_at_start;
mod observer_epoch_before_log;
mod observers_answer;
mod observers_told_old_votes;
mod old_quorum_still_needed;
mod outstanding_acl_is_old;
mod pending_reconfig;
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
mod torn_record_hides_log;
mod tracer;
mod transaction_log;
mod trunc_cuts_committed;
mod trunc_keeps_newer_snapshot;
mod trunc_keeps_record_beyond;
mod trunc_snapshot_unsynced;
mod trunc_unsynced;
mod uncommitted_config_activated;
mod uncommitted_config_keeps_out;
mod unlogged_observer_votes;

pub use error::FindingError;
pub use model::{Found, Search, Switch};
pub use narration::{Narration, Outcome};
pub use register::FINDINGS;

use crate::conform::Installation;
use vivarium_model::release::Release;

/// A defect of today's ZooKeeper.
#[derive(Clone, Copy, Debug)]
pub struct Finding {
    /// The name on the command line and of the page.
    pub name: &'static str,
    /// The switch of the defect in the model.
    pub switch: Switch,
    /// What a user of ZooKeeper loses, in one sentence.
    pub loses: &'static str,
    /// The number of its ZOOKEEPER issue, if one was found.
    pub tracker: Option<u32>,
    /// The releases whose real servers have shown it, each with its control. 3.8.0 is Debian's package, and HEAD the
    /// master branch of 2026-07-17.
    pub seen_on: &'static [Release],
    /// How the model is searched for it.
    pub search: Search,
    /// What the control run leaves out or changes.
    pub control: &'static str,
    /// Whether the run needs strace.
    pub needs_strace: bool,
    reproduction: Reproduction,
}

type Reproduction = fn(&Installation, Variant, &mut Narration<'_>) -> Result<Outcome, FindingError>;

/// The two runs of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// The run with the trigger of the defect.
    Defect,
    /// The same run without the trigger.
    Control,
}

impl Finding {
    /// Returns the finding with this name.
    pub fn named(name: &str) -> Option<&'static Finding> {
        FINDINGS.iter().find(|finding| finding.name == name)
    }

    /// Searches the model for the defect.
    ///
    /// # Errors
    /// Returns one sentence if the search could not be run.
    pub fn search(&self) -> Result<Found, String> {
        model::search(self.switch, &self.search)
    }

    /// Checks that the programs that control its servers are installed. ([`Installation::find`] checks ZooKeeper.)
    ///
    /// # Errors
    /// Fails if a program must be installed first.
    pub fn check(&self) -> Result<(), FindingError> {
        match self.needs_strace {
            true => tracer::Tracer::check(),
            false => Ok(()),
        }
    }

    /// Runs real servers. If the run could not be completed, the result is [`Outcome::Inconclusive`].
    ///
    /// # Errors
    /// Fails if a program must be installed first: [`FindingError::is_missing`].
    pub fn reproduce(
        &self,
        installation: &Installation,
        variant: Variant,
        tale: &mut Narration<'_>,
    ) -> Result<Outcome, FindingError> {
        self.check()?;
        match (self.reproduction)(installation, variant, tale) {
            Err(trouble) if trouble.is_missing() => Err(trouble),
            Err(trouble) => Ok(Outcome::Inconclusive(trouble.to_string())),
            Ok(outcome) => Ok(outcome),
        }
    }
}
