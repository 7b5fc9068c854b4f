//! S23: a configuration is activated by quorums of the one before and of its own.
//!
//! The first server that activates a configuration is a leader with quorums of both configurations: of servers that have
//! acknowledged the reconfiguration (rule 5.8.6), or that follow the leader which completes it (rule 5.8.8). So no two
//! configurations can decide independently of each other, and what was committed under one is known to the next.

use super::{Declaration, Declared, LooksBack, Objection};
use crate::minds;
use crate::vocabulary::config::Config;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{ServerId, ServerSet};
use crate::vocabulary::quorum::QuorumVerifier;
use crate::vocabulary::zxid::Zxid;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The monitor of S23.
#[derive(Clone, Debug, Default, Hash)]
pub struct ActivatedByQuorums {
    /// The newest configuration that a server has activated.
    newest: QuorumVerifier,
    /// The servers that have acknowledged each reconfiguration that is proposed and newer.
    acked: BTreeMap<Zxid, ServerSet>,
    /// The servers that follow each leader that is not established yet.
    followed: BTreeMap<ServerId, ServerSet>,
}

impl ActivatedByQuorums {
    /// Returns a monitor that knows no configuration.
    pub fn new() -> ActivatedByQuorums {
        ActivatedByQuorums::default()
    }
}

impl Declared for ActivatedByQuorums {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "S23 a configuration is activated by quorums",
        LooksBack::Nothing,
        minds! { |this, view, event|
            Event::Proposed { txn, .. } if txn.body.reconfigures() => {
                this.acked.insert(txn.zxid, ServerSet::default());
            },
            Event::Acked { server, zxid, .. } => {
                if let Some(acked) = this.acked.get_mut(zxid) {
                    acked.insert(*server);
                }
            },
            Event::Followed { leader, learner, .. } => {
                this.followed.entry(*leader).or_default().insert(*learner);
            },
            Event::LeftRole { server, .. } | Event::Crashed { server, .. } => {
                this.followed.remove(server);
            },
            Event::Established { leader, .. } => {
                this.followed.remove(leader);
            },
            Event::Activated { server, configuration } => this.activated(*server, *configuration),
        },
    )
    .begin(Self::begin);
}

impl ActivatedByQuorums {
    fn begin(&mut self, config: &Arc<Config>) {
        self.newest = config.quorum_verifier();
    }

    fn activated(&mut self, server: ServerId, next: QuorumVerifier) -> Result<(), Objection> {
        let (version, before) = (next.version(), self.newest);
        if version <= before.version() {
            return Ok(());
        }
        self.newest = next;
        let acked = self.acked.get(&version).copied().unwrap_or_default();
        let followed = self.followed.get(&server).copied().unwrap_or_default().with(server);
        self.acked.retain(|zxid, _| *zxid > version);
        let has_both = |servers| before.contains_quorum(servers) && next.contains_quorum(servers);
        if has_both(acked) || has_both(followed) {
            return Ok(());
        }
        let supporters = if acked.is_empty() { followed } else { acked };
        Err(self
            .objection(format!(
                "{server} activates the configuration of {version} ({}) with {supporters}, not with quorums of it and of the one before ({}).",
                next.members(),
                before.members()
            ))
            .about(version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::testing::{ONE, THREE, TWO, Trial, txn, z};
    use crate::vocabulary::txn::TxnBody;
    use crate::vocabulary::zxid::Epoch;

    const FOUR: ServerId = ServerId(4);

    /// Servers 2, 3 and 4, in place of 1, 2 and 3.
    fn next(version: Zxid) -> QuorumVerifier {
        let voters = [TWO, THREE, FOUR].into_iter().collect();
        QuorumVerifier::new(version, voters, ServerSet::default())
    }

    fn three() -> Trial<ActivatedByQuorums> {
        let mut trial = Trial::new(ActivatedByQuorums::new());
        let config = Config { joiners: 1, ..Config::new(4, 0) };
        trial.monitor.begin(&Arc::new(config));
        trial
    }

    fn activated(server: ServerId, configuration: QuorumVerifier) -> Event {
        Event::Activated { server, configuration }
    }

    /// After its proposal by server 1, these servers acknowledge the reconfiguration, and server 1 activates it.
    fn acknowledged_by(servers: &[ServerId]) -> (Trial<ActivatedByQuorums>, Event) {
        let (mut trial, zxid) = (three(), z(1, 5));
        let txn = txn(zxid, 1, TxnBody::Reconfig(next(zxid)));
        trial.accepts(Event::Proposed { leader: ONE, txn });
        for server in servers {
            trial.accepts(Event::Acked { server: *server, zxid, durable: zxid });
        }
        (trial, activated(ONE, next(zxid)))
    }

    #[test]
    fn quorums_of_both_configurations_acknowledge() {
        for servers in [&[TWO, THREE][..], &[ONE, TWO, FOUR], &[ONE, THREE, FOUR]] {
            let (mut trial, activation) = acknowledged_by(servers);
            trial.accepts(activation);
            // Every other server follows.
            trial.accepts(activated(FOUR, next(z(1, 5))));
        }
    }

    #[test]
    fn one_of_the_quorums_is_missing() {
        for servers in [&[ONE, TWO][..], &[TWO, FOUR], &[]] {
            let (mut trial, activation) = acknowledged_by(servers);
            trial.objects(activation);
        }
        let (mut trial, activation) = acknowledged_by(&[ONE, TWO]);
        assert_eq!(
            trial.objects(activation),
            "S23 a configuration is activated by quorums: server 1 activates the configuration of 1:5 \
             (servers 2 and 3 and 4) with servers 1 and 2, not with quorums of it and of the one before \
             (servers 1 and 2 and 3)."
        );
    }

    /// A new leader completes what it has seen, with those that follow it into its epoch.
    #[test]
    fn a_new_leader_completes_a_reconfiguration() {
        let completes = |followers: &[ServerId]| {
            let mut trial = three();
            for learner in followers {
                let (leader, learner, epoch) = (TWO, *learner, Epoch(2));
                trial.accepts(Event::Followed { leader, learner, epoch });
            }
            trial
        };
        completes(&[THREE]).accepts(activated(TWO, next(z(1, 5))));
        completes(&[ONE, FOUR]).accepts(activated(TWO, next(z(1, 5))));
        completes(&[]).objects(activated(TWO, next(z(1, 5))));
        completes(&[ONE]).objects(activated(TWO, next(z(1, 5))));
        completes(&[FOUR]).objects(activated(TWO, next(z(1, 5))));
        let mut alone = Trial::new(ActivatedByQuorums::new());
        alone.monitor.begin(&Arc::new(Config::new(1, 0)));
        alone.accepts(activated(ONE, QuorumVerifier::majority(1).with_version(z(1, 0))));
        let mut left = completes(&[THREE]);
        left.accepts(Event::LeftRole { server: TWO, reason: "a test" });
        left.objects(activated(TWO, next(z(1, 5))));
    }
}
