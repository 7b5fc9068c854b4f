//! The network: TCP connections, election mailboxes, and links that faults cut.
//!
//! A TCP connection is one first-in-first-out pipe in each direction. It never loses a packet but by
//! breaking: then each direction loses a suffix of what was under way, and what remains is followed
//! by the end of the stream. A cut link delays: nothing is delivered until it heals or one side gives
//! up. Election messages are different: one slot per ordered pair, overwritten by newer ones
//! (rule 5.6).

mod connection;
mod words;

pub use connection::Opened;
pub use connection::{Delivered, Next};
pub(crate) use words::reply_to;

use crate::vocabulary::effect::{Blocker, Effects};
use crate::vocabulary::fingerprint::Tracked;
use crate::vocabulary::id::{
    ClientConnection, ClientId, LearnerConnection, Machine, ServerId, ServerSet,
};
use crate::vocabulary::packet::{
    ClientPacket, LeaderPacket, LearnerPacket, Notification, ServerPacket,
};
use crate::vocabulary::step::Step;
use connection::{break_both, occupied};
use std::collections::BTreeSet;
use std::hash::Hash;

/// The mailbox of one ordered pair of servers (rule 5.6.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mailbox {
    /// Not yet delivered.
    pending: Option<Notification>,
    /// The last one sent: sent again when the pair reconnects and nothing newer waits.
    last: Option<Notification>,
}

type ClientLinks = Opened<ClientPacket, ServerPacket>;
/// The connections that one learner opened.
pub type LearnerLinks = Opened<LearnerPacket, LeaderPacket>;

/// All connections, mailboxes and cuts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Network {
    clients: Vec<Tracked<ClientLinks>>,
    learners: Vec<Tracked<LearnerLinks>>,
    /// By sender, then receiver.
    mail: Vec<Tracked<Vec<Mailbox>>>,
    cuts: BTreeSet<(Machine, Machine)>,
}

impl Network {
    /// A network without connections.
    pub fn new(servers: u8, clients: usize) -> Network {
        let servers = usize::from(servers);
        Network {
            clients: (0..clients).map(|_| Tracked::new(Opened::new())).collect(),
            learners: (0..servers).map(|_| Tracked::new(Opened::new())).collect(),
            mail: (0..servers).map(|_| Tracked::new(vec![Mailbox::default(); servers])).collect(),
            cuts: BTreeSet::new(),
        }
    }

    // ---- links ----

    /// Whether nothing passes from one machine to the other.
    pub fn is_cut(&self, from: Machine, to: Machine) -> bool {
        !self.cuts.is_empty() && self.cuts.contains(&(from, to))
    }

    /// Why a packet cannot pass now, if so.
    pub fn blocker(&self, from: Machine, to: Machine) -> Option<Blocker> {
        self.is_cut(from, to).then_some(Blocker::Cut { from, to })
    }

    /// Cuts one direction; returns whether it was open.
    pub fn cut(&mut self, from: Machine, to: Machine) -> bool {
        self.cuts.insert((from, to))
    }

    /// Opens it again; returns whether it was cut.
    pub fn heal(&mut self, from: Machine, to: Machine) -> bool {
        self.cuts.remove(&(from, to))
    }

    // ---- connections of client machines ----

    /// A client machine opens a connection and sends its first packet.
    pub fn open_client(&mut self, client: ClientId, to: ServerId) -> ClientConnection {
        let slot = self.clients[client.index()].make_mut().open(to);
        ClientConnection { client, slot }
    }

    /// The server that a connection leads to.
    pub fn server_of(&self, connection: ClientConnection) -> Option<ServerId> {
        self.clients[connection.client.index()].get(connection.slot).map(|open| open.to)
    }

    /// A client machine sends a packet.
    pub fn send_to_server(
        &mut self,
        connection: ClientConnection,
        packet: ClientPacket,
        effects: &mut Effects,
    ) {
        let links = self.clients[connection.client.index()].make_mut();
        let Some(open) = links.get_mut(connection.slot) else { return };
        if open.opener_open && open.acceptor_open && !open.up.ended {
            effects.absorb(&packet);
            open.up.packets.push_back(packet);
            effects.due(Step::ToServer(connection));
        }
    }

