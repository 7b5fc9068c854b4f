//! What can happen next, faults apart.

use super::Service;
use super::link::is_write;
use crate::client::ClientState;
use crate::error::Error;
use crate::host::Input;
use crate::id::{CallId, ClientId, SessionId};
use crate::machines::ProgramState;
use crate::op::{Request, Response, WatchedEvent};
use crate::packet::ClientPacket;
use crate::server::read::Reader;
use crate::step::Step;
use crate::timer::{ClientTimer, Timer};
use crate::watch::Rearming;
use crate::zxid::Zxid;

/// Which prefixes of the log a server is tried at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefixes {
    /// All that it may have applied.
    All,
    /// Of those that give its client the same answer, the shortest. Sound because a server that has
    /// applied less can do all that one can do that has applied more: it may go on at any moment,
    /// and going on is silent up to what its client hears of.
    Shortest,
}

impl Service {
    /// Every step of this client, its server or its sessions that can happen now and is neither a
    /// fault nor a program's timer nor a random number, in a fixed order.
    pub fn enabled(&self, client: ClientId, prefixes: Prefixes, steps: &mut Vec<Step>) {
        self.enabled_of(client, prefixes, steps);
        let mine = |session: &SessionId| session.0 >> 56 == u64::from(client.0);
        let late = self.links.late.keys().copied().filter(mine);
        steps.extend(late.map(Step::Late));
        for (session, _) in self.prep.sessions().iter().filter(|(session, _)| mine(session)) {
            if self.is_closing(session) {
                steps.push(Step::CloseSession(session));
            } else if self.is_orphan(session) {
                steps.push(Step::Expire(session));
            }
        }
    }

    /// The timers of a sleeping program.
    pub fn sleeps(&self, client: ClientId, steps: &mut Vec<Step>) {
        let sleeping = self.clients[client.index()].sleeping.iter();
        steps.extend(sleeping.map(|call| Step::Fire(Timer::Sleep(client, *call))));
    }

    /// The random numbers that a client's program waits for, by call.
    pub fn draws(&self, client: ClientId) -> impl Iterator<Item = CallId> {
        self.clients[client.index()].draws()
    }

    /// Whether nobody is left who could keep a session alive, though it still has something to lose:
    /// its time will be up, which is no fault.
    pub fn is_orphan(&self, session: SessionId) -> bool {
        let owned = self
            .clients
            .iter()
            .any(|node| node.machine.session() == Some(session) && node.machine.state().is_alive());
        let tree = &self.log.last().tree;
        !owned
            && (tree.ephemerals(session).next().is_some() || self.links.late.contains_key(&session))
    }

    fn enabled_of(&self, client: ClientId, prefixes: Prefixes, steps: &mut Vec<Step>) {
        let node = &self.clients[client.index()];
        match node.program {
            ProgramState::NotStarted | ProgramState::Killed => steps.push(Step::Start(client)),
            ProgramState::Running if node.has_input() => steps.push(Step::Input(client)),
            ProgramState::Running | ProgramState::Finished => {}
        }
        steps.extend(node.resource_calls().map(|call| Step::Resource { client, call }));
        if node.has_orphaned_request() {
            steps.push(Step::Resource { client, call: CallId(u16::MAX) });
        }
        steps.extend(node.senders().map(|from| Step::Message { from, to: client }));
        if node.machine.is_armed(ClientTimer::Reconnect) {
            steps.push(Step::Fire(Timer::Client(client, ClientTimer::Reconnect)));
        }
        let link = &self.links.links[client.index()];
        if link.open && (link.hung_up || !link.to_client.is_empty()) {
            steps.push(Step::ToClient(self.connection(client)));
        }
        if !link.is_served() {
            return;
        }
        if link.next_heard(&self.log).is_some() {
            steps.push(Step::Notify(client));
        }
        if let Some(packet) = link.to_server.front() {
            self.serve_choices(client, packet, prefixes, steps);
        }
    }

    fn serve_choices(
        &self,
        client: ClientId,
        packet: &ClientPacket,
        prefixes: Prefixes,
        steps: &mut Vec<Step>,
    ) {
        let link = &self.links.links[client.index()];
        let serve = |prefix| Step::Serve { client, prefix };
        match packet {
            ClientPacket::Connect { session: None, .. } => steps.push(serve(Zxid::ZERO)),
            ClientPacket::Connect { session: Some(session), last_zxid_seen, .. } => {
                let least = self.log.up_to(*last_zxid_seen).zxid();
                steps.push(serve(least));
                if prefixes == Prefixes::All && self.is_alive(*session) {
                    let more = self.log.after(least).iter().map(|entry| serve(entry.zxid()));
                    steps.extend(more);
                }
            }
            ClientPacket::Request { request, .. } if is_write(request) => {
                steps.push(serve(Zxid::ZERO));
            }
            ClientPacket::Request { request, .. } => {
                self.read_choices(client, request, prefixes, steps);
            }
            ClientPacket::Auth { .. } => steps.push(serve(Zxid::ZERO)),
            ClientPacket::SetWatches { .. } => {
                let rearming = Rearming::of(packet).expect("a SetWatches");
                let mut seen: Vec<Vec<WatchedEvent>> = Vec::new();
                self.for_each_prefix(client, |entry_zxid| {
                    let tree = &self.log.up_to(entry_zxid).tree;
                    let name = self.connection(client);
                    let mut table = link.watches.clone();
                    let mut missed = table.set_watches(tree, name, rearming, self.config.bugs);
                    // When it was made up is nothing that its client could tell apart.
                    missed.iter_mut().for_each(|event| event.zxid = Zxid::ZERO);
                    if prefixes == Prefixes::All || !seen.contains(&missed) {
                        seen.push(missed);
                        steps.push(serve(entry_zxid));
                    }
                });
            }
            ClientPacket::Ping => {}
        }
    }

