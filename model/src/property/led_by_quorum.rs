//! S16: a leader is established by a quorum.
//!
//! A leader that is established has read acknowledgements of its NEWLEADER, in this term as a leader, from other
//! servers that form a quorum together with it (`waitForNewLeaderAck`; rule 6.7.1). A server that reconnects and
//! acknowledges again counts once.
//!
//! With reconfigurations, it is a quorum of the newest configuration that was activated up to the leader's epoch, its own
//! one included (rule 5.8.8).

use super::{Declaration, Declared, LooksBack, Objection};
use crate::minds;
use crate::vocabulary::config::Config;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{ServerId, ServerSet};
use crate::vocabulary::quorum::QuorumVerifier;
use crate::vocabulary::zxid::{Epoch, Zxid};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The monitor of S16.
#[derive(Clone, Debug, Default, Hash)]
pub struct LedByQuorum {
    verifier: QuorumVerifier,
    /// The configurations after the first one that a server has activated, by version.
    activated: BTreeMap<Zxid, QuorumVerifier>,
    /// For each leader that is not established yet, its epoch and the servers that follow it into that epoch.
    followed: BTreeMap<ServerId, (Epoch, ServerSet)>,
}

impl LedByQuorum {
    /// Returns a monitor that knows no leader.
    pub fn new() -> LedByQuorum {
        LedByQuorum::default()
    }
}

impl Declared for LedByQuorum {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "S16 a leader has a quorum",
        LooksBack::Nothing,
        minds! { |this, view, event|
            Event::Followed { leader, learner, epoch } => {
                let (its, followers) = this.followed.entry(*leader).or_default();
                if *its != *epoch {
                    (*its, *followers) = (*epoch, ServerSet::default());
                }
                followers.insert(*learner);
            },
            Event::LeftRole { server, .. } | Event::Crashed { server, .. } => {
                this.followed.remove(server);
            },
            Event::Established { leader, epoch, .. } => this.established(*leader, *epoch),
            Event::Activated { configuration, .. } => {
                this.activated.insert(configuration.version(), *configuration);
            },
        },
    )
    .begin(Self::begin);
}

impl LedByQuorum {
    fn begin(&mut self, config: &Arc<Config>) {
        self.verifier = config.quorum_verifier();
    }

    /// Returns the newest configuration that was activated with a version up to `zxid`.
    fn newest(&self, zxid: Zxid) -> QuorumVerifier {
        self.activated.range(..=zxid).next_back().map_or(self.verifier, |(_, newest)| *newest)
    }

    fn established(&mut self, leader: ServerId, epoch: Epoch) -> Result<(), Objection> {
        let followed = self.followed.remove(&leader).filter(|(its, _)| *its == epoch);
        let quorum = followed.unwrap_or_default().1.with(leader);
        // The voters are unknown before the run begins. The leader has activated its own configuration already.
        let verifier = self.newest(Zxid::new(epoch, u32::MAX));
        let voters = verifier.voters();
        if voters.is_empty() || verifier.contains_quorum(quorum) {
            return Ok(());
        }
        Err(self.objection(format!(
            "{leader} was established as the leader of epoch {epoch} by {} of {} servers.",
            quorum.intersection(voters).len(),
            voters.len()
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::testing::{ONE, THREE, TWO, Trial, z};

    fn five() -> Trial<LedByQuorum> {
        let mut trial = Trial::new(LedByQuorum::new());
        trial.monitor.begin(&Arc::new(Config::new(5, 0)));
        trial
    }

    fn followed(learner: ServerId, epoch: u32) -> Event {
        Event::Followed { leader: ONE, learner, epoch: Epoch(epoch) }
    }

    fn established(epoch: u32) -> Event {
        Event::Established { leader: ONE, epoch: Epoch(epoch), last_zxid: z(0, 0) }
    }

    #[test]
    fn two_followers_are_a_quorum_of_five() {
        let mut trial = five();
        trial.accepts(followed(TWO, 1));
        trial.accepts(followed(THREE, 1));
        trial.accepts(established(1));
    }

    #[test]
    fn one_server_counts_once() {
        let mut trial = five();
        trial.accepts(followed(TWO, 1));
        trial.accepts(followed(TWO, 1));
        assert_eq!(
            trial.objects(established(1)),
            "S16 a leader has a quorum: server 1 was established as the leader of epoch 1 by 2 of 5 servers."
        );
    }

    /// After servers 3, 4 and 5 have become the voters, servers 1 and 2 are no quorum any more. A late leader of the epoch
    /// before is judged by the configuration of its own time.
    #[test]
    fn the_configuration_of_the_epoch_counts() {
        let voters = [3, 4, 5].map(ServerId).into_iter().collect();
        let next = QuorumVerifier::new(z(2, 7), voters, ServerSet::default());
        let activated = Event::Activated { server: THREE, configuration: next };
        let led = |followers: &[u8], epoch: u32| {
            let mut trial = five();
            trial.accepts(activated.clone());
            followers.iter().for_each(|id| trial.accepts(followed(ServerId(*id), epoch)));
            trial
        };
        assert_eq!(
            led(&[2, 3], 3).objects(established(3)),
            "S16 a leader has a quorum: server 1 was established as the leader of epoch 3 by 1 of 3 servers."
        );
        led(&[3, 4], 3).accepts(established(3));
        led(&[2, 3], 1).accepts(established(1));
    }

    #[test]
    fn followers_of_another_stint_do_not_count() {
        let left = Event::LeftRole { server: ONE, reason: "a test" };
        for ends in [vec![left], vec![Event::Crashed { server: ONE, lost: 0 }], Vec::new()] {
            let mut trial = five();
            trial.accepts(followed(TWO, 1));
            ends.into_iter().for_each(|event| trial.accepts(event));
            trial.accepts(followed(THREE, 2));
            trial.objects(established(2));
        }
    }
}