    /// A server sends a packet to a client machine.
    pub fn send_to_client(
        &mut self,
        connection: ClientConnection,
        packet: ServerPacket,
        effects: &mut Effects,
    ) {
        let links = self.clients[connection.client.index()].make_mut();
        let Some(open) = links.get_mut(connection.slot) else { return };
        if open.acceptor_open && open.opener_open && !open.down.ended {
            effects.absorb(&packet);
            open.down.packets.push_back(packet);
            effects.due(Step::ToClient(connection));
        }
    }

    /// A server accepts the connection: closing it from now on is no refusal.
    pub fn accept_client(&mut self, connection: ClientConnection) {
        if let Some(open) =
            self.clients[connection.client.index()].make_mut().get_mut(connection.slot)
        {
            open.accepted = true;
        }
    }

    /// A server reads from a connection.
    pub fn read_from_client(
        &mut self,
        connection: ClientConnection,
    ) -> Option<Delivered<ClientPacket>> {
        let links = self.clients[connection.client.index()].make_mut();
        let delivered = links.get_mut(connection.slot)?.read_up();
        links.tidy(connection.slot);
        delivered
    }

    /// A client machine reads from a connection.
    pub fn read_from_server(
        &mut self,
        connection: ClientConnection,
    ) -> Option<Delivered<ServerPacket>> {
        let links = self.clients[connection.client.index()].make_mut();
        let delivered = links.get_mut(connection.slot)?.read_down();
        links.tidy(connection.slot);
        delivered
    }

    /// Whether a client machine would find something to read.
    pub fn has_news(&self, connection: ClientConnection) -> bool {
        let open = self.clients[connection.client.index()].get(connection.slot);
        open.is_some_and(|open| open.has_for_opener())
    }

    /// A client machine closes its end.
    pub fn close_by_client(&mut self, connection: ClientConnection, effects: &mut Effects) {
        let links = self.clients[connection.client.index()].make_mut();
        let Some(open) = links.get_mut(connection.slot) else { return };
        if open.opener_open && open.close_opener() {
            effects.due(Step::ToServer(connection));
        }
        links.tidy(connection.slot);
    }

    /// A server closes its end.
    pub fn close_by_server(&mut self, connection: ClientConnection, effects: &mut Effects) {
        let links = self.clients[connection.client.index()].make_mut();
        let Some(open) = links.get_mut(connection.slot) else { return };
        if open.acceptor_open && open.close_acceptor() {
            effects.due(Step::ToClient(connection));
        }
        links.tidy(connection.slot);
    }

    /// Every connection whose server-side end is open at `server`.
    pub fn clients_of(&self, server: ServerId) -> Vec<ClientConnection> {
        let mut found = Vec::new();
        for (at, links) in self.clients.iter().enumerate() {
            for (slot, open) in links.slots.iter().enumerate() {
                if open.as_ref().is_some_and(|open| open.to == server && open.acceptor_open) {
                    found.push(ClientConnection { client: ClientId::at(at), slot: slot as u8 });
                }
            }
        }
        found
    }

    /// The packets under way: to the server, to the client.
    pub fn under_way(&self, connection: ClientConnection) -> (usize, usize) {
        self.clients[connection.client.index()]
            .get(connection.slot)
            .map_or((0, 0), |open| (open.up.packets.len(), open.down.packets.len()))
    }

    /// A connection breaks, keeping this many packets under way in each direction. Returns whether
    /// there was one to break.
    pub fn break_client(
        &mut self,
        connection: ClientConnection,
        to_server: u8,
        to_client: u8,
        effects: &mut Effects,
    ) -> bool {
        let links = self.clients[connection.client.index()].make_mut();
        let Some(open) = links.get_mut(connection.slot) else { return false };
        let Some((up, down)) = break_both(open, to_server, to_client) else { return false };
        if up {
            effects.due(Step::ToServer(connection));
        }
        if down {
            effects.due(Step::ToClient(connection));
        }
        true
    }

