use super::*;
use crate::tree::{EphemeralType, Znode};
use crate::vocabulary::acl::AclList;
use crate::vocabulary::error::Error;
use crate::vocabulary::fingerprint::Fingerprint;
use crate::vocabulary::id::{SessionId, Xid};
use crate::vocabulary::op::Data;
use crate::vocabulary::path::ZnodePath;
use crate::vocabulary::release::Release;
use crate::vocabulary::txn::TxnBody;
use proptest::prelude::*;

/// Returns the settings of servers with these defects.
fn with(bugs: Bugs) -> Config {
    Config { bugs, ..Config::new(1, 0) }
}

fn empty() -> Disk {
    Disk::new(Arc::new(DataTree::new()), Bugs::NONE)
}

#[test]
fn a_cut_to_nothing_leaves_the_empty_database_whatever_a_snapshot_holds() {
    let mut disk = empty();
    let (label, bugs) = (Zxid::new(Epoch(1), 3), Release::Repaired.bugs());
    let content = Arc::new(DataTree::empty());
    disk.replace_by_snapshot(Snapshot { label, content, durable: true }, bugs);
    assert!(!disk.truncate(Zxid::new(Epoch(1), 2), &with(bugs)), "nothing to rebuild 1:2 from");
    assert!(disk.truncate(Zxid::ZERO, &with(bugs)));
    let (tree, _) = disk.load().expect("there is a snapshot");
    assert_eq!((tree.last_processed(), tree.digest()), (Zxid::ZERO, DataTree::new().digest()));
}

/// The statistics in a snapshot are as old as its znodes; a start counts them anew from the snapshot's content (rule
/// 1.10.3).
#[test]
fn quotas_are_counted_when_a_snapshot_is_loaded() {
    let mut content = DataTree::new();
    let data = |path: &str| if path.ends_with("stats") { &b"count=9,bytes=9"[..] } else { b"x" };
    let quota = ["/m", "/m/zookeeper_limits", "/m/zookeeper_stats"]
        .into_iter()
        .map(|path| format!("{}{path}", crate::vocabulary::path::QUOTA));
    for (at, path) in quota.chain(["/m".into(), "/m/x".into()]).enumerate() {
        let (zxid, acl) = (Zxid::new(Epoch(1), at as u32 + 1), AclList::OPEN);
        let node = Znode::created(zxid, 0, data(&path).into(), EphemeralType::Void, acl);
        content.load_node(ZnodePath::new(path).expect("valid"), Arc::new(node));
    }
    let digest = content.digest();
    let mut disk = empty();
    let label = Zxid::new(Epoch(1), 9);
    let snapshot = Snapshot { label, content: Arc::new(content), durable: true };
    disk.add_snapshot(snapshot, Release::Repaired.bugs());
    let (tree, _) = disk.load().expect("there is a snapshot");
    let statistics = tree.node("/zookeeper/quota/m/zookeeper_stats").expect("loaded");
    assert_eq!(String::from_utf8_lossy(&statistics.data), "count=2,bytes=2");
    assert_eq!(tree.digest(), digest);
}

/// Returns a disk with an unrenamed currentEpoch.tmp of epoch 2. A later synchronisation in epoch 3 has appended
/// records, and the server has crashed before it wrote its epoch file.
fn with_an_old_tmp_file() -> Disk {
    let (accepted_epoch, current_epoch_tmp) = (Epoch(3), Some(Epoch(2)));
    Disk { accepted_epoch, current_epoch: Epoch(1), current_epoch_tmp, ..empty() }
}

#[test]
fn a_start_takes_no_epoch_older_than_its_log() {
    let mut disk = with_an_old_tmp_file();
    let last = Epoch(3).opening().next().expect("a new epoch has room");
    assert_eq!(disk.check_epochs(last, Release::Repaired.bugs()), Ok(()));
    assert_eq!(disk.current_epoch(), Epoch(3));

    let mut disk = with_an_old_tmp_file();
    assert_eq!(disk.check_epochs(last, Release::Head.bugs()), Ok(()));
    assert_eq!(disk.current_epoch(), Epoch(2), "HEAD takes what the file says");
}

