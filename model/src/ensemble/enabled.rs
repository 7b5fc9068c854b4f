//! Which steps are possible: the one definition, from links, servers and client machines. `apply` uses it before it
//! acts, and so does every engine that lists the possible steps.

use super::{Ensemble, ServerNode};
use crate::program::machines::ProgramState;
use crate::server::Server;
use crate::server::oracle::elected_by;
use crate::vocabulary::effect::{Blocker, Status};
use crate::vocabulary::id::{CallId, ClientId, Machine, ServerId, ServerSet};
use crate::vocabulary::step::Step;
use crate::vocabulary::timer::Timer;

impl Ensemble {
    /// Returns `Ok` if a step can happen now. For a timer, this says whether its firing would have an effect; only
    /// the engine knows which timers are armed.
    ///
    /// # Errors
    /// The status that `apply` would return.
    pub fn allows(&self, step: &Step) -> Result<(), Status> {
        match *step {
            Step::ToServer(_)
            | Step::ToClient(_)
            | Step::ToLeader(_)
            | Step::ToLearner(_)
            | Step::Vote { .. } => {
                self.reaches_its_reader(step)?;
                Status::when(self.network.has_delivery(step))
            }
            Step::Stream(connection) => {
                let leader = self.network.leader_of(connection);
                self.server_allows(leader.ok_or(Status::NotEnabled)?, step)
            }
            Step::Expire(_) => self.server_allows(self.leader().ok_or(Status::NotEnabled)?, step),
            Step::Append(server)
            | Step::Fsync(server)
            | Step::Apply(server)
            | Step::MissWakeUp(server)
            | Step::ApplyRest(server)
            | Step::Write(server)
            | Step::Snapshot(server)
            | Step::Propose(server)
            | Step::FsyncError { server, .. }
            | Step::Fire(Timer::Server(server, _)) => self.server_allows(server, step),
            Step::Reconfigure { leader, .. } => {
                self.server_allows(leader, step)?;
                Status::when(self.config().options.reconfig_enabled)
            }
            Step::Rejoin(server) => {
                self.server_allows(server, step)?;
                self.is_free(server, Server::is_held_in_its_role)
            }
            Step::Elect { leader, followers } => Status::when(self.may_elect(leader, followers)),
            Step::Start(client)
            | Step::Input(client)
            | Step::Random { client, .. }
            | Step::Resource { client, .. }
            | Step::Message { to: client, .. }
            | Step::Fire(Timer::Client(client, _) | Timer::Sleep(client, _))
            | Step::Kill(client)
            | Step::Cancel(client)
            | Step::Pause(client)
            | Step::Resume(client) => self.clients[client.index()].allows(client, step),
            Step::Crash { server, .. } => Status::when(self.is_up(server)),
            Step::Restart(server) => Status::when(!self.is_up(server)),
            Step::BreakClient { connection, .. } => {
                Status::when(self.network.is_breakable_client(connection))
            }
            Step::BreakLearner { connection, .. } => {
                Status::when(self.network.is_breakable_learner(connection))
            }
            Step::Cut { from, to } => Status::when(!self.network.is_cut(from, to)),
            Step::Heal { from, to } => Status::when(self.network.is_cut(from, to)),
            // The world has the inputs from outside, and the rest are steps of the service grain.
            Step::Outside(_)
            | Step::Clock { .. }
            | Step::Serve { .. }
            | Step::Notify(_)
            | Step::Late(_)
            | Step::CloseSession(_)
            | Step::DeleteContainer(_) => Err(Status::NotEnabled),
        }
    }

    /// Returns true if a step can happen now.
    pub fn can(&self, step: &Step) -> bool {
        self.allows(step).is_ok()
    }

    /// Returns true if a reader could read its connection, if a packet arrived.
    pub fn can_read(&self, step: &Step) -> bool {
        self.network.has_reader(step) && self.reaches_its_reader(step).is_ok()
    }

