//! S17: a server that ends its election has the votes for it (rule 5.3).
//!
//! ZAB also stops a leader whose history misses something, because its learners and its quorum report how far theirs
//! go. So a mistake in an election may not show in what is committed. This property checks each decision against the
//! notifications that the server has read since its election began, and shares no code with the election's state
//! machine. No event shows which server sent which notification, so a sweep records each notification before it is
//! read.

use super::Objection;
use crate::ensemble::Ensemble;
use crate::property::Saw;
use crate::server::disk::Configurations;
use crate::vocabulary::config::{self, Config};
use crate::vocabulary::event::Event;
use crate::vocabulary::hierarchy::Hierarchy;
use crate::vocabulary::id::{ServerId, ServerSet};
use crate::vocabulary::packet::{Notification, PeerState, Vote};
use crate::vocabulary::quorum::{Attached, QuorumVerifier};
use crate::vocabulary::step::Step;
use crate::vocabulary::timer::{ServerTimer, Timer};
use std::collections::BTreeSet;

const NAME: &str = "S17 who is elected has the votes";

/// The notifications that each server has read from others.
#[derive(Clone, Debug)]
pub struct Elections {
    /// For each server, the notifications that it has read since it began to look for a leader, each with its sender.
    read: Vec<Vec<(ServerId, Notification)>>,
    /// For each server, the votes that it has cast, each with its round. Only an observer's decision is judged by them, so they
    /// are empty without observers.
    cast: Vec<BTreeSet<(u32, Vote)>>,
    /// The server that may decide in this step.
    stands: Option<Candidate>,
    /// The server that reads a notification in this step, whether it counts as a vote or not.
    reader: Option<Candidate>,
}

/// The state before a step of a server that looks for a leader.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    server: ServerId,
    /// Its vote for itself.
    own: Vote,
    /// The vote that it sends to others.
    proposal: Vote,
    round: u32,
    /// True if a quorum supports its proposal and it waits for a better vote.
    waits: bool,
    /// The notification that it reads in this step, with the sender.
    reads: Option<(ServerId, Notification)>,
    /// Its configurations: those whose votes and quorums count for it.
    configurations: Configurations,
}

impl Elections {
    /// Returns the state before the first step.
    pub fn new(config: &Config) -> Elections {
        let servers = usize::from(config.servers);
        let cast = vec![BTreeSet::new(); servers];
        Elections { read: vec![Vec::new(); servers], cast, stands: None, reader: None }
    }

    /// Records, before a step, which server can end its election in it, and the notification that the server reads.
    pub fn before(&mut self, step: &Step, ensemble: &Ensemble) {
        self.reader = None;
        self.stands = match step {
            Step::Vote { from, to } => {
                let waits = ensemble.network().waiting_mail(*from, *to);
                self.reader = waits.and_then(|said| candidate(*to, Some((*from, said)), ensemble));
                // Whatever a server sends that does not vote is no vote (rules 5.7.2 and 5.8.7).
                self.reader.filter(|stood| stood.configurations.voters().contains(*from))
            }
            Step::Fire(Timer::Server(server, ServerTimer::Finalize)) => {
                candidate(*server, None, ensemble)
            }
            _ => None,
        };
    }