    // ---- connections of learners ----

    /// A learner opens a connection.
    pub fn open_learner(&mut self, learner: ServerId, to: ServerId) -> LearnerConnection {
        let slot = self.learners[learner.index()].make_mut().open(to);
        LearnerConnection { learner, slot }
    }

    /// The server that a learner's connection leads to.
    pub fn leader_of(&self, connection: LearnerConnection) -> Option<ServerId> {
        self.learners[connection.learner.index()].get(connection.slot).map(|open| open.to)
    }

    /// A learner sends a packet.
    pub fn send_to_leader(
        &mut self,
        connection: LearnerConnection,
        packet: LearnerPacket,
        effects: &mut Effects,
    ) {
        let links = self.learners[connection.learner.index()].make_mut();
        let Some(open) = links.get_mut(connection.slot) else { return };
        if open.opener_open && open.acceptor_open && !open.up.ended {
            effects.absorb(&packet);
            open.up.packets.push_back(packet);
            effects.due(Step::ToLeader(connection));
        }
    }

    /// The leader sends a packet to a learner.
    pub fn send_to_learner(
        &mut self,
        connection: LearnerConnection,
        packet: LeaderPacket,
        effects: &mut Effects,
    ) {
        let links = self.learners[connection.learner.index()].make_mut();
        let Some(open) = links.get_mut(connection.slot) else { return };
        if open.acceptor_open && open.opener_open && !open.down.ended {
            effects.absorb(&packet);
            open.down.packets.push_back(packet);
            effects.due(Step::ToLearner(connection));
        }
    }

    /// The leader accepts the connection.
    pub fn accept_learner(&mut self, connection: LearnerConnection) {
        if let Some(open) =
            self.learners[connection.learner.index()].make_mut().get_mut(connection.slot)
        {
            open.accepted = true;
        }
    }

    /// The leader reads from a learner's connection.
    pub fn read_from_learner(
        &mut self,
        connection: LearnerConnection,
    ) -> Option<Delivered<LearnerPacket>> {
        let links = self.learners[connection.learner.index()].make_mut();
        let delivered = links.get_mut(connection.slot)?.read_up();
        links.tidy(connection.slot);
        delivered
    }

    /// A learner reads from its connection.
    pub fn read_from_leader(
        &mut self,
        connection: LearnerConnection,
    ) -> Option<Delivered<LeaderPacket>> {
        let links = self.learners[connection.learner.index()].make_mut();
        let delivered = links.get_mut(connection.slot)?.read_down();
        links.tidy(connection.slot);
        delivered
    }

    /// A learner closes its end.
    pub fn close_by_learner(&mut self, connection: LearnerConnection, effects: &mut Effects) {
        let links = self.learners[connection.learner.index()].make_mut();
        let Some(open) = links.get_mut(connection.slot) else { return };
        if open.opener_open && open.close_opener() {
            effects.due(Step::ToLeader(connection));
        }
        links.tidy(connection.slot);
    }

    /// The leader closes its end.
    pub fn close_by_leader(&mut self, connection: LearnerConnection, effects: &mut Effects) {
        let links = self.learners[connection.learner.index()].make_mut();
        let Some(open) = links.get_mut(connection.slot) else { return };
        if open.acceptor_open && open.close_acceptor() {
            effects.due(Step::ToLearner(connection));
        }
        links.tidy(connection.slot);
    }

    /// The learners with a connection whose leader-side end is open at `server`.
    pub fn supporters_of(&self, server: ServerId) -> ServerSet {
        let is_open_there =
            |open: &connection::Connection<_, _>| open.to == server && open.acceptor_open;
        let learners = self.learners.iter().enumerate();
        let connected =
            learners.filter(|(_, links)| occupied(links).any(|(_, open)| is_open_there(open)));
        connected.map(|(at, _)| ServerId::at(at)).collect()
    }

