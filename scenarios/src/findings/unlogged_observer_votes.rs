//! Observers without a log become voters, and start again without what they have acknowledged (rule 5.7.7).

use super::Variant;
use super::addresses::Members;
use super::ensemble::{Ensemble, SOON, listed};
use super::error::FindingError;
use super::narration::{Narration, Outcome};
use super::session::{PATIENCE, Session};
use crate::conform::Installation;
use vivarium_model::id::ServerId;
use vivarium_model::op::Request;
use vivarium_model::reconfiguration::Reconfiguration;

const OBSERVERS: [ServerId; 2] = [ServerId(4), ServerId(5)];

const PATH: &str = "/kept";

/// Makes two observers voters in place of two others, and restarts them one after the other; then their leader fails.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let members = Members { voters: 3, observers: 2, joiners: 0 };
    let logs = variant == Variant::Control;
    let settings = vec![format!("syncEnabled={logs}")];
    let mut ensemble = Ensemble::reconfigurable_with(installation, members, settings)?;
    let all = ensemble.all();
    ensemble.start(&all)?;
    let leader = ensemble.serving(&all)?;
    let how = if logs { "with" } else { "without" };
    tale.say(format!(
        "3 servers and two observers {how} syncEnabled serve; {leader} leads, {} observe",
        listed(&OBSERVERS)
    ));

    let mut operator = ensemble.session(leader)?;
    let created = operator.create(PATH)?;
    for observer in OBSERVERS {
        let applies = |all: &Ensemble| all.applied(observer) >= Some(created);
        ensemble.until("the write at the observers", SOON, applies)?;
    }
    tale.say(format!("create {PATH}: done, zxid {created}, and applied by the observers"));

    // One by one: a new configuration takes a quorum of those that are followers already.
    let removed: Vec<ServerId> = all[..3].iter().copied().filter(|it| *it != leader).collect();
    let [one, other] = OBSERVERS;
    replace(&ensemble, &mut operator, &[leader, removed[0], one], &[other], tale)?;
    replace(&ensemble, &mut operator, &[leader, one, other], &[], tale)?;
    let created = operator.create("/later")?;
    tale.say(format!("create /later: done, zxid {created}"));
    removed.iter().for_each(|server| ensemble.kill(*server));
    tale.say(format!("{}, no longer members, are stopped", listed(&removed)));
    let next = [leader, one, other];
    for observer in OBSERVERS {
        ensemble.kill(observer);
        ensemble.start(&[observer])?;
        ensemble.serving(&next)?;
        tale.say(format!("{observer} is restarted, and serves"));
    }
    ensemble.kill(leader);
    let second = ensemble.serving(&OBSERVERS)?;
    tale.say(format!("{leader} is killed; {second} leads {}", listed(&OBSERVERS)));
    let have = ensemble.who_has(PATH, &OBSERVERS)?;
    tale.say(format!("after a sync, {PATH} is at {}", listed(&have)));
    match have.len() {
        0 => Ok(Outcome::Shown(format!(
            "{PATH}, which was answered, is gone on every server that is up"
        ))),
        2 => Ok(Outcome::Kept(format!("{PATH} is at every server that is up"))),
        _ => Err(FindingError::Otherwise(format!("{PATH} is at {}", listed(&have)))),
    }
}

/// Replaces the configuration, and waits until the first of the observers that it lists as voters follow.
fn replace(
    ensemble: &Ensemble,
    operator: &mut Session,
    voters: &[ServerId],
    observers: &[ServerId],
    tale: &mut Narration<'_>,
) -> Result<(), FindingError> {
    let observers = observers
        .iter()
        .map(|server| ensemble.member(*server).replace(":participant", ":observer"));
    let members = voters.iter().map(|server| ensemble.member(*server).to_owned());
    let lines: Vec<String> = members.chain(observers).collect();
    let request = Reconfiguration::whole(lines.iter().map(String::as_str));
    let asked = operator.send(Request::Reconfig(request))?;
    let answer = operator.answer(asked, PATIENCE)?;
    let answer = answer.map_or("no answer".to_owned(), |answer| answer.words());
    tale.say(format!("an operator asks for the voters {}: {answer}", listed(voters)));
    let follows =
        |all: &Ensemble, server: &ServerId| all.mode(*server).as_deref() == Some("follower");
    let new = |server: &&ServerId| OBSERVERS.contains(server);
    let votes = |all: &Ensemble| voters.iter().filter(new).all(|server| follows(all, server));
    ensemble.until("the observers as followers", SOON, votes)
}
