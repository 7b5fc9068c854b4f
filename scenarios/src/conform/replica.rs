//! The model's side of the comparison: an ensemble without programs, driven until nothing is due.
//!
//! Everything here happens in the order in which it becomes due, so an answer is there when
//! [`Replica::settle`] returns. No timer fires but those that are asked for: time passes only as the
//! comparison says.

use std::collections::VecDeque;
use std::sync::Arc;
use vivarium_model::config::{Config, Election, ServerOptions};
use vivarium_model::effect::{Effect, Effects, Status};
use vivarium_model::ensemble::Ensemble;
use vivarium_model::id::{ClientConnection, ClientId, ServerId, ServerSet, SessionId};
use vivarium_model::network::Delivered;
use vivarium_model::packet::{ClientPacket, ServerPacket};
use vivarium_model::release::Bugs;
use vivarium_model::step::{Step, Tail};
use vivarium_model::time::{Duration, Time};
use vivarium_model::timer::{ServerTimer, Timer};
use vivarium_model::tree::DataTree;

/// Virtual time between two packets: every transaction has a time of its own.
const PACE: Duration = Duration::from_millis(10);

/// A modelled ensemble with clients that speak the protocol themselves.
#[derive(Debug)]
pub struct Replica {
    ensemble: Ensemble,
    due: VecDeque<Step>,
    now: Time,
}

impl Replica {
    /// Servers that have elected the last of them, with places for so many clients.
    pub fn new(servers: u8, clients: u8, bugs: Bugs, options: ServerOptions) -> Replica {
        let mut config = Config::new(servers, clients);
        config.bugs = bugs;
        config.options = options;
        config.election = Election::Oracle;
        let mut replica = Replica {
            ensemble: Ensemble::new(Arc::new(config)),
            due: VecDeque::new(),
            now: PACE_START,
        };
        for server in 1..=servers {
            replica.take(Step::Restart(ServerId(server)));
        }
        replica.settle();
        replica.elect();
        replica
    }

    /// The server that leads.
    pub fn leader(&self) -> Option<ServerId> {
        self.ensemble.leader()
    }

    /// The leader's tree.
    pub fn tree(&self) -> &DataTree {
        let leader = self.leader().expect("the replica has a leader");
        self.ensemble.server(leader).expect("a leader is up").tree()
    }

    /// Opens a connection.
    pub fn open(&mut self, place: u8, server: ServerId) -> ClientConnection {
        self.ensemble.open_raw(ClientId::at(usize::from(place)), server)
    }

    /// Sends a packet and waits until all is done that it causes.
    pub fn send(&mut self, connection: ClientConnection, packet: ClientPacket) {
        self.now = self.now + PACE;
        let mut effects = Effects::default();
        self.ensemble.send_raw(connection, packet, &mut effects);
        self.note(effects);
        self.settle();
    }

    /// The next packet of a connection, or its end.
    pub fn receive(&mut self, connection: ClientConnection) -> Option<Delivered<ServerPacket>> {
        self.ensemble.receive_raw(connection)
    }

    /// Whether there is a packet to receive, or the end of the connection.
    pub fn has_packet(&self, connection: ClientConnection) -> bool {
        self.ensemble.has_news_raw(connection)
    }

    /// Closes a connection without a word.
    pub fn close(&mut self, connection: ClientConnection) {
        let mut effects = Effects::default();
        self.ensemble.close_raw(connection, &mut effects);
        self.note(effects);
        self.settle();
    }

    /// A session's time is up.
    pub fn expire(&mut self, session: SessionId) {
        self.now = self.now + PACE;
        self.take(Step::Expire(session));
        self.settle();
    }

    /// Time passes, and the leader looks for containers and TTL znodes to delete.
    pub fn check_containers(&mut self, after: Duration) {
        self.now = self.now + after;
        if let Some(leader) = self.ensemble.leader() {
            let fire = |timer| Step::Fire(Timer::Server(leader, timer));
            self.take(fire(ServerTimer::Containers));
            self.settle();
            while self.ensemble.can(&fire(ServerTimer::DeleteContainer)) {
                self.take(fire(ServerTimer::DeleteContainer));
                self.settle();
            }
        }
    }

    /// A server is killed; what it has logged it keeps.
    pub fn crash(&mut self, server: ServerId) {
        let everything = Tail { survive: u8::MAX, snapshots: true, packets: u8::MAX, ..Tail::LOST };
        self.take(Step::Crash { server, tail: everything });
        self.settle();
        self.elect();
    }

    /// A killed server starts again.
    pub fn restart(&mut self, server: ServerId) {
        self.take(Step::Restart(server));
        self.settle();
        self.elect();
    }

    /// Who looks for a leader finds one: the present one, or the best of those who look.
    fn elect(&mut self) {
        loop {
            let looking = self.ensemble.looking();
            if looking.is_empty() {
                return;
            }
            let steps: Vec<Step> = match self.ensemble.leader() {
                Some(leader) => looking.iter().map(|one| joins(leader, one)).collect(),
                None => looking
                    .iter()
                    .map(|leader| {
                        let followers = looking.iter().filter(|other| *other != leader);
                        Step::Elect { leader, followers: followers.collect::<ServerSet>() }
                    })
                    .collect(),
            };
            let done = steps.into_iter().any(|step| self.take(step));
            self.settle();
            if !done {
                return;
            }
        }
    }

    /// Does all that is due, but what clients read.
    fn settle(&mut self) {
        let mut blocked = 0;
        while let Some(step) = self.due.pop_front() {
            if matches!(step, Step::ToClient(_)) {
                continue;
            }
            let mut effects = Effects::default();
            let status = self.ensemble.apply(self.now, &step, &mut effects);
            self.note(effects);
            match status {
                Status::Blocked(_) => {
                    self.due.push_back(step);
                    blocked += 1;
                    assert!(blocked < 10_000, "{step} stays blocked");
                }
                Status::Done | Status::NotEnabled => blocked = 0,
            }
        }
    }

    fn take(&mut self, step: Step) -> bool {
        let mut effects = Effects::default();
        let status = self.ensemble.apply(self.now, &step, &mut effects);
        self.note(effects);
        status == Status::Done
    }

    fn note(&mut self, effects: Effects) {
        let due = effects.effects.into_iter().filter_map(|effect| match effect {
            Effect::Due(step) => Some(step),
            _ => None,
        });
        self.due.extend(due);
    }
}

/// No znode but the first ones has time 0.
const PACE_START: Time = Time(1_000_000);

fn joins(leader: ServerId, follower: ServerId) -> Step {
    Step::Elect { leader, followers: [follower].into_iter().collect() }
}