    /// Every learner connection whose leader-side end is open at `server`.
    pub fn learners_of(&self, server: ServerId) -> Vec<LearnerConnection> {
        let mut found = Vec::new();
        for (at, links) in self.learners.iter().enumerate() {
            for (slot, open) in links.slots.iter().enumerate() {
                if open.as_ref().is_some_and(|open| open.to == server && open.acceptor_open) {
                    found.push(LearnerConnection { learner: ServerId::at(at), slot: slot as u8 });
                }
            }
        }
        found
    }

    /// Whether a client's connection is not broken yet.
    pub fn is_breakable_client(&self, connection: ClientConnection) -> bool {
        let open = self.clients[connection.client.index()].get(connection.slot);
        open.is_some_and(|open| open.is_breakable())
    }

    /// Whether a learner's connection is not broken yet.
    pub fn is_breakable_learner(&self, connection: LearnerConnection) -> bool {
        let open = self.learners[connection.learner.index()].get(connection.slot);
        open.is_some_and(|open| open.is_breakable())
    }

    /// Every connection of learners that is not broken yet, in a fixed order.
    pub fn breakable(&self) -> impl Iterator<Item = LearnerConnection> {
        self.learners.iter().enumerate().flat_map(|(at, links)| {
            let whole = occupied(links).filter(|(_, open)| open.is_breakable());
            whole.map(move |(slot, _)| LearnerConnection { learner: ServerId::at(at), slot })
        })
    }

    /// Whether any learner's connection is open at `server`.
    pub fn has_learners(&self, server: ServerId) -> bool {
        let is_open_there =
            |open: &connection::Connection<_, _>| open.to == server && open.acceptor_open;
        self.learners.iter().any(|links| occupied(links).any(|(_, open)| is_open_there(open)))
    }

    /// Moves a learner's connections to the lowest slots, the oldest first, so that their numbers do
    /// not tell how many there have been. Returns old and new names of those that moved, in the
    /// order in which they must be renamed.
    pub fn renumber(&mut self, learner: ServerId) -> Vec<(LearnerConnection, LearnerConnection)> {
        if self.learners[learner.index()].is_compact() {
            return Vec::new();
        }
        let name = |slot| LearnerConnection { learner, slot };
        let moved = self.learners[learner.index()].make_mut().compact();
        moved.into_iter().map(|(from, to)| (name(from), name(to))).collect()
    }

    /// The packets under way: to the leader, to the learner.
    pub fn under_way_learner(&self, connection: LearnerConnection) -> (usize, usize) {
        self.learners[connection.learner.index()]
            .get(connection.slot)
            .map_or((0, 0), |open| (open.up.packets.len(), open.down.packets.len()))
    }

    /// A learner's connection breaks, as [`Network::break_client`].
    pub fn break_learner(
        &mut self,
        connection: LearnerConnection,
        to_leader: u8,
        to_learner: u8,
        effects: &mut Effects,
    ) -> bool {
        let links = self.learners[connection.learner.index()].make_mut();
        let Some(open) = links.get_mut(connection.slot) else { return false };
        let Some((up, down)) = break_both(open, to_leader, to_learner) else { return false };
        if up {
            effects.due(Step::ToLeader(connection));
        }
        if down {
            effects.due(Step::ToLearner(connection));
        }
        true
    }

    // ---- election mail ----

    /// Puts a notification into its mailbox, over any older one that is still there.
    pub fn mail(
        &mut self,
        from: ServerId,
        to: ServerId,
        notification: Notification,
        effects: &mut Effects,
    ) {
        effects.absorb(&notification);
        let mailbox = &mut self.mail[from.index()].make_mut()[to.index()];
        let fresh = mailbox.pending.replace(notification).is_none();
        mailbox.last = Some(notification);
        if fresh {
            effects.due(Step::Vote { from, to });
        }
    }

    /// Takes the notification out of its mailbox.
    pub fn take_mail(&mut self, from: ServerId, to: ServerId) -> Option<Notification> {
        self.mail[from.index()][to.index()].pending?;
        self.mail[from.index()].make_mut()[to.index()].pending.take()
    }

