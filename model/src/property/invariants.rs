//! The servers' state properties: functions of the world, checked after every step of a search (S3 and S6 to S9).
//!
//! They read disks and memory, which no event shows. A step is followed by the checks of the servers that it has
//! changed; durability is checked only if a disk or the history has changed. A sweep checks only S3, S6 and S7, after
//! changes of a disk other than an append and after commits ([`super::disks`]).

use super::Objection;
use crate::ensemble::Ensemble;
use crate::server::Server;
use crate::server::disk::Disk;
use crate::vocabulary::config::Config;
use crate::vocabulary::id::{ServerId, ServerSet};
use crate::vocabulary::release::Bug;
use crate::vocabulary::zxid::Zxid;
use crate::world::history::History;

/// Checks the properties that a step of this server may have violated. `disk_changed`: the step has changed its disk.
/// `committed`: the step has extended the history.
///
/// # Errors
/// The first objection.
pub fn check(
    ensemble: &Ensemble,
    history: &History,
    server: ServerId,
    disk_changed: bool,
    committed: bool,
) -> Result<(), Objection> {
    of_server(server, ensemble.disk(server), ensemble.server(server), history, disk_changed)?;
    if disk_changed || committed { durable(ensemble, history) } else { Ok(()) }
}

/// Checks the properties of one server, given the history.
///
/// # Errors
/// The first objection.
pub fn of_server(
    server: ServerId,
    disk: &Disk,
    process: Option<&Server>,
    history: &History,
    disk_changed: bool,
) -> Result<(), Objection> {
    if disk_changed {
        contiguous_log(server, disk, 0)?;
        recoverable(server, disk, history)?;
        epochs(server, disk)?;
    }
    let Some(process) = process else { return Ok(()) };
    if process.is_looking() {
        no_more_than_the_disk(server, process.tree().last_processed(), disk, history)?;
    }
    if process.is_serving() { epoch_of_serving(server, disk) } else { Ok(()) }
}

/// Returns true if [`of_server`] can object to a server whose disk has not changed; otherwise it returns Ok for every
/// history.
pub fn may_object(server: ServerId, disk: &Disk, process: Option<&Server>) -> bool {
    process.is_some_and(|process| {
        process.is_looking() || process.is_serving() && epoch_of_serving(server, disk).is_err()
    })
}

/// Checks S3: after any crashes, a start of each server of some quorum would load the last committed transaction, and
/// so all before it.
pub fn durable(ensemble: &Ensemble, history: &History) -> Result<(), Objection> {
    let disks = ensemble.config().server_ids().map(|server| ensemble.disk(server));
    durable_on(ensemble.config(), disks, history.last())
}

/// Checks S3 on these disks: a quorum of starts would load the last committed transaction. The configuration that counts is
/// the newest one that a server has activated; S16 judges how it was activated.
///
/// Under [`Bug::FirstSnapshotUnsynced`], a durable log also counts if no durable snapshot precedes it. With that
/// defect no server has a durable snapshot when the first transaction is committed, so every run would violate S3,
/// which would hide other violations of a release. The start that refuses such a log (rule 6.9.4) violates S13. Under
/// [`Bug::LogWithoutSnapshotReplayed`] no start refuses it; S6 and S7 see what is missing in a log
/// that does not begin with the history.
///
/// # Errors
/// The objection of S3, if no quorum of disks holds the transaction.
pub fn durable_on<'a>(
    config: &Config,
    disks: impl Iterator<Item = &'a Disk>,
    last: Zxid,
) -> Result<(), Objection> {
    if last == Zxid::ZERO {
        return Ok(());
    }
    let log_is_enough = config.bugs.has(Bug::FirstSnapshotUnsynced)
        || config.bugs.has(Bug::LogWithoutSnapshotReplayed);
    let holds = |disk: &Disk| disk.holds(last) || log_is_enough && disk.logs(last);
    let (mut holders, mut verifier) = (ServerSet::default(), config.quorum_verifier());
    for (server, disk) in (1..).map(ServerId).zip(disks) {
        if holds(disk) {
            holders.insert(server);
        }
        let activated = disk.configurations(server, config).quorum;
        if activated.version() > verifier.version() {
            verifier = activated;
        }
    }
    if verifier.contains_quorum(holders) {
        return Ok(());
    }
    Err(Objection::new(
        "S3 committed means durable",
        format!(
            "{last} is committed, but durable on the disks of {} of {} servers.",
            holders.len(),
            config.servers
        ),
    )
    .about(last))
}

