//! A new snapshot truncates an existing file with its name (rule 6.9.11). Three servers were set up from a backup (a
//! snapshot and no log), and each is elected while its disk is full: each destroys its only snapshot.

use super::Variant;
use super::bulk;
use super::disk;
use super::ensemble::{Ensemble, SOON, listed, options};
use super::error::FindingError;
use super::narration::{Narration, Outcome};
use super::session::Session;
use crate::conform::Installation;
use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};
use vivarium_model::id::ServerId;

/// The limit of a file's length: half a snapshot.
const ROOM: u64 = bulk::KILOBYTES as u64 * 1_000 / 2;

/// The longest time until each of three servers has been elected once, each after the end of the previous one.
const ELECTED: Duration = Duration::from_secs(90);

/// A znode whose create was answered long ago.
const PAID: &str = "/paid";

/// Sets up three servers from a snapshot, starts them on full disks until each has tried to lead, and restarts them
/// with room.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let (mut ensemble, leader) = Ensemble::start_all(installation, 3, options())?;
    let mut client = ensemble.session(leader)?;
    bulk::create(&mut client)?;
    client.create(PAID)?;
    has_logged_everywhere(&ensemble, &mut client)?;
    // The server that is elected now writes a snapshot of everything.
    ensemble.crash(&ensemble.all());
    let all = ensemble.all();
    ensemble.start(&all)?;
    let leader = ensemble.serving(&all)?;
    ensemble.crash(&all);
    let snapshot = newest_snapshot(&ensemble, leader)?;
    tale.say(format!(
        "3 servers have {PAID} and {} kB; {leader} was elected last, and has written {snapshot}",
        bulk::KILOBYTES
    ));
    is_set_up(&ensemble, leader, &snapshot, variant, tale)?;

    without_room(&mut ensemble, variant, tale)?;
    ensemble.start(&all)?;
    let leader = ensemble.serving(&all)?;
    let have = ensemble.who_has(PAID, &all)?;
    tale.say(format!(
        "there is room again, and all are started: {leader} leads; {PAID} is at {}",
        listed(&have)
    ));
    Ok(match have.len() {
        0 => Outcome::Shown(format!("all znodes are gone on every server, {PAID} among them")),
        3 => Outcome::Kept(format!("{PAID} is at every server")),
        _ => Outcome::Inconclusive(format!("{PAID} is at {} only", listed(&have))),
    })
}

fn has_logged_everywhere(ensemble: &Ensemble, client: &mut Session) -> Result<(), FindingError> {
    let last = client.create("/last")?;
    ensemble.until("all of it at every server", SOON, |it| {
        it.all().into_iter().all(|server| it.applied(server) >= Some(last))
    })
}

/// Returns the last name in order: all zxids have the same length.
fn newest_snapshot(ensemble: &Ensemble, server: ServerId) -> Result<String, FindingError> {
    let newest = ensemble.named(server, "snapshot.").pop();
    newest.ok_or_else(|| FindingError::Otherwise(format!("{server} has no snapshot")))
}

/// Copies the snapshot to every server: alone, or in the control in addition to its own files.
fn is_set_up(
    ensemble: &Ensemble,
    from: ServerId,
    snapshot: &str,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<(), FindingError> {
    let failed = "a server's files could not be laid out";
    let backup =
        fs::read(ensemble.files(from).join(snapshot)).map_err(FindingError::machine(failed))?;
    for server in ensemble.all() {
        let files = ensemble.files(server);
        if variant == Variant::Defect {
            fs::remove_dir_all(&files).map_err(FindingError::machine(failed))?;
            fs::create_dir_all(&files).map_err(FindingError::machine(failed))?;
        }
        fs::write(files.join(snapshot), &backup).map_err(FindingError::machine(failed))?;
    }
    tale.say(match variant {
        Variant::Defect => {
            format!("3 new servers are set up from a backup: each has {snapshot} and nothing else")
        }
        Variant::Control => format!("each gets {snapshot}, beside its log and older snapshots"),
    });
    Ok(())
}

/// Starts all servers on disks without room for a snapshot, and restarts each whose process has ended, until every one
/// has ended once. In the control, the third is never elected: the others come back with the same history and larger
/// ids.
fn without_room(
    ensemble: &mut Ensemble,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<(), FindingError> {
    let all = ensemble.all();
    let enough = match variant {
        Variant::Defect => all.len(),
        Variant::Control => 2,
    };
    for server in &all {
        starts_without_room(ensemble, *server)?;
    }
    let (begun, mut ended) = (Instant::now(), BTreeSet::new());
    while ended.len() < enough {
        if begun.elapsed() > ELECTED {
            let what = "each server elected, and without room".to_owned();
            return Err(FindingError::NotSeen { what, patience: ELECTED });
        }
        for server in &all {
            let Some(status) = ensemble.has_ended(*server) else { continue };
            if !status.ends_with(": 10") {
                return Err(FindingError::Otherwise(format!("{server} ended with {status}")));
            }
            if ended.insert(*server) {
                tale.say(format!(
                    "{server} is elected, writes its snapshot, finds no room, and ends with exit code 10; it is \
                     started again"
                ));
            }
            if ended.len() < enough {
                starts_without_room(ensemble, *server)?;
            }
        }
        thread::sleep(Duration::from_millis(50));
    }
    ensemble.crash(&all);
    Ok(())
}

/// The limit is set long before the server writes anything, because its runtime takes some tenths of a second to start.
fn starts_without_room(ensemble: &mut Ensemble, server: ServerId) -> Result<(), FindingError> {
    ensemble.start(&[server])?;
    disk::limit_files(ensemble.process(server)?, Some(ROOM))
}
