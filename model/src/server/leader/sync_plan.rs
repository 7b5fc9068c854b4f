//! The packets that synchronise a learner (rule 6.4): `LearnerHandler.syncFollower`.

use crate::server::commit_processor::CommitProcessor;
use crate::server::database::Database;
use crate::server::disk::{Disk, Snapshot};
use crate::vocabulary::config::{Config, TxnLogSync};
use crate::vocabulary::event::SyncMode;
use crate::vocabulary::packet::LeaderPacket;
use crate::vocabulary::release::Bug;
use crate::vocabulary::txn::Txn;
use crate::vocabulary::zxid::Zxid;
use std::sync::Arc;

/// The packets of a synchronisation.
pub(in crate::server) struct Plan {
    /// The first packet; `None` for a SNAP.
    pub(super) first: Option<LeaderPacket>,
    /// The proposals and commits after it.
    pub(super) packets: Vec<LeaderPacket>,
    /// The learner's last zxid after these packets.
    pub(in crate::server) sent: Zxid,
}

/// The window of committed transactions; in HEAD, of *applied* ones only (see [`Bug::TruncCutsCommitted`]).
pub(in crate::server) struct Window<'a> {
    txns: Vec<&'a Arc<Txn>>,
    /// minCommittedLog.
    min: Zxid,
    /// maxCommittedLog.
    max: Zxid,
    /// The last transaction of all, even if the window is empty.
    last: Zxid,
}

/// Returns the plan for a learner with this last zxid, by the first row of rule 6.4 that applies (rules 6.4.2, 6.4.3,
/// 6.4.4, 6.4.5 and 6.4.6).
pub(in crate::server) fn of(
    learner: Zxid,
    database: &Database,
    commits: &CommitProcessor,
    disk: &Disk,
    config: &Config,
) -> Plan {
    let window = Window::of(database, commits, config);
    let (max, leaves) = (window.max, config.bugs.has(Bug::DiffWithoutTrunc));
    if window.last == learner {
        return Plan { first: Some(LeaderPacket::Diff(learner)), ..Plan::new(learner) };
    }
    if learner > max && !learner.is_opening() {
        return Plan { first: Some(LeaderPacket::Trunc(max)), ..Plan::new(max) };
    }
    let plan = if learner < window.min {
        from_disk(learner, &window, disk, config)
    } else if learner <= max {
        let mut plan = Plan::new(learner);
        plan.walk(window.txns.iter().copied(), learner, max);
        if leaves && !matches!(plan.first, Some(LeaderPacket::Diff(_))) {
            plan = Plan::new(learner);
            plan.send_above(window.txns.iter().copied(), learner);
            plan.first = Some(LeaderPacket::Diff(max));
        }
        plan.first.is_some().then_some(plan)
    } else {
        None
    };
    plan.unwrap_or_else(|| Plan::new(database.tree.last_processed()))
}

/// Applies rule 6.4.5: sends the log on disk up to the window, then the window. Returns `None` if this is disabled,
/// or if the log does not reach back to the learner's zxid, is too long, ends before the window begins, or has
/// another history. It does not check for a gap inside the log (ZOOKEEPER-2846).
fn from_disk(learner: Zxid, window: &Window<'_>, disk: &Disk, config: &Config) -> Option<Plan> {
    let log = disk.flushed_log();
    if config.txn_log_sync == TxnLogSync::Off || log.first()?.zxid > learner {
        return None;
    }
    let size =
        |snapshot: &Snapshot| snapshot.content.nodes().count() + snapshot.content.sessions().len();
    let records = log.len() - log.partition_point(|txn| txn.zxid < learner);
    if !config.txn_log_sync.allows(records, disk.snapshots().last().map_or(0, size)) {
        return None;
    }
    let mut plan = Plan::new(learner);
    let older = log.partition_point(|txn| txn.zxid <= window.min);
    plan.walk(log[..older].iter(), learner, window.max);
    // ZOOKEEPER-2418.
    if plan.sent < window.min && !config.bugs.has(Bug::LogEndsBeforeWindow) {
        return None;
    }
    plan.walk(window.txns.iter().copied(), learner, window.max);
    plan.first.is_some().then_some(plan)
}

