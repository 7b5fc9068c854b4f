//! After a TRUNC, a learner keeps what is committed before NEWLEADER in memory and in a snapshot that is not fsynced,
//! and acknowledges NEWLEADER all the same (rules 6.6.2 and 6.6.3). Three servers, which lose power.

use super::Variant;
use super::ensemble::{Ensemble, SOON, with_small_logs};
use super::error::FindingError;
use super::link::{down, up};
use super::loss::comes_back_late;
use super::narration::{Narration, Outcome};
use super::power_loss::{DiskWatch, power_fails};
use super::quorum::Kind;
use super::session::Session;
use crate::conform::Installation;
use vivarium_model::id::ServerId;
use vivarium_model::zxid::Zxid;

/// Makes a learner receive by a synchronisation what that synchronisation had removed, and simulates a power loss after
/// the learner has acknowledged it.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    // The power loss copies the files, so they must be small.
    let mut options = with_small_logs();
    if variant == Variant::Control {
        options.java_arguments.push("-Dzookeeper.forceSnapshotSync=true".to_owned());
    }
    let (mut ensemble, leader) = Ensemble::start_all(installation, 3, options)?;
    let [learner, late] = ensemble.others(leader)[..] else { unreachable!("three servers") };
    tale.say(format!("3 servers serve; {leader} leads"));

    let mut client = ensemble.session(learner)?;
    ensemble.hears_no_more(late, leader, &mut client)?;
    let slow = ensemble.stop_commits(leader)?;
    let paid = client.create("/paid")?;
    tale.say(format!(
        "a client of {learner} reads: create /paid done, zxid {paid}; the leader has committed it and is slow to \
         apply it; {late} has not received it"
    ));

    let watch = DiskWatch::begin(&ensemble, learner, &[])?;
    is_synchronised(&ensemble, learner, leader, (variant, paid), tale)?;
    slow.let_go();
    serves(&ensemble, learner, client, tale)?;

    // The other two disks lose nothing.
    let loss = power_fails(&mut ensemble, learner, watch, "snapshot.")?;
    ensemble.crash(&[leader, late]);
    tale.say(format!("the power fails at all three; on the disk of {learner}, {loss}"));
    loss.suits(variant)?;
    ensemble.start(&[learner, late])?;
    tale.say(format!("{learner} and {late} come back, {leader} does not yet"));
    comes_back_late(&mut ensemble, leader, "/paid", tale)
}

/// Breaks the learner's connection, after which it is synchronised and acknowledges.
fn is_synchronised(
    ensemble: &Ensemble,
    learner: ServerId,
    leader: ServerId,
    (variant, paid): (Variant, Zxid),
    tale: &mut Narration<'_>,
) -> Result<(), FindingError> {
    let kind = match variant {
        Variant::Defect => Kind::Trunc,
        Variant::Control => Kind::Snap,
    };
    let link = ensemble.link(learner, leader);
    let mark = link.mark();
    link.cut();
    link.wait(down(kind, Some(paid.previous())), mark, SOON)?;
    link.wait(down(Kind::Commit, Some(paid)), mark, SOON)?;
    link.wait(up(Kind::Ack, Some(paid.epoch().opening())), mark, SOON)?;
    link.wait(down(Kind::UpToDate, None), mark, SOON)?;
    let seen = link.since(mark);
    let place = |kind| seen.iter().position(|seen| seen.passed && seen.kind == kind);
    if place(Kind::Commit) > place(Kind::NewLeader) {
        return Err(FindingError::Otherwise("the commit of /paid came after NEWLEADER".to_owned()));
    }
    tale.say(format!(
        "the link of {learner} breaks; it registers again, receives {kind} to {} and /paid with its commit, and \
         acknowledges NEWLEADER",
        paid.previous()
    ));
    Ok(())
}

/// Checks that the learner serves the write. The session is the old one, because a new one would be a transaction in
/// the learner's log.
fn serves(
    ensemble: &Ensemble,
    learner: ServerId,
    client: Session,
    tale: &mut Narration<'_>,
) -> Result<(), FindingError> {
    let mut client = client.move_to(ensemble.address(learner))?;
    match client.has("/paid")? {
        true => tale.say(format!("{learner} serves, and /paid is there")),
        false => return Err(FindingError::Otherwise(format!("{learner} serves without /paid"))),
    }
    Ok(())
}
