//! How clients connect, and what TCP does beside keeping packets in order.
//!
//! * **Connect strings of one server** ([`Fault::OneServer`]): some clients know a single server. A session that loses
//!   its connection comes back to that server, which may still have the old connection (rule 2.1.5).
//! * **Late retransmission** ([`Fault::LateRetransmission`]): TCP sends a lost segment again after a time that doubles
//!   with each attempt, and each direction of each connection has a clock of its own. So what a cut has held does
//!   not arrive at the moment at which the cut heals: each direction of a connection goes on after a delay of its
//!   own, up to as long as it was held. The end of a broken connection can reach the server late as well. A new
//!   connection so overtakes what was sent before by an old one, its end included; within one direction of
//!   a connection nothing overtakes.
//!
//! A client that knows one server needs that server: it is never one of those that the aftermath leaves down or cut
//! off. Both faults end with the chaos; what is held then arrives within [`HELD_MOST`].

use crate::scenario::Scenario;
use crate::seeded::aftermath::Aftermath;
use crate::seeded::faults::Fault;
use crate::seeded::plan::purpose;
use crate::seeded::random::{Random, Ratio, Seeds};
use std::collections::BTreeMap;
use std::fmt;
use vivarium_model::config::Config;
use vivarium_model::effect::Blocker;
use vivarium_model::id::{ClientId, ServerId};
use vivarium_model::step::Step;
use vivarium_model::time::{Duration, Time};

/// The longest delay of a retransmission.
const HELD_MOST: Duration = Duration::from_secs(4);

/// The seeds in which some clients know one server, unless a rate says otherwise. In half of these packets are
/// retransmitted late, of the others in one in sixteen.
const ONE_SERVER: Ratio = Ratio::one_in(8);

/// How clients connect in one run, and how late packets are sent again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transport {
    /// The clients that know one server, and which.
    pub one_server: BTreeMap<ClientId, ServerId>,
    /// Whether what was held arrives late.
    pub late: bool,
}

impl Transport {
    /// Draws it. Each of the two kinds has a stream of its own.
    pub fn draw(
        scenario: &Scenario,
        config: &Config,
        aftermath: &Aftermath,
        seeds: &Seeds,
    ) -> Transport {
        let faults = scenario.faults;
        let share = |kind: Fault, usual: Ratio| faults.rate(kind).said_share().unwrap_or(usual);
        let mut random = seeds.stream(&purpose(Fault::OneServer), 0);
        let one =
            random.chance(share(Fault::OneServer, ONE_SERVER)) && faults.has(Fault::OneServer);
        let one_server = if one { pick(config, aftermath, &mut random) } else { BTreeMap::new() };
        let usual = Ratio::one_in(if one_server.is_empty() { 16 } else { 2 });
        let kind = Fault::LateRetransmission;
        let late = seeds.stream(&purpose(kind), 0).chance(share(kind, usual)) && faults.has(kind);
        Transport { one_server, late }
    }

    /// Gives the clients their lists.
    pub(crate) fn apply(&self, config: &mut Config) {
        for (client, server) in &self.one_server {
            config.clients[client.index()].servers = vec![*server];
        }
    }

    /// The kinds of faults that this run has.
    pub fn kinds(&self) -> impl Iterator<Item = Fault> {
        let one = (!self.one_server.is_empty()).then_some(Fault::OneServer);
        one.into_iter().chain(self.late.then_some(Fault::LateRetransmission))
    }

    /// Whether every client knows its list, and packets arrive as links say.
    pub fn is_empty(&self) -> bool {
        self.kinds().next().is_none()
    }
}

/// Every other client, and at least one, knows one server of its list that is there at the end.
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
            writeln!(f, "fault              {kind}: by up to {HELD_MOST:?}")?;
        }
        Ok(())
    }
}

/// Each direction of each connection goes by the step that delivers its next packet: when that may happen again.
#[derive(Clone, Debug)]
pub(crate) struct Retransmissions {
    random: Random,
    /// Directions that a cut holds, and since when.
    cut: BTreeMap<Step, (Blocker, Time)>,
    /// Directions that wait for their retransmission.
    held: BTreeMap<Step, Time>,
}

impl Retransmissions {
    /// Those of a run; `None` if packets arrive as links say.
    pub(crate) fn new(transport: &Transport, seeds: &Seeds) -> Option<Retransmissions> {
        let random = || seeds.stream(&purpose(Fault::LateRetransmission), 1);
        transport.late.then(|| Retransmissions {
            random: random(),
            cut: BTreeMap::new(),
            held: BTreeMap::new(),
        })
    }

    /// A step cannot happen now.
    pub(crate) fn blocked(&mut self, now: Time, step: Step, blocker: Blocker) {
        if matches!(blocker, Blocker::Cut { .. }) && is_segment(&step) {
            self.cut.entry(step).or_insert((blocker, now));
        }
    }

    /// A blocker is gone: what it held is sent again, each direction after a delay of its own.
    pub(crate) fn unblocked(&mut self, now: Time, blocker: Blocker) {
        let Retransmissions { random, cut, held } = self;
        cut.retain(|step, (by, since)| {
            let goes_on = *by == blocker;
            if goes_on {
                let delay = random.span(Duration::ZERO, now.since(*since).min(HELD_MOST));
                hold(held, *step, now + delay);
            }
            !goes_on
        });
    }

    /// A client's connection has broken: in every other case the server learns of that late.
    pub(crate) fn broken(&mut self, now: Time, step: &Step) {
        if let Step::BreakClient { connection, .. } = *step {
            let delay = self.random.span(Duration::ZERO, HELD_MOST);
            if self.random.chance(Ratio::one_in(2)) {
                hold(&mut self.held, Step::ToServer(connection), now + delay);
            }
        }
    }

    /// Until when a step waits for its retransmission, if it does.
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

/// Whether a step delivers what a TCP connection carries between two machines.
fn is_segment(step: &Step) -> bool {
    matches!(step, Step::ToServer(_) | Step::ToClient(_) | Step::ToLeader(_) | Step::ToLearner(_))
}

#[cfg(test)]
mod tests;
