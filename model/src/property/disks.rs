//! Checks S3, S6 and S7 on a server's disk in a sweep, after each step that changed the disk.
//!
//! Most steps change no disk, and most others append a record. After an append, S7 checks that record only, and a
//! start would load the earlier database with the record on top. So S6 and S7 check the whole disk only after the log
//! was cut or the snapshots changed, before each start of a server, and at the end. S3 is checked then too, and after
//! each commit: an append removes nothing from a disk, and an fsync only makes more of it durable.

use super::invariants::{contiguous_log, durable, recoverable};
use super::{AskedOfServers, Objection};
use crate::ensemble::Ensemble;
use crate::server::disk::Disk;
use crate::vocabulary::id::ServerId;
use crate::vocabulary::step::Step;
use crate::vocabulary::zxid::Zxid;
use crate::world::history::History;

/// The outlines of the servers' disks after the last step, and the properties to check.
#[derive(Clone, Debug)]
pub struct Disks {
    asked: AskedOfServers,
    seen: Vec<Outline>,
    /// Zxid of the last committed transaction.
    committed: Zxid,
}

impl AskedOfServers {
    fn durable(self, ensemble: &Ensemble, history: &History) -> Result<(), Objection> {
        if self.durable { durable(ensemble, history) } else { Ok(()) }
    }

    fn log(self, server: ServerId, disk: &Disk, from: usize) -> Result<(), Objection> {
        if self.log { contiguous_log(server, disk, from) } else { Ok(()) }
    }

    fn whole(self, server: ServerId, disk: &Disk, history: &History) -> Result<(), Objection> {
        self.log(server, disk, 0)?;
        if self.recovery { recoverable(server, disk, history) } else { Ok(()) }
    }
}

/// An outline by which a step's change of a disk is detected: no step replaces records or snapshots by equally many
/// others with the same ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Outline {
    records: usize,
    last: Option<Zxid>,
    snapshots: Snapshots,
}

/// Number of snapshots, number of durable ones, and the newest one's label.
type Snapshots = (usize, usize, Option<Zxid>);

impl Outline {
    fn of(disk: &Disk) -> Outline {
        let snapshots = disk.snapshots();
        let durable = snapshots.iter().filter(|snapshot| snapshot.durable).count();
        let newest = snapshots.last().map(|snapshot| snapshot.label);
        Outline {
            records: disk.log().len(),
            last: disk.log().last().map(|txn| txn.zxid),
            snapshots: (snapshots.len(), durable, newest),
        }
    }

    /// Returns true if the disk, which had this outline before, has got more records and is otherwise unchanged.
    fn has_only_grown(&self, now: &Outline, disk: &Disk) -> bool {
        let same_end = self.records.checked_sub(1).map(|last| disk.log().get(last));
        self.snapshots == now.snapshots
            && same_end.is_none_or(|end| end.map(|txn| txn.zxid) == self.last)
    }
}

impl Disks {
    /// Records the disks before the first step.
    pub fn new(ensemble: &Ensemble, asked: AskedOfServers) -> Disks {
        let outline = |server| Outline::of(ensemble.disk(server));
        let seen = ensemble.config().server_ids().map(outline).collect();
        Disks { asked, seen, committed: Zxid::ZERO }
    }

    /// Checks the disks after a step.
    ///
    /// # Errors
    /// The first objection.
    pub fn after(
        &mut self,
        step: &Step,
        ensemble: &Ensemble,
        history: &History,
    ) -> Result<(), Objection> {
        if self.committed != history.last() {
            self.committed = history.last();
            self.asked.durable(ensemble, history)?;
        }
        let Some(server) = ensemble.taker(step) else { return Ok(()) };
        let disk = ensemble.disk(server);
        let now = Outline::of(disk);
        let before = std::mem::replace(&mut self.seen[server.index()], now);
        let starts = matches!(step, Step::Restart(_));
        if before == now && !starts {
            return Ok(());
        }
        if before.has_only_grown(&now, disk) && !starts {
            let from = before.records.saturating_sub(1);
            self.asked.log(server, disk, from)?;
            // Only a failed write's buffer, or the queue at the end of a role, adds more than one record in a step.
            return if self.asked.recovery && now.records > before.records + 1 {
                nothing_foreign(server, disk, from, history)
            } else {
                Ok(())
            };
        }
        self.asked.durable(ensemble, history)?;
        self.asked.whole(server, disk, history)
    }

