//! The servers that clients know, and late retransmissions by TCP.
//!
//! * **Connect strings of one server** ([`Fault::OneServer`]): some clients know only one server. A session that
//!   loses its connection re-attaches to that server, which may still have the old connection (rule 2.1.5).
//! * **Late retransmission** ([`Fault::LateRetransmission`]): TCP retransmits a lost segment after a time that
//!   doubles with each attempt, and each direction of each connection has its own clock. So packets held by a cut do
//!   not arrive at the moment when the cut heals: each direction of a connection continues after a delay of its own,
//!   which is at most as long as the packets were held. The end of a broken connection can also reach the server
//!   late. So packets of a new connection can overtake those of an old one, including its end; within one direction
//!   of a connection, no packet overtakes another.
//!
//! The one server that a client knows is never one that the aftermath leaves down or cut off. Both faults end with
//! the chaos; packets that are held at that time arrive within `LONGEST_DELAY`.

use crate::random::{Random, Ratio, Seeds};
use crate::scenario::Scenario;
use crate::scenario::aftermath::Aftermath;
use crate::scenario::faults::{Fault, purpose};
use std::collections::BTreeMap;
use std::fmt;
use vivarium_model::config::Config;
use vivarium_model::effect::Blocker;
use vivarium_model::id::{ClientId, ServerId};
use vivarium_model::step::Step;
use vivarium_model::time::{Duration, Time};

/// The longest delay of a retransmission.
const LONGEST_DELAY: Duration = Duration::from_secs(4);

/// The share of late retransmission among runs with clients that know one server, unless a rate says otherwise: there
/// a session often re-attaches to a server that still has its old connection.
const LATE_WITH_ONE_SERVER: Ratio = Ratio::one_in(2);

/// The clients that know one server in a run, and whether TCP retransmits late.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transport {
    /// The clients that know one server, each with that server.
    pub one_server: BTreeMap<ClientId, ServerId>,
    /// Whether packets held by a cut, and ends of connections, arrive late.
    pub late: bool,
}

impl Transport {
    /// Draws the faults. Each of the two kinds has a random stream of its own.
    pub fn draw(
        scenario: &Scenario,
        config: &Config,
        aftermath: &Aftermath,
        seeds: &Seeds,
    ) -> Transport {
        let faults = scenario.faults;
        let kind = Fault::OneServer;
        let mut random = seeds.stream(&purpose(kind), 0);
        let on = random.chance(faults.rate(kind).share(kind)) && faults.has(kind);
        let one_server = if on { pick(config, aftermath, &mut random) } else { BTreeMap::new() };
        let kind = Fault::LateRetransmission;
        let share = match faults.rate(kind).said_share() {
            None if !one_server.is_empty() => LATE_WITH_ONE_SERVER,
            _ => faults.rate(kind).share(kind),
        };
        let late = seeds.stream(&purpose(kind), 0).chance(share) && faults.has(kind);
        Transport { one_server, late }
    }

    /// Gives the clients their lists of servers.
    pub(crate) fn apply(&self, config: &mut Config) {
        for (client, server) in &self.one_server {
            config.clients[client.index()].servers = vec![*server];
        }
    }

    /// Returns the kinds of faults in this run.
    pub fn kinds(&self) -> impl Iterator<Item = Fault> {
        let one = (!self.one_server.is_empty()).then_some(Fault::OneServer);
        one.into_iter().chain(self.late.then_some(Fault::LateRetransmission))
    }
}

/// Draws the clients that know one server: about half of them, and at least one. The server is one of the client's
/// list that is up at the end.
fn pick(
    config: &Config,
    aftermath: &Aftermath,
    random: &mut Random,
) -> BTreeMap<ClientId, ServerId> {
    let clients = config.clients.len();
    let first = random.below((clients as u64).max(1)) as usize;
    let mut picked = BTreeMap::new();
    for (at, client) in config.clients.iter().enumerate() {
        let is_one = random.chance(Ratio::one_in(2)) || at == first;
        let stays = |server: &ServerId| !aftermath.is_gone(*server);
        let there: Vec<ServerId> = client.servers.iter().copied().filter(stays).collect();
        if let Some(server) = random.choose(&there)
            && is_one
            && client.servers.len() > 1
        {
            picked.insert(ClientId::at(at), server);
        }
    }
    picked
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.one_server.is_empty() {
            let known =
                self.one_server.iter().map(|(client, server)| format!("{client} knows {server}"));
            let known: Vec<String> = known.collect();
            writeln!(f, "fault              {}: {}", Fault::OneServer, known.join(", "))?;
        }
        if self.late {
            let kind = Fault::LateRetransmission;
            writeln!(f, "fault              {kind}: by up to {LONGEST_DELAY:?}")?;
        }
        Ok(())
    }
}

/// Computes when held packets may arrive. The step that delivers the next packet of a direction of a connection names
/// the direction.
#[derive(Clone, Debug)]
pub(crate) struct Retransmissions {
    random: Random,
    /// The directions held by a cut, each with the time since when.
    cut: BTreeMap<Step, (Blocker, Time)>,
    /// The directions that wait for their retransmission, each with its time.
    held: BTreeMap<Step, Time>,
}

impl Retransmissions {
    /// Returns the retransmissions of a run; `None` if none is late.
    pub(crate) fn new(transport: &Transport, seeds: &Seeds) -> Option<Retransmissions> {
        let random = || seeds.stream(&purpose(Fault::LateRetransmission), 1);
        transport.late.then(|| Retransmissions {
            random: random(),
            cut: BTreeMap::new(),
            held: BTreeMap::new(),
        })
    }

    /// Records that a step is blocked.
    pub(crate) fn blocked(&mut self, now: Time, step: Step, blocker: Blocker) {
        if matches!(blocker, Blocker::Cut { .. }) && is_segment(&step) {
            self.cut.entry(step).or_insert((blocker, now));
        }
    }

    /// Handles the end of a blocker: the packets that it held are retransmitted, each direction after a delay of its
    /// own.
    pub(crate) fn unblocked(&mut self, now: Time, blocker: Blocker) {
        let Retransmissions { random, cut, held } = self;
        cut.retain(|step, (by, since)| {
            let goes_on = *by == blocker;
            if goes_on {
                let delay = random.span(Duration::ZERO, now.since(*since).min(LONGEST_DELAY));
                hold(held, *step, now + delay);
            }
            !goes_on
        });
    }

    /// Handles a broken connection of a client: in half of the cases the server learns of it late.
    pub(crate) fn broken(&mut self, now: Time, step: &Step) {
        if let Step::BreakClient { connection, .. } = *step {
            let delay = self.random.span(Duration::ZERO, LONGEST_DELAY);
            if self.random.chance(Ratio::one_in(2)) {
                hold(&mut self.held, Step::ToServer(connection), now + delay);
            }
        }
    }

    /// Returns the time until which a step waits for its retransmission, if it does.
    pub(crate) fn until(&mut self, now: Time, step: &Step) -> Option<Time> {
        let until = *self.held.get(step)?;
        if until > now {
            return Some(until);
        }
        self.held.remove(step);
        None
    }
}

fn hold(held: &mut BTreeMap<Step, Time>, step: Step, until: Time) {
    let entry = held.entry(step).or_insert(until);
    *entry = until.max(*entry);
}

/// Returns true if a step delivers a packet of a TCP connection between two machines.
fn is_segment(step: &Step) -> bool {
    matches!(step, Step::ToServer(_) | Step::ToClient(_) | Step::ToLeader(_) | Step::ToLearner(_))
}

#[cfg(test)]
mod tests;
