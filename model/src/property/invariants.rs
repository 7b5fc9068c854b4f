//! The servers' state properties: functions of the world, checked after every step of a search
//! (semantics 8.2, S3 and S6 to S9).
//!
//! They look at disks and memory directly, which events cannot tell. Only the servers that a step
//! has changed are looked at, and durability only when a disk or the history has changed.

use super::Objection;
use crate::ensemble::Ensemble;
use crate::history::History;
use crate::id::ServerId;
use crate::server::disk::Disk;
use crate::server::{Role, Server};
use crate::zxid::Zxid;

/// Checks what a step of this server may have broken; `disk_changed`: its disk is another now;
/// `committed`: the history is longer.
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
    let disk = ensemble.disk(server);
    if disk_changed {
        contiguous_log(server, disk)?;
        recoverable(server, disk, history)?;
        epochs(server, disk)?;
    }
    if let Some(process) = ensemble.server(server) {
        no_more_than_the_disk(server, process, disk, history)?;
        epoch_of_serving(server, process, disk)?;
    }
    if disk_changed || committed { durable(ensemble, history) } else { Ok(()) }
}

/// S3: the last committed transaction, and so all before it, is durable on a quorum's disks.
pub fn durable(ensemble: &Ensemble, history: &History) -> Result<(), Objection> {
    let last = history.last();
    if last == Zxid::ZERO {
        return Ok(());
    }
    let has = |server: &ServerId| ensemble.disk(*server).holds(last);
    let holders = ensemble.config().server_ids().filter(has).count();
    if ensemble.config().is_quorum(holders) {
        return Ok(());
    }
    Err(Objection::new(
        "S3 committed means durable",
        format!(
            "{last} is committed, but durable on the disks of {holders} of {} servers.",
            ensemble.config().servers
        ),
    ))
}

/// S6: what a start would load is a prefix of the committed history, as far as it is committed.
fn recoverable(server: ServerId, disk: &Disk, history: &History) -> Result<(), Objection> {
    let (tree, _) = disk.load();
    let last = tree.last_processed();
    // What goes beyond the history is not committed yet, or never will be.
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
    ))
}

/// S7: zxids in the log grow, and by one inside an epoch.
fn contiguous_log(server: ServerId, disk: &Disk) -> Result<(), Objection> {
    let newest = disk.snapshots().last().map_or(Zxid::ZERO, |snapshot| snapshot.label);
    for pair in disk.log().windows(2) {
        let (one, next) = (pair[0].zxid, pair[1].zxid);
        let follows =
            if next.epoch() > one.epoch() { next.counter() == 1 } else { one.next() == Some(next) };
        if !follows && next > newest {
            return Err(Objection::new(
                "S7 contiguous log",
                format!("in the log of {server}, {next} comes directly after {one}."),
            ));
        }
    }
    Ok(())
}

/// S8: while LOOKING, memory is not ahead of the disk.
fn no_more_than_the_disk(
    server: ServerId,
    process: &Server,
    disk: &Disk,
    history: &History,
) -> Result<(), Objection> {
    if !matches!(process.role(), Role::Looking) {
        return Ok(());
    }
    let memory = process.tree().last_processed();
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
    ))
}

/// S9, of disks: the accepted epoch is never below the current one.
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
    ))
}

/// S9, of servers: who serves has the current epoch of all it has logged. (Before, a synchronisation
/// may have logged more; the start-up rule for `currentEpoch.tmp` is for those that crash then.)
fn epoch_of_serving(server: ServerId, process: &Server, disk: &Disk) -> Result<(), Objection> {
    if !process.is_serving() || disk.current_epoch() >= disk.last_logged().epoch() {
        return Ok(());
    }
    Err(Objection::new(
        "S9 epochs in order",
        format!(
            "{server} serves with {} in its log, but its current epoch is {}.",
            disk.last_logged(),
            disk.current_epoch()
        ),
    ))
}
