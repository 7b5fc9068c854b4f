//! The steps that are possible, faults excluded.

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

/// The prefixes of the log that a search tries for a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefixes {
    /// All prefixes that the server may have applied.
    All,
    /// Of prefixes that are equivalent for the client, the shortest. A longer prefix is equivalent if the answer and
    /// the resulting watches are the same, and no transaction between the two fires any of them. This is sound
    /// because a server at the shorter prefix can do everything that one at the longer prefix can: it may advance at
    /// any moment without any effect.
    Shortest,
    /// Of prefixes with the same answer, the shortest, whatever the resulting watches. This is unsound; it can be
    /// planted to test that the error is found.
    SameAnswer,
}

impl Service {
    /// Appends, in a fixed order, every possible step of this client, its server and its sessions, except faults,
    /// timers of programs, random numbers and readings of a clock.
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

    /// Returns true if any step except a fault is possible.
    pub fn can_go_on(&self) -> bool {
        let mut steps = Vec::new();
        self.client_ids().for_each(|client| self.sleeps(client, &mut steps));
        self.deletions_in_time(&mut steps);
        !steps.is_empty() || self.has_ordinary_step()
    }

    /// Returns true if any step except a fault and a program's timer is possible.
    pub fn has_ordinary_step(&self) -> bool {
        let mut steps = Vec::new();
        self.client_ids().any(|client| {
            self.enabled(client, Prefixes::Shortest, &mut steps);
            !steps.is_empty()
                || self.draws(client).next().is_some()
                || self.clock_calls(client).next().is_some()
        })
    }

    /// Appends the timers of a program's sleeps.
    pub fn sleeps(&self, client: ClientId, steps: &mut Vec<Step>) {
        let sleeping = self.clients[client.index()].sleeping.iter();
        steps.extend(sleeping.map(|call| Step::Fire(Timer::Sleep(client, *call))));
    }

    /// Returns the calls of a client's program that wait for a random number.
    pub fn draws(&self, client: ClientId) -> impl Iterator<Item = CallId> {
        self.clients[client.index()].draws()
    }

    /// Returns the calls of a client's program that wait for the time, each with the smallest possible reading of its
    /// clock.
    pub fn clock_calls(&self, client: ClientId) -> impl Iterator<Item = (CallId, Time)> {
        self.clients[client.index()].clock_calls()
    }

    /// Returns the smallest possible reading of a program's clock for a call that waits for the time.
    pub fn least_reading(&self, client: ClientId, call: CallId) -> Option<Time> {
        self.clock_calls(client).find(|(waits, _)| *waits == call).map(|(_, least)| least)
    }

    /// Returns true if no client can keep the session alive any more, although it still has ephemerals or late
    /// writes. It will expire, which is not a fault.
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
            steps.push(Step::Resource { client, call: CallId::ABANDONED });
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
                    // A server that knows of the end refuses the session.
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
                    // The client cannot observe the zxid of a made-up event.
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

    /// Appends the prefixes that a server may have applied when it executes its client's oldest packet. `take`
    /// executes the packet on a tree and the connection's watches.
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

    /// Calls `each` with every prefix that a client's server can advance to without any effect.
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

    /// Returns the next input of a client's program.
    pub fn next_input(&self, client: ClientId) -> Option<&Input> {
        self.clients[client.index()].inbox.front().map(|told| &told.input)
    }

    /// Returns the number of requests that a client has made in its session.
    pub fn requests(&self, client: ClientId) -> u32 {
        self.clients[client.index()].machine.next_xid().0 - 1
    }

    /// Returns the oldest packet in flight to a client's server.
    pub fn oldest_packet(&self, client: ClientId) -> Option<&ClientPacket> {
        self.links.links[client.index()].to_server.front()
    }

    /// Returns the packets in flight to a client's server, oldest first.
    pub fn under_way(&self, client: ClientId) -> impl Iterator<Item = &ClientPacket> {
        self.links.links[client.index()].to_server.iter()
    }

    /// Returns true if a packet is in flight to the client.
    pub fn has_news(&self, client: ClientId) -> bool {
        !self.links.links[client.index()].to_client.is_empty()
    }

    /// Returns true if a client's server has closed the connection.
    pub fn has_hung_up(&self, client: ClientId) -> bool {
        self.links.links[client.index()].hung_up
    }

    /// Returns the session that was accepted on a client's connection.
    pub fn attached(&self, client: ClientId) -> Option<SessionId> {
        self.links.links[client.index()].session
    }

    /// Returns the writes of a session's lost connection that may still arrive, oldest first.
    pub fn late_writes(&self, session: SessionId) -> impl Iterator<Item = Xid> {
        self.links.late.get(&session).into_iter().flatten().map(|(xid, ..)| *xid)
    }

    /// Returns the zxid at the end of the log.
    pub fn last_zxid(&self) -> Zxid {
        self.log.last().zxid()
    }

    /// Returns how many random numbers a client's program has drawn.
    pub fn numbers_drawn(&self, client: ClientId) -> u64 {
        self.clients[client.index()].drawn()
    }
}
