//! A reconfiguration of three servers and two that are to join, which is not committed before its leader fails.

use super::addresses::Members;
use super::ensemble::{Ensemble, SOON, listed};
use super::error::FindingError;
use super::link::{Direction, Hold, Link, down};
use super::narration::Narration;
use super::quorum::Kind;
use super::session::{PATIENCE, Session};
use crate::conform::Installation;
use vivarium_model::id::{ServerId, Xid};
use vivarium_model::op::Request;
use vivarium_model::reconfiguration::Reconfiguration;

/// Servers 4 and 5, which the first configuration does not list.
pub(super) const JOINERS: [ServerId; 2] = [ServerId(4), ServerId(5)];

const MEMBERS: Members = Members { voters: 3, observers: 0, joiners: 2 };

/// An ensemble of servers 1 to 3 in which a reconfiguration to the leader and the joiners can be asked.
pub(super) struct Pending {
    pub(super) ensemble: Ensemble,
    /// The leader of the first configuration.
    pub(super) leader: ServerId,
    /// Its followers there.
    pub(super) followers: Vec<ServerId>,
    operator: Session,
}

impl Pending {
    /// Starts servers 1 to 3 and these joiners, and begins the operator's session.
    pub(super) fn start(
        installation: &Installation,
        joiners: &[ServerId],
        tale: &mut Narration<'_>,
    ) -> Result<Pending, FindingError> {
        let mut ensemble = Ensemble::reconfigurable(installation, MEMBERS)?;
        let voters = ensemble.all()[..3].to_vec();
        ensemble.start(&voters)?;
        let leader = ensemble.serving(&voters)?;
        ensemble.start(joiners)?;
        ensemble.serving(&[joiners, &[leader]].concat())?;
        tale.say(format!(
            "servers 1, 2 and 3 are the configuration, and {leader} leads; {} joined them without a vote",
            listed(joiners),
        ));
        let followers = voters.into_iter().filter(|voter| *voter != leader).collect();
        let mut operator = ensemble.session(leader)?;
        operator.create("/before")?;
        Ok(Pending { ensemble, leader, followers, operator })
    }

    /// The servers of the configuration that is asked for.
    pub(super) fn next(&self) -> [ServerId; 3] {
        let [one, other] = JOINERS;
        [self.leader, one, other]
    }

    /// Lets no more proposals reach the followers, and asks for the reconfiguration.
    pub(super) fn ask(&mut self, tale: &mut Narration<'_>) -> Result<(), FindingError> {
        self.send(Kind::Proposal)?;
        tale.say(format!(
            "an operator asks for the configuration of {}; the proposal is late at {}, so it is not committed",
            listed(&self.next()),
            listed(&self.followers)
        ));
        Ok(())
    }

    /// Asks for the reconfiguration, and commits it while the followers do not hear so.
    pub(super) fn commits(&mut self, tale: &mut Narration<'_>) -> Result<(), FindingError> {
        let asked = self.send(Kind::CommitAndActivate)?;
        let answer = self.operator.answer(asked, PATIENCE)?;
        tale.say(format!(
            "an operator asks for the configuration of {}: {}; the commit is late at {}",
            listed(&self.next()),
            answer.map_or("no answer".to_owned(), |answer| answer.words()),
            listed(&self.followers)
        ));
        Ok(())
    }

    /// Holds packets of this kind, and all later ones, to the followers, and sends the request. Returns when the joiners
    /// that run have its proposal.
    fn send(&mut self, held: Kind) -> Result<Xid, FindingError> {
        let (ensemble, leader) = (&self.ensemble, self.leader);
        for follower in &self.followers {
            ensemble.link(*follower, leader).hold(Direction::Down, Hold::From(held));
        }
        let links = JOINERS.map(|joiner| ensemble.link(joiner, leader));
        let marks = links.map(Link::mark);
        let members = self.next().map(|server| ensemble.member(server));
        let xid = self.operator.send(Request::Reconfig(Reconfiguration::whole(members)))?;
        for (link, mark) in links.into_iter().zip(marks) {
            if ensemble.mode(link.learner()).is_some() {
                link.wait(down(Kind::Proposal, None), mark, SOON)?;
            }
        }
        Ok(xid)
    }

    /// Kills the leader, and waits until its followers serve. Returns their leader.
    pub(super) fn leader_fails(
        &mut self,
        tale: &mut Narration<'_>,
    ) -> Result<ServerId, FindingError> {
        self.ensemble.crash(&[self.leader]);
        let next = self.ensemble.serving(&self.followers)?;
        tale.say(format!(
            "{} is killed; {} serve, and {next} leads them",
            self.leader,
            listed(&self.followers)
        ));
        Ok(next)
    }
}
