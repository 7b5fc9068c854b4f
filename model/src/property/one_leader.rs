//! S1: one leader per epoch.
//!
//! An epoch never has more than one established leader. A leader that has died since counts, and not even the same
//! server may be established twice (`Leadership2` of the TLA+ specifications).

use super::{Declaration, Declared, LooksBack};
use crate::minds;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::ServerId;
use crate::vocabulary::zxid::Epoch;
use std::collections::BTreeMap;

/// The monitor of S1.
#[derive(Clone, Debug, Default, Hash)]
pub struct OneLeader {
    established: BTreeMap<Epoch, ServerId>,
}

impl OneLeader {
    /// Returns a monitor that knows no leader.
    pub fn new() -> OneLeader {
        OneLeader::default()
    }
}

impl Declared for OneLeader {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "S1 one leader per epoch",
        LooksBack::Tip,
        minds! { |this, view, event|
            Event::Established { leader, epoch, .. } => match this.established.insert(*epoch, *leader) {
                None => Ok(()),
                Some(first) if first == *leader => Err(this.objection(format!(
                    "{leader} was established as the leader of epoch {epoch} a second time."
                ))),
                Some(first) => {
                    let saw = format!(
                        "{leader} was established as the leader of epoch {epoch}, whose leader had been {first}."
                    );
                    Err(this.objection(saw).about(first))
                },
            },
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::testing::{ONE, TWO, Trial, z};

    fn established(leader: ServerId, epoch: u32) -> Event {
        Event::Established { leader, epoch: Epoch(epoch), last_zxid: z(0, 0) }
    }

    #[test]
    fn two_servers_in_one_epoch() {
        let mut trial = Trial::new(OneLeader::new());
        trial.accepts(established(ONE, 1));
        assert_eq!(
            trial.objects(established(TWO, 1)),
            "S1 one leader per epoch: server 2 was established as the leader of epoch 1, whose \
             leader had been server 1."
        );
    }

    #[test]
    fn one_server_twice_in_one_epoch() {
        let mut trial = Trial::new(OneLeader::new());
        trial.accepts(established(ONE, 1));
        assert_eq!(
            trial.objects(established(ONE, 1)),
            "S1 one leader per epoch: server 1 was established as the leader of epoch 1 a second \
             time."
        );
    }

    /// A leader can read the last acknowledgement of an old NEWLEADER after a newer epoch has begun.
    #[test]
    fn a_late_leader_of_an_older_epoch_is_legal() {
        let mut trial = Trial::new(OneLeader::new());
        trial.accepts(established(TWO, 2));
        trial.accepts(established(ONE, 1));
        trial.accepts(established(ONE, 3));
    }
}
