//! S22: servers keep to their protocol.
//!
//! A server reads only packets that the protocol lets another server send where they stand. ZooKeeper's code meets others
//! with an exception, which ends a role, or takes them for something else; no fault of a network and no crash makes
//! it read one. (Properties I-12 and I-14 of Remix.)

use super::{Declaration, Declared, LooksBack};
use crate::minds;
use crate::vocabulary::event::Event;

/// The monitor of S22.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub struct KnownPackets;

impl Declared for KnownPackets {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "S22 servers keep to the protocol",
        LooksBack::Nothing,
        minds! { |this, view, event|
            Event::Unexpected { .. } => Err(this.objection(format!("{event}."))),
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::testing::{TWO, Trial};

    #[test]
    fn a_packet_that_the_protocol_excludes() {
        let mut trial = Trial::new(KnownPackets);
        assert_eq!(
            trial.objects(Event::Unexpected { server: TWO, what: "a COMMIT without a proposal" }),
            "S22 servers keep to the protocol: server 2 reads a COMMIT without a proposal."
        );
    }
}