/// Checks S6: the tree that a start would load is that of a prefix of the committed history, if its zxid is
/// committed.
pub(super) fn recoverable(
    server: ServerId,
    disk: &Disk,
    history: &History,
) -> Result<(), Objection> {
    // Without a snapshot a start loads nothing; S3 and S19 detect what is missing then.
    let Some((tree, _)) = disk.load() else { return Ok(()) };
    let last = tree.last_processed();
    // A tree beyond the history holds transactions that are not committed yet, or never will be.
    let is_committed = last.is_opening() || history.get(last).is_some();
    if !is_committed || last > history.last().max(last.epoch().opening()) {
        return Ok(());
    }
    if tree.digest() == history.digest_at(last) {
        return Ok(());
    }
    Err(Objection::new(
        "S6 durable recovery",
        format!("{server} would start with a tree at {last} that is not the committed one."),
    )
    .about(server)
    .about(last))
}

/// Checks S7 for the log's records from `from` on: above the newest durable snapshot, zxids in the log increase, and
/// by one within an epoch.
pub(super) fn contiguous_log(server: ServerId, disk: &Disk, from: usize) -> Result<(), Objection> {
    let durable = disk.snapshots().iter().rfind(|snapshot| snapshot.durable);
    let label = durable.map_or(Zxid::ZERO, |snapshot| snapshot.label);
    let log = &disk.log()[from..];
    let first = log.first().filter(|_| from == 0).map(|txn| (label, txn.zxid));
    let pairs = log.windows(2).map(|pair| (pair[0].zxid.max(label), pair[1].zxid));
    for (one, next) in first.into_iter().chain(pairs).filter(|(_, next)| *next > label) {
        let follows =
            if next.epoch() > one.epoch() { next.counter() == 1 } else { one.next() == Some(next) };
        if !follows {
            return Err(Objection::new(
                "S7 contiguous log",
                format!("on the disk of {server}, {next} comes directly after {one}."),
            )
            .about(server)
            .about(one)
            .about(next));
        }
    }
    Ok(())
}

/// Checks S8: while a server is LOOKING, its memory is not ahead of its disk.
fn no_more_than_the_disk(
    server: ServerId,
    memory: Zxid,
    disk: &Disk,
    history: &History,
) -> Result<(), Objection> {
    let vouched = if memory.is_opening() { history.last_up_to(memory) } else { memory };
    if vouched <= disk.last_logged() {
        return Ok(());
    }
    Err(Objection::new(
        "S8 memory within the disk",
        format!(
            "{server} looks for a leader with {memory} in memory, but its disk ends at {}.",
            disk.last_logged()
        ),
    )
    .about(server)
    .about(memory))
}

/// Checks S9 on disks: the accepted epoch is never below the current one.
fn epochs(server: ServerId, disk: &Disk) -> Result<(), Objection> {
    if disk.accepted_epoch() >= disk.current_epoch() {
        return Ok(());
    }
    Err(Objection::new(
        "S9 epochs in order",
        format!(
            "{server} has accepted epoch {}, but its current epoch is {}.",
            disk.accepted_epoch(),
            disk.current_epoch()
        ),
    )
    .about(server))
}

