//! Changes of the ensemble's members.

use super::{KEEPER, Lockstep, Stop};
use crate::conform::action::Part;
use crate::conform::pair::Until;
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::id::{ServerId, Xid};
use vivarium_model::op::Request;
use vivarium_model::packet::ClientPacket;
use vivarium_model::quorum::QuorumVerifier;
use vivarium_model::reconfiguration::Reconfiguration;

impl Lockstep {
    /// Lets the superuser, connected to the leader, give another server this part in the configuration. Clients of a server
    /// whose role changes lose their connections.
    ///
    /// Nothing happens if the server leads or any server is down, or if the real leader is not the model's: then the two
    /// would not mean the same server.
    pub(super) fn reconfigure(&mut self, server: ServerId, part: Part) -> Result<(), Stop> {
        let Some(leader) = self.replica.leader() else { return Ok(()) };
        if server == leader || self.servers.down().is_some() || !self.agree_on_leader() {
            return Ok(());
        }
        let (number, of_model) = (self.servers.number(server), QuorumVerifier::line);
        let to_real = asked(part, number, |observes| self.servers.line(server, observes));
        let to_model = asked(part, server.0, |observes| of_model(server, observes));
        self.ask_leader(leader, to_real, to_model, "the change of a server's role")
    }

    /// Lets the superuser, connected to the leader, give the voters these groups and weights, by their index; without any,
    /// a majority is a quorum.
    ///
    /// Nothing happens if any server is down, or if the real leader is not the model's.
    pub(super) fn regroup(&mut self, places: &[(u8, u8)]) -> Result<(), Stop> {
        let Some(leader) = self.replica.leader() else { return Ok(()) };
        if self.servers.down().is_some() || !self.agree_on_leader() {
            return Ok(());
        }
        let present = self.replica.configuration();
        let servers = &self.servers;
        let to_real = grouped(
            present,
            places,
            |server| servers.number(server),
            |server, observes| servers.line(server, observes),
        );
        let to_model = grouped(present, places, |server| server.0, QuorumVerifier::line);
        self.ask_leader(leader, to_real, to_model, "the change of the groups")
    }

    /// Sends the leaders the same request, each in its own words, and compares what follows.
    fn ask_leader(
        &mut self,
        leader: ServerId,
        to_real: Reconfiguration,
        to_model: Reconfiguration,
        occasion: &str,
    ) -> Result<(), Stop> {
        // A client may otherwise receive pending packets or not, depending on timing.
        self.news(true)?;
        self.move_to(KEEPER, leader)?;
        let place = &mut self.places[usize::from(KEEPER.0)];
        place.next_xid += 1;
        let xid = Xid(place.next_xid);
        let packet =
            |asked| ClientPacket::Request { xid, request: Arc::new(Request::Reconfig(asked)) };
        let link = place.link.as_mut().expect("it was just connected");
        link.send_each(&mut self.replica, (packet(to_real), packet(to_model)))?;
        let both = link.listen(&mut self.replica, Until::Reply(xid), &self.bases)?;
        self.tally.heard(&both);
        self.compare(KEEPER, "reconfig", &both, false)?;
        self.connections_end(occasion)?;
        for each in (0..usize::from(self.servers.count())).map(ServerId::at) {
            self.servers.wait_for_mode(each, self.replica.mode(each))?;
        }
        self.settled()
    }
}

/// Returns the change to a whole configuration with the present members and these groups and weights. `number` and `line`
/// return a server as the configuration lists it.
fn grouped(
    present: QuorumVerifier,
    places: &[(u8, u8)],
    number: impl Fn(ServerId) -> u8,
    line: impl Fn(ServerId, bool) -> String,
) -> Reconfiguration {
    let voters = present.voters();
    let mut lines: Vec<String> = voters.iter().map(|server| line(server, false)).collect();
    lines.extend(present.observers().iter().map(|server| line(server, true)));
    let mut groups: BTreeMap<u8, Vec<String>> = BTreeMap::new();
    for server in voters.iter() {
        if let Some((group, weight)) = places.get(server.index()) {
            groups.entry(*group).or_default().push(number(server).to_string());
            lines.push(format!("weight.{}={weight}", number(server)));
        }
    }
    lines.extend(groups.iter().map(|(group, all)| format!("group.{group}={}", all.join(":"))));
    Reconfiguration::whole(lines.iter().map(String::as_str))
}

/// Returns the change that gives a server this part. `line` returns the server as the configuration lists it.
fn asked(part: Part, number: u8, line: impl Fn(bool) -> String) -> Reconfiguration {
    match part {
        Part::None => Reconfiguration::incremental([], [number]),
        Part::Participant | Part::Observer => {
            Reconfiguration::incremental([&*line(part == Part::Observer)], [])
        }
    }
}