#[test]
fn a_start_takes_a_tmp_file_that_is_newer_than_its_log() {
    let mut disk = Disk { accepted_epoch: Epoch(4), ..with_an_old_tmp_file() };
    disk.write_current_epoch_tmp(Epoch(4));
    let last = Epoch(3).opening().next().expect("a new epoch has room");
    assert_eq!(disk.check_epochs(last, Release::Repaired.bugs()), Ok(()));
    assert_eq!(disk.current_epoch(), Epoch(4));
}

#[test]
fn a_tmp_file_is_left_alone_where_the_epoch_is_new_enough() {
    let mut disk = with_an_old_tmp_file();
    let last = Epoch(1).opening().next().expect("a new epoch has room");
    assert_eq!(disk.check_epochs(last, Release::Repaired.bugs()), Ok(()));
    assert_eq!((disk.current_epoch(), disk.current_epoch_tmp()), (Epoch(1), Some(Epoch(2))));
}

fn snapshot(counter: u32, durable: bool) -> Snapshot {
    let content = Arc::new(DataTree::empty());
    Snapshot { label: Zxid::new(Epoch(1), counter), content, durable }
}

fn labels(disk: &Disk) -> Vec<u32> {
    disk.snapshots().iter().map(|snapshot| snapshot.label.counter()).collect()
}

#[test]
fn no_snapshot_is_purged_before_a_newer_one_is_durable() {
    for (release, kept) in [(Release::Repaired, [0, 1, 4, 5]), (Release::Head, [0, 3, 4, 5])] {
        let mut disk = empty();
        disk.add_snapshot(snapshot(1, true), release.bugs());
        (2..6).for_each(|counter| disk.add_snapshot(snapshot(counter, false), release.bugs()));
        assert_eq!(labels(&disk), kept, "{release:?}");
        disk.add_snapshot(snapshot(6, true), release.bugs());
        assert_eq!(labels(&disk), [0, 4, 5, 6], "{release:?}");
    }
}

/// Returns a transaction of epoch 1 without effects.
fn txn(counter: u32) -> Arc<Txn> {
    let (zxid, body) = (Zxid::new(Epoch(1), counter), TxnBody::Error(Error::NoNode));
    Arc::new(Txn { zxid, session: SessionId(1), cxid: Xid(0), time: 0, body })
}

/// Different transactions of two runs can have the same zxid, session and cxid. (A create contains its parent's
/// cversion, which depends on earlier creates.)
#[test]
fn disks_with_different_transactions_of_one_zxid_are_told_apart() {
    let create = |parent_cversion| {
        let mut txn = Txn::clone(&txn(1));
        txn.body = TxnBody::Create {
            path: ZnodePath::new("/a").expect("valid"),
            data: Data::from([]),
            ephemeral_type: EphemeralType::Void,
            acl: AclList::default(),
            parent_cversion,
        };
        let mut disk = empty();
        disk.append(Arc::new(txn));
        disk
    };
    assert_eq!(Fingerprint::of(&create(1)), Fingerprint::of(&create(1)));
    assert_ne!(Fingerprint::of(&create(1)), Fingerprint::of(&create(2)));
}

fn with_a_log(counters: &[u32]) -> Disk {
    let mut disk = empty();
    counters.iter().for_each(|counter| disk.append(txn(*counter)));
    disk
}

fn counters(disk: &Disk) -> Vec<u32> {
    disk.log().iter().map(|txn| txn.zxid.counter()).collect()
}