    /// The pair reconnects: the last notification is sent again unless one waits (rule 5.6.2).
    pub fn reconnect_mail(&mut self, from: ServerId, to: ServerId, effects: &mut Effects) {
        let mailbox = self.mail[from.index()][to.index()];
        if mailbox.pending.is_none() && mailbox.last.is_some() {
            self.mail[from.index()].make_mut()[to.index()].pending = mailbox.last;
            effects.due(Step::Vote { from, to });
        }
    }

    /// Whether a notification waits.
    pub fn has_mail(&self, from: ServerId, to: ServerId) -> bool {
        self.mail[from.index()][to.index()].pending.is_some()
    }

    /// A server's process dies: what it had to say goes with it.
    pub fn forget_mail(&mut self, from: ServerId) {
        self.mail[from.index()].make_mut().fill(Mailbox::default());
    }

    // ---- for the explorer ----

    /// A network without clients, of these parts.
    pub fn of_pieces(
        learners: Vec<Tracked<LearnerLinks>>,
        mail: Vec<Tracked<Vec<Mailbox>>>,
    ) -> Network {
        Network { clients: Vec::new(), learners, mail, cuts: BTreeSet::new() }
    }

    /// The connections that a learner opened.
    pub fn links(&self, learner: ServerId) -> &Tracked<LearnerLinks> {
        &self.learners[learner.index()]
    }

    /// The mailboxes, by sender.
    pub fn mailboxes(&self) -> &[Tracked<Vec<Mailbox>>] {
        &self.mail
    }

    /// Whether a delivery's reader has its end open.
    pub fn has_reader(&self, step: &Step) -> bool {
        let learner = |connection: &LearnerConnection| {
            self.learners[connection.learner.index()].get(connection.slot)
        };
        match step {
            Step::ToLeader(connection) => learner(connection).is_some_and(|it| it.acceptor_open),
            Step::ToLearner(connection) => learner(connection).is_some_and(|it| it.opener_open),
            _ => unreachable!("{step}: this is asked of learners' connections only"),
        }
    }

    /// Whether something has come for the reader of a delivery, blocked links aside.
    pub fn has_delivery(&self, step: &Step) -> bool {
        let client = |connection: &ClientConnection| {
            self.clients[connection.client.index()].get(connection.slot)
        };
        let learner = |connection: &LearnerConnection| {
            self.learners[connection.learner.index()].get(connection.slot)
        };
        match step {
            Step::ToServer(connection) => {
                client(connection).is_some_and(|it| it.has_for_acceptor())
            }
            Step::ToClient(connection) => client(connection).is_some_and(|it| it.has_for_opener()),
            Step::ToLeader(connection) => {
                learner(connection).is_some_and(|it| it.has_for_acceptor())
            }
            Step::ToLearner(connection) => {
                learner(connection).is_some_and(|it| it.has_for_opener())
            }
            Step::Vote { from, to } => self.has_mail(*from, *to),
            _ => unreachable!("{step} delivers nothing"),
        }
    }

    /// Every delivery that a reader could make now, blocked links aside.
    pub fn deliveries(&self, steps: &mut Vec<Step>) {
        for (at, links) in self.clients.iter().enumerate() {
            for (slot, open) in occupied(links) {
                let connection = ClientConnection { client: ClientId::at(at), slot };
                if open.has_for_acceptor() {
                    steps.push(Step::ToServer(connection));
                }
                if open.has_for_opener() {
                    steps.push(Step::ToClient(connection));
                }
            }
        }
        for (at, links) in self.learners.iter().enumerate() {
            for (slot, open) in occupied(links) {
                let connection = LearnerConnection { learner: ServerId::at(at), slot };
                if open.has_for_acceptor() {
                    steps.push(Step::ToLeader(connection));
                }
                if open.has_for_opener() {
                    steps.push(Step::ToLearner(connection));
                }
            }
        }
        for (from, boxes) in self.mail.iter().enumerate() {
            for (to, mailbox) in boxes.iter().enumerate() {
                if mailbox.pending.is_some() {
                    steps.push(Step::Vote { from: ServerId::at(from), to: ServerId::at(to) });
                }
            }
        }
    }
}
