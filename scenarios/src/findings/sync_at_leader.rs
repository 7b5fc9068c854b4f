//! A session with a create under way moves from a follower to the leader and reads there after a sync. The leader has
//! the create too, and makes the session's reads wait for it, unless a property disables this (rule 4.6.4).

use super::Variant;
use super::ensemble::{Ensemble, SOON, options};
use super::error::FindingError;
use super::link::{Awaited, Direction, Hold, Link, up};
use super::narration::{Narration, Outcome};
use super::quorum::Kind;
use super::session::{Session, create};
use crate::conform::Installation;
use std::time::Duration;
use vivarium_model::op::Request;

/// The property of ZOOKEEPER-3690; its default is false.
const FLAG: &str = "-Dzookeeper.forward_learner_requests_to_commit_processor_disabled=true";

/// Much longer than an answer takes that waits for nothing.
const WAITS: Duration = Duration::from_secs(3);

/// Makes a session miss, or wait for, its own create.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let mut options = options();
    if variant == Variant::Defect {
        options.java_arguments.push(FLAG.to_owned());
    }
    let (ensemble, leader) = Ensemble::start_all(installation, 3, options)?;
    let follower = ensemble.others(leader)[0];
    let mut session = ensemble.session(follower)?;
    session.create("/lock")?;
    let mut other = ensemble.session(leader)?;
    other.has("/lock")?;
    let link = ensemble.link(follower, leader);
    let mark = link.mark();
    ensemble.hold_all(leader, Direction::Up, Hold::From(Kind::Ack));
    session.send(create("/lock/mine"))?;
    link.wait(Awaited { passed: false, ..up(Kind::Ack, None) }, mark, SOON)?;
    tale.say(format!("a session at {follower} creates /lock/mine; the acks are slow"));

    let mut session = session.move_to(ensemble.address(leader))?;
    let synced = session.send(Request::Sync { path: "/lock".into() })?;
    let listed = session.send(children())?;
    let others = other.ask(children())?;
    tale.say(format!(
        "the session moves to {leader}, and sends sync and getChildren; another session there reads at once: {}",
        words(Session::names(&others))
    ));
    let early = match session.answer(synced, WAITS)? {
        None => None,
        Some(_) => session.answer(listed, WAITS)?,
    };
    match &early {
        None => tale.say(format!("no answer for {} s", WAITS.as_secs())),
        Some(answer) => tale.say(format!("the session reads: {}", words(Session::names(answer)))),
    }
    ensemble.links_to(leader).for_each(Link::release);
    let answer = session.answer(listed, SOON)?;
    let first = answer.as_ref().and_then(Session::names);
    ensemble.until("/lock/mine", SOON, |all| {
        all.who_has("/lock/mine", &[leader]).is_ok_and(|have| !have.is_empty())
    })?;
    tale.say(format!(
        "the acks arrive, and /lock/mine is there; the session's list says {}",
        words(first.clone())
    ));
    Ok(match (early, first.as_deref()) {
        (Some(_), Some([])) => Outcome::Shown(
            "after a sync, a session misses its own create, which is committed later".to_owned(),
        ),
        (None, Some([mine])) if mine == "mine" => {
            Outcome::Kept("a session's sync and list wait for its own create".to_owned())
        }
        _ => Outcome::Inconclusive("the list was neither empty nor late".to_owned()),
    })
}

fn children() -> Request {
    Request::GetChildren { path: "/lock".into(), watch: false }
}

fn words(names: Option<Vec<String>>) -> String {
    match names {
        None => "no list".to_owned(),
        Some(names) if names.is_empty() => "no children".to_owned(),
        Some(names) => names.join(", "),
    }
}