#[test]
fn nothing_behind_half_a_record_is_read_until_a_new_file_begins() {
    let bugs = Release::Head.bugs();
    let torn = || {
        let mut disk = with_a_log(&[1]);
        disk.fsync();
        disk.append(txn(2));
        assert_eq!(disk.fail_to_fsync(0, Unwritten::Torn, bugs), 1);
        disk.append(txn(2));
        disk.fsync();
        assert_eq!((counters(&disk), disk.holds(txn(2).zxid)), (vec![1], false));
        assert_eq!(disk.last_durable(), txn(1).zxid);
        disk
    };
    // A SNAP keeps the old log, and so the open file.
    let mut disk = torn();
    disk.replace_by_snapshot(snapshot(2, true), bugs);
    disk.append(txn(3));
    assert_eq!((counters(&disk), disk.is_torn()), (vec![1], true));
    let mut disk = torn();
    disk.replace_by_snapshot(snapshot(2, true), Release::Repaired.bugs());
    disk.append(txn(3));
    assert_eq!(counters(&disk), [3]);
    // A TRUNC begins a new file, even if it cuts nothing.
    let mut disk = torn();
    assert!(disk.truncate(txn(1).zxid, &with(bugs)));
    disk.append(txn(2));
    assert_eq!(counters(&disk), [1, 2]);
    // A start and a background snapshot begin a new file too.
    let mut disk = torn();
    disk.begin_file();
    disk.append(txn(3));
    assert_eq!(counters(&disk), [1, 3]);
}

#[test]
fn the_next_write_brings_along_what_a_failed_one_left_in_its_buffer() {
    let failed = |bugs| {
        let mut disk = with_a_log(&[1, 2, 3]);
        assert_eq!(disk.fail_to_fsync(1, Unwritten::Buffered, bugs), 2);
        assert_eq!((counters(&disk), disk.last_durable()), (vec![1], txn(1).zxid), "{bugs:?}");
        disk
    };
    let head = Release::Head.bugs();
    let mut disk = failed(head);
    disk.append(txn(7));
    assert_eq!(counters(&disk), [1, 2, 3, 7]);
    // A record that is sent again is in the log once.
    let mut disk = failed(head);
    disk.append(txn(2));
    assert_eq!(counters(&disk), [1, 2, 3]);
    // In the repaired release, and after a crash, the buffered records are gone.
    let mut disk = failed(Release::Repaired.bugs());
    disk.append(txn(7));
    assert_eq!(counters(&disk), [1, 7]);
    let mut disk = failed(head);
    disk.crash(Tail::LOST);
    disk.append(txn(7));
    assert_eq!(counters(&disk), [1, 7]);
}

#[test]
fn a_gap_matters_above_the_snapshot_that_is_loaded() {
    let bugs = Release::Repaired.bugs();
    let mut disk = with_a_log(&[1, 2, 4, 5]);
    assert!(disk.has_gap(0) && !disk.has_gap(2));
    let cut = Zxid::new(Epoch(1), 4);
    assert!(!disk.truncate(cut, &with(bugs)), "1:4 cannot be rebuilt without 1:3");
    assert_eq!(disk.log().len(), 4, "nothing is changed then");
    disk.add_snapshot(snapshot(3, true), bugs);
    assert!(disk.truncate(cut, &with(bugs)));
    let (tree, from) = disk.load().expect("there is a snapshot");
    assert_eq!((tree.last_processed(), disk.has_gap(from)), (cut, false));
    assert!(disk.truncate(Zxid::new(Epoch(1), 2), &with(bugs)), "the gap is above the cut");
}

/// The cut records are in their file again, before later records in another file.
#[test]
fn a_crash_can_undo_a_cut_that_nobody_has_fsynced() {
    let head = Bugs::NONE.with(Bug::TruncUnsynced);
    for (bugs, cuts, expected) in
        [(head, true, &[1, 2, 3, 5][..]), (head, false, &[1, 5]), (Bugs::NONE, true, &[1, 5])]
    {
        let mut disk = with_a_log(&[1, 2, 3]);
        disk.fsync();
        disk.append(txn(4));
        assert!(disk.truncate(txn(1).zxid, &with(bugs)));
        assert_eq!(disk.may_undo_cuts(), bugs.has(Bug::TruncUnsynced));
        disk.append(txn(5));
        disk.fsync();
        assert_eq!(disk.crash(Tail { cuts, ..Tail::LOST }), 0, "all of it was durable");
        assert_eq!((counters(&disk), disk.unsynced()), (expected.to_vec(), 0));
        assert!(!disk.may_undo_cuts(), "a crash decides it for good");
    }
    // A record that was cut and sent again is in the log once.
    let mut disk = with_a_log(&[1, 2, 3]);
    disk.fsync();
    assert!(disk.truncate(txn(1).zxid, &with(head)));
    disk.append(txn(2));
    disk.fsync();
    disk.crash(Tail { cuts: true, ..Tail::LOST });
    assert_eq!(counters(&disk), [1, 2, 3]);
}

