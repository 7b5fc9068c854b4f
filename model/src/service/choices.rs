//! What can happen next, faults apart.

use super::Service;
use super::link::is_write;
use super::serve::answer;
use crate::error::Error;
use crate::id::{ClientId, SessionId};
use crate::machines::ProgramState;
use crate::op::{Request, Response, WatchedEvent};
use crate::packet::ClientPacket;
use crate::step::Step;
use crate::timer::{ClientTimer, Timer};
use crate::zxid::Zxid;
use std::collections::BTreeSet;

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
    /// Every step that can happen now and is neither a fault nor a program's timer nor a random
    /// number, in a fixed order.
    pub fn enabled(&self, prefixes: Prefixes, steps: &mut Vec<Step>) {
        for at in 0..self.clients.len() {
            self.enabled_of(ClientId::at(at), prefixes, steps);
        }
        steps.extend(self.links.late.keys().map(|session| Step::Late(*session)));
        for (session, _) in self.prep.sessions().iter() {
            if self.is_closing(session) {
                steps.push(Step::CloseSession(session));
            } else if self.is_orphan(session) {
                steps.push(Step::Expire(session));
            }
        }
    }

    /// Sleeping programs' timers.
    pub fn sleeps(&self, steps: &mut Vec<Step>) {
        for (at, node) in self.clients.iter().enumerate() {
            let client = ClientId::at(at);
            let fire = |call: &_| Step::Fire(Timer::Sleep(client, *call));
            steps.extend(node.sleeping.iter().map(fire));
        }
    }

    /// The random numbers that programs wait for, each as the client and its call.
    pub fn draws(&self) -> impl Iterator<Item = (ClientId, crate::id::CallId)> {
        let nodes = self.clients.iter().enumerate();
        nodes.flat_map(|(at, node)| node.draws().map(move |call| (ClientId::at(at), call)))
    }

    /// Whether nobody is left who could keep a session alive, though it still has something to lose:
    /// its time will be up, which is no fault.
    fn is_orphan(&self, session: SessionId) -> bool {
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
            steps.push(Step::Resource { client, call: crate::id::CallId(u16::MAX) });
        }
        steps.extend(node.senders().map(|from| Step::Message { from, to: client }));
        if node.machine.state().timers().contains(&ClientTimer::Reconnect) {
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
            ClientPacket::SetWatches { relative_zxid, data, exist, child } => {
                let mut seen: Vec<Vec<WatchedEvent>> = Vec::new();
                self.for_each_prefix(client, |entry_zxid| {
                    let tree = &self.log.up_to(entry_zxid).tree;
                    let name = self.connection(client);
                    let mut table = link.watches.clone();
                    let mut missed =
                        table.set_watches(tree, name, *relative_zxid, data, exist, child);
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
        self.for_each_prefix(client, |prefix| {
            if prefixes == Prefixes::Shortest {
                let answer = answer(&self.log.up_to(prefix).tree, request);
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

    /// The sessions that are alive and whose client still has them, in order.
    pub fn live_sessions(&self) -> BTreeSet<SessionId> {
        let sessions = self.prep.sessions().iter().map(|(session, _)| session);
        sessions.filter(|session| self.is_alive(*session) && !self.is_orphan(*session)).collect()
    }
}
