//! A leader counts an ack that its learner sent before it registered again and was told by TRUNC to remove that very
//! transaction from its log (rules 6.4.3 and 4.4.3). Three servers, of which one fails.

use super::Variant;
use super::ensemble::{Ensemble, SOON, options};
use super::error::FindingError;
use super::link::{Direction, Hold, down, up};
use super::loss::one_of_three_fails;
use super::narration::{Narration, Outcome};
use super::quorum::Kind;
use super::session::create;
use crate::conform::Installation;
use std::time::Duration;
use vivarium_model::id::ServerId;
use vivarium_model::zxid::Zxid;

/// The leader's disk is slow for longer than this run takes; the run releases it when it may be fast again.
const SLOW_FSYNC: [&str; 4] =
    ["-e", "trace=fdatasync", "-e", "inject=fdatasync:delay_enter=120000000"];

/// Makes the leader commit by an ack of a server that no longer has the transaction, and kills the leader.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let (mut ensemble, leader) = Ensemble::start_all(installation, 3, options())?;
    let [learner, late] = ensemble.others(leader)[..] else { unreachable!("three servers") };
    tale.say(format!("3 servers serve; {leader} leads"));

    let mut client = ensemble.session(leader)?;
    let marks = [learner, late].map(|server| ensemble.link(server, leader).mark());
    let before = client.create("/before")?;
    for (server, mark) in [learner, late].into_iter().zip(marks) {
        ensemble.link(server, leader).wait(down(Kind::Commit, Some(before)), mark, SOON)?;
    }
    let paid = before.next().expect("the counter is at its beginning");
    let disk = ensemble.trace(leader, &SLOW_FSYNC)?;
    ensemble.link(late, leader).hold(Direction::Down, Hold::From(Kind::Proposal));
    let link = ensemble.link(learner, leader);
    let mark = link.mark();
    let asked = client.send(create("/paid"))?;
    link.wait(up(Kind::Ack, Some(paid)), mark, SOON)?;
    tale.say(format!(
        "create /paid, zxid {paid}: {learner} has it on disk and has acknowledged it; the leader's disk is slow, \
         and {late} has not received it"
    ));

    if variant == Variant::Defect {
        reconnects(&ensemble, learner, leader, paid, tale)?;
    }
    if client.answer(asked, Duration::from_millis(200))?.is_some() {
        return Err(FindingError::Otherwise(
            "/paid was answered before the leader's fsync".to_owned(),
        ));
    }
    disk.let_go();
    let answer = client.answer(asked, SOON)?.filter(|answer| answer.result.is_ok());
    let Some(answer) = answer else {
        return Err(FindingError::Otherwise(
            "create /paid was not answered with success".to_owned(),
        ));
    };
    tale.say(format!("the leader's fsync ends; the client reads: create /paid {}", answer.words()));

    one_of_three_fails(&mut ensemble, leader, "/paid", tale)
}

/// Breaks the learner's connection, after which the leader tells the learner to remove what it has acknowledged.
fn reconnects(
    ensemble: &Ensemble,
    learner: ServerId,
    leader: ServerId,
    paid: Zxid,
    tale: &mut Narration<'_>,
) -> Result<(), FindingError> {
    let link = ensemble.link(learner, leader);
    let mark = link.mark();
    link.hold(Direction::Down, Hold::Behind(Kind::Trunc));
    link.cut();
    link.wait(down(Kind::Trunc, Some(paid.previous())), mark, SOON)?;
    tale.say(format!(
        "the link of {learner} breaks; it registers again and receives TRUNC to {}; the packets after it are slow",
        paid.previous()
    ));
    ensemble.until("the TRUNC on disk", SOON, |all| all.log(learner).contains("Truncating"))
}
