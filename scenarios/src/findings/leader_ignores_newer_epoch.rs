//! A server that has accepted an epoch above the leader's cannot rejoin as long as that leader leads (rule 6.3.2).

use super::Variant;
use super::ensemble::{Ensemble, SOON, listed, options};
use super::error::FindingError;
use super::narration::{Narration, Outcome};
use super::quorum::Kind;
use crate::conform::Installation;
use std::fs;
use std::time::{Duration, Instant};

/// How long the server is watched: many times as long as a registration takes.
const WATCHED: Duration = Duration::from_secs(15);

/// The least number of refusals for a conclusive run.
const REFUSALS: usize = 10;

/// The log line of each refusal.
const REFUSAL: &str = "is less than accepted epoch";

/// Gives a server the acceptedEpoch that a failed rival of the leader leaves behind, and watches the server.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let (mut ensemble, leader) = Ensemble::start_all(installation, 3, options())?;
    let out = ensemble.others(leader)[0];
    tale.say(format!("3 servers serve; {leader} leads, epoch 1"));
    let mut client = ensemble.session(leader)?;
    client.create("/a")?;

    ensemble.kill(out);
    ensemble.link(out, leader).cut();
    if variant == Variant::Defect {
        let file = ensemble.files(out).join("acceptedEpoch");
        fs::write(file, "2").map_err(FindingError::machine("acceptedEpoch cannot be written"))?;
        tale.say(format!(
            "{out} is killed, with 2 in acceptedEpoch: LEADERINFO of a rival leaves that, whatever becomes of it"
        ));
    } else {
        tale.say(format!("{out} is killed"));
    }
    let mark = ensemble.link(out, leader).mark();
    ensemble.start(&[out])?;
    let begun = Instant::now();
    let serves = ensemble.serves_within(out, WATCHED);
    client.create("/b")?;
    if serves {
        tale.say(format!(
            "{out} comes back, and serves after {:.1} s",
            begun.elapsed().as_secs_f64()
        ));
        return Ok(Outcome::Kept(format!("{out} serves while {leader} leads")));
    }
    let seen = ensemble.link(out, leader).since(mark);
    let told = seen.iter().filter(|seen| seen.passed && seen.kind == Kind::LeaderInfo).count();
    let refused = ensemble.log(out).matches(REFUSAL).count();
    if told < REFUSALS || refused < REFUSALS {
        let why = format!("{out} received epoch 1 {told} times, and refused it {refused} times");
        return Err(FindingError::Otherwise(why));
    }
    tale.say(format!(
        "for {} s {out} comes back {told} times and receives epoch 1, which is below its accepted epoch; {} \
         serve on",
        WATCHED.as_secs(),
        listed(&ensemble.others(out))
    ));
    ensemble.crash(&[leader]);
    ensemble.until("an end of its being shut out", SOON * 2, |all| all.mode(out).is_some())?;
    tale.say(format!("{leader} is killed: now {out} serves"));
    Ok(Outcome::Shown(format!("{out} is shut out for as long as {leader} leads")))
}
