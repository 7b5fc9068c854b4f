//! A write to the log that fails halfway leaves half a record, and the server continues after it in the same file (rule
//! 6.9.8). A limit on the length of files makes a write fail as on a full disk.

use super::Variant;
use super::disk;
use super::ensemble::{Ensemble, SOON, listed, options};
use super::error::FindingError;
use super::link::{down, up};
use super::narration::{Narration, Outcome};
use super::quorum::Kind;
use super::session::Session;
use crate::conform::Installation;
use vivarium_model::id::ServerId;

/// The server's log line about its disk.
const FULL: &str = "File too large";

/// The log line about half a record when a server starts.
const PARTIAL: &str = "Last transaction was partial";

/// The bytes of the record that still have room: its checksum, its length, and a part of its content.
const HALF: u64 = 20;

/// Makes a server write half of a record and continue, waits for the answer to a write that only this server and the
/// leader have logged, and restarts this server without the leader.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let (mut ensemble, leader) = Ensemble::start_all(installation, 3, options())?;
    let (full, other) = (ensemble.others(leader)[0], ensemble.others(leader)[1]);
    let mut client = ensemble.session(leader)?;
    disk::fill_logs(&ensemble, &mut client)?;
    tale.say(format!("3 servers serve; {leader} leads"));

    is_full_for_a_moment(&ensemble, full, leader, &mut client, tale)?;
    if variant == Variant::Control {
        ensemble.kill(full);
        ensemble.start(&[full])?;
        tale.say(format!("{full} is started again"));
    }
    ensemble.serving(&ensemble.all())?;

    ensemble.kill(other);
    let link = ensemble.link(full, leader);
    let mark = link.mark();
    let paid = client.create("/paid")?;
    link.wait(up(Kind::Ack, Some(paid)), mark, SOON)?;
    tale.say(format!(
        "{other} is killed; create /paid is answered, zxid {paid}: {leader} and {full} have acknowledged it"
    ));
    ensemble.crash(&[leader, full]);
    let left = [full, other];
    ensemble.start(&left)?;
    let next = ensemble.serving(&left)?;
    tale.say(format!("{leader} and {full} are killed; {full} and {other} start; {next} leads"));
    if ensemble.log(full).contains(PARTIAL) {
        tale.say(format!("{full} has said: {PARTIAL}"));
    }
    ensemble.start(&[leader])?;
    ensemble.serving(&ensemble.all())?;
    let have = ensemble.who_has("/paid", &ensemble.all())?;
    tale.say(format!("{leader} is back; /paid is at {}", listed(&have)));
    Ok(match have.len() {
        0 => Outcome::Shown("/paid, which was answered, is gone on every server".to_owned()),
        3 => Outcome::Kept("/paid is at every server".to_owned()),
        _ => Outcome::Inconclusive(format!("/paid is at {} only", listed(&have))),
    })
}

/// Leaves room only for the beginning of the next record; then makes room again.
fn is_full_for_a_moment(
    ensemble: &Ensemble,
    server: ServerId,
    leader: ServerId,
    client: &mut Session,
    tale: &mut Narration<'_>,
) -> Result<(), FindingError> {
    let link = ensemble.link(server, leader);
    let mark = link.mark();
    let end = disk::end_of_log(&ensemble.files(server))?;
    disk::limit_files(ensemble.process(server)?, Some(end + HALF))?;
    client.create("/half")?;
    ensemble.until("a full disk", SOON, |all| all.log(server).contains(FULL))?;
    disk::limit_files(ensemble.process(server)?, None)?;
    ensemble.link(server, leader).wait(down(Kind::UpToDate, None), mark, SOON * 2)?;
    tale.say(format!(
        "create /half: {server} writes {HALF} bytes of its record and gets the error {FULL}; it leaves its role, and \
         joins again when there is room"
    ));
    Ok(())
}
