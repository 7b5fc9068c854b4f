//! The oracle's election (see [`crate::server::oracle`]): which servers can be elected, and the treatment of
//! connections that no longer matter.

use super::Ensemble;
use crate::server::disk::Disk;
use crate::server::{Role, Server};
use crate::vocabulary::effect::Effects;
use crate::vocabulary::fingerprint::Tracked;
use crate::vocabulary::id::{LearnerConnection, ServerId, ServerSet};
use crate::vocabulary::packet::Vote;
use crate::vocabulary::quorum::{QuorumVerifier, Quorums};
use crate::vocabulary::release::Bug;
use crate::vocabulary::step::Step;
use crate::vocabulary::time::Time;
use crate::vocabulary::timer::Timer;

impl Ensemble {
    /// Returns the reconfiguration that a leader can propose in a search: the first voter leaves, and the first server that was
    /// to join votes.
    pub fn reconfiguration_by(&self, leader: ServerId) -> Option<Step> {
        let config = self.config();
        let present = self.disk(leader).configurations(leader, config).quorum;
        let mut joiners = config.server_ids().filter(|id| id.0 > config.first_members());
        let joins = joiners.find(|id| !present.has_member(*id))?;
        let leaves = present.voters().iter().next()?;
        let step = Step::Reconfigure { leader, joins, leaves };
        self.can(&step).then_some(step)
    }

    /// Returns the servers that are up and LOOKING.
    pub fn looking(&self) -> ServerSet {
        let looking = |id: &ServerId| self.server(*id).is_some_and(Server::is_looking);
        self.config().server_ids().filter(looking).collect()
    }

    /// Returns a server's vote for itself, if it is up.
    pub fn vote_of(&self, server: ServerId) -> Option<Vote> {
        self.server(server).map(|process| process.vote(self.disk(server).current_epoch()))
    }

    /// Returns a leader and the learners connected to it, from the leader's point of view: a learner that has
    /// disconnected counts until the leader has read the end of its connection.
    pub(crate) fn supporters(&self, leader: ServerId) -> ServerSet {
        self.network.supporters_of(leader).with(leader)
    }

    /// Returns the server that takes this step, for steps of a single server.
    pub fn taker(&self, step: &Step) -> Option<ServerId> {
        match *step {
            Step::ToLeader(connection) | Step::Stream(connection) => self.leader_of(connection),
            Step::ToLearner(connection) => Some(connection.learner),
            Step::Vote { to, .. } => Some(to),
            Step::Append(server)
            | Step::Fsync(server)
            | Step::Apply(server)
            | Step::MissWakeUp(server)
            | Step::ApplyRest(server)
            | Step::Write(server)
            | Step::Snapshot(server)
            | Step::Crash { server, .. }
            | Step::FsyncError { server, .. }
            | Step::Restart(server)
            | Step::Rejoin(server)
            | Step::Propose(server)
            | Step::Reconfigure { leader: server, .. }
            | Step::Fire(Timer::Server(server, _)) => Some(server),
            _ => None,
        }
    }

    /// Returns a server's disk, to detect later changes.
    pub fn shared_disk(&self, server: ServerId) -> Tracked<Disk> {
        self.servers[server.index()].disk.clone()
    }

    /// Returns true if a server's disk has changed since `before`.
    pub fn has_written(&self, server: ServerId, before: &Tracked<Disk>) -> bool {
        !self.servers[server.index()].disk.shares(before)
    }

    /// Returns the connections between learners and leaders that can still break.
    pub fn breakable_connections(&self) -> impl Iterator<Item = LearnerConnection> {
        self.network.breakable()
    }

    /// Returns the largest number of packets in flight from a server's process on one of its connections with other
    /// servers.
    pub fn most_under_way(&self, server: ServerId) -> u8 {
        let own = self.learner_connection(server).into_iter();
        let own = own.map(|connection| self.network.under_way_learner(connection).0);
        let learners = self.network.learners_of(server).into_iter();
        let learners = learners.map(|connection| self.network.under_way_learner(connection).1);
        own.chain(learners).max().unwrap_or(0) as u8
    }

    /// Returns true if a server leads, or tries to.
    pub fn is_leading(&self, server: ServerId) -> bool {
        self.server(server).is_some_and(|process| matches!(process.role(), Role::Leading(_)))
    }

    /// Returns true if a LOOKING server would learn that this server leads: a quorum says so. Where reconfigurations are
    /// enabled it depends on the LOOKING server, too.
    pub fn can_be_joined(&self, leader: ServerId) -> bool {
        self.is_leading(leader) && self.has_quorum(leader)
    }

    /// Whether a leader's supporters are a quorum with itself, of every configuration that it knows.
    pub fn has_quorum(&self, leader: ServerId) -> bool {
        let configurations = self.disk(leader).configurations(leader, self.config());
        configurations.quorums().contains_quorum(self.supporters(leader))
    }

