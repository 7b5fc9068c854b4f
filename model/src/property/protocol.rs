//! H13: servers keep to the client protocol.
//!
//! A client machine that reads a reply to a request that it has not sent hangs up, as ZooKeeper's does, and
//! reconnects; its program only observes a lost connection. So a server that mixes up its replies does no lasting
//! harm, and no other property detects it. No fault of a network and no crash makes a client read such a packet.
//!
//! (A packet that a server cannot interpret fails an assertion of the model.)

use super::{Declaration, Declared, LooksBack};
use crate::minds;
use crate::vocabulary::error::Error;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::Xid;
use crate::vocabulary::packet::ServerPacket;

/// The monitor of H13.
#[derive(Clone, Debug, Default, Hash)]
pub struct Protocol;

/// Returns true if the packet is how a read-only server refuses a new session: it is not a ConnectResponse (rule
/// 2.7.2).
fn is_refusal(packet: &ServerPacket) -> bool {
    matches!(packet, ServerPacket::Reply { xid: Xid(0), result: Err(Error::NotReadOnly), .. })
}

impl Declared for Protocol {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "H13 servers keep to the protocol",
        LooksBack::Nothing,
        minds! { |this, view, event|
            Event::Mismatched { packet, .. } if !is_refusal(packet) => Err(this.objection(format!("{event}."))),
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::testing::{CLIENT, CONNECTION, SESSION, Trial, z};

    fn mismatched(packet: ServerPacket, awaited: Option<u32>) -> Event {
        let (client, session, connection) = (CLIENT, Some(SESSION), CONNECTION);
        Event::Mismatched { client, session, connection, packet, awaited: awaited.map(Xid) }
    }

    fn reply(xid: u32, error: Error) -> ServerPacket {
        ServerPacket::Reply { xid: Xid(xid), zxid: z(1, 1), result: Err(error) }
    }

    #[test]
    fn an_answer_that_nobody_waits_for() {
        let mut trial = Trial::new(Protocol);
        let saw = trial.objects(mismatched(reply(4, Error::NoNode), Some(3)));
        assert!(saw.contains("where xid 3 is due"), "{saw}");
        trial.objects(mismatched(reply(4, Error::NoNode), None));
        trial.objects(mismatched(ServerPacket::Expired, Some(3)));
    }

    #[test]
    fn a_read_only_server_may_refuse_a_session_like_this() {
        let mut trial = Trial::new(Protocol);
        trial.accepts(mismatched(reply(0, Error::NotReadOnly), None));
        trial.objects(mismatched(reply(0, Error::NoNode), None));
        trial.objects(mismatched(reply(1, Error::NotReadOnly), None));
    }
}
