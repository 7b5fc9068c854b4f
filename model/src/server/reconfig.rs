//! Dynamic reconfiguration at one server (rule 5.8): the configurations that it has seen and activated, its own part in
//! them, and the roles that it takes without an election.

use super::Server;
use super::context::{Context, Exit};
use super::database::Database;
use super::disk::Configurations;
use super::election::{Election, TIMERS};
use crate::vocabulary::event::Event;
use crate::vocabulary::id::ServerId;
use crate::vocabulary::packet::Notification;
use crate::vocabulary::quorum::{Attached, QuorumVerifier};
use crate::vocabulary::release::Bug;
use crate::vocabulary::zxid::Zxid;

/// The leader that the activation of a configuration names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Designated {
    pub(super) leader: ServerId,
    /// The zxid of the vote for it.
    pub(super) zxid: Zxid,
}

impl Context<'_> {
    /// Returns the configurations of this server.
    pub(super) fn configurations(&self) -> Configurations {
        self.disk.configurations(self.id, self.config)
    }

    /// Returns the server's committed configuration for a packet, where reconfigurations are enabled.
    pub(super) fn attached_configuration(&self) -> Attached<QuorumVerifier> {
        Attached(self.config.options.reconfig_enabled.then(|| self.configurations().quorum))
    }

    /// Reads the files at a start. Before, the operator lists a server that its files do not list any more, as an observer:
    /// it would not start otherwise (rule 5.8.2).
    pub(super) fn read_configurations(&mut self) {
        if !self.config.options.reconfig_enabled {
            return;
        }
        let written = self.configurations();
        let mut read = written;
        if !read.quorum.has_member(self.id) {
            read.quorum = read.quorum.with_observer(self.id);
        }
        let read = read.after_start(self.config.bugs);
        if read != written {
            self.disk.make_mut().write_configurations(read);
        }
    }

    /// Records a configuration that a leader proposes (`setLastSeenQuorumVerifier`), even an older one: no TRUNC takes one
    /// back, so the next leader's NEWLEADER does (rule 5.8.4).
    pub(super) fn see_configuration(&mut self, seen: QuorumVerifier) {
        let configurations = self.configurations();
        if self.config.options.reconfig_enabled
            && configurations.last_seen.version() != seen.version()
        {
            self.disk.make_mut().write_configurations(configurations.with_last_seen(seen));
        }
    }

    /// Makes a configuration the committed one, unless the server has it or a newer one (`setQuorumVerifier`). Returns the
    /// previous one.
    fn commit_configuration(&mut self, next: QuorumVerifier) -> QuorumVerifier {
        let before = self.configurations();
        let mut after = before;
        after.take(next);
        if after != before {
            self.disk.make_mut().write_configurations(after);
        }
        before.quorum
    }
}

impl Election {
    /// Activates a configuration (`processReconfig`; rule 5.8.5). Returns true if it changes the server's part or its
    /// leader, so that a learner must leave its role. `designated` is the leader that the present leader names;
    /// `restarts` is true if a change of members begins the election's rounds anew.
    pub(super) fn process_reconfig(
        &mut self,
        next: QuorumVerifier,
        designated: Option<Designated>,
        restarts: bool,
        database: &mut Database,
        context: &mut Context<'_>,
    ) -> bool {
        if !context.config.options.reconfig_enabled {
            return false;
        }
        let previous = context.commit_configuration(next);
        database.init_config(context);
        if previous.version() >= next.version() {
            return false;
        }
        let (server, id) = (context.id, context.id);
        context.effects.event(Event::Activated { server, configuration: next });
        if previous.is_same(next) {
            return false;
        }
        if restarts {
            self.restart(context);
        }
        let other_part = self.part.update(id, next);
        let other_leader = match designated {
            Some(designated) => self.update_vote(designated),
            None => {
                let leader = self.current_leader();
                self.part.is_designated = false;
                !previous.voters().contains(leader) || !next.voters().contains(leader)
            }
        };
        other_part || other_leader
    }

    /// Votes for the designated leader, unless the server does already.
    fn update_vote(&mut self, Designated { leader, zxid }: Designated) -> bool {
        let changes = self.current_leader() != leader;
        if changes {
            self.vote_for_designated(leader, zxid);
            self.part.is_designated = true;
        }
        changes
    }
}

impl Server {
    /// Activates the configuration of a notification that a LOOKING server reads, if it is newer than its own. With other
    /// members, the server begins its election anew and drops the notification; returns true then (rule 5.8.7).
    pub(super) fn takes_configuration(
        &mut self,
        notification: &Notification,
        context: &mut Context<'_>,
    ) -> bool {
        let previous = context.configurations().quorum;
        let newer = notification.configuration.0.filter(|it| it.version() > previous.version());
        let leaves = context.config.bugs.has(Bug::PlantedConfigurationLeft);
        let (Some(next), true, false) = (newer, self.is_looking(), leaves) else { return false };
        let observed = self.election.part.observes();
        let Server { election, database, .. } = self;
        let _major = election.process_reconfig(next, None, false, database, context);
        if previous.is_same(next) {
            return false;
        }
        if self.votes_after_unlogged(observed, context)
            && let Err(reason) = self.database.reload(context)
        {
            self.thread.exit = Some(Exit::NotLoaded(reason));
            return true;
        }
        for timer in TIMERS {
            context.disarm(timer);
        }
        let own = self.own_vote(context);
        self.election.restart_looking(own, context);
        self.look(context);
        true
    }
}

impl Database {
    /// Writes the committed configuration into `/zookeeper/config` (`initConfigInZKDatabase`), at whatever zxid the tree
    /// is (rule 5.8.10).
    pub(super) fn init_config(&mut self, context: &Context<'_>) {
        if context.config.options.reconfig_enabled {
            let configuration = context.configurations().quorum;
            self.tree_mut().set_config(configuration, configuration.version(), context.at);
        }
    }
}