/// Checks S9 on servers: a serving server's current epoch is not below that of its log. (Before it serves, a
/// synchronisation may have logged a newer epoch; the rule for `currentEpoch.tmp` at a start is for servers that
/// crash then.)
fn epoch_of_serving(server: ServerId, disk: &Disk) -> Result<(), Objection> {
    if disk.current_epoch() >= disk.last_logged().epoch() {
        return Ok(());
    }
    Err(Objection::new(
        "S9 epochs in order",
        format!(
            "{server} serves with {} in its log, but its current epoch is {}.",
            disk.last_logged(),
            disk.current_epoch()
        ),
    )
    .about(server))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::testing::{Bodies, ONE, txn, z};
    use crate::server::disk::{Configurations, Snapshot};
    use crate::tree::DataTree;
    use crate::vocabulary::quorum::QuorumVerifier;
    use crate::vocabulary::release::{Bugs, Release};
    use crate::vocabulary::txn::Txn;
    use crate::vocabulary::zxid::Epoch;
    use std::sync::Arc;

    /// Returns a history in which /a is committed at 1:1 and /b at 1:2.
    fn history() -> History {
        let mut history = History::new();
        for (zxid, path) in [(z(1, 1), "/a"), (z(1, 2), "/b")] {
            let body = Bodies(&history).create(path, "");
            history.commit(txn(zxid, 0, body));
        }
        history
    }

    fn disk(txns: &[Arc<Txn>]) -> Disk {
        let mut disk = Disk::new(Arc::new(DataTree::new()), Bugs::NONE);
        txns.iter().for_each(|txn| disk.append(Arc::clone(txn)));
        disk.write_accepted_epoch(Epoch(1));
        disk.fsync();
        disk
    }

    fn words(result: Result<(), Objection>) -> String {
        result.expect_err("it is a violation").to_string()
    }

    #[test]
    fn what_is_committed_is_on_no_disk() {
        let ensemble = Ensemble::new(Arc::new(Config::new(3, 0)));
        assert_eq!(durable(&ensemble, &History::new()), Ok(()));
        assert_eq!(
            words(durable(&ensemble, &history())),
            "S3 committed means durable: 1:2 is committed, but durable on the disks of 0 of 3 servers."
        );
    }

    /// A quorum of three servers is two, of four three, and of five three.
    #[test]
    fn what_is_committed_is_on_the_disks_of_a_quorum() {
        let history = history();
        let (with, without) = (disk(history.txns()), disk(&history.txns()[..1]));
        for (servers, quorum) in [(3, 2), (4, 3), (5, 3)] {
            let config = Config::new(servers, 0);
            for holders in 0..=usize::from(servers) {
                let lacking = usize::from(servers) - holders;
                let disks = std::iter::repeat_n(&with, holders);
                let disks = disks.chain(std::iter::repeat_n(&without, lacking));
                let judged = durable_on(&config, disks, history.last());
                assert_eq!(judged.is_ok(), holders >= quorum, "{holders} of {servers}");
                if let Err(objection) = judged {
                    let counted = format!("the disks of {holders} of {servers} servers");
                    assert!(objection.saw.contains(&counted), "{objection}");
                }
            }
        }
    }

    /// One disk knows that servers 3, 4 and 5 are the voters now.
    #[test]
    fn the_newest_configuration_decides_which_disks_are_a_quorum() {
        let history = history();
        let config = Config::new(5, 0);
        let judged = |holders: [u8; 3]| {
            let disks: Vec<Disk> = (1..=5)
                .map(|id| {
                    let has = holders.contains(&id);
                    let mut disk = disk(if has { history.txns() } else { &history.txns()[..1] });
                    if id == 5 {
                        let voters = [3, 4, 5].map(ServerId).into_iter().collect();
                        let quorum = QuorumVerifier::new(z(1, 1), voters, ServerSet::default());
                        disk.write_configurations(Configurations::of(quorum));
                    }
                    disk
                })
                .collect();
            durable_on(&config, disks.iter(), history.last())
        };
        assert_eq!(judged([1, 4, 5]), Ok(()));
        judged([1, 2, 3]).expect_err("of the new voters, only server 3 holds it");
    }

    #[test]
    fn a_disk_holds_what_is_fsynced_or_in_a_durable_snapshot() {
        let history = history();
        let mut half = disk(&history.txns()[..1]);
        half.append(Arc::clone(&history.txns()[1]));
        assert!(half.holds(z(1, 1)) && !half.holds(z(1, 2)));
        let content = Arc::new(history.tree().clone());
        let snapshot = Snapshot { label: z(1, 2), content, durable: true };
        half.add_snapshot(snapshot, Release::Repaired.bugs());
        assert!(half.holds(z(1, 2)));
    }

    /// A start refuses a log without a snapshot before it. Under the defect that leaves the first snapshot in the
    /// page cache, S13 detects that, but S3 still objects to a record that is not even in a durable log.
    #[test]
    fn a_durable_log_without_a_durable_snapshot() {
        let history = history();
        let mut config = Config::new(1, 0);
        let unsynced = Bugs::NONE.with(Bug::FirstSnapshotUnsynced);
        let mut disk = Disk::new(Arc::new(DataTree::new()), unsynced);
        history.txns().iter().for_each(|txn| disk.append(Arc::clone(txn)));
        disk.fsync();
        assert!(disk.logs(z(1, 2)) && !disk.holds(z(1, 2)));
        let judged = |config: &Config, last| durable_on(config, [&disk].into_iter(), last);
        assert_eq!(
            words(judged(&config, z(1, 2))),
            "S3 committed means durable: 1:2 is committed, but durable on the disks of 0 of 1 servers."
        );
        config.bugs = unsynced;
        assert_eq!(judged(&config, z(1, 2)), Ok(()));
        assert!(judged(&config, z(1, 3)).is_err());
        config.bugs = Bugs::NONE.with(Bug::LogWithoutSnapshotReplayed);
        assert_eq!(judged(&config, z(1, 2)), Ok(()));
        assert!(judged(&config, z(1, 3)).is_err());
        // An older durable snapshot is enough if the log continues from it.
        let content = Arc::new(DataTree::new());
        disk.add_snapshot(Snapshot { label: Zxid::ZERO, content, durable: true }, Bugs::NONE);
        assert!(disk.holds(z(1, 2)));
    }

    #[test]
    fn a_disk_from_which_another_tree_would_be_loaded() {
        let history = history();
        assert_eq!(recoverable(ONE, &disk(history.txns()), &history), Ok(()));
        assert_eq!(recoverable(ONE, &disk(&history.txns()[..1]), &history), Ok(()));
        let holed = disk(&history.txns()[1..]);
        assert_eq!(
            words(recoverable(ONE, &holed, &history)),
            "S6 durable recovery: server 1 would start with a tree at 1:2 that is not the \
             committed one."
        );
    }

    #[test]
    fn a_log_with_a_gap() {
        let (history, bugs) = (history(), Release::Repaired.bugs());
        let mut third = (*history.txns()[0]).clone();
        third.zxid = z(1, 3);
        let mut holed = disk(&[Arc::clone(&history.txns()[0]), Arc::new(third)]);
        assert_eq!(contiguous_log(ONE, &disk(history.txns()), 0), Ok(()));
        assert_eq!(
            words(contiguous_log(ONE, &holed, 0)),
            "S7 contiguous log: on the disk of server 1, 1:3 comes directly after 1:1."
        );
        assert_eq!(contiguous_log(ONE, &holed, 1), Ok(()), "that record was looked at");
        // A snapshot that contains the missing record covers the gap, if the snapshot is durable.
        let content = Arc::new(history.tree().clone());
        let covering = Snapshot { label: z(1, 2), content, durable: false };
        holed.add_snapshot(covering.clone(), bugs);
        assert!(contiguous_log(ONE, &holed, 0).is_err());
        holed.add_snapshot(Snapshot { durable: true, ..covering }, bugs);
        assert_eq!(contiguous_log(ONE, &holed, 0), Ok(()));
    }

    #[test]
    fn a_log_that_does_not_begin_where_its_snapshot_ends() {
        let history = history();
        let late = disk(&history.txns()[1..]);
        assert_eq!(
            words(contiguous_log(ONE, &late, 0)),
            "S7 contiguous log: on the disk of server 1, 1:2 comes directly after 0:0."
        );
    }

    #[test]
    fn memory_ahead_of_the_disk() {
        let history = history();
        let disk = disk(&history.txns()[..1]);
        assert_eq!(no_more_than_the_disk(ONE, z(1, 1), &disk, &history), Ok(()));
        // An opening zxid stands for the committed transactions below it.
        assert_eq!(no_more_than_the_disk(ONE, z(1, 0), &disk, &history), Ok(()));
        assert!(no_more_than_the_disk(ONE, z(2, 0), &disk, &history).is_err());
        assert_eq!(
            words(no_more_than_the_disk(ONE, z(1, 2), &disk, &history)),
            "S8 memory within the disk: server 1 looks for a leader with 1:2 in memory, but its disk \
             ends at 1:1."
        );
    }

    #[test]
    fn epochs_out_of_order() {
        let mut disk = disk(history().txns());
        assert_eq!(epochs(ONE, &disk), Ok(()));
        assert!(words(epoch_of_serving(ONE, &disk)).contains("serves with 1:2 in its log"));
        disk.write_current_epoch_tmp(Epoch(2));
        disk.rename_current_epoch();
        assert_eq!(epoch_of_serving(ONE, &disk), Ok(()));
        assert_eq!(
            words(epochs(ONE, &disk)),
            "S9 epochs in order: server 1 has accepted epoch 1, but its current epoch is 2."
        );
    }
}