/// An action on a disk.
#[derive(Clone, Copy, Debug)]
enum Done {
    Append,
    Fsync,
    /// Saves a snapshot; the log has `behind` more transactions.
    Snapshot {
        behind: u32,
        durable: bool,
    },
    /// Takes over a SNAP, which is this number of transactions ahead of the log.
    Snap(u32),
    /// Opens the file of one of the snapshots to write it.
    Open(usize),
}

fn done() -> impl Strategy<Value = Done> {
    prop_oneof![
        4 => Just(Done::Append),
        2 => Just(Done::Fsync),
        2 => (0_u32..3, any::<bool>())
            .prop_map(|(behind, durable)| Done::Snapshot { behind, durable }),
        1 => (1_u32..4).prop_map(Done::Snap),
        2 => (0_usize..5).prop_map(Done::Open),
    ]
}

proptest! {
    /// A start after the worst crash loads exactly what the disk reports as recoverable, and opening a file to write
    /// it costs exactly what the disk reports.
    #[test]
    fn what_is_recoverable_is_what_a_start_loads(steps in prop::collection::vec(done(), 0..30)) {
        let bugs = Release::Head.bugs();
        let (mut disk, mut last) = (empty(), 0);
        for step in steps {
            let labelled = |counter: u32, durable| match counter {
                0 => Snapshot { label: Zxid::ZERO, ..snapshot(0, durable) },
                _ => snapshot(counter, durable),
            };
            match step {
                Done::Append => {
                    last += 1;
                    disk.append(txn(last));
                }
                Done::Fsync => disk.fsync(),
                Done::Snapshot { behind, durable } => {
                    disk.add_snapshot(labelled(last.saturating_sub(behind), durable), bugs);
                }
                Done::Snap(ahead) => {
                    disk.fsync();
                    last += ahead;
                    disk.replace_by_snapshot(snapshot(last, true), bugs);
                }
                Done::Open(at) => {
                    let labels: Vec<Zxid> = disk.snapshots().iter().map(|it| it.label).collect();
                    let Some(label) = labels.get(at) else { continue };
                    let before = disk.last_recoverable();
                    if let Some(truncated) = disk.open_snapshot(*label, bugs) {
                        let after = disk.last_recoverable();
                        prop_assert_eq!(truncated, Truncated { before, after });
                    }
                    prop_assert!(disk.snapshots().iter().all(|it| it.label != *label));
                }
            }
            is_what_a_start_loads(&disk)?;
        }
    }
}

/// Checks that after the worst crash the last recoverable zxid is that of the log's last record before a gap, and
/// that a start loads a tree with this zxid if there is no gap.
fn is_what_a_start_loads(disk: &Disk) -> Result<(), TestCaseError> {
    let mut crashed = disk.clone();
    crashed.crash(Tail::LOST);
    if crashed.snapshots().is_empty() {
        let begun = crashed.begin_database(&with(Bugs::NONE));
        prop_assert_eq!(begun.is_err(), !crashed.log().is_empty());
        // With the defect, the empty database counts as the snapshot, and no power loss takes that one.
        let mut replayed = crashed.clone();
        let replays = Bugs::NONE.with(Bug::LogWithoutSnapshotReplayed);
        prop_assert!(replayed.begin_database(&with(replays)).is_ok());
        prop_assert_eq!(replayed.load().map(|(_, from)| from), Some(0));
    }
    let Some((tree, from)) = crashed.load() else { return Ok(()) };
    let label = crashed.snapshots().last().expect("it was loaded").label;
    let mut expected = label.counter();
    for txn in &crashed.log()[from..] {
        if txn.zxid.counter() != expected + 1 {
            break;
        }
        expected += 1;
    }
    prop_assert_eq!(disk.last_recoverable().counter(), expected);
    if expected == crashed.log().last().map_or(0, |txn| txn.zxid.counter()) {
        prop_assert_eq!(tree.last_processed(), disk.last_recoverable());
    }
    Ok(())
}
