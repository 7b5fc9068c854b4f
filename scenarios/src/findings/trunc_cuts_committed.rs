//! A leader has committed a write and not applied it yet. A learner that has logged it, and answered its client,
//! registers again, and is told by TRUNC to remove it (rules 6.4.3 and 4.5.8). Three servers, of which one fails.

use super::Variant;
use super::ensemble::{Ensemble, SOON, options};
use super::error::FindingError;
use super::link::{Direction, Hold, down};
use super::loss::one_of_three_fails;
use super::narration::{Narration, Outcome};
use super::quorum::Kind;
use super::session::create;
use crate::conform::Installation;
use vivarium_model::id::ServerId;
use vivarium_model::zxid::Zxid;

/// Makes a learner remove a write that it has answered, and kills the leader.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let (mut ensemble, leader) = Ensemble::start_all(installation, 3, options())?;
    let [learner, late] = ensemble.others(leader)[..] else { unreachable!("three servers") };
    tale.say(format!("3 servers serve; {leader} leads"));

    let mut client = ensemble.session(learner)?;
    ensemble.hears_no_more(late, leader, &mut client)?;
    let stopped = match variant {
        Variant::Defect => Some(ensemble.stop_commits(leader)?),
        Variant::Control => None,
    };
    let asked = client.send(create("/paid"))?;
    let answer = client.answer(asked, SOON)?.filter(|answer| answer.result.is_ok());
    let Some(answer) = answer else {
        return Err(FindingError::Otherwise(
            "create /paid was not answered with success".to_owned(),
        ));
    };
    let applies = match variant {
        Variant::Defect => "has committed it and is slow to apply it",
        Variant::Control => "has committed and applied it",
    };
    tale.say(format!(
        "a client of {learner} reads: create /paid {}; the leader {applies}; {late} has not received it",
        answer.words()
    ));
    registers_again(&ensemble, learner, leader, (variant, answer.zxid), tale)?;
    if let Some(stopped) = stopped {
        ensemble.kill_traced(leader, stopped);
    }
    one_of_three_fails(&mut ensemble, leader, "/paid", tale)
}

/// Breaks the learner's connection, after which it registers again.
fn registers_again(
    ensemble: &Ensemble,
    learner: ServerId,
    leader: ServerId,
    (variant, paid): (Variant, Zxid),
    tale: &mut Narration<'_>,
) -> Result<(), FindingError> {
    let (kind, zxid) = match variant {
        Variant::Defect => (Kind::Trunc, paid.previous()),
        Variant::Control => (Kind::Diff, paid),
    };
    let link = ensemble.link(learner, leader);
    let mark = link.mark();
    link.hold(Direction::Down, Hold::Behind(kind));
    link.cut();
    link.wait(down(kind, Some(zxid)), mark, SOON)?;
    tale.say(format!(
        "the link of {learner} breaks; it registers again and receives {kind} to {zxid}; the packets after it are slow"
    ));
    match variant {
        Variant::Defect => {
            ensemble.until("the TRUNC on disk", SOON, |all| all.log(learner).contains("Truncating"))
        }
        Variant::Control => Ok(()),
    }
}
