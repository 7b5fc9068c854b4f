//! A write beside a reconfiguration needs acknowledgements of servers that have become observers, and no write is answered any
//! more (rule 5.8.6).

use super::Variant;
use super::addresses::Members;
use super::ensemble::{Ensemble, SOON, listed};
use super::error::FindingError;
use super::link::{Direction, Hold, Link, down, up};
use super::link_state::Mark;
use super::narration::{Narration, Outcome};
use super::quorum::Kind;
use super::session::{PATIENCE, Session, create};
use crate::conform::Installation;
use std::time::Duration;
use vivarium_model::id::{ServerId, Xid};
use vivarium_model::op::Request;
use vivarium_model::reconfiguration::Reconfiguration;

const PATH: &str = "/beside";

/// How long the write is waited for.
const WATCHED: Duration = Duration::from_secs(30);

/// Lets two of four voters become observers whose connections break while a write is under way to them.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let members = Members { voters: 4, observers: 0, joiners: 0 };
    let mut ensemble = Ensemble::reconfigurable(installation, members)?;
    let all = ensemble.all();
    ensemble.start(&all)?;
    let leader = ensemble.serving(&all)?;
    tale.say(format!("4 servers vote, and {leader} leads"));
    let mut operator = ensemble.session(leader)?;
    operator.create("/before")?;

    let others = ensemble.others(leader);
    let (stays, become_observers) = (others[0], &others[1..]);
    let shrink = Shrink { leader, stays, become_observers };
    let asked = shrink.ask(&ensemble, &mut operator)?;
    let write = match variant {
        Variant::Defect => Some(shrink.write_beside(&ensemble, &mut operator, tale)?),
        Variant::Control => None,
    };
    ensemble.link(stays, leader).release();
    let answer = operator.answer(asked, PATIENCE)?;
    tale.say(format!(
        "{} acknowledges, too; the reconfiguration in which {leader} and {stays} vote and the others observe: {}",
        stays,
        answer.map_or("not answered".to_owned(), |answer| answer.words())
    ));
    let write = match write {
        Some(write) => write,
        None => {
            tale.say(format!("create {PATH} is sent"));
            operator.send(create(PATH))?
        }
    };
    // What was late at them is lost; they connect again, and learn that they observe.
    for (link, _) in shrink.marks(&ensemble) {
        link.cut();
        link.release();
    }
    tale.say(format!("the connections of {} to {leader} break", listed(become_observers)));
    let observe = |all: &Ensemble| {
        become_observers.iter().all(|server| all.mode(*server).as_deref() == Some("observer"))
    };
    ensemble.until("the new observers", SOON, observe)?;
    tale.say(format!("{} observe", listed(become_observers)));
    if let Some(answer) = operator.answer(write, WATCHED)? {
        return Ok(Outcome::Kept(format!("create {PATH}: {}", answer.words())));
    }
    stalls(&mut ensemble, &shrink, tale)
}

/// Shows that the leader stays, and that only its end helps.
fn stalls(
    ensemble: &mut Ensemble,
    shrink: &Shrink<'_>,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let Shrink { leader, stays, .. } = *shrink;
    let modes = [leader, stays].map(|server| ensemble.mode(server));
    let both = modes.iter().flatten().map(String::as_str).collect::<Vec<_>>();
    if both != ["leader", "follower"] {
        return Err(FindingError::Otherwise(format!("the voters are {both:?}")));
    }
    let waits = WATCHED.as_secs();
    tale.say(format!(
        "create {PATH} is not answered in {waits} s; {leader} leads, and {stays} follows"
    ));
    let begins = ensemble.session(stays).is_ok();
    tale.say(format!(
        "a new session at {stays}: {}",
        if begins { "begins" } else { "does not begin" }
    ));
    if begins {
        return Err(FindingError::Otherwise("a session began, which is a write".to_owned()));
    }
    ensemble.crash(&[leader]);
    ensemble.start(&[leader])?;
    let all = ensemble.all();
    let next = ensemble.serving(&all)?;
    let zxid = ensemble.session(next)?.create("/after")?;
    tale.say(format!("{leader} is restarted; {next} leads, and create /after has zxid {zxid}"));
    Ok(Outcome::Shown(format!(
        "the ensemble answered no write for {waits} s, with a leader that a quorum follows, until the leader was restarted"
    )))
}

/// A reconfiguration of four voters to two.
struct Shrink<'a> {
    leader: ServerId,
    stays: ServerId,
    become_observers: &'a [ServerId],
}

impl Shrink<'_> {
    /// Asks for the reconfiguration. Returns when all have logged it, and the acknowledgement of the voter that stays is
    /// late, so that the new quorum lacks it.
    fn ask(&self, ensemble: &Ensemble, operator: &mut Session) -> Result<Xid, FindingError> {
        let leader = self.leader;
        let late = ensemble.link(self.stays, leader);
        let mark = late.mark();
        late.hold(Direction::Up, Hold::From(Kind::Ack));
        let marks = self.marks(ensemble);
        let voters = [leader, self.stays].map(|server| ensemble.member(server).to_owned());
        let observers = self
            .become_observers
            .iter()
            .map(|server| ensemble.member(*server).replace(":participant", ":observer"));
        let members: Vec<String> = voters.into_iter().chain(observers).collect();
        let change = Reconfiguration::whole(members.iter().map(String::as_str));
        let asked = operator.send(Request::Reconfig(change))?;
        late.wait(down(Kind::Proposal, None), mark, SOON)?;
        for (link, mark) in marks {
            link.wait(up(Kind::Ack, None), mark, SOON)?;
        }
        Ok(asked)
    }

    /// Sends a write, whose proposal is late at the servers that become observers.
    fn write_beside(
        &self,
        ensemble: &Ensemble,
        operator: &mut Session,
        tale: &mut Narration<'_>,
    ) -> Result<Xid, FindingError> {
        let voter = ensemble.link(self.stays, self.leader);
        let mark = voter.mark();
        let marks = self.marks(ensemble);
        for (link, _) in &marks {
            link.hold(Direction::Down, Hold::From(Kind::Proposal));
        }
        let write = operator.send(create(PATH))?;
        voter.wait(down(Kind::Proposal, None), mark, SOON)?;
        tale.say(format!(
            "a reconfiguration is under way: all but {} have acknowledged it; create {PATH} is sent, and is late at {}",
            self.stays,
            listed(self.become_observers)
        ));
        Ok(write)
    }

    /// Returns the links of the servers that become observers, each with its present position.
    fn marks<'e>(&self, ensemble: &'e Ensemble) -> Vec<(&'e Link, Mark)> {
        let links = self.become_observers.iter().map(|it| ensemble.link(*it, self.leader));
        links.map(|link| (link, link.mark())).collect()
    }
}
