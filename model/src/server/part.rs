//! A process's own part in the configurations (rule 5.8.5): whether it votes or observes, and whether a reconfiguration has
//! designated its next role.

use super::disk::Configurations;
use crate::vocabulary::config::Config;
use crate::vocabulary::id::ServerId;
use crate::vocabulary::quorum::QuorumVerifier;
use std::hash::{Hash, Hasher};

/// What a server learns or votes as (`LearnerType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum LearnerType {
    /// A voter, or a server that no configuration names.
    Participant,
    /// An observer.
    Observer,
}

/// A process's own part in the configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) learner_type: LearnerType,
    /// `reconfigFlag`: the server takes its next role without an election, by its present vote.
    pub(super) is_designated: bool,
    /// The part never changes where no reconfiguration is possible.
    is_fixed: bool,
}

impl Hash for Part {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if !self.is_fixed {
            (self.learner_type, self.is_designated).hash(state);
        }
    }
}

impl Part {
    /// Returns the part of a process that starts with these files.
    pub(super) fn at_start(
        server: ServerId,
        configurations: Configurations,
        config: &Config,
    ) -> Part {
        let learner_type = match configurations.quorum.voters().contains(server) {
            true => LearnerType::Participant,
            false => LearnerType::Observer,
        };
        let is_fixed = !config.options.reconfig_enabled;
        Part { learner_type, is_designated: false, is_fixed }
    }

    /// Returns true if the process observes, or would.
    pub(super) fn observes(self) -> bool {
        self.learner_type == LearnerType::Observer
    }

    /// Takes the part that a configuration gives the server (`updateLearnerType`); without a place in it, the server is a
    /// participant without a vote. Returns true if the part is another one.
    pub(super) fn update(&mut self, server: ServerId, configuration: QuorumVerifier) -> bool {
        let next = match configuration.observers().contains(server) {
            true => LearnerType::Observer,
            false => LearnerType::Participant,
        };
        let changes = self.learner_type != next;
        self.learner_type = next;
        self.is_designated |= changes;
        changes
    }
}