    /// Returns true for a leader that must have noticed that it misses a quorum. An established one counts no observer towards it
    /// (rule 6.7.3; see [`Bug::UncommittedConfigActivated`]).
    pub fn misses_quorum(&self, leader: ServerId) -> bool {
        let Some(Role::Leading(leading)) = self.server(leader).map(Server::role) else {
            return false;
        };
        let all =
            !leading.is_established() || self.config().bugs.has(Bug::UncommittedConfigActivated);
        let not_counted = if all { ServerSet::default() } else { leading.observers() };
        let configurations = self.disk(leader).configurations(leader, self.config());
        let counted = self.supporters(leader).difference(not_counted);
        !configurations.quorums().contains_quorum(counted)
    }

    /// Returns true if this LOOKING server would learn that the other one leads: a quorum says so, of the configurations that
    /// count for it once it has read the newest in their votes (rules 5.3.4 and 5.8.7).
    pub(super) fn may_join(&self, leader: ServerId, joiner: ServerId) -> bool {
        let supporters = self.supporters(leader);
        let quorums =
            self.quorums_after(joiner, self.newest_configuration(supporters.with(joiner)));
        let quorums = match self.config().bugs.has(Bug::UncommittedConfigKeepsOut) {
            true => quorums,
            false => Quorums::of(quorums.committed),
        };
        self.is_leading(leader) && quorums.contains_quorum(supporters)
    }

    /// Returns true if a LOOKING server takes over the elected server's vote once it has read this configuration (rule 5.8.7;
    /// see [`Bug::JoinerKeepsVote`]).
    pub(super) fn takes_over(
        &self,
        follower: ServerId,
        leader: ServerId,
        read: QuorumVerifier,
    ) -> bool {
        let mut configurations = self.disk(follower).configurations(follower, self.config());
        let reads = read.version() > configurations.quorum.version();
        configurations.take(read);
        let observes = match reads {
            true => read.observers().contains(follower),
            false => self.server(follower).is_some_and(Server::observes),
        };
        let history = |id| self.vote_of(id).map(|vote| (vote.peer_epoch, vote.zxid));
        // `elected_by` has compared the votes of the servers that have weight.
        let has_weight = configurations.quorum.has_weight(follower);
        let keeps = self.config().bugs.has(Bug::JoinerKeepsVote);
        has_weight || observes || !keeps || history(follower) <= history(leader)
    }

    /// Returns the newest configuration that one of these servers has activated.
    pub(super) fn newest_configuration(&self, among: ServerSet) -> QuorumVerifier {
        let activated = |id: ServerId| self.disk(id).configurations(id, self.config()).quorum;
        let newest = among.iter().map(activated).max_by_key(|it| it.version());
        newest.unwrap_or_else(|| self.config().quorum_verifier())
    }

    /// Returns the quorums that a server needs once it has read this configuration.
    pub(super) fn quorums_after(&self, server: ServerId, read: QuorumVerifier) -> Quorums {
        let mut configurations = self.disk(server).configurations(server, self.config());
        configurations.take(read);
        configurations.quorums()
    }

    pub(super) fn elect(
        &mut self,
        leader: ServerId,
        followers: ServerSet,
        at: Time,
        effects: &mut Effects,
    ) {
        let elects = self.looking().contains(leader);
        let told = match elects {
            true => followers.with(leader),
            false => self.supporters(leader).iter().fold(followers, ServerSet::with),
        };
        let newest = self.newest_configuration(told);
        let own = elects.then_some(leader);
        for server in own.into_iter().chain(followers.iter()) {
            self.with_server(server, at, effects, |it, context| {
                it.elected(leader, newest, context);
            });
        }
    }

    /// Tidies up after every step under the oracle. Connections to servers that do not lead are refused immediately
    /// (their listening socket is closed, and a refused learner can be elected into the same place again), and
    /// connections are renumbered from the lowest slot. Where there can be clients they keep their numbers, because owners
    /// of sessions and origins of requests are identified by them too.
    pub(super) fn tidy_connections(&mut self, effects: &mut Effects) {
        for server in self.config.server_ids() {
            if !self.is_leading(server) && self.network.has_learners(server) {
                for connection in self.network.learners_of(server) {
                    self.network.close_by_leader(connection, effects);
                }
            }
        }
        if self.config.has_clients() {
            return;
        }
        for learner in self.config.server_ids() {
            for (from, to) in self.network.renumber(learner) {
                if self.learner_connection(learner) == Some(from) {
                    let process = self.servers[learner.index()].make_mut().process.as_mut();
                    process.expect("it has a connection").rename_connection(from, to);
                }
                let Some(leader) = self.network.leader_of(to) else { continue };
                if self.server(leader).is_some_and(|process| process.handles(from)) {
                    let process = self.servers[leader.index()].make_mut().process.as_mut();
                    process.expect("it handles a connection").rename_connection(from, to);
                }
            }
        }
    }
}
