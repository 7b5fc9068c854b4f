//! What can happen next, faults apart.

use super::Service;
use super::link::{Link, is_write};
use crate::program::host::Input;
use crate::program::machines::ProgramState;
use crate::server::read::Reader;
use crate::tree::DataTree;
use crate::vocabulary::id::{CallId, ClientId, SessionId, Xid};
use crate::vocabulary::op::Request;
use crate::vocabulary::packet::ClientPacket;
use crate::vocabulary::step::Step;
use crate::vocabulary::time::Time;
use crate::vocabulary::timer::{ClientTimer, Timer};
use crate::vocabulary::zxid::Zxid;
use crate::watch::{Rearming, WatchTable};

/// Which prefixes of the log a server is tried at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefixes {
    /// All that it may have applied.
    All,
    /// Of those that come to the same for its client, the shortest. A longer prefix comes to the same
    /// if the answer is the same, the watches that are set then are the same, and nothing between the
    /// two prefixes fires any of them. Sound because a server at the shorter one can do all that one at
    /// the longer one can: it may go on to that at any moment, in silence.
    Shortest,
    /// Of those with the same answer, the shortest, whatever watches are set then. A mistake, which
    /// can be planted to see that it is found.
    SameAnswer,
}

impl Service {
    /// Every step of this client, its server or its sessions that can happen now and is neither a
    /// fault nor a program's timer nor a random number nor a clock's reading, in a fixed order.
    pub fn enabled(&self, client: ClientId, prefixes: Prefixes, steps: &mut Vec<Step>) {
        self.enabled_of(client, prefixes, steps);
        let mine = |session: &SessionId| session.client() == client;
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

    /// Whether anything can happen, faults apart.
    pub fn can_go_on(&self) -> bool {
        let mut steps = Vec::new();
        self.client_ids().for_each(|client| self.sleeps(client, &mut steps));
        self.deletions_in_time(&mut steps);
        !steps.is_empty() || self.has_ordinary_step()
    }

    /// Whether anything but a program's timer and a fault can happen.
    pub fn has_ordinary_step(&self) -> bool {
        let mut steps = Vec::new();
        self.client_ids().any(|client| {
            self.enabled(client, Prefixes::Shortest, &mut steps);
            !steps.is_empty()
                || self.draws(client).next().is_some()
                || self.clock_calls(client).next().is_some()
        })
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

    /// The calls of a client's program that wait for the time, each with the least that its clock can show.
    pub fn clock_calls(&self, client: ClientId) -> impl Iterator<Item = (CallId, Time)> {
        self.clients[client.index()].clock_calls()
    }

    /// The least that a program's clock can show to a call that waits for the time.
    pub fn least_reading(&self, client: ClientId, call: CallId) -> Option<Time> {
        self.clock_calls(client).find(|(waits, _)| *waits == call).map(|(_, least)| least)
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
        let serve = |prefix| Step::Serve { client, prefix };
        match packet {
            ClientPacket::Connect { session: None, .. } => steps.push(serve(Zxid::ZERO)),
            ClientPacket::Connect { session: Some(session), last_zxid_seen, .. } => {
                let least = self.log.up_to(*last_zxid_seen).zxid();
                steps.push(serve(least));
                let end = self.end_unknown_at(client, *session, least);
                let is_accepted = self.is_alive(*session) || end.is_some();
                match end {
                    _ if prefixes == Prefixes::All && is_accepted => {
                        let more = self.log.after(least).iter().map(|entry| serve(entry.zxid()));
                        steps.extend(more);
                    }
                    // By a server that knows of the end it is refused.
                    Some(end) => steps.push(serve(end)),
                    None => {}
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
                self.prefix_choices(client, prefixes, steps, |tree, watches| {
                    let bugs = self.config.bugs;
                    let mut missed = watches.set_watches(tree, Link::name(client), rearming, bugs);
                    // When it was made up is nothing that its client could tell apart.
                    missed.iter_mut().for_each(|event| event.zxid = Zxid::ZERO);
                    missed
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
        let link = &self.links.links[client.index()];
        let session = link.session.expect("a request comes by a connection with a session");
        let reader = Reader { session, auth: &link.auth, config: &self.config };
        self.prefix_choices(client, prefixes, steps, |tree, watches| {
            reader.read(tree, watches, Link::name(client), request)
        });
    }

    /// The prefixes that a server may have applied when it takes its client's oldest packet, which
    /// `take` does with the tree and the watches of the connection.
    fn prefix_choices<A: PartialEq>(
        &self,
        client: ClientId,
        prefixes: Prefixes,
        steps: &mut Vec<Step>,
        take: impl Fn(&DataTree, &mut WatchTable) -> A,
    ) {
        let link = &self.links.links[client.index()];
        let mut kept: Vec<(A, WatchTable, Option<Zxid>)> = Vec::new();
        self.for_each_prefix(client, |prefix| {
            if prefixes == Prefixes::All {
                return steps.push(Step::Serve { client, prefix });
            }
            let mut watches = link.watches.clone();
            let answer = take(&self.log.up_to(prefix).tree, &mut watches);
            let is_reached = |heard: &Option<Zxid>| heard.is_none_or(|heard| heard > prefix);
            let same = |(known, table, heard): &(A, WatchTable, Option<Zxid>)| {
                let same_answer = *known == answer;
                same_answer
                    && (prefixes == Prefixes::SameAnswer || *table == watches && is_reached(heard))
            };
            if !kept.iter().any(same) {
                let heard = link.next_heard_by(&watches, prefix, &self.log);
                kept.push((answer, watches, heard));
                steps.push(Step::Serve { client, prefix });
            }
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
        self.clients[client.index()].inbox.front().map(|told| &told.input)
    }

    /// How many requests a client has made in its session.
    pub fn requests(&self, client: ClientId) -> u32 {
        self.clients[client.index()].machine.next_xid().0 - 1
    }

    /// What waits for a client's server: the oldest packet on its connection.
    pub fn oldest_packet(&self, client: ClientId) -> Option<&ClientPacket> {
        self.links.links[client.index()].to_server.front()
    }

    /// What is under way to a client's server, oldest first.
    pub fn under_way(&self, client: ClientId) -> impl Iterator<Item = &ClientPacket> {
        self.links.links[client.index()].to_server.iter()
    }

    /// Whether something is under way to a client.
    pub fn has_news(&self, client: ClientId) -> bool {
        !self.links.links[client.index()].to_client.is_empty()
    }

    /// Whether a client's server has closed the connection.
    pub fn has_hung_up(&self, client: ClientId) -> bool {
        self.links.links[client.index()].hung_up
    }

    /// The session that was accepted on a client's connection.
    pub fn attached(&self, client: ClientId) -> Option<SessionId> {
        self.links.links[client.index()].session
    }

    /// The writes of a session's lost connection that may still arrive, oldest first.
    pub fn late_writes(&self, session: SessionId) -> impl Iterator<Item = Xid> {
        self.links.late.get(&session).into_iter().flatten().map(|(xid, ..)| *xid)
    }

    /// The end of the log.
    pub fn last_zxid(&self) -> Zxid {
        self.log.last().zxid()
    }

    /// How many numbers a client's program has drawn.
    pub fn numbers_drawn(&self, client: ClientId) -> u64 {
        self.clients[client.index()].drawn()
    }
}