    /// Judges the elections that the step has ended.
    ///
    /// # Errors
    /// The objection of S17, if a server has decided without the votes.
    pub fn after(&mut self, events: &[Event], config: &Config) -> Result<(), Objection> {
        if let Some(stood) = self.stands
            && let Some(said) = stood.reads
            && !stood.begins_anew(events)
        {
            self.reads(stood, said)?;
        }
        for event in events {
            match event {
                Event::Activated { server, configuration }
                    if self
                        .reader
                        .is_some_and(|stood| stood.has_others(*server, *configuration)) =>
                {
                    self.read[server.index()].clear();
                }
                Event::LeftRole { server, .. }
                | Event::Crashed { server, .. }
                | Event::Restarted { server }
                | Event::Exited { server, .. } => self.read[server.index()].clear(),
                Event::Elected { server, leader, round } if !config.election.is_oracle() => {
                    self.decided(*server, *leader, *round).map_err(|why| {
                        let saw = why.within(|why| {
                            format!("{server} ended its election with {leader} as the leader of round {round}: {why}.")
                        });
                        Objection::new(NAME, saw).about(*server).about(*leader)
                    })?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Records, after a step and before its elections are judged, the votes that servers have cast in it.
    pub fn casts(&mut self, step: &Step, events: &[Event], ensemble: &Ensemble) {
        let config = ensemble.config();
        if config.observers == 0 && !config.options.reconfig_enabled {
            return;
        }
        let reader = match step {
            Step::Vote { to, .. } => Some(*to),
            _ => None,
        };
        let began = events.iter().filter_map(|event| match event {
            Event::LeftRole { server, .. } | Event::Restarted { server } => Some(*server),
            _ => None,
        });
        for server in reader.into_iter().chain(began) {
            if let Some(looking) = ensemble.server(server).filter(|it| it.is_looking()) {
                self.cast[server.index()].insert((looking.round(), looking.proposal()));
            }
        }
    }

    /// Returns true if a quorum has sent votes for its proposal in its round, and each of these servers has cast that vote in
    /// this round, or has decided so.
    fn is_cast(&self, stood: &Candidate) -> bool {
        let Candidate { proposal, round, .. } = *stood;
        let casts = |(from, said): &&(ServerId, Notification)| {
            is_for(said, proposal, round)
                && (said.state != PeerState::Looking
                    || self.cast[from.index()].contains(&(round, proposal)))
        };
        let read = self.read[stood.server.index()].iter().filter(casts);
        let cast = servers(read, Some(stood.server));
        stood.configurations.quorums().contains_quorum(cast)
    }

    /// Records a notification that a looking server reads. While the server waits for a better vote, it drops every
    /// other notification, even one of a later round (rule 5.3.3).
    fn reads(&mut self, stood: Candidate, said: (ServerId, Notification)) -> Result<(), Objection> {
        let Candidate { server, proposal, waits, .. } = stood;
        if waits && !stood.would_take(said.1.vote) {
            return match self.has_quorum(&stood) {
                true => Ok(()),
                false => Err(Objection::new(
                    NAME,
                    format!(
                        "{server} drops the notification of {}, although no quorum supports its {proposal}.",
                        said.0
                    ),
                )
                .about(server)
                .about(said.0)),
            };
        }
        // A vote for a server that does not vote is dropped (rule 5.8.7).
        let is_valid = stood.configurations.voters().contains(said.1.vote.leader);
        let read = &mut self.read[server.index()];
        if is_valid && !read.contains(&said) {
            read.push(said);
        }
        Ok(())
    }

    /// Returns true if a quorum has sent votes for its proposal in its round.
    fn has_quorum(&self, stood: &Candidate) -> bool {
        let same = |said: &&(ServerId, Notification)| is_for(&said.1, stood.proposal, stood.round);
        let agree = self.read[stood.server.index()].iter().filter(same);
        let agree = servers(agree, Some(stood.server));
        stood.configurations.quorums().contains_quorum(agree)
    }

    fn decided(&self, server: ServerId, leader: ServerId, round: u32) -> Result<(), Saw> {
        let Some(stood) = self.stands.filter(|stood| stood.server == server) else {
            return Err("it had neither read a notification nor waited for a better vote".into());
        };
        let read = &self.read[server.index()];
        if stood.round == round && stood.proposal.leader == leader && self.has_quorum(&stood) {
            if !stood.votes() && !self.is_cast(&stood) {
                let why = Saw::from(format!("no quorum has voted so ({})", stood.proposal));
                return Err(why.about(stood.proposal.zxid));
            }
            return match leader != server && stood.is_without_weight(leader) {
                true => Err("a vote for that server has no weight".into()),
                false => largest(&stood, read),
            };
        }
        joins(&stood, read, leader, round)
    }
}

fn candidate(
    server: ServerId,
    reads: Option<(ServerId, Notification)>,
    ensemble: &Ensemble,
) -> Option<Candidate> {
    let looking = ensemble.server(server).filter(|process| process.is_looking())?;
    let round = looking.round();
    let mut configurations = ensemble.disk(server).configurations(server, ensemble.config());
    if let Some((_, Notification { configuration: Attached(Some(next)), .. })) = reads
        && configurations.quorum.is_same(next)
    {
        configurations.take(next);
    }
    let own = match ensemble.config().election {
        _ if looking.observes() => Vote { leader: server, ..Vote::OF_OBSERVER },
        config::Election::ByLot => Vote::by_lot(server, round),
        _ => looking.vote(ensemble.disk(server).current_epoch()),
    };
    let (proposal, waits) = (looking.proposal(), looking.waits_for_better());
    let mut stood = Candidate { server, own, proposal, round, waits, reads, configurations };
    if !stood.votes() || stood.is_without_weight(server) {
        // No server counts it, so it need not be smaller than that of the elected server (rules 5.8.7 and 5.8.11).
        stood.own = Vote::OF_OBSERVER;
    }
    Some(stood)
}

impl Candidate {
    /// Returns true if its committed configuration lets it vote.
    fn votes(&self) -> bool {
        self.configurations.quorum.voters().contains(self.server)
    }

    /// Returns true if its committed configuration has the server in a group, without weight (rule 5.8.11).
    fn is_without_weight(&self, server: ServerId) -> bool {
        let is_without =
            |groups: Hierarchy| groups.group_of(server).is_some() && groups.weight_of(server) == 0;
        self.configurations.quorum.hierarchy().is_some_and(is_without)
    }

    /// Returns true if it must take over this vote in place of its proposal.
    fn would_take(&self, vote: Vote) -> bool {
        is_larger(vote, self.proposal) && !self.is_without_weight(vote.leader)
    }

    /// Returns true if this configuration, which `server` activates, makes the server begin its election anew.
    fn has_others(&self, server: ServerId, next: QuorumVerifier) -> bool {
        server == self.server && !self.configurations.quorum.is_same(next)
    }

    /// Returns true if the step makes the server begin its election anew.
    fn begins_anew(&self, events: &[Event]) -> bool {
        events.iter().any(|event| match event {
            Event::Activated { server, configuration } => self.has_others(*server, *configuration),
            _ => false,
        })
    }
}

/// Returns the senders of these notifications, with one server added.
fn servers<'a>(
    said: impl Iterator<Item = &'a (ServerId, Notification)>,
    and: Option<ServerId>,
) -> ServerSet {
    said.map(|(from, _)| *from).chain(and).collect()
}

fn is_for(said: &Notification, vote: Vote, round: u32) -> bool {
    said.vote == vote && said.round == round
}

/// Fails unless the proposal, which a quorum of this round supports, is the largest vote (rules 5.3.2 and 5.3.3).
fn largest(stood: &Candidate, read: &[(ServerId, Notification)]) -> Result<(), Saw> {
    let Candidate { own, proposal, round, .. } = *stood;
    if is_larger(own, proposal) {
        let saw = Saw::from(format!("its own {own} is larger than the {proposal}"));
        return Err(saw.about(own.zxid).about(own.leader).about(proposal.zxid));
    }
    let of_round = |said: &Notification| said.state == PeerState::Looking && said.round == round;
    let larger = |said: &Notification| of_round(said) && stood.would_take(said.vote);
    match read.iter().find(|(_, said)| larger(said)) {
        Some((from, said)) => {
            let saw = format!("{from} had sent {}, which is larger than the {proposal}", said.vote);
            let saw = Saw::from(saw).about(*from).about(said.vote.leader).about(proposal.leader);
            Err(saw.about(said.vote.zxid).about(proposal.zxid))
        }
        None => Ok(()),
    }
}

/// Compares two votes by epoch, then zxid, then server id (rule 5.1.2), without the election's own code.
fn is_larger(one: Vote, other: Vote) -> bool {
    let key = |vote: Vote| (vote.peer_epoch.0, vote.zxid.0, vote.leader.0);
    key(one) > key(other)
}

/// Fails unless a quorum of servers that have decided names this leader in one epoch, and the leader itself says that
/// it leads (rule 5.3.4). The quorum is of the committed configuration (rule 5.8.7).
fn joins(
    stood: &Candidate,
    read: &[(ServerId, Notification)],
    leader: ServerId,
    round: u32,
) -> Result<(), Saw> {
    let has_quorum = |vote: Vote| {
        let agrees = |said: &Notification| {
            let settled = said.state != PeerState::Looking
                && (said.vote.leader, said.vote.peer_epoch) == (vote.leader, vote.peer_epoch);
            settled || is_for(said, vote, round)
        };
        let own = (stood.proposal == vote && stood.round == round).then_some(stood.server);
        let agree = servers(read.iter().filter(|(_, said)| agrees(said)), own);
        stood.configurations.quorum.contains_quorum(agree)
    };
    let mut settled = read.iter().filter(|(_, said)| {
        said.state != PeerState::Looking && said.vote.leader == leader && said.round == round
    });
    if !settled.any(|(_, said)| has_quorum(said.vote)) {
        return Err("it has read no quorum of votes for this leader".into());
    }
    let leads = |(from, said): &(ServerId, Notification)| {
        *from == leader && said.state == PeerState::Leading && said.vote.leader == leader
    };
    match leader == stood.server {
        true if stood.round == round => Ok(()),
        true => Err(Saw::from(format!("it is in round {} itself", stood.round))),
        false if read.iter().any(leads) => Ok(()),
        false => Err(Saw::from(format!("it has read no LEADING notification from {leader}"))),
    }
}

#[cfg(test)]
mod tests;
