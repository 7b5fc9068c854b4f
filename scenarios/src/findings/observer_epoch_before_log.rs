//! An observer that becomes a voter leads with a high epoch above a short log, and cuts what is committed (rule 5.7.5).

use super::Variant;
use super::addresses::Members;
use super::ensemble::{Ensemble, SOON, listed};
use super::error::FindingError;
use super::link::{Awaited, Direction, Hold, Link, down};
use super::link_state::Mark;
use super::narration::{Narration, Outcome};
use super::quorum::Kind;
use super::session::{PATIENCE, create};
use crate::conform::Installation;
use std::fs;
use vivarium_model::id::ServerId;
use vivarium_model::op::Request;
use vivarium_model::reconfiguration::Reconfiguration;

const OBSERVER: ServerId = ServerId(4);

const PATH: &str = "/kept";

/// Lets an observer acknowledge a leader that no voter acknowledges, while a reconfiguration that makes it a voter is
/// committed and unknown to both.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let members = Members { voters: 3, observers: 1, joiners: 0 };
    let mut ensemble = Ensemble::reconfigurable(installation, members)?;
    let all = ensemble.all();
    ensemble.start(&all)?;
    let first = ensemble.serving(&all)?;
    tale.say(format!("3 servers and an observer serve; {first} leads, {OBSERVER} observes"));
    let voters: Vec<ServerId> = all[..3].iter().copied().filter(|it| *it != first).collect();
    commits(&ensemble, first, &voters, tale)?;

    // All of them are LOOKING afterwards, and only the first leader knows that the reconfiguration is committed.
    for learner in voters.iter().chain([&OBSERVER]) {
        for leader in &voters {
            if learner != leader && (*learner != OBSERVER || variant == Variant::Control) {
                ensemble.link(*learner, *leader).hold(Direction::Down, Hold::From(Kind::NewLeader));
            }
        }
    }
    let marks: Vec<Mark> = voters.iter().map(|it| ensemble.link(OBSERVER, *it).mark()).collect();
    ensemble.kill(first);
    // What it has sent and is held is lost.
    ensemble.links_to(first).for_each(Link::cut);
    tale.say(format!("{first} is killed"));
    let (second, mark) = sends_new_leader(&ensemble, &voters, &marks)?;
    let rest: Vec<ServerId> = voters.into_iter().filter(|voter| *voter != second).collect();
    tale.say(format!("{second} is elected; its NEWLEADER is late at {}", listed(&rest)));
    match variant {
        Variant::Defect => {
            let writes = |all: &Ensemble| epoch(all) == "2";
            ensemble.until("currentEpoch 2 at the observer", SOON, writes)?;
            tale.say(format!("{OBSERVER} has written currentEpoch 2 and acknowledges"));
        }
        Variant::Control => {
            let link = ensemble.link(OBSERVER, second);
            let comes = Awaited { passed: false, ..down(Kind::NewLeader, None) };
            link.wait(comes, mark, SOON)?;
            tale.say(format!(
                "its NEWLEADER is late at {OBSERVER}, too; currentEpoch is {}",
                epoch(&ensemble)
            ));
        }
    }
    ensemble.crash(&[second]);
    ensemble.start(&[first])?;
    let left = [&rest[..], &[first, OBSERVER]].concat();
    let third = ensemble.serving(&left)?;
    tale.say(format!("{second} is killed, and {first} is back; {third} leads {}", listed(&left)));
    let have = ensemble.who_has(PATH, &left)?;
    tale.say(format!("after a sync, {PATH} is at {}", listed(&have)));
    match have.len() {
        0 => Ok(Outcome::Shown(format!(
            "{PATH}, which was answered, is gone on every server that is up"
        ))),
        3 => Ok(Outcome::Kept(format!("{PATH} is at every server that is up"))),
        _ => Err(FindingError::Otherwise(format!("{PATH} is at {}", listed(&have)))),
    }
}

/// Commits a reconfiguration that makes the observer a voter, and a create, while no server but the leader hears so.
fn commits(
    ensemble: &Ensemble,
    leader: ServerId,
    followers: &[ServerId],
    tale: &mut Narration<'_>,
) -> Result<(), FindingError> {
    let mut operator = ensemble.session(leader)?;
    operator.create("/before")?;
    ensemble.link(OBSERVER, leader).hold(Direction::Down, Hold::From(Kind::InformAndActivate));
    let links: Vec<_> = followers.iter().map(|it| ensemble.link(*it, leader)).collect();
    let marks: Vec<_> = links.iter().map(|link| link.mark()).collect();
    for link in &links {
        link.hold(Direction::Up, Hold::From(Kind::Ack));
        link.hold(Direction::Down, Hold::From(Kind::CommitAndActivate));
    }
    let members = ensemble.all().into_iter().map(|server| ensemble.member(server));
    let reconfig = operator.send(Request::Reconfig(Reconfiguration::whole(members)))?;
    let kept = operator.send(create(PATH))?;
    for (link, mark) in links.iter().zip(marks) {
        // The second proposal is that of the create.
        link.wait(down(Kind::Proposal, None), mark, SOON)?;
        ensemble.until("both proposals", SOON, |_| {
            let passed = link.since(mark);
            passed.iter().filter(|it| it.kind == Kind::Proposal && it.passed).count() >= 2
        })?;
        link.release_only(Direction::Up);
    }
    for (xid, what) in
        [(reconfig, "a reconfiguration in which server 4 votes"), (kept, "create /kept")]
    {
        let answer = operator.answer(xid, PATIENCE)?;
        let answer = answer.map_or("not answered".to_owned(), |answer| answer.words());
        tale.say(format!("{what}: {answer}; the commit is late at every server but {leader}"));
    }
    Ok(())
}

/// Waits until one of these servers leads and has sent the observer a NEWLEADER since its mark. Returns it with its mark.
fn sends_new_leader(
    ensemble: &Ensemble,
    voters: &[ServerId],
    marks: &[Mark],
) -> Result<(ServerId, Mark), FindingError> {
    let leads = |all: &Ensemble| {
        let sends = |(leader, mark): &(ServerId, Mark)| {
            let sent = all.link(OBSERVER, *leader).since(*mark);
            sent.iter().any(|seen| seen.kind == Kind::NewLeader)
        };
        voters.iter().copied().zip(marks.iter().copied()).find(sends)
    };
    ensemble.until("a second leader", SOON, |all| leads(all).is_some())?;
    leads(ensemble).ok_or_else(|| FindingError::Otherwise("no server leads".to_owned()))
}

/// Returns the observer's currentEpoch.
fn epoch(ensemble: &Ensemble) -> String {
    let file = ensemble.files(OBSERVER).join("currentEpoch");
    fs::read_to_string(file).map_or("missing".to_owned(), |text| text.trim().to_owned())
}
