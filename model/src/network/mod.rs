//! The network: TCP connections, election mailboxes, and links that faults can cut.
//!
//! A TCP connection is a first-in-first-out pipe in each direction. It loses packets only by breaking: then each
//! direction loses a suffix of the packets in flight, and the rest is followed by the end of the stream. A cut link
//! only delays: nothing is delivered until it heals or one side gives up. Election messages have one slot per ordered
//! pair of servers, which newer ones overwrite (rule 5.6).

mod clients;
mod connection;
mod deliveries;
mod learners;
mod mail;
mod parcels;

pub use crate::vocabulary::packet::Delivered;
pub use connection::{Next, Opened};
pub use mail::Mailbox;

use crate::vocabulary::effect::Blocker;
use crate::vocabulary::fingerprint::Tracked;
use crate::vocabulary::id::{Machine, ServerId};
use crate::vocabulary::packet::{ClientPacket, LeaderPacket, LearnerPacket, ServerPacket};
use std::collections::BTreeSet;
use std::hash::Hash;

type ClientLinks = Opened<ClientPacket, ServerPacket>;
/// The connections that one learner has opened.
pub type LearnerLinks = Opened<LearnerPacket, LeaderPacket>;

/// All connections, mailboxes and cuts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Network {
    clients: Vec<Tracked<ClientLinks>>,
    learners: Vec<Tracked<LearnerLinks>>,
    /// Mailboxes by sender, then receiver.
    mail: Vec<Tracked<Vec<Mailbox>>>,
    cuts: BTreeSet<(Machine, Machine)>,
}

impl Network {
    /// Returns a network without connections.
    pub fn new(servers: u8, clients: usize) -> Network {
        let servers = usize::from(servers);
        Network {
            clients: (0..clients).map(|_| Tracked::new(Opened::new())).collect(),
            learners: (0..servers).map(|_| Tracked::new(Opened::new())).collect(),
            mail: (0..servers).map(|_| Tracked::new(vec![Mailbox::default(); servers])).collect(),
            cuts: BTreeSet::new(),
        }
    }

    /// Returns true if the link in this direction is cut.
    pub fn is_cut(&self, from: Machine, to: Machine) -> bool {
        !self.cuts.is_empty() && self.cuts.contains(&(from, to))
    }

    /// Returns the blocker of packets in this direction, if the link is cut.
    pub fn blocker(&self, from: Machine, to: Machine) -> Option<Blocker> {
        self.is_cut(from, to).then_some(Blocker::Cut { from, to })
    }

    /// Cuts a link in one direction. Returns false if it was cut already.
    pub fn cut(&mut self, from: Machine, to: Machine) -> bool {
        self.cuts.insert((from, to))
    }

    /// Heals a link in one direction. Returns false if it was not cut.
    pub fn heal(&mut self, from: Machine, to: Machine) -> bool {
        self.cuts.remove(&(from, to))
    }

    /// Returns a network without clients, built from these parts.
    pub fn of_pieces(
        learners: Vec<Tracked<LearnerLinks>>,
        mail: Vec<Tracked<Vec<Mailbox>>>,
    ) -> Network {
        Network { clients: Vec::new(), learners, mail, cuts: BTreeSet::new() }
    }

    /// Returns the connections that a learner has opened.
    pub fn links(&self, learner: ServerId) -> &Tracked<LearnerLinks> {
        &self.learners[learner.index()]
    }

    /// Returns the mailboxes, by sender.
    pub fn mailboxes(&self) -> &[Tracked<Vec<Mailbox>>] {
        &self.mail
    }
}