    /// Checks all disks at the end of the run.
    ///
    /// # Errors
    /// The first objection.
    pub fn end(&self, ensemble: &Ensemble, history: &History) -> Result<(), Objection> {
        self.asked.durable(ensemble, history)?;
        let mut servers = ensemble.config().server_ids();
        servers.try_for_each(|server| self.asked.whole(server, ensemble.disk(server), history))
    }
}

/// Checks S6 for uncommitted records, from record `from` of the log on. A leader proposes in its own epoch only when
/// all its transactions of earlier epochs are committed. So a record that is followed by one of a later epoch, but is
/// not in the history, will never be committed.
fn nothing_foreign(
    server: ServerId,
    disk: &Disk,
    from: usize,
    history: &History,
) -> Result<(), Objection> {
    let label = disk.snapshots().last().map_or(Zxid::ZERO, |snapshot| snapshot.label);
    for pair in disk.log()[from..].windows(2) {
        let (one, next) = (pair[0].zxid, pair[1].zxid);
        if one > label && next.epoch() > one.epoch() && history.get(one).is_none() {
            return Err(Objection::new(
                "S6 durable recovery",
                format!(
                    "on the disk of {server}, {next} comes after {one}, which no leader has committed."
                ),
            )
            .about(server)
            .about(one)
            .about(next));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::testing::{Bodies, ONE, THREE, TWO, txn, z};
    use crate::server::disk::Snapshot;
    use crate::tree::DataTree;
    use crate::vocabulary::config::Config;
    use crate::vocabulary::release::{Bug, Bugs, Release};
    use crate::vocabulary::step::Tail;
    use crate::vocabulary::txn::Txn;
    use std::sync::Arc;

    /// Returns a history in which /a, /b and /c are committed at 1:1 to 1:3.
    fn history() -> History {
        let mut history = History::new();
        for (zxid, path) in [(z(1, 1), "/a"), (z(1, 2), "/b"), (z(1, 3), "/c")] {
            let body = Bodies(&history).create(path, "");
            history.commit(txn(zxid, 0, body));
        }
        history
    }

    /// Returns an ensemble in which server 1 has the first `count` transactions on its disk, durable, and the other
    /// servers have all of them; and the checker after these appends.
    fn scene(history: &History, count: usize) -> (Ensemble, Disks) {
        let mut ensemble = Ensemble::new(Arc::new(Config::new(3, 0)));
        for other in [TWO, THREE] {
            let disk = ensemble.servers[other.index()].make_mut().disk.make_mut();
            history.txns().iter().for_each(|txn| disk.append(Arc::clone(txn)));
            disk.fsync();
        }
        let mut disks = Disks::new(&ensemble, AskedOfServers::ALL);
        for txn in &history.txns()[..count] {
            disk(&mut ensemble).append(Arc::clone(txn));
            assert_eq!(disks.after(&Step::Append(ONE), &ensemble, history), Ok(()));
        }
        disk(&mut ensemble).fsync();
        (ensemble, disks)
    }

    fn repaired() -> Config {
        Config { bugs: Release::Repaired.bugs(), ..Config::new(3, 0) }
    }

    fn disk(ensemble: &mut Ensemble) -> &mut Disk {
        ensemble.servers[ONE.index()].make_mut().disk.make_mut()
    }

    fn property(result: Result<(), Objection>) -> String {
        result.expect_err("it is a violation").property
    }

    /// Server 1 has two of three transactions and server 2 loses the third, so no quorum has the third any more.
    #[test]
    fn a_committed_transaction_that_a_disk_loses() {
        let history = history();
        let (mut ensemble, mut disks) = scene(&history, 2);
        assert_eq!(disks.after(&Step::Fsync(ONE), &ensemble, &history), Ok(()));
        let other = ensemble.servers[TWO.index()].make_mut().disk.make_mut();
        *other = Disk::new(Arc::new(crate::tree::DataTree::new()), Bugs::NONE);
        history.txns()[..2].iter().for_each(|txn| other.append(Arc::clone(txn)));
        other.fsync();
        let objection = disks.after(&Step::Write(TWO), &ensemble, &history);
        assert_eq!(property(objection), "S3 committed means durable");
        assert_eq!(disks.after(&Step::Write(TWO), &ensemble, &history), Ok(()), "it was said");
        let end = disks.end(&ensemble, &history);
        assert_eq!(property(end), "S3 committed means durable");
    }

    /// The transaction is committed although a quorum has appended it but only one server has fsynced it.
    #[test]
    fn a_commit_ahead_of_the_fsync() {
        let history = history();
        let mut ensemble = Ensemble::new(Arc::new(Config::new(3, 0)));
        let mut disks = Disks::new(&ensemble, AskedOfServers::ALL);
        for server in [ONE, TWO] {
            let disk = ensemble.servers[server.index()].make_mut().disk.make_mut();
            history.txns().iter().for_each(|txn| disk.append(Arc::clone(txn)));
        }
        disk(&mut ensemble).fsync();
        let objection = disks.after(&Step::Fsync(ONE), &ensemble, &history);
        assert_eq!(property(objection), "S3 committed means durable");
    }

    /// A failed write left the record in its buffer, no other server has it, and the next leader's first append
    /// writes it too.
    #[test]
    fn a_record_from_a_buffer_that_no_leader_has_committed() {
        let history = history();
        let (mut ensemble, mut disks) = scene(&history, 3);
        let body = Bodies(&history).create("/d", "");
        let newer = txn(z(2, 1), 0, body.clone());
        disk(&mut ensemble).append(Arc::clone(&newer));
        assert_eq!(disks.after(&Step::Append(ONE), &ensemble, &history), Ok(()));
        let (mut ensemble, mut disks) = scene(&history, 3);
        disk(&mut ensemble).append(txn(z(1, 4), 0, body));
        disk(&mut ensemble).append(newer);
        let objection = disks.after(&Step::Append(ONE), &ensemble, &history);
        assert_eq!(property(objection), "S6 durable recovery");
    }

    #[test]
    fn an_append_behind_a_gap() {
        let history = history();
        let (mut ensemble, mut disks) = scene(&history, 1);
        disk(&mut ensemble).append(Arc::clone(&history.txns()[2]));
        // The step is checked only on the disk of the server that took it.
        assert_eq!(disks.after(&Step::Append(TWO), &ensemble, &history), Ok(()));
        let objection = disks.after(&Step::Append(ONE), &ensemble, &history);
        assert_eq!(property(objection), "S7 contiguous log");
        assert_eq!(disks.after(&Step::Fsync(ONE), &ensemble, &history), Ok(()), "it was said");
    }

    #[test]
    fn a_purge_that_leaves_a_gap_uncovered() {
        let history = history();
        let (mut ensemble, mut disks) = scene(&history, 1);
        let content = Arc::new(history.tree().clone());
        let covering = Snapshot { label: z(1, 3), content, durable: true };
        let bugs = Release::Head.bugs();
        disk(&mut ensemble).add_snapshot(covering.clone(), bugs);
        assert_eq!(disks.after(&Step::Snapshot(ONE), &ensemble, &history), Ok(()));
        let said: Vec<bool> = (4..8)
            .map(|counter| {
                let snapshot =
                    Snapshot { label: z(1, counter), durable: false, ..covering.clone() };
                let body =
                    crate::vocabulary::txn::TxnBody::Error(crate::vocabulary::error::Error::NoNode);
                disk(&mut ensemble).append(txn(z(1, counter), 0, body));
                disk(&mut ensemble).add_snapshot(snapshot, bugs);
                disks.after(&Step::Snapshot(ONE), &ensemble, &history).is_err()
            })
            .collect();
        assert_eq!(said, [false, false, true, true], "it is the fifth that is one too many");
    }

    #[test]
    fn a_snapshot_that_is_ahead_of_its_label_and_of_the_log() {
        let history = history();
        let (mut ensemble, mut disks) = scene(&history, 2);
        let content = Arc::new(history.tree().clone());
        let snapshot = Snapshot { label: z(1, 1), content, durable: true };
        disk(&mut ensemble).add_snapshot(snapshot, Release::Repaired.bugs());
        let objection = disks.after(&Step::Snapshot(ONE), &ensemble, &history);
        assert_eq!(property(objection), "S6 durable recovery");
    }

    /// The content of an appended record is checked only when a start loads it, and at the end.
    #[test]
    fn a_record_that_is_not_what_was_committed() {
        let history = history();
        let (mut ensemble, mut disks) = scene(&history, 1);
        let wrong: Arc<Txn> = txn(z(1, 2), 0, Bodies(&history).create("/wrong", ""));
        disk(&mut ensemble).append(wrong);
        assert_eq!(disks.after(&Step::Append(ONE), &ensemble, &history), Ok(()));
        let objection = disks.after(&Step::Restart(ONE), &ensemble, &history);
        assert_eq!(property(objection), "S6 durable recovery");
        assert_eq!(property(disks.end(&ensemble, &history)), "S6 durable recovery");
    }

    /// S3 counts such a log; S7 sees that it does not begin where the snapshot ended.
    #[test]
    fn a_log_without_the_snapshot_that_it_continues() {
        let history = history();
        let replays = Bugs::NONE.with(Bug::LogWithoutSnapshotReplayed);
        let config = Config { bugs: replays, ..Config::new(3, 0) };
        let (mut ensemble, mut disks) = scene(&history, 2);
        let unsynced =
            Snapshot { label: z(1, 2), content: Arc::new(DataTree::new()), durable: false };
        disk(&mut ensemble).replace_by_snapshot(unsynced, Bugs::NONE);
        disk(&mut ensemble).append(Arc::clone(&history.txns()[2]));
        disk(&mut ensemble).fsync();
        disk(&mut ensemble).crash(Tail::LOST);
        assert!(disk(&mut ensemble).clone().begin_database(&repaired()).is_err());
        assert!(disk(&mut ensemble).begin_database(&config).is_ok());
        let objection = disks.after(&Step::Restart(ONE), &ensemble, &history);
        assert_eq!(property(objection), "S7 contiguous log");
    }

    #[test]
    fn a_log_that_was_cut() {
        let history = history();
        let (mut ensemble, mut disks) = scene(&history, 3);
        assert!(disk(&mut ensemble).truncate(z(1, 1), &repaired()));
        let step = Step::Fsync(ONE);
        assert_eq!(disks.after(&step, &ensemble, &history), Ok(()));
        disk(&mut ensemble).append(Arc::clone(&history.txns()[2]));
        assert_eq!(property(disks.after(&step, &ensemble, &history)), "S7 contiguous log");
        // A log that is cut and extended in one step, as at the end of a role, has not only grown.
        let (mut ensemble, mut disks) = scene(&history, 3);
        assert!(disk(&mut ensemble).truncate(z(1, 1), &repaired()));
        for zxid in [z(1, 3), z(1, 4), z(1, 5)] {
            let body =
                crate::vocabulary::txn::TxnBody::Error(crate::vocabulary::error::Error::NoNode);
            disk(&mut ensemble).append(txn(zxid, 0, body));
        }
        assert_eq!(property(disks.after(&step, &ensemble, &history)), "S7 contiguous log");
    }

    #[test]
    fn what_is_left_out_is_not_asked() {
        let history = history();
        let (mut ensemble, mut disks) = scene(&history, 1);
        disks.asked.log = false;
        disk(&mut ensemble).append(Arc::clone(&history.txns()[2]));
        assert_eq!(disks.after(&Step::Append(ONE), &ensemble, &history), Ok(()));
        assert_eq!(property(disks.end(&ensemble, &history)), "S6 durable recovery");
        disks.asked.recovery = false;
        assert_eq!(disks.end(&ensemble, &history), Ok(()));
    }
}