impl Plan {
    /// Returns how the learner is synchronised.
    pub(super) fn mode(&self) -> SyncMode {
        match &self.first {
            Some(LeaderPacket::Trunc(_)) => SyncMode::Trunc,
            Some(_) => SyncMode::Diff,
            None => SyncMode::Snap,
        }
    }

    /// Returns an empty plan for a learner with this last zxid.
    fn new(sent: Zxid) -> Plan {
        Plan { first: None, packets: Vec::new(), sent }
    }

    /// Adds those of these transactions that are above the learner's zxid.
    fn send_above<'a>(&mut self, txns: impl IntoIterator<Item = &'a Arc<Txn>>, learner: Zxid) {
        for txn in txns.into_iter().filter(|txn| txn.zxid > learner) {
            self.send(txn);
        }
    }

    fn send(&mut self, txn: &Arc<Txn>) {
        self.packets.push(LeaderPacket::Proposal(Arc::clone(txn)));
        self.packets.push(LeaderPacket::Commit(txn.zxid));
        self.sent = txn.zxid;
    }

    /// Adds these transactions from the learner's zxid on (queueCommittedProposals, rule 6.4.7). The first packet
    /// remains `None` if the learner's zxid is not among them and belongs to another epoch than the next one: then
    /// only a SNAP is possible.
    fn walk<'a>(&mut self, txns: impl IntoIterator<Item = &'a Arc<Txn>>, learner: Zxid, max: Zxid) {
        let mut previous = Zxid::ZERO;
        for txn in txns {
            if txn.zxid < learner {
                previous = txn.zxid;
                continue;
            }
            if self.first.is_none() {
                if txn.zxid == learner {
                    self.first = Some(LeaderPacket::Diff(max));
                    continue;
                }
                if learner.is_opening() {
                    self.first = Some(LeaderPacket::Diff(max));
                } else if txn.zxid.epoch() != learner.epoch() {
                    return;
                } else {
                    self.first = Some(LeaderPacket::Trunc(previous));
                }
            }
            if txn.zxid > self.sent {
                self.send(txn);
            }
        }
        if self.first.is_none() && learner.is_opening() {
            self.first = Some(LeaderPacket::Diff(max));
        }
    }
}

impl<'a> Window<'a> {
    /// Returns the window of a leader. If it is empty, both its ends are the last transaction of all.
    pub(in crate::server) fn of(
        database: &'a Database,
        commits: &'a CommitProcessor,
        config: &Config,
    ) -> Window<'a> {
        let applied = database.tree.last_processed();
        let mut txns: Vec<&Arc<Txn>> = database.committed_log.iter().collect();
        let mut last = applied;
        if !config.bugs.has(Bug::TruncCutsCommitted) {
            txns.extend(commits.to_be_applied());
            let oldest = txns.len().saturating_sub(config.commit_log_count);
            txns.drain(..oldest);
            last = commits.last().unwrap_or(applied);
        }
        let end = |txn: Option<&&Arc<Txn>>| txn.map_or(last, |txn| txn.zxid);
        let (min, max) = (end(txns.first()), end(txns.last()));
        Window { txns, min, max, last }
    }

    /// Returns true if the leader may send more of the log on disk once more of it is durable.
    pub(in crate::server) fn waits_for(&self, disk: &Disk, config: &Config) -> bool {
        let reaches_below = disk.log().first().is_some_and(|txn| txn.zxid < self.min);
        let reaches_up = disk.flushed_log().last().is_some_and(|txn| txn.zxid >= self.min);
        config.txn_log_sync != TxnLogSync::Off && reaches_below && !reaches_up
    }
}
