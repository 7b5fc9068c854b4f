//! A failed write to the log leaves data in the file's buffer, and a later write adds it to the log (rule 6.9.9).

use super::Variant;
use super::disk;
use super::ensemble::{Ensemble, SOON, listed, options};
use super::error::FindingError;
use super::link::{Direction, Hold};
use super::narration::{Narration, Outcome};
use super::phantom;
use super::quorum::Kind;
use super::session::{Session, create};
use crate::conform::Installation;
use vivarium_model::id::ServerId;

/// The server's log line about its disk when it leaves its role: by then it has tried the write a second time.
const FULL: &str = "Got IO exception during shutdown";

/// Makes a leader fail to log a write that no other server has received, lets it continue when there is room, and
/// restarts it.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let (mut ensemble, leader) = Ensemble::start_all(installation, 3, options())?;
    let mut client = ensemble.session(leader)?;
    disk::fill_logs(&ensemble, &mut client)?;
    tale.say(format!("3 servers serve; {leader} leads"));
    ensemble.hold_all(leader, Direction::Down, Hold::From(Kind::Proposal));
    is_full_for_a_moment(&ensemble, leader, &mut client)?;
    tale.say(format!(
        "create /phantom: {leader} fails to log it, because its disk is full, and leaves its role; no other server \
         has received it, and no client is answered"
    ));
    if variant == Variant::Control {
        ensemble.kill(leader);
    }
    ensemble.links_to(leader).for_each(|link| {
        link.cut();
        link.release();
    });
    if variant == Variant::Control {
        ensemble.start(&[leader])?;
        tale.say(format!("{leader} is started again"));
    }
    let all = ensemble.all();
    let next = ensemble.serving(&all)?;
    let before = ensemble.who_has(phantom::PATH, &all)?;
    ensemble.session(next)?.create("/later")?;
    ensemble.until("/later in every log", SOON, |it| {
        all.iter().all(|server| it.has_logged(*server, "/later"))
    })?;
    tale.say(format!(
        "there is room again; {next} leads; {} is at {}; create /later is answered",
        phantom::PATH,
        listed(&before)
    ));
    ensemble.kill(leader);
    ensemble.start(&[leader])?;
    ensemble.serving(&all)?;
    let have = ensemble.who_has(phantom::PATH, &all)?;
    tale.say(format!(
        "{leader} is killed and comes back; {} is at {}",
        phantom::PATH,
        listed(&have)
    ));
    Ok(match have[..] {
        [] => Outcome::Kept(format!("{}, which was never committed, is nowhere", phantom::PATH)),
        [only] if only == leader && before.is_empty() => Outcome::Shown(format!(
            "{}, which was never committed, is at {leader} and nowhere else",
            phantom::PATH
        )),
        _ => Outcome::Inconclusive(format!("{} is at {}", phantom::PATH, listed(&have))),
    })
}

/// Fills the disk for the next record, and for the log thread's retry at its end; then makes room again.
fn is_full_for_a_moment(
    ensemble: &Ensemble,
    server: ServerId,
    client: &mut Session,
) -> Result<(), FindingError> {
    let (process, end) = (ensemble.process(server)?, disk::end_of_log(&ensemble.files(server))?);
    disk::limit_files(process, Some(end))?;
    client.send(create(phantom::PATH))?;
    ensemble.until("a full disk", SOON, |all| all.log(server).contains(FULL))?;
    disk::limit_files(process, None)
}