    /// Checks that a packet could reach its reader: the link is not cut, and the reader is not blocked.
    fn reaches_its_reader(&self, step: &Step) -> Result<(), Status> {
        let (server, client) = (Machine::Server, Machine::Client);
        match *step {
            Step::ToServer(connection) => {
                let to = self.network.server_of(connection).ok_or(Status::NotEnabled)?;
                self.is_open(client(connection.client), server(to))
            }
            Step::ToClient(connection) => {
                if let Some(node) = self.clients.get(connection.client.index()) {
                    node.is_awake(connection.client)?;
                }
                let from = self.network.server_of(connection).ok_or(Status::NotEnabled)?;
                self.is_open(server(from), client(connection.client))
            }
            Step::ToLeader(connection) => {
                let leader = self.network.leader_of(connection).ok_or(Status::NotEnabled)?;
                self.is_open(server(connection.learner), server(leader))?;
                self.is_free(leader, Server::is_deaf_to_learners)
            }
            Step::ToLearner(connection) => {
                let leader = self.network.leader_of(connection).ok_or(Status::NotEnabled)?;
                self.is_open(server(leader), server(connection.learner))?;
                self.is_free(connection.learner, Server::is_deaf_to_its_leader)
            }
            Step::Vote { from, to } => {
                self.is_open(server(from), server(to))?;
                // The notification stays in its mailbox; the start of the receiver makes it due again.
                Status::when(self.is_up(to))
            }
            _ => unreachable!("{step} reads nothing"),
        }
    }

    fn is_open(&self, from: Machine, to: Machine) -> Result<(), Status> {
        self.network.blocker(from, to).map_or(Ok(()), |blocker| Err(Status::Blocked(blocker)))
    }

    /// Checks that a process is not blocked by its disk; a blocked one reads nothing and stays in its role. A process
    /// that is down refuses whatever arrives.
    fn is_free(&self, server: ServerId, is_held_up: fn(&Server) -> bool) -> Result<(), Status> {
        let is_held_up = self.server(server).is_some_and(is_held_up);
        if is_held_up { Err(Status::Blocked(Blocker::Busy(server))) } else { Ok(()) }
    }

    fn server_allows(&self, server: ServerId, step: &Step) -> Result<(), Status> {
        let ServerNode { disk, process } = &*self.servers[server.index()];
        Status::when(
            process.as_ref().is_some_and(|process| process.enables(step, disk, self.config().bugs)),
        )
    }

    /// Returns true if the oracle may take this step: a quorum of LOOKING servers elects, or one of them joins.
    fn may_elect(&self, leader: ServerId, followers: ServerSet) -> bool {
        if !self.config().election.is_oracle() || followers.contains(leader) {
            return false;
        }
        let looking = |id: ServerId| self.server(id).is_some_and(Server::is_looking);
        let vote = |id: ServerId| self.vote_of(id).filter(|_| looking(id));
        let all = followers.with(leader);
        let newest = self.newest_configuration(all);
        let agree = |id: ServerId| self.quorums_after(id, newest).contains_quorum(all);
        let quorums = self.quorums_after(leader, newest);
        let elects = elected_by(self.config(), quorums, all, leader, vote).is_some()
            && followers.iter().all(|follower| {
                looking(follower) && agree(follower) && self.takes_over(follower, leader, newest)
            });
        let joins = followers.len() == 1 && followers.iter().all(looking);
        elects || joins && followers.iter().all(|joiner| self.may_join(leader, joiner))
    }

    /// Appends every possible step that is neither a fault nor a timer, in a fixed order. (Only the engine knows
    /// which timers are armed.) `draws` are the random numbers to try.
    pub fn enabled(&self, draws: &[u64], steps: &mut Vec<Step>) {
        let from = steps.len();
        self.network.deliveries(steps);
        for server in self.config().server_ids() {
            let Some(process) = self.server(server) else { continue };
            let own = [
                Step::Append,
                Step::Fsync,
                Step::Apply,
                Step::MissWakeUp,
                Step::ApplyRest,
                Step::Write,
                Step::Snapshot,
            ];
            steps.extend(own.map(|step| step(server)));
            steps.extend(process.handlers().into_iter().map(Step::Stream));
        }
        for at in 0..self.clients.len() {
            self.candidates_on_client(ClientId::at(at), draws, steps);
        }
        let mut kept = from;
        for at in from..steps.len() {
            if self.can(&steps[at]) {
                steps.swap(kept, at);
                kept += 1;
            }
        }
        steps.truncate(kept);
    }

    fn candidates_on_client(&self, client: ClientId, draws: &[u64], steps: &mut Vec<Step>) {
        let node = &self.clients[client.index()];
        // Restarting a killed program is the end of a fault.
        if node.program == ProgramState::NotStarted {
            steps.push(Step::Start(client));
        }
        steps.push(Step::Input(client));
        for call in node.draws() {
            let draw = |value: &u64| Step::Random { client, call, value: *value };
            steps.extend(draws.iter().map(draw));
        }
        let calls: Vec<CallId> = node.resource_calls().collect();
        steps.extend(calls.into_iter().map(|call| Step::Resource { client, call }));
        steps.extend(node.senders().map(|from| Step::Message { from, to: client }));
    }
}
