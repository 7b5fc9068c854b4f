//! A server whose disk fails leaves its role and keeps its tree, in which it applied a commit that its log does not
//! contain (rules 6.7.6 and 6.8.3). The disk is reported full when the next log file is created.

use super::Variant;
use super::diverged;
use super::ensemble::{Ensemble, SOON, options};
use super::error::FindingError;
use super::link::{down, up};
use super::narration::{Narration, Outcome};
use super::quorum::Kind;
use crate::conform::Installation;

/// The server's log line about its disk.
const FULL: &str = "No space left on device";

/// Makes a follower apply a write whose log file cannot be created, and restarts the follower.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let (mut ensemble, leader) = Ensemble::start_all(installation, 3, options())?;
    let follower = ensemble.others(leader)[0];
    let mut client = ensemble.session(leader)?;
    let link = ensemble.link(follower, leader);
    let mark = link.mark();
    let before = client.create("/before")?;
    // If the leader sent this transaction again after the restart, the log file would be created too early.
    link.wait(up(Kind::Ack, Some(before)), mark, SOON)?;
    let paid = before.next().expect("the counter is at its beginning");
    // A server that has just started creates a log file with its next transaction.
    ensemble.kill(follower);
    ensemble.link(follower, leader).cut();
    ensemble.start(&[follower])?;
    ensemble.serving(&ensemble.all())?;
    tale.say(format!("3 servers serve; {leader} leads; {follower} has just started"));

    let file = ensemble.files(follower).join(format!("log.{:x}", paid.0)).display().to_string();
    // Late enough that the commit comes first.
    let fault = match variant {
        Variant::Defect => "inject=openat:error=ENOSPC:delay_enter=1500000",
        Variant::Control => "inject=openat:delay_enter=1500000",
    };
    let disk = ensemble.trace(follower, &["-P", &file, "-e", "trace=openat", "-e", fault])?;
    let link = ensemble.link(follower, leader);
    let mark = link.mark();
    let zxid = client.create("/paid")?;
    if zxid != paid {
        return Err(FindingError::Otherwise(format!(
            "/paid has zxid {zxid}, and {paid} was expected"
        )));
    }
    link.wait(down(Kind::Commit, Some(paid)), mark, SOON)?;
    tale.say(format!(
        "the client reads: create /paid done, zxid {zxid}; {follower} receives COMMIT"
    ));
    match variant {
        Variant::Defect => {
            ensemble.until("a full disk", SOON, |all| all.log(follower).contains(FULL))?;
            ensemble.link(follower, leader).wait(down(Kind::UpToDate, None), mark, SOON * 2)?;
            tale.say(format!(
                "{follower} makes its log file for it and gets the error {FULL}; it leaves its role"
            ));
        }
        Variant::Control => {
            ensemble.until("the log file", SOON, |all| all.has_logged(follower, "/paid"))?;
            tale.say(format!("{follower} makes its log file for it, late"));
        }
    }
    disk.let_go();
    diverged::restarts(&mut ensemble, follower, &mut client, tale)
}
