//! Changes of the ensemble's members.

use super::{KEEPER, Lockstep, Stop};
use crate::conform::action::Part;
use crate::conform::pair::Until;
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
        // A client may otherwise receive pending packets or not, depending on timing.
        self.news(true)?;
        self.move_to(KEEPER, leader)?;
        let (number, of_model) = (self.servers.number(server), QuorumVerifier::line);
        let to_real = asked(part, number, |observes| self.servers.line(server, observes));
        let to_model = asked(part, server.0, |observes| of_model(server, observes));
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
        self.connections_end("the change of a server's role")?;
        for each in (0..usize::from(self.servers.count())).map(ServerId::at) {
            self.servers.wait_for_mode(each, self.replica.mode(each))?;
        }
        self.settled()
    }
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