    fn read_choices(
        &self,
        client: ClientId,
        request: &Request,
        prefixes: Prefixes,
        steps: &mut Vec<Step>,
    ) {
        let mut seen: Vec<Result<Response, Error>> = Vec::new();
        let link = &self.links.links[client.index()];
        let session = link.session.expect("a request comes by a connection with a session");
        let reader = Reader { session, auth: &link.auth, config: &self.config };
        // The answer to addWatch tells nothing of when the watch was set, and each moment is another:
        // it hears of what comes after. The others that answer from the watches know no moment.
        let at_all = prefixes == Prefixes::All || matches!(request, Request::AddWatch { .. });
        let of_watches =
            matches!(request, Request::RemoveWatches { .. } | Request::CheckWatches { .. });
        if of_watches && !at_all {
            return steps.push(Step::Serve { client, prefix: link.view });
        }
        self.for_each_prefix(client, |prefix| {
            if !at_all {
                let answer = reader.answer(&self.log.up_to(prefix).tree, request);
                if seen.contains(&answer) {
                    return;
                }
                seen.push(answer);
            }
            steps.push(Step::Serve { client, prefix });
        });
    }

    /// The prefixes that the server of a client may have applied silently.
    fn for_each_prefix(&self, client: ClientId, mut each: impl FnMut(Zxid)) {
        let link = &self.links.links[client.index()];
        let heard = link.next_heard(&self.log);
        each(link.view);
        for entry in self.log.after(link.view) {
            if heard.is_some_and(|heard| entry.zxid() >= heard) {
                return;
            }
            each(entry.zxid());
        }
    }

    /// What a client's program is told next.
    pub fn next_input(&self, client: ClientId) -> Option<&Input> {
        self.clients[client.index()].inbox.front()
    }

    /// Whether a client machine is between two attempts to connect.
    pub fn can_reconnect(&self, client: ClientId) -> bool {
        self.clients[client.index()].machine.state() == ClientState::Waiting
    }

    /// Whether the oldest packet of a client is one that its server answers by itself, from what it
    /// has applied, or that brings back a session.
    pub fn reads(&self, client: ClientId) -> bool {
        match self.links.links[client.index()].to_server.front() {
            Some(ClientPacket::Request { request, .. }) => !is_write(request),
            Some(ClientPacket::SetWatches { .. }) => true,
            Some(ClientPacket::Connect { session, .. }) => session.is_some(),
            Some(ClientPacket::Auth { .. } | ClientPacket::Ping) | None => false,
        }
    }

    /// Whether there is something to read on a client's connection.
    pub fn has_packet(&self, client: ClientId) -> bool {
        let link = &self.links.links[client.index()];
        link.open && (link.hung_up || !link.to_client.is_empty())
    }

    /// Whether something else than the next packet can be a client's next input: what waits in its
    /// inbox already, an answer from outside, a message, a timer if `timers` fire, a cancellation if
    /// there are `cancels`.
    pub fn has_other_inputs(&self, client: ClientId, timers: bool, cancels: bool) -> bool {
        self.clients[client.index()].awaits_the_world(timers, cancels)
    }

    /// The prefix at which the server takes the oldest packet of this client, where there is only
    /// one answer, which nobody else's steps can change: a sync; the return of a session that is
    /// over; the return of one that is not, if it has no write under way and cannot expire.
    pub fn only_answer(&self, client: ClientId, can_expire: bool) -> Option<Zxid> {
        let link = &self.links.links[client.index()];
        match link.to_server.front().filter(|_| link.is_served())? {
            ClientPacket::Connect { session: Some(session), last_zxid_seen, .. } => {
                let settled = !self.is_alive(*session)
                    || (!can_expire && !self.links.late.contains_key(session));
                settled.then(|| self.log.up_to(*last_zxid_seen).zxid())
            }
            ClientPacket::Request { request, .. } if matches!(**request, Request::Sync { .. }) => {
                Some(link.view)
            }
            _ => None,
        }
    }

    /// How many numbers a client's program has drawn.
    pub fn numbers_drawn(&self, client: ClientId) -> u64 {
        self.clients[client.index()].drawn()
    }
}
