//! The network: TCP connections, election mailboxes, and links that faults cut.
//!
//! A TCP connection is one first-in-first-out pipe in each direction. It never loses a packet but by
//! breaking: then each direction loses a suffix of what was under way, and what remains is followed
//! by the end of the stream. A cut link delays: nothing is delivered until it heals or one side gives
//! up. Election messages are different: one slot per ordered pair, overwritten by newer ones
//! (rule 5.6).

mod clients;
mod connection;
mod deliveries;
mod learners;
mod mail;
mod words;

pub use crate::vocabulary::packet::Delivered;
pub use connection::{Next, Opened};
pub use mail::Mailbox;
pub(crate) use words::reply_to;

use crate::vocabulary::effect::Blocker;
use crate::vocabulary::fingerprint::Tracked;
use crate::vocabulary::id::{Machine, ServerId};
use crate::vocabulary::packet::{ClientPacket, LeaderPacket, LearnerPacket, ServerPacket};
use std::collections::BTreeSet;
use std::hash::Hash;

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
}
