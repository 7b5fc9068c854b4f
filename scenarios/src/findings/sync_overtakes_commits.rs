//! A leader has committed two writes, which clients of followers have been told, and has not applied them yet. It
//! answers the sync and the read of its own client meanwhile (rules 4.5.8 and 4.5.9).

use super::Variant;
use super::ensemble::{Ensemble, SOON, options};
use super::error::FindingError;
use super::link::{Direction, Hold, Link, down};
use super::narration::{Narration, Outcome};
use super::quorum::Kind;
use super::session::create;
use crate::conform::Installation;
use std::thread;
use std::time::Duration;
use vivarium_model::error::Error;
use vivarium_model::op::Request;

/// Longer than a thread takes that has nothing to wait for.
const MOMENT: Duration = Duration::from_millis(300);

/// Makes a client read old data after a sync, although another client's overwrite was answered.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let (ensemble, leader) = Ensemble::start_all(installation, 3, options())?;
    let [follower, other] = ensemble.others(leader)[..] else { unreachable!("three servers") };
    let at = if variant == Variant::Defect { leader } else { other };
    let mut reader = ensemble.session(at)?;
    let mut writer = ensemble.session(follower)?;
    let before = writer.create("/before")?;
    reader.has("/before")?;
    tale.say(format!("3 servers serve; {leader} leads; one client is at {follower}, one at {at}"));

    let (one, two) = (before.next(), before.next().and_then(|one| one.next()));
    let (Some(_), Some(two)) = (one, two) else {
        return Err(FindingError::Otherwise("the counter is at its end".to_owned()));
    };
    let link = ensemble.link(follower, leader);
    let mark = link.mark();
    ensemble.hold_all(leader, Direction::Up, Hold::From(Kind::Ack));
    let asked = [writer.send(create("/one"))?, writer.send(create("/two"))?];
    link.wait(down(Kind::Proposal, Some(two)), mark, SOON)?;
    // The leader's CommitProcessor has both requests, and waits for their commits.
    thread::sleep(MOMENT);
    let stopped = ensemble.stop_commits(leader)?;
    ensemble.links_to(leader).for_each(Link::release);
    for (asked, path) in asked.into_iter().zip(["/one", "/two"]) {
        let answer = writer.answer(asked, SOON)?.filter(|answer| answer.result.is_ok());
        let Some(answer) = answer else {
            return Err(FindingError::Otherwise(format!(
                "create {path} was not answered with success"
            )));
        };
        tale.say(format!("the client of {follower} reads: create {path} {}", answer.words()));
    }
    tale.say(format!("the CommitProcessor of {leader} stands still before it applies them"));

    let synced = reader.send(Request::Sync { path: "/".into() })?;
    let read = reader.send(Request::Exists { path: "/two".into(), watch: false })?;
    thread::sleep(MOMENT);
    stopped.let_go();
    let (synced, read) = (reader.answer(synced, SOON)?, reader.answer(read, SOON)?);
    let (Some(synced), Some(read)) = (synced, read) else {
        return Err(FindingError::Otherwise("sync and exists were not answered".to_owned()));
    };
    let sees = match &read.result {
        Ok(_) => "is there",
        Err(Error::NoNode) => "is not there",
        Err(error) => return Err(FindingError::Otherwise(format!("exists was refused: {error}"))),
    };
    tale.say(format!(
        "then the client of {at} sent sync and a read of /two; it goes on, and reads: synced at {}, and /two {sees} \
         (zxid {})",
        synced.zxid, read.zxid
    ));
    Ok(match read.result {
        Ok(_) => Outcome::Kept(
            "a read after a sync sees every write that was answered before the \
             sync was sent"
                .to_owned(),
        ),
        Err(_) => Outcome::Shown(
            "a read after a sync misses a write that was answered before the sync was sent"
                .to_owned(),
        ),
    })
}
