//! A server that aborts a synchronisation by TRUNC keeps its tree, with a commit that its log does not contain (rules
//! 6.8.3 and 6.6.2). The leader has sent the commit and not applied it yet, because it is busy with slow reads.

use super::Variant;
use super::diverged;
use super::ensemble::{Ensemble, SOON, options};
use super::error::FindingError;
use super::link::{Direction, Hold, down, up};
use super::narration::{Narration, Outcome};
use super::quorum::Kind;
use super::session::{Session, create};
use crate::conform::Installation;
use std::thread;
use std::time::Duration;
use vivarium_model::id::ServerId;
use vivarium_model::op::{CreateMode, Op, Request};
use vivarium_model::zxid::Zxid;

/// A znode with many children.
const LARGE: &str = "/large";

/// The number of children. A server visits each to count them, which takes some milliseconds.
const CHILDREN: usize = 50_000;

/// The number of children that one multi creates.
const BATCH: usize = 1_000;

/// How often the leader is asked to count them, which keeps it busy for some seconds. It would defer some of more than
/// a thousand requests.
const COUNTS: usize = 500;

/// How long a learner gets to apply a commit that it has received. Only its next registration shows whether it has.
const APPLIES: Duration = Duration::from_millis(700);

/// Breaks a synchronisation by TRUNC after a commit and before NEWLEADER, and restarts the server.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let (mut ensemble, leader) = Ensemble::start_all(installation, 3, options())?;
    let [learner, other] = ensemble.others(leader)[..] else { unreachable!("three servers") };
    let mut client = ensemble.session(learner)?;
    let mut reader = ensemble.session(leader)?;
    let mut last = ensemble.session(other)?;
    fill(&mut client, &mut reader)?;
    tale.say(format!("3 servers serve; {leader} leads; {LARGE} has {CHILDREN} children"));

    let link = ensemble.link(learner, leader);
    let counts: Result<Vec<_>, _> = (0..COUNTS).map(|_| reader.send(count())).collect();
    let counts = counts?;
    // A commit waits for the reads that the leader has received before it.
    ensemble.until("a busy leader", SOON, |all| {
        all.outstanding(leader).is_some_and(|outstanding| outstanding >= COUNTS / 2)
    })?;
    let asked = client.send(create("/paid"))?;
    let answer = client.answer(asked, SOON)?.filter(|answer| answer.result.is_ok());
    let answer = answer.ok_or_else(|| FindingError::Otherwise("/paid was refused".to_owned()))?;
    let paid = answer.zxid;
    tale.say(format!(
        "the client, at {learner}, reads: create /paid {}; the leader is busy with {COUNTS} slow reads",
        answer.words()
    ));

    // The link has passed the commit once before.
    let mark = link.mark();
    link.hold(Direction::Down, Hold::From(Kind::NewLeader));
    link.cut();
    link.wait(down(Kind::Trunc, Some(paid.previous())), mark, SOON)?;
    link.wait(down(Kind::Commit, Some(paid)), mark, SOON)?;
    tale.say(format!(
        "the link of {learner} breaks; it registers again and receives TRUNC to {} and /paid again, with its commit",
        paid.previous()
    ));
    match variant {
        Variant::Control => link.release(),
        Variant::Defect => {
            thread::sleep(APPLIES);
            link.refuse(true);
            link.cut();
            link.release();
            tale.say("the link breaks again, before NEWLEADER");
        }
    }
    let patient = SOON * 2;
    reader.answer(*counts.last().expect("some"), patient)?;
    if variant == Variant::Defect {
        comes_back(&ensemble, learner, leader, paid)?;
        tale.say(format!(
            "the leader has applied /paid; {learner} registers and reports the zxid of /paid as its last"
        ));
    }
    diverged::restarts(&mut ensemble, learner, &mut last, tale)
}

/// Lets the learner register again, with the commit in its tree.
fn comes_back(
    ensemble: &Ensemble,
    learner: ServerId,
    leader: ServerId,
    paid: Zxid,
) -> Result<(), FindingError> {
    let link = ensemble.link(learner, leader);
    let mark = link.mark();
    ensemble.until("/paid at the leader", SOON, |all| {
        all.who_has("/paid", &[leader]).is_ok_and(|have| !have.is_empty())
    })?;
    link.refuse(false);
    link.wait(up(Kind::AckEpoch, None), mark, SOON)?;
    let seen = link.since(mark);
    let said = seen.iter().find(|seen| seen.kind == Kind::AckEpoch).map(|seen| seen.zxid);
    match said {
        Some(zxid) if zxid >= paid => Ok(()),
        _ => Err(FindingError::Otherwise(format!(
            "{learner} had not applied /paid when its link broke"
        ))),
    }
}

/// Creates the children, and lets the leader count them once.
fn fill(client: &mut Session, reader: &mut Session) -> Result<(), FindingError> {
    client.create(LARGE)?;
    for batch in 0..CHILDREN / BATCH {
        let child = |at| Op::create(format!("{LARGE}/{batch}-{at}"), *b"", CreateMode::Persistent);
        let made = client.ask(Request::Multi((0..BATCH).map(child).collect()))?;
        if let Err(error) = made.result {
            return Err(FindingError::Otherwise(format!("the children were refused: {error}")));
        }
    }
    reader.has(LARGE)?;
    reader.ask(count())?;
    Ok(())
}

fn count() -> Request {
    Request::GetAllChildrenNumber { path: LARGE.into() }
}
